"""An allowlist entry says what it would have matched before it is made."""

import pytest

from missioncontrol.decisions.allowlist import NewAllowlistEntry, preview_entry
from missioncontrol.decisions.models import AllowlistEntry, Decision
from missioncontrol.runs import selectors
from tests.build import a_call, a_project, a_run, a_stuck_run, after, put

pytestmark = pytest.mark.django_db
DAY = 24 * 3600
CALL = 'Bash {"command":"pytest -q"}'


def look(project, pattern, *, match="glob", at=None, **scope):
    asked = NewAllowlistEntry(pattern=pattern, match=match, **scope)
    return preview_entry(project.id, asked, at=at or after(DAY))


def called(result):
    return [(one.call, one.times) for one in result.examples]


def test_calls_are_counted_over_runs_and_the_most_frequent_shown(project):
    put(a_run(project), a_call("npm run build"), a_call("npm run build"), a_call("ls"))
    put(a_run(project), a_call("npm run build --force"))

    found = look(project, "Bash *npm run*")

    assert (found.calls, found.runs, found.looked_at, found.is_whole) == (3, 2, 4, True)
    assert called(found) == [
        ('Bash {"command":"npm run build"}', 2),
        ('Bash {"command":"npm run build --force"}', 1),
    ]


def test_an_exact_call_matches_itself_alone(project):
    put(a_run(project), a_call("pytest -q"), a_call("pytest -q -x"))

    assert look(project, CALL, match="exact").calls == 1


def test_where_nothing_matches_the_calls_that_hold_what_was_typed_are_shown(project):
    put(a_run(project), a_call("npm run build"), a_call("ls"))

    found = look(project, "NPM *build", match="exact")

    assert (found.calls, called(found)) == (0, [('Bash {"command":"npm run build"}', 1)])


def test_the_cards_it_would_have_spared_say_how_they_were_answered(project):
    run = a_stuck_run(project)
    [card] = Decision.objects.filter(run=run)
    card.resolution, card.resolved_by = "terminate", "ana"
    card.save()
    calls = card.evidence["calls"]

    found = look(project, calls[0], match="exact")

    assert (found.cards, found.stopped) == (1, 1)
    assert [(one.run, one.call, one.resolved_by) for one in found.spared] == [
        (run.id, calls[0], "ana")
    ]
    assert look(project, "Bash *nothing like it*").cards == 0


@pytest.mark.parametrize("kind", ["permission", "budget"])
def test_a_card_that_no_entry_spares_is_not_counted(project, kind):
    run = a_stuck_run(project)
    Decision.objects.filter(run=run).update(kind=kind)

    assert look(project, "*").cards == 0


def test_other_projects_and_old_turns_are_not_searched(project):
    put(a_run(a_project("theirs")), a_call("pytest -q"))
    put(a_run(project), a_call("pytest -q"))

    assert look(project, "*").calls == 1
    assert look(project, "*", at=after(31 * DAY)).looked_at == 0


def test_only_the_run_or_the_agent_that_is_named_is_looked_at(project):
    one, other = a_run(project, agent="coder"), a_run(project, agent="critic")
    put(one, a_call("ls"))
    put(other, a_call("ls"), a_call("ls"))

    assert look(project, "*", run=one.id).calls == 1
    assert look(project, "*", agent="critic").calls == 2


@pytest.mark.parametrize(("name", "value", "most"), [("MAX_TURNS", 2, 2), ("MAX_SECONDS", -1, 0)])
def test_a_long_record_is_cut_off_and_says_so(project, monkeypatch, name, value, most):
    monkeypatch.setattr(selectors, name, value)
    put(a_run(project), *(a_call(f"cat {n}") for n in range(5)))

    found = look(project, "*")

    assert (found.looked_at, found.is_whole) == (most, False)


def test_asking_makes_no_entry_and_an_empty_pattern_is_refused(project, operator, as_person):
    put(a_run(project), a_call("pytest -q"))
    client, body = as_person(operator), {"pattern": "", "match": "exact"}

    shown = client.post("/api/v1/allowlist/preview/", body, format="json")
    refused = client.post("/api/v1/allowlist/", body, format="json")

    assert [one["call"] for one in shown.json()["examples"]] == [CALL]
    assert (refused.status_code, refused.json()["field"]) == (400, "pattern")
    assert not AllowlistEntry.objects.exists()


def test_a_pattern_of_many_stars_is_not_slower(project):
    put(a_run(project), *(a_call("a" * 1500) for _ in range(50)))

    assert look(project, "*a" * 40 + "b").is_whole
