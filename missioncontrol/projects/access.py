"""Change who may reach a project: keys, tokens and sessions, recorded in the audit log.

A key is recorded on its project's chain. A token or a session opens all projects of its
person, so it is recorded on each of their chains.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from missioncontrol import broadcast
from missioncontrol.accounts import people, services, sessions
from missioncontrol.accounts.models import (
    AgentKey,
    Browser,
    Membership,
    PersonalToken,
    Project,
    Reach,
    Scope,
)
from missioncontrol.accounts.people import clean_name
from missioncontrol.accounts.selectors import live_keys
from missioncontrol.accounts.services import MintedSecret
from missioncontrol.clock import check_in_future
from missioncontrol.errors import Forbidden, InvalidRequest, NotFound, ProjectArchived, ensure_found
from missioncontrol.notify import devices
from missioncontrol.notify.models import Device
from missioncontrol.notify.quiet_hours import format_time
from missioncontrol.runs import journal
from missioncontrol.wire.rows import Moment

# Each live key or token is one more that can leak; few programs need this many.
MAX_LIVE = 50
DEFAULT_OVERLAP = timedelta(hours=24)
MAX_OVERLAP = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgentKey:
    """A key to make; give `project` if you are in several.

    It speaks for the runs it opens, or for those of `agent`, or for the whole project. Without
    `expires_at` it is valid until it is revoked.
    """

    name: str
    project: UUID | None = None
    reach: Reach = Reach.OWN
    agent: str = ""
    reports_only: bool = False
    """Its agent is watched, but is told nothing."""
    expires_at: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token to make, for one project or for all of its person's.

    Without `expires_at` it is valid until it is revoked.
    """

    name: str
    scope: Scope = Scope.READ
    project: UUID | None = None
    expires_at: Moment | None = None


@transaction.atomic
def make_agent_key(
    project_id: UUID, asked: NewAgentKey, *, by: str, at: datetime
) -> MintedSecret[AgentKey]:
    """Make another key for a project's agents; existing keys stay.

    Raises:
        InvalidRequest: the key has no name, is limited to an unnamed agent, would be expired
            already, or is one too many.
    """
    name, reach = clean_name(asked.name), asked.reach
    agent = clean_name(asked.agent, field="agent") if reach == Reach.AGENT else ""
    check_in_future(asked.expires_at, at=at)
    project = Project.objects.get(pk=project_id)
    _check_key_limit(project, at=at)
    made = services.mint_agent_key(
        project=project,
        name=name,
        created_by=by,
        at=at,
        reach=reach,
        agent=agent,
        reports_only=asked.reports_only,
        expires_at=asked.expires_at,
    )
    # A reach beyond its own runs is recorded.
    whose = {Reach.AGENT: f", for the runs of “{agent}”", Reach.PROJECT: ", for the whole project"}
    only = ", which only reports" if asked.reports_only else ""
    what = f"made the agent key {_quoted_name(made.row)}{whose.get(reach, '')}{only}"
    journal.record_access(project_id, what, by=by, at=at)
    return made


@transaction.atomic
def rotate_agent_key(
    key_id: UUID, *, projects: Container[UUID], overlap: timedelta, by: str, at: datetime
) -> MintedSecret[AgentKey]:
    """Make a successor of a key; it reaches the same runs, including those the old one opened.

    The old key stays valid for `overlap`, unless it expires before; the new one gets the
    lifetime of the old one.

    Raises:
        NotFound: none of these projects has the key.
        InvalidRequest: the key is no longer valid, or the overlap is too long.
        ProjectArchived: its project is archived, so that nothing in it may change.
    """
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        hours = MAX_OVERLAP // timedelta(hours=1)
        raise InvalidRequest(f"overlap_hours: expected 0 to {hours}.", field="overlap_hours")
    old = _lock_key(key_id, projects)
    # Unlike revoking: a new key would be a way into an archived project.
    if old.project.archived_at is not None:
        raise ProjectArchived
    if not live_keys(at=at).filter(pk=old.pk).exists():
        raise InvalidRequest("This key has expired or was revoked; make a new one.")
    _check_key_limit(old.project, at=at)
    # Keys that replace each other share a line, which is the id of the first of them.
    line = old.line or old.id
    made = services.mint_agent_key(
        project=old.project,
        name=old.name,
        created_by=by,
        at=at,
        reach=Reach(old.reach),
        agent=old.agent,
        reports_only=old.reports_only,
        expires_at=at + (old.expires_at - old.created_at) if old.expires_at else None,
        line=line,
    )
    # Rotating must not prolong the old key.
    until = min(old.expires_at or at + overlap, at + overlap)
    AgentKey.objects.filter(pk=old.pk).update(line=line, expires_at=until)
    when = f"ends at {until:%Y-%m-%d %H:%M} UTC" if overlap else "ended at once"
    what = (
        f"rotated the agent key {_quoted_name(old)} to {_quoted_name(made.row)}; the old one {when}"
    )
    journal.record_access(old.project_id, what, by=by, at=at)
    return made


@transaction.atomic
def revoke_agent_key(key_id: UUID, *, projects: Container[UUID], by: str, at: datetime) -> AgentKey:
    """Revoke a key for good; a repeat changes nothing.

    Raises:
        NotFound: none of these projects has the key.
    """
    # In an archived project too: access can be closed at any time.
    key = _lock_key(key_id, projects)
    if services.revoke(key, at=at):
        journal.record_access(
            key.project_id, f"revoked the agent key {_quoted_name(key)}", by=by, at=at
        )
    return key


@transaction.atomic
def exchange_setup_code(
    code: str, *, name: str, machine: str, at: datetime
) -> MintedSecret[AgentKey]:
    """Exchange a set-up code for an agent key, made in the name of the person who offered it.

    Raises:
        Forbidden: the code is unknown, used or expired.
        ProjectArchived: its project is archived.
    """
    name, machine = clean_name(name), clean_name(machine)
    offered = services.redeem_setup_code(code, machine=machine, at=at)
    if offered is None:
        raise Forbidden("This code is unknown, used or expired. Copy a new line.")
    if offered.project.archived_at is not None:
        raise ProjectArchived
    return make_agent_key(offered.project_id, NewAgentKey(name=name), by=offered.created_by, at=at)


@transaction.atomic
def make_token(
    user: User, asked: NewToken, *, by: str, at: datetime
) -> MintedSecret[PersonalToken]:
    """Make a token for a person's scripts.

    Raises:
        InvalidRequest: the token has no name, would be expired already, or is one too many.
    """
    name = clean_name(asked.name)
    check_in_future(asked.expires_at, at=at)
    # Expired ones count too: they stay in the person's list until they are revoked.
    if PersonalToken.objects.filter(user=user, revoked_at=None).count() >= MAX_LIVE:
        raise InvalidRequest(f"At most {MAX_LIVE} active tokens; revoke one first.")
    made = services.mint_personal_token(
        user=user,
        name=name,
        scope=asked.scope,
        project_id=asked.project,
        expires_at=asked.expires_at,
        at=at,
    )
    record_for_person(user, f"made the personal token {_quoted_name(made.row)}", by=by, at=at)
    return made


@transaction.atomic
def revoke_token(token_id: UUID, *, user: User, by: str, at: datetime) -> None:
    """Revoke a person's token and close what it opened.

    Raises:
        NotFound: this person has no such token.
    """
    token = ensure_found(PersonalToken.objects.filter(pk=token_id, user=user).first(), "The token")
    if services.revoke(token, at=at):
        record_for_person(user, f"revoked the personal token {_quoted_name(token)}", by=by, at=at)
        broadcast.recheck_access(user.pk)


def record_sign_in(
    browser: Browser, *, at: datetime, method: str = "a link", is_paired: bool = False
) -> None:
    """Record that somebody signed in with a browser, and how."""
    what = f"paired “{browser.name}”" if is_paired else f"signed in “{browser.name}” by {method}"
    record_for_person(browser.user, what, at=at)


@transaction.atomic
def record_for_person(user: User, what: str, *, at: datetime, by: str = "") -> None:
    """Record what somebody did for themselves on the chain of every project they belong to."""
    for project_id in _projects_of(user):
        journal.record_access(project_id, what, by=by or people.name_of(user), at=at)


def record_push_change(browser: Browser, *, on: bool, at: datetime) -> None:
    """Record that cards are pushed to a browser, or no longer are."""
    what = "had pushes sent to" if on else "ended the pushes to"
    record_for_person(browser.user, f"{what} “{browser.name}”", at=at)


def record_phone_access(user: User, *, on: bool, by: str, at: datetime) -> None:
    """Record that this machine was opened to its local network, or closed."""
    what = "opened HTTPS to the local network" if on else "closed HTTPS to the local network"
    record_for_person(user, what, by=by, at=at)


@transaction.atomic
def change_device(browser: Browser, changes: dict[str, Any], *, by: str, at: datetime) -> None:
    """Name a browser, or change how pushes reach it; record what changed.

    Raises:
        InvalidRequest: the name is empty, the browser takes no pushes, or a choice is invalid.
    """
    device = Device.objects.filter(browser=browser).first()
    # Compared before and after, because the request may ask for what is already set.
    before = _device_settings(browser, device)
    name = changes.get("name", browser.name).strip()
    if not name:
        raise InvalidRequest("name: must not be empty.", field="name")
    sessions.rename_browser(browser, name)
    if device is not None:
        devices.change_device(device, {**changes, "name": browser.name})
    elif changes.keys() - {"name"}:
        raise InvalidRequest("This browser receives no pushes.")
    after = _device_settings(browser, device)
    # Recorded only if something changed.
    moved = [name for name in after if after[name] != before[name]]
    for project_id in _projects_of(browser.user) if moved else ():
        was, now = ({name: choices[name] for name in moved} for choices in (before, after))
        journal.record_change(project_id, f"the device “{before['name']}”", was, now, by=by, at=at)


def _device_settings(browser: Browser, device: Device | None) -> dict[str, Any]:
    """Return a person's choices for a browser, as they are recorded."""
    if device is None:
        return {"name": browser.name}
    return {
        "name": browser.name,
        "enabled": device.enabled,
        "show_details": device.show_details,
        "hears_reports": device.hears_reports,
        "quiet_from": format_time(device.quiet_from) or "",
        "quiet_to": format_time(device.quiet_to) or "",
        "time_zone": device.time_zone,
        "language": device.language,
    }


@transaction.atomic
def sign_out_browser(browser: Browser, *, by: str, at: datetime, is_here: bool = False) -> None:
    """Sign one browser out, close what it shows and void the pairing links it offered.

    `is_here`: the browser itself asked, and clears its own screen.
    """
    # Otherwise a link that was offered there would let that browser in again.
    services.cancel_pairings(browser.user)
    if not is_here:
        # Before its browser is deleted, through which its device is found.
        devices.sign_out_devices(Device.objects.filter(browser=browser), at=at)
    sessions.sign_out_browser(browser.id)
    record_for_person(browser.user, f"signed out “{browser.name}”", by=by, at=at)
    broadcast.recheck_access(browser.user.pk)


@transaction.atomic
def end_other_sessions(*, user: User, current_key: str | None, by: str, at: datetime) -> int:
    """Sign a person out everywhere else; return the number of browsers signed out."""
    # Otherwise a link that was offered before would let that browser in again.
    services.cancel_pairings(user)
    others = sessions.other_browsers(user, current_key=current_key)
    devices.sign_out_devices(Device.objects.filter(browser__in=others), at=at)
    ended = sessions.end_other_sessions(user, current_key=current_key, at=at)
    # If nobody was signed out, there is nothing to record.
    if ended:
        record_for_person(user, "signed out everywhere else", by=by, at=at)
        broadcast.recheck_access(user.pk)
    return ended


@transaction.atomic
def set_active(user: User, is_active: bool, *, by: str, at: datetime) -> None:
    """Activate a person, or deactivate them: then no session, link, push or token works.

    Raises:
        InvalidRequest: the account is the machine's own.
    """
    if user.username == services.LOCAL_OWNER:
        # Every start signs its person in with this account.
        raise InvalidRequest("This account starts Mission Control and must stay active.")
    # Recorded only if something changes.
    if user.is_active == is_active:
        return
    if not is_active:
        end_other_sessions(user=user, current_key=None, by=by, at=at)
    user.is_active = is_active
    user.save(update_fields=["is_active"])
    what = f"{'activated' if is_active else 'deactivated'} “{people.name_of(user)}”"
    record_for_person(user, what, by=by, at=at)
    broadcast.recheck_access(user.pk)


def _lock_key(key_id: UUID, projects: Container[UUID]) -> AgentKey:
    """Return a key of these projects with its row locked, so that only one request rotates it."""
    # `no_key`: rows that refer to it, such as the runs it opened, are written all the time.
    found = AgentKey.objects.select_for_update(no_key=True, of=("self",))
    key = found.select_related("project").filter(pk=key_id).first()
    if key is None or key.project_id not in projects:
        raise NotFound("The key")
    return key


def _check_key_limit(project: Project, *, at: datetime) -> None:
    if live_keys(at=at).filter(project=project).count() >= MAX_LIVE:
        raise InvalidRequest(f"At most {MAX_LIVE} active keys; revoke one first.")


def _quoted_name(row: AgentKey | PersonalToken) -> str:
    return f"“{row.name}” ({row.prefix}…)"


def _projects_of(user: User) -> list[UUID]:
    # In id order: each project's row is locked for its chain.
    mine = Membership.objects.filter(user=user).order_by("project_id")
    return list(mine.values_list("project_id", flat=True))
