"""Members of a project: invite, let in, change roles, remove; each change is recorded.

Each change locks the project's row, so that two members who leave at once cannot leave it
without an owner. Withdrawn rights end at the person's next request, when their sessions get
new keys; their sockets are checked at once.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from missioncontrol import broadcast
from missioncontrol.accounts import people, sessions
from missioncontrol.accounts.models import Invitation, Membership, Role, SetupCode
from missioncontrol.accounts.selectors import live
from missioncontrol.accounts.services import MintedSecret, mint
from missioncontrol.accounts.tokens import digest
from missioncontrol.errors import Forbidden, InvalidRequest, LastOwner, ensure_found
from missioncontrol.notify import services as notices
from missioncontrol.projects.access import record_for_person
from missioncontrol.runs import journal

MAX_INVITATIONS = 50
MAX_NOTE_LENGTH = 100
INVITATION_LIFE = timedelta(days=1)
MAX_INVITATION_LIFE = timedelta(days=30)
# How long an expired invitation is still listed.
KEEP_EXPIRED_INVITATIONS = timedelta(days=30)


def invite(
    project_id: UUID, *, role: Role, note: str, expires_at: datetime, by: User, at: datetime
) -> MintedSecret[Invitation]:
    """Make a link that lets one person in with a role.

    Raises:
        InvalidRequest: the invitation would be expired already or live too long, its note is
            too long, or it is one too many.
        Forbidden: the person who invites is not (or no longer) an owner.
    """
    # One line, without what PostgreSQL refuses: it is part of a sentence in the audit log.
    note = " ".join(note.replace("\0", "").split())
    if len(note) > MAX_NOTE_LENGTH:
        raise InvalidRequest(f"note: expected at most {MAX_NOTE_LENGTH} characters.", field="note")
    if not at < expires_at <= at + MAX_INVITATION_LIFE:
        days = MAX_INVITATION_LIFE.days
        raise InvalidRequest(f"expires_at: expected a time within {days} days.", field="expires_at")
    with journal.lock_project(project_id):
        # Under the lock: a person who lost the role while waiting for it invites nobody.
        _check_owner(project_id, by, "Only an owner invites.")
        open_now = usable_invitations(at).filter(project_id=project_id).count()
        if open_now >= MAX_INVITATIONS:
            raise InvalidRequest(f"At most {MAX_INVITATIONS} open invitations; revoke one first.")
        # Done when others are made, so that no task is needed for it.
        Invitation.objects.filter(expires_at__lte=at - KEEP_EXPIRED_INVITATIONS).delete()
        made = mint(
            Invitation,
            project_id=project_id,
            role=role,
            note=note,
            invited_by=by,
            created_at=at,
            expires_at=expires_at,
        )
        what = f"invited {_invitee(made.row)}as {role}"
        journal.record_access(project_id, what, by=people.name_of(by), at=at)
    return made


def usable_invitations(at: datetime) -> QuerySet[Invitation]:
    """Return the invitations that still let somebody in."""
    # An archived project is read-only: nobody is let into it.
    return live(Invitation.objects.filter(project__archived_at=None), at=at)


def find_invitation(secret: str, *, at: datetime) -> Invitation | None:
    """Return the invitation behind a link, without using it up; None: it is invalid or unknown."""
    usable = usable_invitations(at).select_related("project", "invited_by")
    return usable.filter(digest=digest(secret)).first()


@transaction.atomic
def revoke_invitation(invitation_id: UUID, *, project_id: UUID, by: str, at: datetime) -> None:
    """Revoke an invitation; a repeat changes nothing.

    Raises:
        NotFound: this project has no such invitation.
    """
    found = Invitation.objects.filter(pk=invitation_id, project_id=project_id)
    invitation = ensure_found(found.first(), "The invitation")
    if live(found, at=at).update(revoked_at=at):
        what = f"revoked the invitation {_invitee(invitation)}as {invitation.role}"
        journal.record_access(project_id, what, by=by, at=at)


@transaction.atomic
def join_project(secret: str, *, user: User | None, name: str, at: datetime) -> User:
    """Let in the person who brings an invitation; without `user`, make an account under `name`.

    Raises:
        Forbidden: the invitation is no longer valid, or they belong to the project already.
        InvalidRequest: the name is invalid or taken.
    """
    # Read without a lock, to know whose project to lock; the update below decides.
    offered = find_invitation(secret, at=at)
    if offered is None:
        raise invalid_invitation_error()
    with journal.lock_project(offered.project_id) as project:
        # Inside the transaction: no account stays behind if the person does not join.
        joining = user or people.create_person(name)
        if Membership.objects.filter(project_id=offered.project_id, user=joining).exists():
            raise Forbidden("You are a member of this project already.")
        # Conditional: if two people use one link at once, only one comes in.
        mine = live(Invitation.objects.filter(pk=offered.pk), at=at)
        if not mine.update(used_at=at, used_by=joining):
            raise invalid_invitation_error()
        membership = Membership.objects.create(
            project=project, user=joining, role=offered.role, joined_at=at
        )
        # An owner invited them back, so joining rules may let them in again too.
        project.kept_out.remove(joining)
        sessions.rotate_keys_soon(joining, at=at)
        inviter = people.name_of(offered.invited_by) if offered.invited_by else "?"
        what = f"joined as {membership.role}, invited by “{inviter}”"
        journal.record_access(offered.project_id, what, by=people.name_of(joining), at=at)
    return joining


def invalid_invitation_error() -> Forbidden:
    """Return the error for an invitation that no longer lets anybody in."""
    # The same error for all of them: guessing does not reveal what was once valid.
    return Forbidden("This invitation was used, was revoked, or is over. Ask for another.")


def change_role(
    project_id: UUID, user_id: int, role: Role, *, by: User, at: datetime
) -> Membership:
    """Give a member another role.

    Raises:
        Forbidden: the person who asks is not (or no longer) an owner.
        NotFound: the project has no such member.
        LastOwner: nobody else owns the project.
    """
    with journal.lock_project(project_id):
        _check_owner(project_id, by, "Only an owner changes roles.")
        member = _get_member(project_id, user_id)
        before = member.role
        # If nothing changes, nothing is recorded and no session gets a new key.
        if before == role:
            return member
        _check_not_last_owner(member)
        member.role = role
        member.save(update_fields=["role"])
        name = people.name_of(member.user)
        what = f"changed “{name}” from {before} to {role}"
        journal.record_access(project_id, what, by=people.name_of(by), at=at)
        if before == Role.OWNER:
            _void_invitations(member, at=at)
        # Cards ask for a tap, which a viewer cannot give.
        if role == Role.VIEWER:
            notices.withdraw_from_person(member.user_id, project_id, at=at)
        _recheck_access(member, at=at)
    return member


def remove_member(project_id: UUID, user_id: int, *, by: User, at: datetime) -> None:
    """Remove a person from a project: what they look at closes, and they get no more pushes.

    Raises:
        Forbidden: the person who asks is neither that member nor (or no longer) an owner.
        NotFound: the project has no such member.
        LastOwner: nobody else owns the project.
    """
    with journal.lock_project(project_id) as project:
        leaves = user_id == by.pk
        if not leaves:
            _check_owner(project_id, by, "Only an owner removes others.")
        member = _get_member(project_id, user_id)
        _check_not_last_owner(member)
        whom = f"“{people.name_of(member.user)}”, {member.role}"
        what = f"left as {member.role}" if leaves else f"removed {whom}"
        journal.record_access(project_id, what, by=people.name_of(by), at=at)
        _delete_membership(member, at=at)
        if not leaves:
            # Otherwise joining rules would let them in again at their next sign-in.
            project.kept_out.add(user_id)


def remove_erased_person(project_id: UUID, user_id: int, *, at: datetime) -> None:
    """Remove a person whose account is being erased; the caller holds the project's row lock.

    Raises:
        LastOwner: nobody else owns the project.
    """
    member = Membership.objects.filter(project_id=project_id, user_id=user_id).first()
    if member is not None:
        _check_not_last_owner(member)
        _delete_membership(member, at=at)


def _delete_membership(member: Membership, *, at: datetime) -> None:
    _void_invitations(member, at=at)
    notices.withdraw_from_person(member.user_id, member.project_id, at=at)
    _recheck_access(member, at=at)
    member.delete()


def rename_person(user: User, name: str, *, at: datetime) -> None:
    """Change a person's name, recorded on the chain of every project they belong to.

    Raises:
        InvalidRequest: the name is invalid or taken.
    """
    # The entry names the person who did it by their old name.
    before = people.name_of(user)
    with transaction.atomic():
        people.rename_person(user, name)
        what = f"is called “{people.name_of(user)}” from now on"
        record_for_person(user, what, by=before, at=at)


def _get_member(project_id: UUID, user_id: int) -> Membership:
    found = Membership.objects.filter(project_id=project_id, user_id=user_id)
    return ensure_found(found.select_related("user").first(), "The member")


def _check_not_last_owner(member: Membership) -> None:
    """Refuse to remove the last owner; the caller holds the project's row lock."""
    others = _owners(member.project_id).exclude(pk=member.pk)
    if member.role == Role.OWNER and not others.exists():
        raise LastOwner


def _check_owner(project_id: UUID, user: User, otherwise: str) -> None:
    """Refuse a person who is not an owner (any more); the caller holds the project's row lock."""
    if not _owners(project_id).filter(user=user).exists():
        raise Forbidden(otherwise)


def _owners(project_id: UUID) -> QuerySet[Membership]:
    return Membership.objects.filter(project_id=project_id, role=Role.OWNER)


def _void_invitations(member: Membership, *, at: datetime) -> None:
    """Void the ways in that a former owner offered.

    A set-up code stores only a name, which may have changed: all open ones are deleted; they
    live for ten minutes anyway.
    """
    mine = Invitation.objects.filter(project_id=member.project_id, invited_by=member.user_id)
    live(mine, at=at).update(revoked_at=at)
    SetupCode.objects.filter(project_id=member.project_id, used_at=None).delete()


def _recheck_access(member: Membership, *, at: datetime) -> None:
    sessions.rotate_keys_soon(member.user, at=at)
    broadcast.recheck_access(member.user_id)


def _invitee(invitation: Invitation) -> str:
    return f"“{invitation.note}” " if invitation.note else "somebody "
