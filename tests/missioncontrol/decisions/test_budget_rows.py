"""One change of a budget is one row of who changed it, with figures."""

import json
from decimal import Decimal

import pytest

from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Amount, Tap
from missioncontrol.projects import rules
from missioncontrol.runs.models import JournalRow
from tests.build import a_call, a_run, after, report

pytestmark = pytest.mark.django_db


def rows_by(name, at):
    rows = JournalRow.objects.filter(by=name, at=at).order_by("id")
    return [(row.type, json.loads(row.payload)) for row in rows]


def held_by_its_budget(project, **budget):
    run = a_run(project, **({"budget": budget} if budget else {}))
    report(run, a_call("ls", cost_usd=Decimal(5)), a_call("pwd"))
    assert run.open_decision is not None
    return run


def raise_budget(run, project, **more):
    tap = Tap(
        key="k",
        action="allow_budget",
        decision=run.open_decision,
        version=run.version,
        amount=Amount(**more),
    )
    interventions.intervene(run.id, tap, projects=[project.id], by="ana", at=after(9))


def test_a_projects_budget_is_one_row_though_many_runs_follow_it(project):
    for _ in range(3):
        a_run(project)

    rules.change_project(project.id, {"budget": {"usd": "8"}}, by="ana", at=after(9))

    ((kind, payload),) = rows_by("ana", after(9))
    assert (kind, payload["before"], payload["after"]) == ("policy.changed", {}, {"usd": "8"})
    assert [payload["budget"] for _, payload in rows_by("policy", after(9))] == [{"usd": "8"}] * 3


def test_a_runs_raised_budget_is_one_row_with_figures(project):
    run = held_by_its_budget(project, usd="5")

    raise_budget(run, project, usd=Decimal(3))

    with_budget = [payload for kind, payload in rows_by("ana", after(9)) if payload.get("budget")]
    assert with_budget == []
    (raised,) = [
        payload["raised"] for kind, payload in rows_by("ana", after(9)) if "raised" in payload
    ]
    assert raised == {"usd": ["5", "8"]}


def test_a_shared_budget_that_a_card_raises_is_one_row_with_figures(project):
    shared = {"budgets": {"project": {"usd": "5"}}}
    rules.change_project(project.id, shared, by="olu", at=after(1))
    run = held_by_its_budget(project)

    raise_budget(run, project, usd=Decimal(3))

    rows = rows_by("ana", after(9))
    (rule,) = [payload for kind, payload in rows if kind == "policy.changed"]
    assert (rule["before"]["project"], rule["after"]["project"]) == ({"usd": "5"}, {"usd": "8"})
    (tap,) = [payload for kind, payload in rows if kind == "intervention.made"]
    assert tap["raised"] is None  # said once, where it changed: on the project's chain


def test_another_answer_raises_nothing(project):
    run = a_run(project)
    tap = Tap(key="k", action="pause", version=run.version)

    interventions.intervene(run.id, tap, projects=[project.id], by="ana", at=after(9))

    (payload,) = [
        payload for kind, payload in rows_by("ana", after(9)) if kind == "intervention.made"
    ]
    assert payload["raised"] is None
