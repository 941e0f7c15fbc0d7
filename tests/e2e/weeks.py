"""Three weeks of work in an installation: stored, judged, answered and paid for as any agent's is.

`python -m tests.e2e.weeks PROJECT`, in the installation's own environment. For pictures: history,
policies, costs and audit show what they are for, and every figure follows from recorded turns.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import django

from tests.e2e.fortnight import PROJECT_BUDGETS, report_days

DAYS = 21
# What each works at, in which model, how many turns a run takes and what a turn costs in dollars.
AGENTS = {
    "claude-code": ("claude-sonnet-4-5", "anthropic", 16, 0.55),
    "codex": ("gpt-5-codex", "openai", 12, 0.44),
    "langgraph": ("gpt-5-mini", "openai", 10, 0.31),
    "openai-agents": ("gpt-5-mini", "openai", 7, 0.16),
    "gemini-cli": ("gemini-2.5-pro", "google", 6, 0.22),
}
# It works today only, at a model that no price list knows.
UNPRICED = {"crewai": ("qwen3", None, 8, None)}
DEEDS = ("fix", "rename", "document", "speed-up", "split", "type", "trace", "migrate")
MODULES = ("auth", "billing", "catalog", "export", "invoices", "ledger", "orders", "search")
ANSWERS = ("inject", "terminate", "continue", "inject", "terminate")
FIX = "The module is app.token. Change the imports, then run the test once."


def steps(module: str, dice: random.Random, count: int) -> Iterator[tuple[str, str]]:
    """Give calls and results that get somewhere; now and then one looks again."""
    done: list[tuple[str, str]] = []
    for n in range(count):
        if done and dice.random() < 0.16:
            yield dice.choice(done)
            continue
        verb = ("cat", "grep -n Session", "pytest -q")[n % 3]
        done.append(
            (
                f"{verb} app/{module}/part_{n}.py",
                " ".join(f"{module}_{dice.randint(100, 999)}" for _ in range(9)),
            )
        )
        yield done[-1]


def stuck(module: str) -> Iterator[tuple[str, str]]:
    """Give one failing test, again and again."""
    for _ in range(6):
        yield f"pytest -q tests/{module}", "E ModuleNotFoundError: No module named 'app.tokens'"


def play(project: Any, agent: str, dice: random.Random, *, at: datetime, now: datetime) -> None:
    """Open a run and let it work until it is done, or a card stops it; answer that."""
    from missioncontrol.decisions import sessions
    from missioncontrol.detection import pipeline
    from missioncontrol.runs.ingest import Arrival, store
    from missioncontrol.runs.services import OpenRun, open_run

    model, provider, count, usd = (AGENTS | UNPRICED)[agent]
    module = dice.choice(MODULES)
    name = f"{dice.choice(DEEDS)}-{module}"
    loops = dice.random() < 0.22
    work = [
        *steps(module, dice, dice.randint(count // 2, count)),
        *(stuck(module) if loops else ()),
    ]
    asked = OpenRun(name=name, agent=agent, goal=f"{name.replace('-', ' the ', 1)} module")
    run, _ = open_run(project, asked, by="agent", at=at)
    for n, (command, result) in enumerate(work):
        at += timedelta(seconds=dice.randint(20, 240))
        if at > now:
            return
        turn = a_turn(command, result, model=model, provider=provider, usd=usd, dice=dice, n=n)
        store([Arrival(run=run.id, project=project.id, turns=(turn,))], at=at)
        pipeline.detect([run.id], at=at)
        run.refresh_from_db()
        if run.open_decision is not None:
            answer(run, dice.choice(ANSWERS), at=at + timedelta(minutes=2))
            break
    sessions.end_session(run.id, at=at + timedelta(minutes=3))


def a_turn(
    command: str,
    result: str,
    *,
    model: str,
    provider: str | None,
    usd: float | None,
    dice: random.Random,
    n: int,
) -> Any:
    from guard.turn import Role, Turn, Usage

    failed = result.startswith("E ")
    return Turn(
        role=Role.ASSISTANT,
        tool="Bash",
        args={"command": command},
        result=None if failed else result,
        error=result if failed else None,
        call_id=f"call-{n}",
        model=model,
        provider=provider,
        usage=Usage(input=dice.randint(800, 5_000), cache_read=21_000, output=300),
        cost_usd=Decimal(str(round(usd * dice.uniform(0.4, 1.7), 6))) if usd else None,
    )


def answer(run: Any, action: Any, *, at: datetime) -> None:
    from missioncontrol.decisions import interventions
    from missioncontrol.decisions.actions import Tap
    from missioncontrol.errors import StaleRun

    tap = Tap(
        key=f"{run.id}-{action}",
        action=action,
        version=run.version,
        decision=run.open_decision,
        message=FIX if action == "inject" else None,
    )
    # A hold of days ago may have ended by the project's own rule meanwhile.
    with suppress(StaleRun):
        interventions.intervene(run.id, tap, projects=[run.project_id], by="ana", at=at)


def main(project_id: str) -> None:
    django.setup()
    from missioncontrol.accounts.models import Project
    from missioncontrol.audit.anchors import anchor_heads

    now = datetime.now(UTC)
    project = Project.objects.get(pk=project_id)
    project.budgets = PROJECT_BUDGETS
    project.save(update_fields=["budgets"])
    dice = random.Random(7)  # noqa: S311 - figures to look at
    for back in reversed(range(DAYS)):
        day = (now - timedelta(days=back)).replace(hour=0, minute=0)
        begins = {
            agent: day + timedelta(minutes=dice.triangular(60, 1300, 700)) for agent in AGENTS
        }
        # As they come: what is listed by id is listed by time.
        for agent, began in sorted(begins.items(), key=lambda one: one[1]):
            if began < now:
                play(project, agent, dice, at=began, now=now)
    for agent in UNPRICED:
        play(project, agent, dice, at=now - timedelta(minutes=25), now=now)
    report_days(project, at=now)
    # A checkpoint of the first minute knows none of them: as old as they are, they look forged.
    anchor_heads(at=now)


if __name__ == "__main__":
    main(*sys.argv[1:])
