"""A month of runs for the demo's policy page, stored and judged like those of any agent."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import chain

from guard.turn import Role, Turn
from missioncontrol.accounts.models import Project
from missioncontrol.decisions import interventions, sessions
from missioncontrol.decisions.actions import Tap
from missioncontrol.detection import pipeline
from missioncontrol.errors import StaleRun
from missioncontrol.runs.ingest import Arrival, store
from missioncontrol.runs.models import Run
from missioncontrol.runs.services import OpenRun, open_run
from missioncontrol.wire.decisions import InterventionAction

DAYS = 29
# The same month wherever the demo runs.
SEED = 11
MODULES = (
    "auth",
    "billing",
    "catalog",
    "export",
    "invoices",
    "ledger",
    "orders",
    "search",
    "users",
)
TASKS = ("fix", "rename", "document", "speed-up", "test", "split", "type", "trace")
# By day: how a person, asked or not, ended a run that repeated its reads; None: it ended by itself.
STUCK: dict[int, InterventionAction | None] = {
    2: "inject",
    6: None,
    9: "terminate",
    13: "continue",
    17: "inject",
    21: "terminate",
    24: "continue",
    26: None,
}
# How many reads it repeats at most: a card stops it.
AGAIN = {2: 8, 6: 4, 9: 8, 13: 8, 17: 8, 21: 3, 24: 8, 26: 4}


def has_past(project: Project, *, at: datetime) -> bool:
    """Return whether the month was recorded before."""
    # Older than two days: today's runs are the demo agents', whether or not the month was recorded.
    return Run.objects.filter(project=project, started_at__lt=at - timedelta(days=2)).exists()


def record_month(project: Project, *, at: datetime) -> None:
    """Record the runs of the last 29 days, always the same; the owner answers their cards."""
    dice = random.Random(SEED)  # noqa: S311 - figures to look at
    for day in range(DAYS):
        began = at - timedelta(days=DAYS - day, hours=dice.uniform(0, 8))
        for _ in range(dice.choice((1, 2, 2, 3))):
            began += timedelta(hours=dice.uniform(0.3, 3))
            module = dice.choice(MODULES)
            name = f"{dice.choice(TASKS)}-{module}"
            # It reads on, and now and then reads a page again.
            pages = [_page(module, n, dice, news=dice.choice((2, 4, 12))) for n in range(12)]
            more = (
                dice.choice(pages[:n]) if dice.random() < dice.choice((0.1, 0.4)) else pages[n]
                for n in range(2, dice.randint(4, 10))
            )
            _play(project, name, chain(pages[:2], more), began, ends=None)
        if day in STUCK:
            module = MODULES[day % len(MODULES)]
            # It reads, and then reads the same pages again in another order.
            pages = [_page(module, n, dice, news=12) for n in range(8)]
            again = pages.copy()
            dice.shuffle(again)
            work, began = [*pages, *again[: AGAIN[day]]], began + timedelta(hours=1)
            _play(project, f"fix-{module}-tests", work, began, ends=STUCK[day])


def _page(module: str, n: int, dice: random.Random, *, news: int) -> Turn:
    names = " ".join(f"{module}_{dice.randint(100, 999)}" for _ in range(news))
    return Turn(
        role=Role.ASSISTANT,
        tool="Bash",
        args={"command": f"cat app/{module}/part_{n}.py"},
        result=f"class Part{n}: {names}",
    )


def _play(
    project: Project,
    name: str,
    work: Iterable[Turn],
    at: datetime,
    *,
    ends: InterventionAction | None,
) -> None:
    """Have the turns judged one by one, in order; stop at a card and answer it."""
    run, _ = open_run(project, OpenRun(name=name, agent="claude-code"), by="agent", at=at)
    for turn in work:
        # As long as a real agent's turn, so that costs per hour and idle times are realistic.
        at += timedelta(seconds=40)
        store([Arrival(run=run.id, project=project.id, turns=(turn,))], at=at)
        pipeline.detect([run.id], at=at)
        # Judging uses transactions of its own, so this object is stale.
        run.refresh_from_db()
        # The rest of the work is not generated: random numbers are drawn only for turns that are
        # made.
        if run.open_decision is not None:
            _tap(run, ends or "continue", at=at)
            break
    else:
        if ends is not None:
            _tap(run, ends, at=at)
    for message in run.messages.all():
        sessions.record_message_read(run.id, message.id, project=project.id, at=at)
    sessions.end_session(run.id, at=at)


def _tap(run: Run, action: InterventionAction, *, at: datetime) -> None:
    text = "The module is app.token. Change the imports." if action == "inject" else None
    tap = Tap(
        key=f"{run.id}-{action}",
        action=action,
        version=run.version,
        decision=run.open_decision,
        message=text,
    )
    # Its card is old when it opens: the policy may end a hold of days ago first.
    with suppress(StaleRun):
        interventions.intervene(run.id, tap, projects=[run.project_id], by="owner", at=at)
