"""What people allow three times is offered for good; it is never added by itself."""

from datetime import timedelta

import pytest

from missioncontrol.decisions import allowlist
from missioncontrol.decisions.allowlist import NewAllowlistEntry, list_suggestions
from missioncontrol.decisions.models import AllowlistEntry, Decision
from tests.build import NOON, a_project, a_stuck_run
from tests.missioncontrol.taps import tap

pytestmark = pytest.mark.django_db

CALL = 'Bash {"command":"pytest -q"}'


def let_go(project, times, action="continue", **fields):
    for _ in range(times):
        tap(a_stuck_run(project), action, **fields)


def offered(project, at=NOON):
    return list_suggestions(projects=[project.id], at=at)


def card_of(run):
    return Decision.objects.get(pk=run.open_decision)


def test_an_entry_is_suggested_after_three_releases_not_two(project):
    let_go(project, 2)
    assert offered(project) == []

    let_go(project, 1)
    (suggestion,) = offered(project)
    assert (suggestion.pattern, suggestion.times) == (CALL, 3)
    assert (suggestion.by, suggestion.agents) == (("ana",), ("coder",))


def test_the_next_card_offers_it_and_adds_nothing(project):
    let_go(project, 3)

    run = a_stuck_run(project)

    assert card_of(run).evidence["offer_allowlist"] == {"patterns": [CALL], "times": 3}
    assert AllowlistEntry.objects.count() == 0


def test_a_card_offers_no_entry_before_that(project):
    let_go(project, 2)

    assert card_of(a_stuck_run(project)).evidence["offer_allowlist"] is None


def test_stopped_or_corrected_calls_do_not_count_towards_a_suggestion(project):
    let_go(project, 3, "terminate")
    let_go(project, 3, "inject", message="Look at app/auth/token.py")

    assert offered(project) == []


def test_allowing_it_for_single_runs_counts_and_an_entry_for_all_ends_it(project):
    let_go(project, 3, "allowlist", scope="run")
    assert [one.times for one in offered(project)] == [3]

    every = NewAllowlistEntry(pattern="Bash *", match="glob")
    allowlist.add_entry(project.id, every, by="ana", at=NOON)
    assert offered(project) == []


def test_what_other_projects_allow_is_theirs(project):
    let_go(a_project("theirs"), 3)

    assert offered(project) == []
    assert card_of(a_stuck_run(project)).evidence["offer_allowlist"] is None


def test_releases_are_forgotten_after_three_months(project):
    let_go(project, 3)

    assert offered(project, at=NOON + timedelta(days=91)) == []


def test_members_see_suggestions_and_strangers_do_not(project, as_person, owner, stranger):
    let_go(project, 3)
    path = "/api/v1/allowlist/suggestions/"

    assert [row["pattern"] for row in as_person(owner).get(path).json()["results"]] == [CALL]
    assert as_person(stranger).get(path).json()["results"] == []
