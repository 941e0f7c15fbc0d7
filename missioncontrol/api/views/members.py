"""Who belongs to a project, and what admits others: links, and rules for an identity provider."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, cast
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from rest_framework.request import Request

from missioncontrol.accounts import people
from missioncontrol.accounts.models import Invitation, JoiningBy, JoiningRule, Membership, Role
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.api import auth
from missioncontrol.api.auth import By, Person
from missioncontrol.api.rest import Page, page_of
from missioncontrol.api.routing import Router
from missioncontrol.api.views.devices import link_base
from missioncontrol.clock import now
from missioncontrol.errors import NotFound
from missioncontrol.history import sharing
from missioncontrol.projects import members, sign_in_methods
from missioncontrol.wire.access import InvitationRow, JoiningRuleRow, MadeInvitation, MemberRow
from missioncontrol.wire.projects import RoleWord
from missioncontrol.wire.rows import Moment, row_of

api = Router()

T = TypeVar("T")
INVITATION_LIMIT = RateLimit("invitations", per_caller=20, total=200)
OWNER_REFUSAL = "Only an owner decides who belongs to a project."
# Removing and reading are allowed in an archived project too.
check_is_owner = auth.require_owner(OWNER_REFUSAL, even_archived=True)
PROVED_OWNER_CHECKS = (
    auth.check_signed_in_session,
    auth.require_owner(OWNER_REFUSAL),
    auth.check_fresh_proof,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPatch:
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInvitation:
    """A link to make; without `expires_at` it works for a day."""

    role: Role
    note: str = ""
    """Whom it is for."""
    expires_at: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJoiningRule:
    """Who may join: a domain of verified e-mail addresses, or a group; never as owner."""

    by: JoiningBy
    value: str
    role: Role = Role.VIEWER


@api.get("projects/<uuid:project_id>/members/")
def members_list(request: Request, project_id: UUID) -> list[MemberRow]:
    """List the members of a project, by name."""
    auth.check_member(request, project_id)
    return _member_rows(request, project_id)


@api.patch("projects/<uuid:project_id>/members/<int:user_id>/", checks=PROVED_OWNER_CHECKS)
def members_change(
    request: Request, project_id: UUID, user_id: int, body: MemberPatch, by: Person
) -> MemberRow:
    """Change a member's role; owners only. It applies from their next request."""
    role, at = body.role, now()
    # In one transaction: nobody who lost a role goes on sharing with it.
    with transaction.atomic():
        members.change_role(project_id, user_id, role, by=by, at=at)
        # A link never shows more than its maker may share now.
        if role not in sharing.SHARING_ROLES:
            sharing.revoke_shares_of(user_id, project=project_id, by=by, at=at)
    rows = _member_rows(request, project_id)
    return next(row for row in rows if row.id == str(user_id))


@api.delete(
    "projects/<uuid:project_id>/members/<int:user_id>/", checks=(auth.check_signed_in_session,)
)
def members_remove(request: Request, project_id: UUID, user_id: int, by: Person) -> None:
    """Remove a member (owners), or leave the project yourself."""
    # Anybody may leave, even without a fresh proof.
    if user_id == by.pk:
        auth.check_member(request, project_id)
    else:
        check_is_owner(request, project_id)
        auth.check_fresh_proof(request)
    at = now()
    # In one transaction: nobody who was removed goes on sharing.
    with transaction.atomic():
        members.remove_member(project_id, user_id, by=by, at=at)
        sharing.revoke_shares_of(user_id, project=project_id, by=by, at=at)


@api.get("projects/<uuid:project_id>/invitations/", checks=(check_is_owner,))
def invitations_list(request: Request, project_id: UUID) -> Page[InvitationRow]:
    """List the invitations of a project, newest first; owners only."""
    found = Invitation.objects.filter(project_id=project_id).order_by("-id")
    at = now()
    return page_of(
        request,
        found.select_related("invited_by", "used_by"),
        lambda row: _invitation_row(InvitationRow, row, at=at),
    )


@api.post("projects/<uuid:project_id>/invitations/", status=201, checks=PROVED_OWNER_CHECKS)
def invitations_make(
    request: Request, project_id: UUID, body: NewInvitation, by: Person
) -> MadeInvitation:
    """Make an invitation link that works once; owners only. It is in this answer only."""
    at = now()
    INVITATION_LIMIT.acquire(str(by.pk), at=at)
    made = members.invite(
        project_id,
        role=body.role,
        note=body.note,
        by=by,
        at=at,
        expires_at=body.expires_at or at + members.INVITATION_LIFE,
    )
    base, is_local = link_base(request)
    # After the `#`: a browser sends that part to no server, so no log contains the secret.
    url = f"{base}/join#{made.secret}"
    return _invitation_row(MadeInvitation, made.row, at=at, url=url, is_local=is_local)


@api.delete(
    "projects/<uuid:project_id>/invitations/<uuid:invitation_id>/", checks=(check_is_owner,)
)
def invitations_revoke(project_id: UUID, invitation_id: UUID, by: By) -> None:
    """Revoke an invitation; owners only."""
    members.revoke_invitation(invitation_id, project_id=project_id, by=by, at=now())


@api.get("projects/<uuid:project_id>/joining-rules/", checks=(check_is_owner,))
def joining_rules_list(request: Request, project_id: UUID) -> Page[JoiningRuleRow]:
    """List the rules by which people join through the identity provider; owners only."""
    found = JoiningRule.objects.filter(project_id=project_id).order_by("id")
    return page_of(request, found, partial(row_of, JoiningRuleRow))


# Such a rule outlives the person who made it, so it requires a person with a fresh proof.
@api.post("projects/<uuid:project_id>/joining-rules/", status=201, checks=PROVED_OWNER_CHECKS)
def joining_rules_add(project_id: UUID, body: NewJoiningRule, owner: Person) -> JoiningRuleRow:
    """Add a rule that admits people who sign in through the identity provider; owners only."""
    # Without a provider the rule would admit nobody, and look as if it did.
    if settings.OIDC is None:
        raise NotFound("An identity provider")
    rule = sign_in_methods.add_joining_rule(
        project_id, by=body.by, value=body.value, role=body.role, owner=owner, at=now()
    )
    return row_of(JoiningRuleRow, rule)


@api.delete(
    "projects/<uuid:project_id>/joining-rules/<uuid:rule_id>/",
    checks=(check_is_owner, auth.check_fresh_proof),
)
def joining_rules_remove(project_id: UUID, rule_id: UUID, by: By) -> None:
    """Delete a rule; owners only. Members who joined by it stay."""
    sign_in_methods.remove_joining_rule(project_id, rule_id, by=by, at=now())


def _member_rows(request: Request, project_id: UUID) -> list[MemberRow]:
    found = Membership.objects.filter(project_id=project_id).select_related("user")
    rows = [
        MemberRow(
            id=str(member.user_id),
            project=project_id,
            name=people.name_of(member.user),
            role=cast(RoleWord, member.role),
            joined_at=member.joined_at,
            seen_at=member.seen_at,
            is_you=member.user_id == request.user.pk,
        )
        for member in found.annotate(seen_at=Max("user__browsers__seen_at"))
    ]
    # Not in the database: a person's name is made of two columns.
    return sorted(rows, key=lambda row: row.name.casefold())


def _invitation_row(kind: type[T], row: Invitation, /, *, at: datetime, **more: Any) -> T:
    status = "expired" if row.expires_at <= at else "open"
    if row.revoked_at is not None:
        status = "revoked"
    # Last: an invitation that was used and has expired since was used.
    if row.used_at is not None:
        status = "used"
    by = people.name_of(row.invited_by) if row.invited_by else ""
    used_by = people.name_of(row.used_by) if row.used_by else ""
    return row_of(kind, row, status=status, invited_by=by, used_by=used_by, **more)
