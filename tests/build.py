"""Build what a test talks about; say only what matters."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

from guard.turn import Phase, Role, Turn, Usage
from missioncontrol.accounts.models import Membership, Project
from missioncontrol.costs import counting
from missioncontrol.decisions import sessions
from missioncontrol.detection import judging, pipeline
from missioncontrol.runs import journal
from missioncontrol.runs.ingest import Arrival, IngestResult, store
from missioncontrol.runs.models import Run
from missioncontrol.runs.services import OpenRun, open_run

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
_numbers = itertools.count(1)


def after(seconds: float) -> datetime:
    """A moment some seconds past noon."""
    return NOON + timedelta(seconds=seconds)


def a_project(name: str = "payments", **rules: Any) -> Project:
    return Project.objects.create(name=name, created_at=NOON, **rules)


def a_person(name: str, project: Project | None = None, role: str = "owner") -> User:
    user = User.objects.create_user(name)
    if project is not None:
        Membership.objects.create(project=project, user=user, role=role)
    return user


def a_run(project: Project | None = None, **fields: Any) -> Run:
    fields.setdefault("name", "fix-auth-tests")
    run, _ = open_run(project or a_project(), OpenRun(**fields), by="agent", at=NOON)
    return run


def a_call(command: str = "pytest -q", **fields: Any) -> Turn:
    """A finished tool call, unless `phase` says otherwise."""
    fields.setdefault("key", f"call-{next(_numbers)}")
    fields.setdefault("agent", "coder")
    return Turn(role=Role.ASSISTANT, tool="Bash", args={"command": command}, **fields)


def a_proposal(command: str = "pytest -q", **fields: Any) -> Turn:
    return a_call(command, phase=Phase.PROPOSED, **fields)


def put(run: Run, *turns: Turn, at: datetime = NOON) -> IngestResult:
    """Store turns and look at none of them."""
    (stored,) = store([Arrival(run=run.id, project=run.project_id, turns=turns)], at=at)
    if isinstance(stored, Exception):
        raise stored
    return stored


def report(run: Run, *turns: Turn, at: datetime = NOON) -> Run:
    """Store turns and have them judged; return the run as it stands then."""
    put(run, *turns, at=at)
    pipeline.detect([run.id], at=at)
    run.refresh_from_db()
    return run


def judged(run: Run, usd: str | None, *, at: datetime = NOON, **fields: Any) -> None:
    """Have a judge asked about a run, for so many dollars; None: it has no price."""
    charge = {"call_id": "j", "usage": Usage(input=5), "model": "judge-1", "agent": "", **fields}
    cost = None if usd is None else Decimal(usd)
    with journal.lock_runs([run.id], at=at) as tx:
        counting.charge_judge(tx, tx.run(run.id), cost=cost, **charge)


def deliver_messages(
    run: Run, *, at: datetime = NOON, agents: Collection[str] | None = None
) -> list[str]:
    """Have an answer take what is queued for the model, and leave; return the texts."""
    taken = sessions.claim_messages(run.id, at=at, agents=agents) or []
    sessions.record_answer_sent(run.id, None, texts=[text.id for text in taken], at=at)
    return [text.text for text in taken]


def a_stuck_run(project: Project | None = None, *, judged: bool = True, **fields: Any) -> Run:
    """A run whose third identical call has opened a card."""
    run = a_run(project, **fields)
    calls: Sequence[Turn] = [a_call(error="ModuleNotFoundError: no module 'app.tokens'")] * 2
    for call in calls:
        report(run, a_call("pytest -q", error=call.error))
    report(run, a_proposal())
    if judged and run.open_decision:
        judging.judge_card(run.open_decision, at=NOON)
        run.refresh_from_db()
    return run
