"""What a person taps, and what follows."""

from datetime import timedelta

import pytest
from pydantic import ValidationError

from missioncontrol.decisions import deadlines, interventions, rows, sessions
from missioncontrol.decisions.actions import Amount, Tap
from missioncontrol.decisions.directives import CLAIM_LEASE
from missioncontrol.decisions.models import AllowlistEntry, Decision, Intervention
from missioncontrol.errors import (
    ActionUnavailable,
    InvalidRequest,
    KeyReused,
    NoSuchMove,
    NotFound,
    StaleRun,
)
from missioncontrol.runs.models import JournalRow
from missioncontrol.runs.models import Turn as TurnRow
from missioncontrol.wire.rows import from_json
from tests.build import (
    NOON,
    a_call,
    a_proposal,
    a_run,
    a_stuck_run,
    after,
    deliver_messages,
    report,
)
from tests.missioncontrol.taps import directive_of

pytestmark = pytest.mark.django_db


def tap(run, action, **fields):
    fields.setdefault("key", f"tap-{action}")
    fields.setdefault("version", run.version)
    if run.open_decision:
        fields.setdefault("decision", run.open_decision)
    made, is_new = interventions.intervene(
        run.id, Tap(action=action, **fields), projects=[run.project_id], by="ana", at=NOON
    )
    run.refresh_from_db()
    return made, is_new


def test_continue_lets_the_held_call_run():
    run = a_stuck_run()

    tap(run, "continue")

    assert (directive_of(run).action, directive_of(run).call) == ("proceed", "run")
    assert Decision.objects.get().resolution == "continue"


def test_continue_starts_the_count_afresh():
    run = a_stuck_run()
    tap(run, "continue")

    run = report(run, a_call(error="ModuleNotFoundError"))

    assert run.open_decision is None


def test_inject_skips_the_held_call_and_queues_the_text():
    run = a_stuck_run()

    tap(run, "inject", message="The file is token.py.")

    answer = directive_of(run)
    assert (answer.action, answer.call) == ("proceed", "skip")
    assert [message.text for message in answer.messages] == ["The file is token.py."]
    assert TurnRow.objects.get(phase="proposed").skipped


def test_a_call_proposed_after_the_correction_runs():
    run = a_stuck_run()
    tap(run, "inject", message="The file is token.py.")

    run = report(run, a_proposal("cat app/token.py"))

    assert directive_of(run).call == "run"


def test_terminate_asks_the_agent_to_stop_for_good():
    run = a_stuck_run()

    tap(run, "terminate")

    assert (run.status, directive_of(run).action) == ("stopping", "stop")


def test_a_termination_is_known_once_the_agent_reports_its_end():
    run = a_stuck_run()
    tap(run, "terminate")

    run = interventions.report_end(run.id, "failed", projects=[run.project_id], by="agent", at=NOON)

    assert run.status == "terminated"
    assert JournalRow.objects.filter(type="session.terminated").count() == 1
    assert Intervention.objects.get().status == "acknowledged"


def test_turns_of_a_terminated_run_are_stored_and_answered_with_stop():
    run = a_stuck_run()
    tap(run, "terminate")
    interventions.report_end(run.id, "failed", projects=[run.project_id], by="agent", at=NOON)

    run = report(run, a_call("still here"))

    assert (run.status, directive_of(run).action) == ("terminated", "stop")


def test_allowlist_makes_an_entry_of_the_repeated_call():
    run = a_stuck_run()

    tap(run, "allowlist")

    entry = AllowlistEntry.objects.get()
    assert "pytest -q" in entry.pattern
    assert directive_of(run).call == "run"


def test_an_allowlist_tap_that_would_be_over_at_once_leaves_the_card_open():
    run = a_stuck_run()

    with pytest.raises(InvalidRequest, match="expires_at: expected a time in the future"):
        tap(run, "allowlist", expires_at=NOON)

    run.refresh_from_db()
    assert (directive_of(run).action, AllowlistEntry.objects.count()) == ("hold", 0)


@pytest.mark.parametrize("scope", ["run", "agent", "project"])
def test_an_entry_names_the_run_or_the_agent_that_it_is_for_and_no_more(scope):
    run = a_stuck_run()

    tap(run, "allowlist", scope=scope)

    entry = AllowlistEntry.objects.get()
    named = {"run": (run.id, None), "agent": (None, run.agent), "project": (None, None)}
    assert (entry.run_id, entry.agent) == named[scope]


def test_an_allowed_call_is_not_flagged_again_and_its_hit_is_counted():
    run = a_stuck_run()
    tap(run, "allowlist")

    for _ in range(4):
        run = report(run, a_call("pytest -q", error="ModuleNotFoundError"))

    assert run.open_decision is None
    assert AllowlistEntry.objects.get().hits > 0


def test_allow_budget_raises_the_ceiling_and_releases_the_agent():
    run = report(a_run(budget={"calls": 2}), a_call("ls"), a_call("pwd"))

    tap(run, "allow_budget", amount=Amount(calls=5))

    assert (run.status, run.budget["calls"]) == ("running", 7)


def test_pause_holds_a_running_agent_without_a_card():
    run = a_run()

    tap(run, "pause", version=None)

    assert (run.status, directive_of(run).action) == ("holding", "hold")


def test_the_stop_button_works_without_a_version():
    run = a_stuck_run()

    tap(run, "terminate", version=None, decision=None)

    assert run.status == "stopping"


def test_the_same_key_and_body_answers_the_first_result_again():
    run = a_stuck_run()
    seen = {"version": run.version, "decision": run.open_decision}

    first, is_new = tap(run, "continue", **seen)
    again, is_new_again = tap(run, "continue", **seen)

    assert (is_new, is_new_again) == (True, False)
    assert again.id == first.id
    assert Intervention.objects.count() == 1


def test_the_same_key_with_another_body_is_refused():
    run = a_stuck_run()
    seen = {"version": run.version, "decision": run.open_decision, "key": "k"}
    tap(run, "continue", **seen)

    with pytest.raises(KeyReused):
        tap(run, "terminate", **seen)


def test_a_tap_on_a_stale_card_is_refused_and_says_who_answered():
    run = a_stuck_run()
    seen = {"version": run.version, "decision": run.open_decision}
    tap(run, "continue", **seen)

    with pytest.raises(StaleRun, match="ana answered it with continue") as refused:
        tap(run, "terminate", key="other", **seen)

    assert refused.value.decision.status == "resolved"
    assert refused.value.run.version == run.version


@pytest.mark.parametrize("action", ["continue", "allowlist", "inject", "allow_budget"])
def test_every_action_but_pause_and_terminate_needs_the_version(action):
    run = a_stuck_run()

    with pytest.raises(InvalidRequest, match="version"):
        tap(run, action, version=None)


def test_inject_needs_a_text():
    with pytest.raises(InvalidRequest, match="message"):
        tap(a_stuck_run(), "inject", message="  ")


def test_what_the_agent_cannot_do_is_refused_with_the_reason():
    run = a_stuck_run(capabilities={"terminate": False})

    with pytest.raises(ActionUnavailable, match="cannot be ended"):
        tap(run, "terminate")


def test_terminating_a_run_is_refused_if_its_agent_cannot_be_ended():
    run = a_run(capabilities={"terminate": "not", "why": {"terminate": "Codex does not listen."}})

    with pytest.raises(ActionUnavailable, match="Codex does not listen"):
        tap(run, "terminate")


def test_capabilities_an_adapter_learns_later_allow_what_was_refused():
    run = a_stuck_run(capabilities={"terminate": "not", "inject": []})
    sessions.store_capabilities(run.id, {"terminate": "signal"}, at=after(1))

    run.refresh_from_db()
    assert run.capabilities == {"terminate": "signal", "inject": []}
    assert rows.offered_actions("exact_repeat", True, run) == ("continue", "allowlist", "terminate")


def test_an_ended_run_takes_no_continue():
    run = a_run()
    interventions.report_end(run.id, "completed", projects=[run.project_id], by="agent", at=NOON)
    run.refresh_from_db()

    with pytest.raises(NoSuchMove):
        tap(run, "continue")


def test_a_strangers_run_does_not_exist():
    run = a_stuck_run()

    with pytest.raises(NotFound):
        interventions.intervene(
            run.id, Tap(key="k", action="terminate"), projects=[], by="sam", at=NOON
        )


def test_an_unanswered_hold_stops_the_agent():
    run = a_stuck_run()

    deadlines.expire_unanswered_holds(at=after(3601))

    run.refresh_from_db()
    assert run.status == "stopping"
    assert Decision.objects.get().status == "expired"


def test_an_unanswered_hold_is_released_if_the_project_says_so(project):
    project.unanswered = "proceed"
    project.save()
    run = a_stuck_run(project)

    deadlines.expire_unanswered_holds(at=after(3601))

    run.refresh_from_db()
    assert run.status == "running"


def test_a_waiting_agent_is_known_to_be_held():
    run = a_stuck_run()
    version = run.version

    sessions.record_waiting(run.id, at=NOON)

    run.refresh_from_db()
    assert (run.status, run.version) == ("held", version)


def test_an_agent_without_an_open_request_for_ten_seconds_gave_up():
    run = a_stuck_run()
    sessions.record_waiting(run.id, at=NOON)

    deadlines.give_up_abandoned_holds(at=after(9))
    run.refresh_from_db()
    assert run.status == "held"

    deadlines.give_up_abandoned_holds(at=after(11))
    run.refresh_from_db()
    assert run.status == "holding"
    assert JournalRow.objects.filter(type="hold.abandoned").count() == 1


def test_a_run_that_falls_silent_is_lost_and_comes_back():
    run = report(a_run(), a_call("ls"))

    deadlines.lose_silent_runs(at=NOON + timedelta(minutes=31), listening_since=NOON)
    run.refresh_from_db()
    assert run.status == "lost"

    run = report(run, a_call("pwd"), at=NOON + timedelta(minutes=32))
    assert run.status == "running"


@pytest.mark.parametrize(
    ("action", "ends", "answer"),
    [("continue", "lost", "unreachable"), ("terminate", "terminated", "acknowledged")],
)
def test_an_agent_that_falls_silent_took_an_answer_only_if_it_was_to_stop(action, ends, answer):
    run = a_stuck_run()
    tap(run, action)

    deadlines.lose_silent_runs(at=NOON + timedelta(minutes=31), listening_since=NOON)

    run.refresh_from_db()
    made = Intervention.objects.get()
    assert (run.status, run.meters.presence, made.status) == (ends, "gone", answer)
    assert bool(made.acknowledged_at) is (answer == "acknowledged")


def test_an_answer_is_asked_then_delivered_then_acknowledged():
    run = a_stuck_run()
    tap(run, "continue")

    sessions.record_answer_sent(run.id, run.meters.unconfirmed, at=NOON)
    assert Intervention.objects.get().status == "delivered"

    report(run, a_call("pytest -q", result="passed"))
    assert Intervention.objects.get().status == "acknowledged"


def test_an_acknowledged_answer_stays_acknowledged_when_delivery_is_reported_late():
    run = a_stuck_run()
    tap(run, "continue")
    report(run, a_call("pytest -q", result="passed"))

    sessions.record_answer_sent(run.id, run.meters.unconfirmed, at=NOON)

    assert Intervention.objects.get().status == "acknowledged"


def test_a_message_is_claimed_by_one_answer_only():
    run = a_stuck_run()
    tap(run, "inject", message="The file is token.py.")

    first = sessions.claim_messages(run.id, at=NOON)
    second = sessions.claim_messages(run.id, at=NOON)

    assert (len(first), second) == (1, None)


def test_a_repeated_request_gets_the_messages_that_went_with_the_first():
    run = a_stuck_run()
    tap(run, "inject", message="The file is token.py.")
    (first,) = sessions.claim_messages(run.id, at=NOON, obs=5)
    sessions.record_answer_sent(run.id, None, texts=[first.id], at=NOON)

    assert sessions.claim_messages(run.id, at=NOON, obs=5, is_repeat=True) == [first]
    assert sessions.claim_messages(run.id, at=NOON, obs=4, is_repeat=True) == []
    assert sessions.claim_messages(run.id, at=NOON, obs=6) == []


def test_a_message_claimed_by_a_killed_process_is_claimed_again():
    run = a_stuck_run()
    tap(run, "inject", message="The file is token.py.")
    sessions.claim_messages(run.id, at=NOON)

    (again,) = sessions.claim_messages(run.id, at=NOON + CLAIM_LEASE)

    assert again.text == "The file is token.py."


def test_a_message_claimed_before_the_clock_was_set_back_is_claimed_again():
    run = a_stuck_run()
    tap(run, "inject", message="The file is token.py.")
    sessions.claim_messages(run.id, at=after(3600))

    assert sessions.claim_messages(run.id, at=NOON) is not None


def test_a_delivered_message_is_not_delivered_again():
    run = a_stuck_run()
    tap(run, "inject", message="The file is token.py.")
    deliver_messages(run)

    assert deliver_messages(run, at=NOON + 2 * CLAIM_LEASE) == []


@pytest.mark.parametrize("budget", [{}, {"calls": None}, {"usd": "9"}])
def test_allow_budget_sets_no_first_ceiling(budget):
    run = report(a_run(budget=budget), a_call("ls"), a_call("pwd"))

    with pytest.raises(InvalidRequest, match="no ceiling in calls"):
        tap(run, "allow_budget", amount=Amount(calls=5))

    assert run.budget == budget


def test_allow_budget_answers_no_card_of_a_loop():
    run = a_stuck_run()

    with pytest.raises(InvalidRequest, match="no ceiling in calls"):
        tap(run, "allow_budget", decision=None, amount=Amount(calls=5))

    run.refresh_from_db()
    assert (run.status, run.open_decision is not None) == ("holding", True)


@pytest.mark.parametrize("unit", ["tokens", "calls", "turns"])
def test_the_smallest_amount_to_allow_is_one(unit):
    def a_tap(count):
        return {"key": "k", "action": "allow_budget", "amount": {unit: count}}

    assert getattr(from_json(Tap, a_tap(1)).amount, unit) == 1
    with pytest.raises(ValidationError):
        from_json(Tap, a_tap(0))


def test_a_pause_that_crosses_a_stop_does_not_change_its_reason():
    run = a_run()
    tap(run, "terminate", message="Wrong branch.")

    tap(run, "pause", version=None)

    assert (run.status, directive_of(run).reason) == ("stopping", "Wrong branch.")
    assert run.hold is None


def test_a_termination_is_acknowledged_though_a_pause_crossed_it():
    run = a_run()
    tap(run, "terminate")
    tap(run, "pause", version=None)

    interventions.report_end(run.id, "failed", projects=[run.project_id], by="agent", at=NOON)

    assert Intervention.objects.get(action="terminate").status == "acknowledged"


def test_a_termination_of_an_ended_run_has_nobody_to_reach():
    run = a_run()
    interventions.report_end(run.id, "completed", projects=[run.project_id], by="agent", at=NOON)
    run.refresh_from_db()

    made, _ = tap(run, "terminate")

    assert (run.status, made.status) == ("terminated", "unreachable")


def test_a_reread_board_shows_the_status_of_a_recent_answer():
    run = a_stuck_run()
    made, _ = tap(run, "continue")
    report(run, a_call("cat app/token.py"))

    (shown,) = rows.board_snapshot(run.project_id, at=NOON).interventions

    assert (shown.id, shown.key, shown.status) == (made.id, made.key, "acknowledged")


def test_a_board_shows_no_old_answers_and_none_of_other_projects():
    run, elsewhere = a_stuck_run(), a_stuck_run()
    tap(run, "continue")

    later = NOON + rows.ANSWER_SHOWN + timedelta(seconds=1)

    assert rows.board_snapshot(run.project_id, at=later).interventions == ()
    assert elsewhere.project_id != run.project_id
    assert rows.board_snapshot(elsewhere.project_id, at=NOON).interventions == ()
