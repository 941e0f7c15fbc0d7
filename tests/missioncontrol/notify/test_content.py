"""What asks nothing is told too: a run that only warns, a ceiling that nears its end."""

from __future__ import annotations

from decimal import Decimal

import pytest

from missioncontrol.decisions import organisation
from missioncontrol.notify import content
from missioncontrol.notify.models import Delivery, Notice
from missioncontrol.notify.texts import CATALOGUES, texts_in
from tests.build import NOON, a_call, a_project, a_run, after, report
from tests.missioncontrol.notify.build import a_channel

pytestmark = pytest.mark.django_db


def contents() -> list[content.Card | content.Announcement]:
    return [content.load(notice.content) for notice in Notice.objects.order_by("id")]


def repeat(run, times: int, *, at=None) -> None:
    for _ in range(times):
        call = a_call("pytest -q", error="ModuleNotFoundError: no module 'app.tokens'")
        report(run, call, **({"at": at} if at else {}))


def test_a_run_that_only_warns_tells_people_once_an_hour():
    project = a_project(mode="warn")
    a_channel(project)
    run = a_run(project)

    repeat(run, 8)
    (warning,) = contents()
    repeat(run, 4, at=after(3600))

    assert isinstance(warning, content.Announcement)
    assert warning.title == "fix-auth-tests is repeating"
    assert warning.body.startswith("It keeps running: this run only warns. ")
    assert warning.path == f"/runs/{run.id}"
    assert [notice.what for notice in Notice.objects.all()] == ["warning", "warning"]


def test_a_ceiling_that_nears_its_end_is_told_to_who_hears_of_budgets():
    project = a_project(budget={"usd": "1.00"})
    a_channel(project, name="ops", hears_budgets=False)
    a_channel(project, name="finance", hears_decisions=False)
    run = a_run(project)

    report(run, a_call("ls", cost_usd="0.85"))
    report(run, a_call("pwd", cost_usd="0.01"))

    (notice,) = contents()
    assert isinstance(notice, content.Announcement)
    assert notice.title == "fix-auth-tests is at 85%"
    assert notice.body.startswith("$0.85 of $1.00")
    assert [delivery.target for delivery in Delivery.objects.all()] == ["finance"]


def test_a_shared_ceiling_is_told_once_whoever_comes_near():
    project = a_project(budgets={"day": {"usd": "1.00"}})
    a_channel(project)

    report(a_run(project, name="one"), a_call("ls", cost_usd="0.85"))
    report(a_run(project, name="two"), a_call("ls", cost_usd="0.02"))

    (notice,) = contents()
    assert isinstance(notice, content.Announcement)
    assert (notice.title, notice.path) == ("Day is at 85%", "/costs")


def test_that_the_organisations_nears_its_end_is_told_without_the_sum():
    organisation.set_day_budget(Decimal(10), by="ana", at=NOON)
    project = a_project()
    a_channel(project)

    report(a_run(project), a_call("ls", cost_usd="8.70"))

    (notice,) = contents()
    assert isinstance(notice, content.Announcement)
    assert notice.title == "The organisation is at 80%"
    assert notice.body == "$10.00 a day for all projects."


@pytest.mark.parametrize("language", CATALOGUES)
def test_titles_and_bodies_fit_a_lock_screen(language):
    project = a_project()
    a_channel(project)
    run = a_run(project, name="a name that goes on and on and never comes to its end")
    repeat(run, 3)

    (card,) = contents()
    for step in (0, 15):
        words = content.render_notice(card, texts_in(language), step_minutes=step, at=after(900))
        assert len(words.title) <= content.MAX_TITLE
        assert len(words.body) <= content.MAX_BODY
