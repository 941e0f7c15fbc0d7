"""Ceilings of one run and of its agents: warned of, held at, raised, finished."""

from decimal import Decimal

import pytest

from guard.errors import PolicyInvalid
from guard.turn import Role, Turn
from missioncontrol.costs.models import Spend
from missioncontrol.decisions import budgets, deadlines, interventions, sessions
from missioncontrol.decisions.actions import Amount
from missioncontrol.decisions.models import Decision
from missioncontrol.errors import ActionUnavailable, InvalidRequest
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import run_row
from tests.build import NOON, a_call, a_proposal, a_run, after, judged, report
from tests.missioncontrol.taps import a_paid_call, directive_of, open_card_of, payloads_of, tap

pytestmark = pytest.mark.django_db


def test_four_fifths_of_a_budget_are_warned_of_once_and_hold_nobody():
    run = report(a_run(budget={"usd": 10}), a_paid_call(8), a_paid_call("0.5", "pwd"))

    assert run.status == "running"
    assert [(one["level"], one["spent"], one["share"]) for one in payloads_of(run)] == [
        ("warning", "8.00", 0.8)
    ]


def test_the_warning_stands_in_the_runs_row_until_the_budget_moves():
    run = report(a_run(budget={"usd": 10}), a_paid_call(8))
    state = run_row(run, at=NOON).budget_state
    assert (state.scope, state.unit, state.level) == ("run", "usd", "warning")

    tap(run, "allow_budget", amount=Amount(usd=Decimal(10)))

    assert run_row(run, at=NOON).budget_state is None


def test_a_reached_budget_holds_with_a_card_that_names_the_ceiling():
    run = report(a_run(budget={"usd": 10}), a_paid_call(10))

    evidence = open_card_of(run).evidence
    assert run.status == "holding"
    assert (evidence["scope"], evidence["unit"], evidence["spent"], evidence["ceiling"]) == (
        "run",
        "usd",
        "10.00",
        "10.00",
    )


@pytest.mark.parametrize("action", ["continue", "inject"])
def test_a_tap_that_names_no_card_does_not_go_round_a_ceiling(action):
    run = report(a_run(budget={"usd": 10}), a_paid_call(10), a_proposal("pwd"))

    with pytest.raises(ActionUnavailable, match=f"does not offer {action}"):
        tap(run, action, decision=None, message="Try the other file.")

    assert (open_card_of(run).status, directive_of(run).action) == ("open", "hold")


def test_a_card_is_not_answered_with_more_of_what_its_ceiling_does_not_count():
    run = report(a_run(budget={"usd": 10}), a_paid_call(10), a_proposal("pwd"))

    with pytest.raises(InvalidRequest, match="counts usd"):
        tap(run, "allow_budget", amount=Amount(tokens=1000))

    run.refresh_from_db()
    assert (run.budget, directive_of(run).action) == ({"usd": 10}, "hold")


@pytest.mark.parametrize("cost", [10, 12])
def test_a_budget_that_is_spent_to_its_end_is_told_as_reached(cost):
    run = report(a_run(budget={"usd": 10}), a_paid_call(cost))

    assert [(one["level"], one["share"]) for one in payloads_of(run)] == [("reached", 1.0)]


def test_only_a_runs_own_budget_counts_its_time():
    assert budgets.check_budgets({"run": {"seconds": 60}})["run"] == {"seconds": 60}

    with pytest.raises(PolicyInvalid, match=r"budgets\.day\.seconds"):
        budgets.check_budgets({"day": {"seconds": 60}})


def test_a_call_is_held_before_it_runs_when_its_model_call_used_the_rest():
    run = report(a_run(budget={"usd": 1}), a_proposal(cost_usd=Decimal(1)))

    assert (run.status, directive_of(run).action) == ("holding", "hold")


def test_the_judges_cost_is_counted():
    run = report(a_run(budget={"usd": 1}), a_paid_call("0.2"))
    judged(run, "0.9")
    run.refresh_from_db()

    run = report(run, a_call("pwd"))

    assert run.meters.judge_cost_usd == Decimal("0.9")
    assert open_card_of(run).evidence["spent"] == "1.10"


def test_a_judges_call_is_charged_once():
    run = a_run()
    for _ in range(2):
        judged(run, "1")
    run.refresh_from_db()

    assert run.meters.judge_cost_usd == 1
    assert Spend.objects.get(scope="project").usd == 1


def test_turns_that_only_were_proposed_are_no_turns_yet():
    run = report(a_run(budget={"turns": 1}), a_proposal(key="a"))
    assert run.status == "running"

    run = report(run, a_call(key="a", result="fine"))

    assert open_card_of(run).evidence["unit"] == "turns"


def test_run_time_leaves_out_the_hours_a_person_took_to_answer():
    run = report(a_run(budget={"seconds": 600}), a_call("ls"))
    tap(run, "pause", at=after(60))
    tap(run, "continue", at=after(3660))

    run = report(run, a_call("pwd"), at=after(3700))
    assert run.status == "running"

    run = report(run, a_call("id"), at=after(4300))
    assert open_card_of(run).evidence["unit"] == "seconds"


def test_a_budget_of_time_that_is_long_over_is_raised_so_that_something_is_left():
    run = report(a_run(budget={"seconds": 60}), a_call("ls"), at=after(1000))

    tap(run, "allow_budget", at=after(1000), amount=Amount(seconds=30))

    assert run.budget["seconds"] == 1030


@pytest.mark.parametrize(("spent", "ceiling"), [("60", "90"), ("85", "115"), ("119.27", "149.27")])
def test_so_much_more_may_be_spent_as_the_tap_allows(spent, ceiling):
    run = report(a_run(budget={"usd": 60}), a_paid_call(spent))

    tap(run, "allow_budget", amount=Amount(usd=Decimal(30)))

    assert Decimal(run.budget["usd"]) == Decimal(ceiling)


def test_failures_in_a_row_begin_anew_after_a_person_spoke():
    run = report(a_run(budget={"failures": 3}), a_call("a", error="x"), a_call("b", error="y"))
    run = report(run, Turn(role=Role.USER, content="try the other one"))

    run = report(run, a_call("c", error="z"))

    assert (run.status, run.meters.failures) == ("running", 1)


def test_an_allowed_continue_begins_a_new_row_of_failures():
    run = report(a_run(budget={"failures": 2}), a_call("a", error="x"), a_call("b", error="y"))

    tap(run, "allow_budget", amount=Amount(failures=1))

    assert (run.status, run.meters.failures, run.budget["failures"]) == ("running", 0, 3)


def test_an_agent_of_a_run_is_held_at_its_own_ceiling():
    run = a_run(budget={"agents": {"critic": {"calls": 2}}})
    run = report(run, *[a_call(f"cat {n}", agent="coder") for n in range(4)])
    assert run.status == "running"

    run = report(run, a_call("ls", agent="critic"), a_call("pwd", agent="critic"))

    evidence = open_card_of(run).evidence
    assert (evidence["scope"], evidence["whose"], evidence["ceiling"]) == ("run", "critic", "2")


def test_more_for_an_agent_of_a_run_raises_its_ceiling_only():
    run = a_run(budget={"calls": 50, "agents": {"*": {"calls": 1}}})
    run = report(run, a_call("ls", agent="critic"))

    tap(run, "allow_budget", amount=Amount(calls=5))

    assert run.budget == {"calls": 50, "agents": {"*": {"calls": 1}, "critic": {"calls": 6}}}


def test_a_flagged_card_that_a_person_turns_into_a_hold_says_when_it_expires():
    run = report(a_run(mode="flag", budget={"calls": 1}), a_call("ls"))
    assert open_card_of(run).expires_at is None

    tap(run, "pause", at=after(10))

    assert open_card_of(run).expires_at == run.hold.expires_at == after(10 + 3600)
    assert payloads_of(run, "intervention.made")[0]["expires_at"] == "2026-11-21T13:00:10Z"


def test_a_hold_at_a_budget_that_nobody_answers_stops_the_run():
    run = report(a_run(budget={"calls": 1}), a_call("ls"))

    deadlines.expire_unanswered_holds(at=after(3601))

    run.refresh_from_db()
    assert run.status == "stopping"


# --- finishing ----------------------------------------------------------------


def test_finish_answers_the_held_call_with_a_text_and_lets_two_turns_through():
    run = report(a_run(budget={"usd": 1}), a_proposal(cost_usd=Decimal(1)))

    tap(run, "finish")

    answer = directive_of(run)
    assert (answer.action, answer.call) == ("proceed", "skip")
    assert "one last message" in answer.messages[0].text
    assert Decision.objects.get().resolution == "finish"


def test_an_agent_asked_to_finish_is_not_held_again_while_it_sums_up():
    run = report(a_run(budget={"usd": 1}), a_proposal(cost_usd=Decimal(1)))
    tap(run, "finish")

    run = report(run, Turn(role=Role.ASSISTANT, content="Half is done.", cost_usd=Decimal(1)))

    assert (run.status, run.open_decision) == ("running", None)


def test_an_agent_that_finishes_in_time_has_completed():
    run = report(a_run(budget={"usd": 1}), a_proposal(cost_usd=Decimal(1)))
    tap(run, "finish")
    report(run, Turn(role=Role.ASSISTANT, content="Half is done."))

    run = interventions.report_end(
        run.id, "completed", projects=[run.project_id], by="agent", at=after(9)
    )

    assert run.status == "completed"


def test_an_agent_that_goes_on_after_its_last_turns_is_stopped():
    run = report(a_run(budget={"usd": 1}), a_proposal(cost_usd=Decimal(1)))
    tap(run, "finish")
    run = report(run, a_call("ls", result="a"), a_call("pwd", result="b"))
    assert run.status == "running"

    run = report(run, a_proposal("rm -r build"))

    assert (run.status, directive_of(run).action, directive_of(run).call) == (
        "stopping",
        "stop",
        "skip",
    )


def test_a_persons_own_words_may_replace_ours():
    run = report(a_run(budget={"calls": 1}), a_call("ls"))

    tap(run, "finish", message="Write what you found into NOTES.md.")

    assert directive_of(run).messages[0].text == "Write what you found into NOTES.md."


def test_an_agent_that_takes_no_text_cannot_be_asked_to_finish():
    run = report(a_run(budget={"calls": 1}, capabilities={"inject": []}), a_call("ls"))

    with pytest.raises(ActionUnavailable, match="takes no text"):
        tap(run, "finish")


def test_more_budget_after_all_lifts_the_end():
    run = report(a_run(budget={"calls": 1}), a_call("ls"))
    tap(run, "finish")

    tap(run, "allow_budget", amount=Amount(calls=50))

    run = report(run, *[a_call(f"cat {n}", result=f"{n}") for n in range(4)])
    assert run.status == "running"


# --- what is set later ----------------------------------------------------------


@pytest.mark.parametrize("ends", ["completed", "failed"])
def test_a_budget_set_later_does_not_rewrite_a_finished_run(project, ends):
    run = report(a_run(project, budget={"calls": 9}), a_call("ls", cost_usd=Decimal("31.72")))
    interventions.report_end(run.id, ends, projects=[project.id], by="agent", at=after(9))

    project.budget = {"usd": "5"}
    project.save()

    assert shown(run).budget == {"calls": 9}
    report(run, a_call("pwd"), at=after(10))
    assert shown(run).budget == {"usd": "5", "calls": 9}


def test_a_budget_taken_away_later_still_shows_what_a_run_ended_under(project):
    project.budget = {"usd": "5"}
    project.save()
    run = report(a_run(project), a_call("ls"))
    sessions.end_session(run.id, at=after(9))

    project.budget = {}
    project.save()

    assert shown(run).budget == {"usd": "5"}


def shown(run):
    return run_row(Run.objects.select_related("project").get(pk=run.pk), at=after(60))
