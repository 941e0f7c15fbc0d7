"""How people sign in and prove who they are; changes are recorded on their projects' chains.

A person signed in by an identity provider joins the projects whose rules match them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from missioncontrol import broadcast
from missioncontrol.accounts import credentials, people, sessions
from missioncontrol.accounts.models import Identity, JoiningBy, JoiningRule, Membership, Role
from missioncontrol.accounts.oidc import ProviderIdentity
from missioncontrol.errors import Forbidden, InvalidRequest, ensure_found
from missioncontrol.projects.access import record_for_person
from missioncontrol.runs import journal

MAX_PASSWORD_LENGTH = 200
MAX_RULES = 50
MAX_VALUE_LENGTH = 255
# The roles that a rule may give: only owners can make owners.
_ROLE_STRENGTH = {Role.VIEWER: 0, Role.OPERATOR: 1}


@transaction.atomic
def set_password(user: User, password: str, *, at: datetime) -> None:
    """Give a person a password; their other sessions end.

    Raises:
        InvalidRequest: it is too long, or too easy to guess; `why` lists the reasons.
    """
    if len(password) > MAX_PASSWORD_LENGTH or "\0" in password:
        raise InvalidRequest("password: too long.", field="password", why=["password_too_long"])
    try:
        # With the person: a password like their own name is easy to guess.
        validate_password(password, user)
    except ValidationError as error:
        why = [str(one.code) for one in error.error_list]
        raise InvalidRequest(" ".join(error.messages), field="password", why=why) from None
    had_one = user.has_usable_password()
    user.set_password(password)
    user.save(update_fields=["password"])
    what = "changed their password" if had_one else "set a password"
    _record_change(user, f"{what}; their other sessions ended", at=at)


@transaction.atomic
def remove_password(user: User, *, at: datetime) -> None:
    """Remove a person's password; they sign in by their other ways, or by a link."""
    if user.has_usable_password():
        user.set_unusable_password()
        user.save(update_fields=["password"])
        _record_change(user, "removed their password; their other sessions ended", at=at)


@transaction.atomic
def confirm_app_setup(session: Any, user: User, code: str, *, at: datetime) -> list[str]:
    """Store an authenticator app; for the first factor, return recovery codes.

    Raises:
        InvalidRequest: the code is not the app's.
    """
    had_one = credentials.has_factor(user)
    if not credentials.confirm_app_setup(session, user, code):
        raise InvalidRequest("code: not the code that the app currently shows.", field="code")
    _record_change(user, "set up an authenticator app", at=at)
    # Codes that were written down earlier stay valid.
    return [] if had_one else credentials.renew_recovery_codes(user)


@transaction.atomic
def add_passkey(user: User, name: str, credential: Mapping[str, Any], *, at: datetime) -> list[str]:
    """Store a passkey; for the first factor, return recovery codes.

    Raises:
        InvalidRequest: it could not be verified.
    """
    had_one = credentials.has_factor(user)
    kept = credentials.add_passkey(user, name, credential)
    _record_change(user, f"added the passkey “{kept}”", at=at)
    return [] if had_one else credentials.renew_recovery_codes(user)


@transaction.atomic
def renew_recovery_codes(user: User, *, at: datetime) -> list[str]:
    """Make new recovery codes; the old ones stop working.

    Raises:
        Forbidden: there is no second factor that they could replace.
    """
    if not credentials.has_factor(user):
        raise Forbidden("Set up an authenticator app or a passkey first.")
    made = credentials.renew_recovery_codes(user)
    _record_change(user, "made new recovery codes", at=at)
    return made


@transaction.atomic
def remove_factor(
    user: User, *, kind: credentials.FactorKind, at: datetime, pk: int | None = None
) -> None:
    """Remove an app or a passkey.

    Raises:
        NotFound: this person has none of this kind.
    """
    row = ensure_found(credentials.remove_factor(user, kind=kind, pk=pk), "The second factor")
    is_app = kind == credentials.FactorKind.APP
    what = "the authenticator app" if is_app else f"the passkey “{row}”"
    _record_change(user, f"removed {what}", at=at)


@transaction.atomic
def sign_in_by_identity(known: ProviderIdentity, *, at: datetime) -> User:
    """Return the person that an identity signs in; add them to the projects whose rules match.

    A person without an account gets one if a rule matches. Accounts are never found by e-mail.

    Raises:
        Forbidden: the identity is unknown here and no rule matches, or the person is deactivated.
    """
    domain = known.email.rpartition("@")[2]
    # No address, no domain: an empty domain must match no rule.
    by_domain = Q(by=JoiningBy.DOMAIN, value=domain) if domain else Q(pk=None)
    by_group = Q(by=JoiningBy.GROUP, value__in=known.groups)
    rules = JoiningRule.objects.filter(by_domain | by_group, project__archived_at=None)
    found = Identity.objects.select_related("user").select_for_update(of=("self",))
    # By the provider's own id, never by e-mail: the owner of an address at one provider need not
    # own the account here that has it.
    identity = found.filter(issuer=known.issuer, subject=known.subject).first()
    if identity is None:
        if not rules:
            raise Forbidden("This account is unknown here, and no project's rule admits it.")
        user = people.create_person(people.find_free_name(known.name))
        identity = _create_identity(user, known, at=at)
    # After the provider: a person who is deactivated here is refused by every way in.
    if not identity.user.is_active:
        raise Forbidden("This account may no longer sign in here.")
    identity.label, identity.used_at = _identity_label(known), at
    identity.save(update_fields=["label", "used_at"])
    # In one order of projects, because two people at once lock their rows. Of two rules, the
    # stronger role comes first, because a member's role is not changed.
    for rule in sorted(
        rules, key=lambda rule: (str(rule.project_id), -_ROLE_STRENGTH[Role(rule.role)])
    ):
        with journal.lock_project(rule.project_id) as project:
            members = Membership.objects.filter(project=project, user=identity.user)
            # No rule lets in a person whom an owner removed: an owner must invite them.
            if members.exists() or project.kept_out.filter(pk=identity.user.pk).exists():
                continue
            members.create(project=project, user=identity.user, role=rule.role, joined_at=at)
            sessions.rotate_keys_soon(identity.user, at=at)
            name = people.name_of(identity.user)
            journal.record_access(
                project.id, f"joined as {rule.role} by {_rule_text(rule)}", by=name, at=at
            )
    return identity.user


@transaction.atomic
def connect_identity(user: User, known: ProviderIdentity, *, at: datetime) -> None:
    """Let a provider's account sign in a person who is already signed in.

    Raises:
        Forbidden: the account signs in somebody else, or the person uses another one.
    """
    found = Identity.objects.filter(Q(subject=known.subject) | Q(user=user), issuer=known.issuer)
    # One account at the provider is one person here.
    if any(one.user_id != user.pk or one.subject != known.subject for one in found):
        raise Forbidden("This account belongs to another person here, or you use another one.")
    if not found:
        _create_identity(user, known, at=at)
        _record_change(user, f"connected their account at {known.issuer}", at=at)


@transaction.atomic
def disconnect_identities(user: User, *, at: datetime) -> None:
    """Remove all provider accounts that sign a person in."""
    if Identity.objects.filter(user=user).delete()[0]:
        _record_change(user, "disconnected their account at the identity provider", at=at)


@transaction.atomic
def add_joining_rule(
    project_id: UUID, *, by: JoiningBy, value: str, role: Role, owner: User, at: datetime
) -> JoiningRule:
    """Let in people who sign in at the provider with an address of a domain, or in a group.

    Raises:
        InvalidRequest: the rule names no domain or group, would make owners, exists already, or
            is one too many.
    """
    value = value.strip()
    if by == JoiningBy.DOMAIN:
        # Domains are compared in lower case; people write them with and without the "@".
        value = value.lower().removeprefix("@")
    is_domain = "." in value.strip(".") and not set(value) & set("@/ :")
    if not 0 < len(value) <= MAX_VALUE_LENGTH or not value.isprintable():
        raise InvalidRequest(f"value: expected 1 to {MAX_VALUE_LENGTH} characters.", field="value")
    if by == JoiningBy.DOMAIN and not is_domain:
        raise InvalidRequest("value: expected a domain such as example.com.", field="value")
    if role not in _ROLE_STRENGTH:
        raise InvalidRequest("role: a rule cannot make people owners.", field="role")
    with journal.lock_project(project_id):
        rules = JoiningRule.objects.filter(project_id=project_id)
        if rules.count() >= MAX_RULES:
            raise InvalidRequest(f"At most {MAX_RULES} rules; remove one first.")
        if rules.filter(by=by, value=value).exists():
            raise InvalidRequest("value: there is a rule for this already.", field="value")
        rule = rules.create(
            project_id=project_id,
            by=by,
            value=value,
            role=role,
            created_at=at,
            created_by=people.name_of(owner),
        )
        journal.record_access(
            project_id, f"lets in {_rule_text(rule)}", by=people.name_of(owner), at=at
        )
    return rule


@transaction.atomic
def remove_joining_rule(project_id: UUID, rule_id: UUID, *, by: str, at: datetime) -> None:
    """Remove a rule; people who joined by it stay.

    Raises:
        NotFound: the project has no such rule.
    """
    found = JoiningRule.objects.filter(pk=rule_id, project_id=project_id)
    rule = ensure_found(found.first(), "The rule")
    rule.delete()
    journal.record_access(project_id, f"no longer lets in {_rule_text(rule)}", by=by, at=at)


def _rule_text(rule: JoiningRule) -> str:
    whom = "e-mail addresses at" if rule.by == JoiningBy.DOMAIN else "the group"
    return f"{whom} “{rule.value}” as {rule.role}"


def _create_identity(user: User, known: ProviderIdentity, *, at: datetime) -> Identity:
    return Identity.objects.create(
        user=user,
        issuer=known.issuer,
        subject=known.subject,
        label=_identity_label(known),
        created_at=at,
        used_at=at,
    )


def _identity_label(known: ProviderIdentity) -> str:
    # As long as the column, which holds any e-mail address.
    return (known.email or known.name)[:254]


def _record_change(user: User, what: str, *, at: datetime) -> None:
    """Record a change, and have this person's sockets checked again."""
    record_for_person(user, what, at=at)
    broadcast.recheck_access(user.pk)
