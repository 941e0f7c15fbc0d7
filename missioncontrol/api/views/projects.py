"""Projects, including the demo's, and the person who is signed in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.http import StreamingHttpResponse
from django.middleware.csrf import get_token
from rest_framework.request import Request

from guard.budget import Budget
from guard.wire import Mode
from missioncontrol import extras
from missioncontrol.accounts import credentials
from missioncontrol.accounts.people import clean_name
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.api import auth, keys
from missioncontrol.api.auth import By, Person
from missioncontrol.api.rest import changes_in, stream_file
from missioncontrol.api.routing import Router
from missioncontrol.audit.project_file import export_lines
from missioncontrol.clock import now, read_zone
from missioncontrol.decisions.budgets import check_budgets, extra_today
from missioncontrol.detection.policies import read_policy
from missioncontrol.env import MAX_DAYS
from missioncontrol.errors import Forbidden, InvalidRequest, NotFound, Unavailable
from missioncontrol.notify import webhook
from missioncontrol.projects import members, rules
from missioncontrol.redaction import read_rules
from missioncontrol.runs.selectors import preview_redaction
from missioncontrol.wire.projects import (
    Me,
    ProjectRow,
    RedactionPreview,
    RedactRules,
    Secret,
    User,
)
from missioncontrol.wire.rows import StrictInt, row_of

api = Router()

MAX_HOLD_S = 24 * 3600
OWNER_REFUSAL = "Only an owner changes a project's rules."
check_may_make = auth.require_owner_of_any("Only a project owner can make another.")
check_may_run_demo = auth.require_owner_of_any(
    "Only a project owner can start and remove the demo."
)
SECRET_CHECKS = (
    auth.check_signed_in_session,
    auth.require_owner("Only an owner sees the secret.", even_archived=True),
    auth.check_fresh_proof,
)
CREATION_LIMIT = RateLimit("projects made", per_caller=10, total=60)
DEMO_LIMIT = RateLimit("demos", per_caller=10, total=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPatch:
    """The changes; absent fields stay as they are."""

    name: str | None = None
    archived: bool | None = None
    """True archives it: it can only be read, and its keys refuse agents. False restores it."""
    mode: Mode | None = None
    policy: dict[str, Any] | str | None = None
    """An object, or the text of a TOML or JSON file; the text is kept as typed."""
    policy_note: str = ""
    """The reason for the change; stored with the policy version."""
    policy_version: StrictInt | None = None
    """The version you saw; 409 `stale_policy` if the project now has another one."""
    budget: dict[str, Any] | None = None
    budgets: dict[str, Any] | None = None
    """By scope; an absent scope stays as it is, an empty one has no ceiling."""
    time_zone: str | None = None
    hold_limit: StrictInt | None = None
    unanswered: Literal["proceed", "stop"] | None = None
    fail: Literal["open", "closed"] | None = None
    agents_choose: bool | None = None
    daily_report: bool | None = None
    keep_words_days: StrictInt | None = None
    """0: for ever."""
    second_factor: bool | None = None
    """Whether members need a second factor; to set it, you must have one yourself."""
    redact_rules: tuple[str, ...] | None = None
    """What is masked, besides secrets, in turns that arrive from now on; replaces all rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProject:
    name: str
    mode: Mode = Mode.PAUSE


@dataclass(frozen=True, slots=True, kw_only=True)
class MePatch:
    """Your name, here and in the audit log."""

    name: str


@api.get("projects/")
def projects_list(request: Request) -> list[ProjectRow]:
    """List your projects."""
    return project_rows(request)


# Otherwise a viewer of one project could fill the server with others.
@api.post("projects/", status=201, checks=(check_may_make,))
def projects_make(request: Request, body: NewProject, person: Person) -> ProjectRow:
    """Make a project and become its owner; for people who own a project already."""
    CREATION_LIMIT.acquire(str(person.pk), at=now())
    made = rules.make_project(name=body.name, owner=person, mode=body.mode, at=now())
    return find_project(request, made.id)


@api.get("projects/<uuid:project_id>/")
def projects_read(request: Request, project_id: UUID) -> ProjectRow:
    """Show a project."""
    return find_project(request, project_id)


@api.patch("projects/<uuid:project_id>/")
def projects_change(
    request: Request, project_id: UUID, body: ProjectPatch, person: Person, by: By
) -> ProjectRow:
    """Change a project's settings, or archive it; owners only."""
    even_archived = body.archived is False
    # An archived project can only be restored; nothing else of it changes.
    auth.check_owner(request, project_id, OWNER_REFUSAL, even_archived=even_archived)
    changes = _read_changes(body)
    # Switching it off too: that admits people without a second factor.
    if changes.get("second_factor") is not None:
        auth.check_signed_in_session(request)
        auth.check_fresh_proof(request)
    if changes.get("second_factor") and not credentials.has_factor(person):
        raise Forbidden("Set up your own second factor first: otherwise you would lose access.")
    # Read and checked before the lock, so that nobody waits for the project's row while a policy is
    # parsed.
    with auth.locked_as_owner(request, project_id, OWNER_REFUSAL, even_archived=even_archived):
        rules.change_project(project_id, changes, by=by, at=now())
    if "redact_rules" in changes:
        # A key's holder carries these rules, and is remembered for some seconds.
        keys.forget_all()
    return find_project(request, project_id)


@api.post(
    "projects/<uuid:project_id>/redaction/preview/", checks=(auth.require_owner(OWNER_REFUSAL),)
)
def projects_redaction_preview(project_id: UUID, body: RedactRules) -> RedactionPreview:
    """Preview what masking rules would have masked; nothing is saved. Owners only."""
    return preview_redaction(project_id, read_rules(body.rules), at=now())


@api.get("projects/<uuid:project_id>/controller-secret/", checks=SECRET_CHECKS)
def projects_controller_secret(project_id: UUID) -> Secret:
    """Show the secret that signs a project's controller webhooks; owners only."""
    return Secret(secret=webhook.secret_of(project_id))


@api.get("me/")
def me(request: Request, person: Person, name: By) -> Me:
    """Show the signed-in person and what they may see."""
    # The screens ask this first: its answer's cookie allows them to write.
    get_token(request)
    closed = credentials.closed_memberships(person).order_by("project_id")
    # Agents report to this address too, and only browsers can resolve names under `localhost`.
    here = urlsplit(request.build_absolute_uri("/"))
    if (here.hostname or "").endswith(".localhost"):
        here = here._replace(netloc=here.netloc.replace(here.hostname or "", "127.0.0.1"))
    return Me(
        user=User(id=str(person.pk), name=name),
        projects=tuple(project_rows(request)),
        closed=tuple(closed.values_list("project__name", flat=True)),
        version=settings.VERSION,
        agent_url=settings.PUBLIC_URL or here.geturl().rstrip("/"),
        demo=demo_state(request),
    )


@api.patch("me/", checks=(auth.check_signed_in_session,))
def me_change(request: Request, body: MePatch, person: Person) -> User:
    """Change your name; existing audit log entries keep the old one."""
    members.rename_person(person, body.name, at=now())
    return User(id=str(person.pk), name=auth.name_of(request))


@api.get(
    "projects/<uuid:project_id>/export/",
    files=("application/jsonl",),
    checks=(auth.require_owner("Only an owner exports a project.", even_archived=True),),
)
def projects_export(request: Request, project_id: UUID) -> StreamingHttpResponse:
    """Export a whole project as JSON Lines; `manage.py import_project` reads it."""

    def lines() -> Iterator[bytes]:
        # Written to a file first: all rows are read in one transaction, and a slow reader would
        # keep it and its connection open.
        with tempfile.TemporaryFile() as kept:
            kept.writelines(export_lines(project_id, at=now()))
            kept.seek(0)
            yield from kept

    return stream_file(request, lines(), kind="jsonl", name="project")


@api.post("demo/", status=202, checks=(check_may_run_demo,))
def demo_start(person: Person) -> None:
    """Start the demo: three agents in projects of their own; for people who own a project."""
    DEMO_LIMIT.acquire(str(person.pk), at=now())
    # A web process starts no program: without `up` nobody would act on the request.
    if not settings.IS_SUPERVISED:
        raise Unavailable("Only `manage.py up` can start the demo's agents.")
    rules.start_demo(person, at=now())


@api.delete("demo/", checks=(check_may_run_demo,))
def demo_remove(person: Person) -> None:
    """End the demo's agents and archive their projects."""
    rules.remove_demo(person, at=now())


def demo_state(request: Request) -> Literal["off", "running"] | None:
    """Say whether the caller's demo runs; None if they cannot start or remove one."""
    if not settings.IS_SUPERVISED or not auth.owned_projects(request):
        return None
    running = extras.requested_demo(settings.DATA_DIR)
    if running is None:
        return "off"
    # Another person's demo is theirs to end.
    return "running" if running.owner == auth.person_of(request).get_username() else None


def project_rows(request: Request, **which: Any) -> list[ProjectRow]:
    """Return the caller's projects, oldest first."""
    mine = credentials.open_memberships_of(auth.person_of(request), token=request.auth)
    return [
        row_of(
            ProjectRow,
            project,
            role=membership.role,
            # As one table, whatever columns hold them.
            budgets={"run": project.budget, **project.budgets},
            day_extra=extra_today(project, at=now()),
        )
        for membership in mine.filter(**which).order_by("project_id")
        for project in [membership.project]
    ]


def find_project(request: Request, project_id: UUID) -> ProjectRow:
    """Return one of the caller's projects.

    Raises:
        NotFound: it is none of theirs.
    """
    rows = project_rows(request, project=project_id)
    if not rows:
        raise NotFound("The project")
    return rows[0]


def _read_changes(body: ProjectPatch) -> dict[str, Any]:
    changes = changes_in(body)
    note, seen = changes.pop("policy_note"), changes.pop("policy_version", None)
    if "name" in changes:
        changes["name"] = clean_name(changes["name"])
    # Parsed here only for its errors: it is stored as it was typed.
    if "policy" in changes:
        read_policy(changes["policy"])
        changes["policy"] = rules.NewPolicy(policy=changes["policy"], note=note, seen=seen)
    # A run's limit has a column of its own, which is older than the other scopes.
    if "budgets" in changes:
        shared = check_budgets(changes["budgets"])
        own = shared.pop("run", changes.get("budget"))
        changes |= {"budgets": shared} | ({} if own is None else {"budget": own})
    if "budget" in changes:
        Budget.from_mapping(changes["budget"])
    if "time_zone" in changes:
        changes["time_zone"] = read_zone(changes["time_zone"], field="time_zone").key
    if "redact_rules" in changes:
        changes["redact_rules"] = list(read_rules(changes["redact_rules"]).rules)
    # Checked here, because the database's own error would speak of a column's range.
    if not 0 <= changes.get("keep_words_days", 0) <= MAX_DAYS:
        raise InvalidRequest(
            f"keep_words_days: expected 0 (for ever) to {MAX_DAYS} days.",
            field="keep_words_days",
        )
    if not 1 <= changes.get("hold_limit", 1) <= MAX_HOLD_S:
        raise InvalidRequest(f"hold_limit: expected 1 to {MAX_HOLD_S} seconds.", field="hold_limit")
    return changes
