"""Three weeks of model calls, loops and stops in an installation's database.

`python -m tests.e2e.fortnight PROJECT [reports]`, in the installation's own environment: nobody can
report a past day over the wire, so a test that looks at weeks writes them here. Always the
same figures, counted back from now. With `reports`, the report of every past day too.
"""

from __future__ import annotations

import random
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import django

AGENTS = {
    "claude-code": ("claude-sonnet-4-5", 38, 11.4),
    "codex": ("gpt-5-codex", 26, 8.2),
    "langgraph": ("gpt-5-mini", 20, 5.0),
    "openai-agents": ("gpt-5-mini", 9, 1.8),
    "gemini-cli": ("gemini-2.5-pro", 6, 1.2),
}
DAYS = 21
EVIDENCE = {
    "summary": "It ran the same test 3 times and got the same error.",
    "turns": [1, 2, 3],
    "items": [],
    "calls": ["Bash pytest -q"],
    "repeats": 3,
    "limit": 3,
    "similarity": 1.0,
    "threshold": None,
    "changed": None,
    "spent": None,
    "ceiling": None,
    "unit": None,
    "cost_usd": "0.24",
}
PROJECT_BUDGETS = {"day": {"usd": "60"}}


def spread(project, dice, *, at):
    from missioncontrol.runs.models import ModelCall, Run, RunMeters
    from missioncontrol.runs.services import OpenRun, open_run

    for back in reversed(range(DAYS)):
        day = at - timedelta(days=back)
        weight = dice.uniform(0.7, 1.35)
        for agent, (model, count, usd) in AGENTS.items():
            run, _ = open_run(
                project, OpenRun(name=f"{agent} {back}", agent=agent), by="agent", at=day
            )
            Run.objects.filter(pk=run.pk).update(status="completed", ended_at=day)
            RunMeters.objects.filter(pk=run.pk).update(model=model)
            midnight = day.replace(hour=0, minute=0)
            minutes = sorted(dice.triangular(0, 1439, 800) for _ in range(count))
            calls = [
                ModelCall(
                    run=run,
                    project=project,
                    call_id=f"{agent}-{back}-{n}",
                    agent=agent,
                    model=model,
                    at=midnight + timedelta(minutes=minute),
                    input_tokens=4000,
                    output_tokens=300,
                    cache_read_tokens=21000,
                    cost_usd=Decimal(str(round(usd * weight / count * dice.uniform(0.5, 1.5), 6))),
                )
                for n, minute in enumerate(minutes)
            ]
            ModelCall.objects.bulk_create(call for call in calls if call.at <= at)
            loops(
                run, dice.choice((0, 0, 1, 1, 2)), dice, at=min(at, midnight + timedelta(hours=9))
            )
    run, _ = open_run(project, OpenRun(name="crew of two", agent="crewai"), by="agent", at=at)
    fields = {"run": run, "project": project, "at": at}
    ModelCall.objects.create(
        **fields, call_id="q1", agent="crewai", model="qwen3", input_tokens=9000, output_tokens=400
    )
    ModelCall.objects.create(
        **fields,
        call_id="j1",
        agent="claude-code",
        model="gpt-5-mini",
        source="judge",
        cost_usd=Decimal("0.11"),
        input_tokens=900,
        output_tokens=80,
    )


def loops(run, count, dice, *, at):
    """Cards of a run: a third of them stopped, the others left to themselves."""
    from missioncontrol.decisions.models import Decision
    from missioncontrol.runs.models import Run, RunMeters

    length = dice.randint(20, 90)
    resolution = dice.choice(("terminate", "ended", "continue"))
    turns = 6 if resolution == "terminate" else length
    status = "terminated" if resolution == "terminate" else "completed"
    Run.objects.filter(pk=run.pk).update(status=status)
    RunMeters.objects.filter(pk=run.pk).update(
        last_seq=turns, done_turns=turns, cost_usd=Decimal(2)
    )
    for n in range(count):
        opened = at + timedelta(minutes=n)
        Decision.objects.create(
            run=run,
            status="resolved",
            kind="exact_repeat",
            detector="repeat",
            holds=True,
            agent=run.agent,
            signal={},
            version=1,
            opened_at=opened,
            resolved_at=opened,
            resolution=resolution,
            resolved_by="ana",
            evidence=EVIDENCE,
        )


def report_days(project, *, at):
    from missioncontrol.reports import daily

    for back in range(1, DAYS - 7):
        daily.make_report(project, (at - timedelta(days=back)).date(), at=at)


def main(project_id: str, *wanted: str) -> None:
    django.setup()
    from missioncontrol.accounts.models import Project

    at = datetime.now(UTC)

    project = Project.objects.get(pk=project_id)
    project.budgets = PROJECT_BUDGETS
    project.save(update_fields=["budgets"])
    spread(project, random.Random(7), at=at)  # noqa: S311 - figures to look at
    if "reports" in wanted:
        report_days(project, at=at)


if __name__ == "__main__":
    main(*sys.argv[1:])
