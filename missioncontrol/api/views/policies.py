"""A project's policy: its versions, checking a new one, replaying runs under one; recordings, which
are imported from a file and shown like live runs.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from rest_framework.request import Request

from guard.errors import UnreadableRecording
from guard.formats.recording import Recording as Recorded
from missioncontrol.accounts.models import Project
from missioncontrol.accounts.rate_limits import RateLimit
from missioncontrol.api import auth
from missioncontrol.api.agents import fault_of
from missioncontrol.api.auth import By, FoundProject, Projects, ReadableProjects
from missioncontrol.api.otlp import serving as otlp
from missioncontrol.api.rest import Page, get_or_404, page_of
from missioncontrol.api.routing import Router
from missioncontrol.celery import enqueue
from missioncontrol.clock import now
from missioncontrol.costs.ledger import Call
from missioncontrol.decisions import allowlist
from missioncontrol.detection import backtests, policies, recordings, sandbox, scores, tasks
from missioncontrol.detection.backtests import NewBacktest
from missioncontrol.errors import InvalidRequest
from missioncontrol.wire.decisions import AllowlistSuggestion
from missioncontrol.wire.policies import (
    BacktestRow,
    PolicyCheck,
    PolicyScores,
    PolicyVersionRow,
    RecordingRow,
    UnreadEntry,
)

api = Router()

DEFAULT_DAYS = 30
MAX_DAYS = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyToCheck:
    """A policy: an object, or the text of a TOML or JSON file."""

    policy: dict[str, Any] | str


@api.get("projects/<uuid:project_id>/policies/")
def policies_list(request: Request, project: FoundProject) -> Page[PolicyVersionRow]:
    """List the versions of a project's policy, newest first."""
    found = policies.list_versions(project.id).order_by("-id")
    return page_of(request, found, policies.version_row)


@api.get("projects/<uuid:project_id>/policies/<int:number>/")
def policies_read(project: FoundProject, number: int) -> PolicyVersionRow:
    """Show one version."""
    return policies.version_row(policies.find_version(project.id, number))


@api.post("projects/<uuid:project_id>/policies/check/")
def policies_check(body: PolicyToCheck, project: FoundProject) -> PolicyCheck:
    """Check a policy: its errors, or what it would change; nothing is saved."""
    return policies.check_policy(body.policy, project=project)


@api.get("projects/<uuid:project_id>/policies/scores/")
def policies_scores(project: FoundProject, days: int | None) -> PolicyScores:
    """Show the highest stuck score of each recent run, and what people answered."""
    # Limited, not refused: for a range that is too long, the newest part is shown.
    days = DEFAULT_DAYS if days is None else min(max(days, 1), MAX_DAYS)
    return scores.scores_of(project, days=days, at=now())


@api.get("backtest/")
def backtests_list(request: Request, projects: Projects) -> Page[BacktestRow]:
    """List backtests, newest first, without their runs."""
    found = backtests.list_backtests(projects=projects)
    # Each may have replayed hundreds of runs, too many for a list.
    return page_of(request, found, backtests.backtest_summary)


@api.post("backtest/", status=202)
def backtests_ask(request: Request, body: NewBacktest, by: By) -> BacktestRow:
    """Replay recorded runs under a proposed policy and the current one; answers at once."""
    project = Project.objects.get(pk=auth.resolve_writable_project(request, body.project))
    backtest = backtests.request_backtest(project, body, by=by, at=now())
    # In a worker, because recorded turns are judged twice, under both policies.
    enqueue(tasks.backtest.name, str(backtest.id))
    return backtests.backtest_row(backtest)


@api.get("backtest/<uuid:backtest_id>/")
def backtests_read(backtest_id: UUID, projects: ReadableProjects) -> BacktestRow:
    """Show a backtest and its progress."""
    return backtests.backtest_row(
        get_or_404(backtests.list_backtests(projects=projects), backtest_id, "The backtest")
    )


@api.get("allowlist/suggestions/")
def allowlist_suggestions(projects: Projects) -> list[AllowlistSuggestion]:
    """List calls that people continued three times or more; none is allowed automatically."""
    return allowlist.list_suggestions(projects=projects, at=now())


CHUNK_BYTES = 1 << 16
EXPECTED_FILE = (
    "expected a transcript of an agent, as JSON or as text, a turn file, chat messages,"
    " or OTLP JSON"
)
# Each import is read and judged at once.
IMPORT_LIMIT = RateLimit("recordings imported", per_caller=20, total=60)


@api.post("recordings/", takes_file=True)
def recordings_import(
    request: Request, project: UUID | None, name: str | None, by: By
) -> tuple[RecordingRow, bool]:
    """Import a recorded run from the file in the body, called `name`; the same file again
    answers 200 with the run it is.
    """
    project_id = auth.resolve_writable_project(request, project)
    IMPORT_LIMIT.acquire(str(request.user.pk), at=now())
    # Only the file's name: a browser may send its folders too.
    name = Path(name or "recording").name
    hashed = hashlib.sha256()
    with sandbox.import_slot(), tempfile.TemporaryFile() as file:
        # In pieces and unparsed: a transcript may be too large for memory.
        while piece := request._request.read(CHUNK_BYTES):  # noqa: SLF001
            hashed.update(piece)
            file.write(piece)
        sha256 = hashed.hexdigest()
        # Checked before it is read: the same file again costs no more than its hash.
        if (known := recordings.find_imported(project_id, sha256)) is not None:
            return recordings.recording_row(known), False
        recorded, calls = _read_recording(file, name, project_id)
        recording, is_new = recordings.import_recording(
            Project.objects.get(pk=project_id),
            recorded,
            calls,
            projects=auth.writable_projects(request),
            file=name,
            sha256=sha256,
            by=by,
            at=now(),
        )
    unread = tuple(UnreadEntry(entry=one.entry, why=one.why) for one in recorded.unread)
    row = replace(recordings.recording_row(recording, is_new=is_new), unread=unread)
    return row, is_new


@api.get("runs/<uuid:run_id>/recording/")
def recordings_read(run_id: UUID, projects: ReadableProjects) -> RecordingRow:
    """Show an imported run's source, and where a card would have opened."""
    return recordings.show_recording(run_id, projects=projects)


def _read_recording(
    file: io.BufferedRandom, name: str, project: UUID
) -> tuple[Recorded, list[Call]]:
    """Read a file of any known format; its model calls too, where they are separate from turns.

    Raises:
        InvalidRequest: it contains no turns; says what was expected. Or it is too large.
    """
    file.seek(0)
    if otlp.signal_of(file.peek(CHUNK_BYTES)):
        return otlp.read_recording(file.read(), name=Path(name).stem, project=project)
    try:
        recorded = sandbox.read_recording(file, name=name)
    except UnreadableRecording:
        # The first line that is not empty, so that the sender sees how the file begins.
        lines = enumerate(iter(lambda: file.readline(CHUNK_BYTES), b""), 1)
        got = "an empty file"
        for number, line in lines:
            if words := line.decode("utf-8", "replace").strip():
                got = f"{words[:40]!r} in line {number}"
                break
        raise InvalidRequest(f"{name}: {EXPECTED_FILE}, got {got}.", field="file") from None
    # What an agent could not post is not stored from a file either.
    faulty = {place for place, turn in enumerate(recorded.turns) if turn and fault_of(turn)}
    turns = tuple(None if n in faulty else turn for n, turn in enumerate(recorded.turns))
    return replace(recorded, turns=turns, malformed=recorded.malformed + len(faulty)), []
