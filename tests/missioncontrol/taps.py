"""A person's tap on a run, what stands after it, and what a run says and spends."""

import json
from decimal import Decimal

from guard.turn import Role, Turn
from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Tap
from missioncontrol.decisions.directives import control_state_of, make_directive, queued_messages
from missioncontrol.decisions.models import Decision
from missioncontrol.runs.models import JournalRow, Run
from tests.build import NOON, a_call, report

BROKER = {"preset": "broker"}


def tap(run, action, *, at=NOON, by="ana", **fields):
    run.refresh_from_db()
    if run.open_decision:
        fields.setdefault("decision", run.open_decision)
    fields.setdefault("key", f"{action}-{run.version}")
    made, _ = interventions.intervene(
        run.id,
        Tap(action=action, version=run.version, **fields),
        projects=[run.project_id],
        by=by,
        at=at,
        owns_project=lambda: True,
    )
    run.refresh_from_db()
    return made


def a_paid_call(dollars, command="ls", **fields):
    return a_call(command, cost_usd=Decimal(dollars), **fields)


def payloads_of(run, kind="budget.crossed"):
    rows = JournalRow.objects.filter(run=run, type=kind).order_by("seq")
    return [json.loads(row.payload) for row in rows]


def open_card_of(run):
    return Decision.objects.get(pk=run.open_decision)


def directive_of(run, *, at=NOON):
    texts = queued_messages(run.id, at=at)
    return make_directive(control_state_of(run), asked_seq=run.meters.last_seq, messages=texts)


def report_messages(
    run: Run, times: int, text: str = "I will look at the parser once more."
) -> Run:
    for _ in range(times):
        run = report(run, Turn(role=Role.ASSISTANT, content=text, agent="coder"))
    return run
