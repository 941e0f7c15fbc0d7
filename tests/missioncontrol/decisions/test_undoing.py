"""An answer that is taken back: what it gave goes, the card and the hold are there again."""

from decimal import Decimal

import pytest

from missioncontrol.decisions import sessions
from missioncontrol.decisions.actions import Amount
from missioncontrol.decisions.directives import CLAIM_LEASE
from missioncontrol.decisions.models import AllowlistEntry, Intervention, LetGo
from missioncontrol.errors import ActionUnavailable, InvalidRequest
from missioncontrol.runs.models import JournalRow
from missioncontrol.runs.rows import run_row
from tests.build import (
    a_call,
    a_project,
    a_proposal,
    a_run,
    a_stuck_run,
    after,
    deliver_messages,
    report,
)
from tests.missioncontrol.taps import a_paid_call, directive_of, open_card_of, payloads_of, tap

pytestmark = pytest.mark.django_db

MORE = Amount(usd=Decimal(5))


def at_its_budget(run=None, dollars=10):
    return report(run or a_run(budget={"usd": 10}), a_paid_call(dollars), a_proposal("ls -l"))


def undo(run, made):
    return tap(run, "undo", key=f"undo-{made.key}", undoes=made.key, decision=None)


def test_undoing_an_allowlist_removes_the_entry_and_holds_again():
    run = a_stuck_run()
    first = open_card_of(run)
    made = tap(run, "allowlist")

    undo(run, made)

    assert not AllowlistEntry.objects.exists()
    assert (run.status, directive_of(run).action) == ("holding", "hold")
    assert open_card_of(run).evidence == first.evidence
    assert (open_card_of(run).verdict, open_card_of(run).status) == (first.verdict, "open")


def test_undoing_keeps_entries_of_other_answers(project):
    mine, other = a_stuck_run(project), a_stuck_run(project)
    tap(other, "allowlist", scope="run", at=after(1))
    made = tap(mine, "allowlist", scope="run")

    undo(mine, made)

    assert [entry.run_id for entry in AllowlistEntry.objects.all()] == [other.id]


def test_undoing_a_raised_budget_restores_it_and_holds_again():
    run = at_its_budget()
    made = tap(run, "allow_budget", amount=MORE)
    assert run.budget == {"usd": "15"}

    undo(run, made)

    assert run.budget == {"usd": 10}
    assert (run.status, open_card_of(run).kind) == ("holding", "budget")
    assert payloads_of(run, "intervention.made")[-1]["raised"] == {"usd": ["15", "10"]}


def test_undoing_an_agents_extra_budget_leaves_the_runs_ceiling():
    run = a_run(budget={"calls": 50, "agents": {"critic": {"calls": 1}}})
    run = report(run, a_call("ls", agent="critic"))
    made = tap(run, "allow_budget", amount=Amount(calls=5))
    assert run.budget["agents"] == {"critic": {"calls": 6}}

    undo(run, made)

    assert run.budget == {"calls": 50, "agents": {"critic": {"calls": 1}}}
    assert payloads_of(run, "intervention.made")[-1]["raised"] == {}


@pytest.mark.parametrize("scope", ["project", "day"])
def test_undoing_a_shared_budget_restores_it_for_all_runs(scope):
    project = a_project(budgets={scope: {"usd": "10"}})
    run = at_its_budget(a_run(project))
    made = tap(run, "allow_budget", amount=MORE)

    undo(run, made)

    project.refresh_from_db()
    assert (project.budgets, project.day_extra) == ({scope: {"usd": "10"}}, {})
    assert (run.status, open_card_of(run).kind) == ("holding", "budget")


def test_a_budget_changed_since_cannot_be_undone():
    run = at_its_budget()
    made = tap(run, "allow_budget", amount=MORE)
    type(run).objects.filter(pk=run.pk).update(budget={"usd": 40})

    with pytest.raises(ActionUnavailable, match="changed since"):
        undo(run, made)


def test_undoing_a_continue_holds_again_and_forgets_the_release():
    run = a_stuck_run()
    made = tap(run, "continue")

    undo(run, made)

    assert directive_of(run).action == "hold"
    assert not LetGo.objects.exists()


def test_what_was_allowed_to_a_run_that_ended_goes_without_a_hold():
    run = a_stuck_run()
    made = tap(run, "allowlist")
    type(run).objects.filter(pk=run.pk).update(status="completed")

    undo(run, made)

    assert not AllowlistEntry.objects.exists()
    assert run.status == "completed"


@pytest.mark.parametrize("action", ["pause", "terminate"])
def test_pause_and_terminate_cannot_be_undone(action):
    run = a_stuck_run()
    made = tap(run, action)

    with pytest.raises(ActionUnavailable, match="cannot be undone"):
        undo(run, made)


@pytest.mark.parametrize("action", ["continue", "allowlist", "inject"])
def test_an_answer_is_undone_once(action):
    run = a_stuck_run()
    made = tap(run, action, message="Read the log first.")
    undo(run, made)

    with pytest.raises(ActionUnavailable, match="undone already"):
        tap(run, "undo", key="a second window's", undoes=made.key, decision=None)

    assert JournalRow.objects.filter(run=run, type="decision.opened").count() == 2
    assert Intervention.objects.filter(run=run, action="undo").count() == 1


def test_an_answer_can_be_undone_beside_an_undo_whose_body_was_erased():
    run = a_stuck_run()
    undo(run, tap(run, "continue"))
    made = tap(run, "continue", key="again")
    run.interventions.update(body="{}")

    undo(run, made)

    assert run.status == "holding"


def test_an_undo_must_name_an_answer():
    with pytest.raises(InvalidRequest):
        tap(a_stuck_run(), "undo", undoes="never tapped", decision=None)


def test_the_journal_says_who_undid_an_answer():
    run = a_stuck_run()
    undo(run, tap(run, "allowlist"))

    assert Intervention.objects.filter(run=run, action="undo", by="ana").count() == 1
    assert [one["change"] for one in payloads_of(run, "allowlist.changed")] == ["added", "removed"]
    assert JournalRow.objects.filter(run=run, type="decision.opened").count() == 2


def test_an_undone_hold_can_be_answered_like_the_first():
    run = a_stuck_run()
    undo(run, tap(run, "allowlist"))

    tap(run, "continue")
    run = report(run, a_call("cat app/token.py"))

    assert directive_of(run).action == "proceed"


# --- a text that has not left yet ------------------------------------------------------

FIX = "The file is token.py."


def unsent(run):
    return [message.text for message in directive_of(run).messages]


def call_of(run):
    return run.turn_rows.get(seq=run.meters.last_seq)


@pytest.mark.parametrize("action", ["inject", "finish"])
def test_a_queued_text_is_withdrawn_and_the_held_call_waits_again(action):
    run = a_stuck_run()
    first = open_card_of(run)
    made = tap(run, action, decision=None, message=FIX)
    assert (directive_of(run).call, unsent(run)) == ("skip", [FIX])

    undo(run, made)

    assert (directive_of(run).action, directive_of(run).call, unsent(run)) == ("hold", "run", [])
    assert (open_card_of(run).signal, open_card_of(run).holds) == (first.signal, True)
    assert (run.meters.queued_messages, run.meters.finish_seq, run.meters.corrected) == (
        0,
        None,
        [],
    )
    assert not call_of(run).skipped
    assert run.interventions.get(key=made.key).status == "unreachable"


def test_a_withdrawn_message_is_never_delivered():
    run = a_stuck_run()
    undo(run, tap(run, "inject", message=FIX))
    tap(run, "continue")

    assert deliver_messages(run, at=after(1)) == []
    run.refresh_from_db()
    assert run.meters.queued_messages == 0


def test_the_call_of_a_withdrawn_message_can_be_answered_again():
    run = a_stuck_run()
    undo(run, tap(run, "inject", message=FIX))

    tap(run, "inject", message="Look in app/.")

    assert (directive_of(run).call, unsent(run)) == ("skip", ["Look in app/."])
    assert call_of(run).skipped


def test_a_message_to_a_running_agent_is_withdrawn_without_a_hold():
    run = report(a_run(), a_call("ls"))
    made = tap(run, "inject", message=FIX)

    undo(run, made)

    assert (run.status, directive_of(run).action, unsent(run)) == ("running", "proceed", [])


def test_a_pause_that_a_message_ended_is_there_again_with_its_call():
    run = report(a_run(), a_call("ls"))
    tap(run, "pause")
    run = report(run, a_proposal("make"))
    made = tap(run, "inject", message=FIX)
    assert directive_of(run).call == "skip"

    undo(run, made)

    assert (directive_of(run).action, directive_of(run).call) == ("hold", "run")
    assert (run.hold.from_seq, call_of(run).skipped) == (run.meters.last_seq, False)


def test_calls_that_an_earlier_correction_answered_stay_so():
    run = a_stuck_run()
    tap(run, "inject", message=FIX)
    deliver_messages(run, at=after(1))
    run.refresh_from_db()

    undo(run, tap(run, "inject", message="And hurry.", at=after(2)))

    assert (directive_of(run).call, call_of(run).skipped) == ("skip", True)


def test_calls_of_a_later_hold_stay_answered_when_what_was_allowed_before_goes():
    run = a_stuck_run()
    made = tap(run, "allowlist")
    run = report(run, *[a_call("make", error="no rule") for _ in range(2)], a_proposal("make"))
    tap(run, "inject", message=FIX)
    corrected = run.meters.corrected
    deliver_messages(run, at=after(1))

    undo(run, made)

    assert (call_of(run).skipped, directive_of(run).call) == (True, "skip")
    assert run.meters.corrected == corrected != []


@pytest.mark.parametrize(
    "leaves",
    [
        lambda run: sessions.record_answer_sent(run.id, run.meters.unconfirmed, at=after(1)),
        lambda run: deliver_messages(run, at=after(1)),
        lambda run: sessions.claim_messages(run.id, at=after(1)),
        lambda run: sessions.take_texts(run.id, version=run.version, at=after(1)),
    ],
)
def test_a_delivered_message_cannot_be_withdrawn(leaves):
    run = a_stuck_run()
    made = tap(run, "inject", message=FIX)
    leaves(run)

    with pytest.raises(ActionUnavailable, match="has received the text"):
        undo(run, made)


def test_a_withdrawn_message_is_not_sent_with_an_earlier_directive():
    run = a_stuck_run()
    made = tap(run, "inject", message=FIX)
    seen = run.version
    undo(run, made)

    assert sessions.take_texts(run.id, version=seen, at=after(1)) is None
    assert run.interventions.get(key=made.key).status == "unreachable"


def test_delivery_is_recorded_although_another_answer_is_followed_by_now():
    run = a_stuck_run()
    made = tap(run, "continue")
    tap(run, "pause", decision=None)

    sessions.record_answer_sent(run.id, made.id, at=after(1))

    assert dict(run.interventions.values_list("action", "status")) == {
        "continue": "delivered",
        "pause": "asked",
    }


def test_a_superseded_answer_is_unreachable():
    run = a_stuck_run()
    tap(run, "continue")

    tap(run, "pause", decision=None)

    statuses = dict(run.interventions.values_list("action", "status"))
    assert statuses == {"continue": "unreachable", "pause": "asked"}
    (told,) = [one for one in payloads_of(run, "run.moved") if one["intervention_status"]]
    assert (told["intervention_status"], told["reason"]) == ("unreachable", "answer superseded")


def test_a_superseded_answer_is_delivered_if_its_message_still_is():
    run = a_stuck_run()
    tap(run, "inject", message=FIX)
    tap(run, "pause", decision=None)
    assert run.interventions.get(action="inject").status == "asked"

    deliver_messages(run, at=after(1))

    assert run.interventions.get(action="inject").status == "delivered"


def test_an_answer_that_crosses_a_stop_is_unreachable():
    run = a_stuck_run()
    tap(run, "terminate")

    tap(run, "pause", decision=None)

    statuses = dict(run.interventions.values_list("action", "status"))
    assert statuses == {"terminate": "asked", "pause": "unreachable"}


def test_a_message_not_sent_when_its_run_ends_is_unreachable():
    run = a_stuck_run()
    tap(run, "inject", message=FIX)
    tap(run, "pause", decision=None)

    sessions.end_session(run.id, at=after(1))

    assert run.interventions.get(action="inject").status == "unreachable"


def test_a_stop_that_ends_a_parked_session_at_once_is_told_of_once():
    run = a_stuck_run()
    report(run, a_proposal("pytest -q"))
    sessions.record_waiting(run.id, at=after(1))
    sessions.park_session(run.id, at=after(2))

    tap(run, "terminate", at=after(3))

    assert run.interventions.get(action="terminate").status == "unreachable"
    assert [one for one in payloads_of(run, "run.moved") if one["intervention"]] == []


def test_a_message_whose_answer_was_never_sent_waits_again_and_can_be_withdrawn():
    run = a_stuck_run()
    made = tap(run, "inject", message=FIX)

    sessions.claim_messages(run.id, at=after(1))

    later = after(2) + CLAIM_LEASE
    assert directive_of(run, at=after(2)).messages == ()
    assert [text.text for text in directive_of(run, at=later).messages] == [FIX]
    assert run.interventions.get(key=made.key).status == "asked"
    tap(run, "undo", undoes=made.key, decision=None, at=later)
    assert directive_of(run, at=later).messages == ()


def test_the_record_says_that_a_text_was_delivered_once_its_answer_left():
    run = a_stuck_run()
    tap(run, "inject", message=FIX)

    sessions.claim_messages(run.id, at=after(1))
    before = payloads_of(run, "message.delivered")
    deliver_messages(run, at=after(2) + CLAIM_LEASE)

    assert (before, len(payloads_of(run, "message.delivered"))) == ([], 1)


def test_a_text_is_withdrawn_once():
    run = a_stuck_run()
    made = tap(run, "inject", message=FIX)
    undo(run, made)

    with pytest.raises(ActionUnavailable):
        tap(run, "undo", key="again", undoes=made.key, decision=None)


def test_a_message_and_its_answer_are_delivered_together():
    run = report(a_run(), a_call("ls"))
    made = tap(run, "inject", message=FIX)

    deliver_messages(run, at=after(1))

    told_of = run.interventions.get(key=made.key)
    assert (told_of.status, told_of.delivered_at) == ("delivered", after(1))


# --- what was undone before it was lifted ----------------------------------------------


def test_undoing_a_continue_that_lifted_nothing_holds_nobody():
    run = report(a_run(), a_call("ls"))

    undo(run, tap(run, "continue"))

    assert (run.status, directive_of(run).action) == ("running", "proceed")


def test_a_pause_that_was_lifted_holds_from_the_next_call_once_the_agent_has_moved():
    run = report(a_run(), a_call("ls"))
    tap(run, "pause")
    made = tap(run, "continue")
    run = report(run, a_call("make"))

    undo(run, made)

    assert (run.status, run.reason, run.hold.from_seq) == (
        "holding",
        "Paused by ana.",
        run.meters.last_seq + 1,
    )


def test_undoing_does_not_hold_an_agent_that_cannot_be_paused():
    run = report(a_run(), a_call("ls"))
    tap(run, "pause")
    made = tap(run, "continue")
    type(run).objects.filter(pk=run.pk).update(capabilities={"hold": False})

    undo(run, made)

    assert run.status == "running"


def test_a_flagged_run_is_flagged_again_and_not_held():
    run = a_stuck_run(mode="flag")
    assert not open_card_of(run).holds
    made = tap(run, "continue")

    undo(run, made)

    assert (open_card_of(run).holds, run.status, directive_of(run).action) == (
        False,
        "running",
        "proceed",
    )


def test_a_card_that_opened_since_stays_as_it_is():
    run = a_stuck_run(budget={"usd": 10})
    made = tap(run, "continue")
    run = at_its_budget(run)
    again = open_card_of(run)

    undo(run, made)

    assert open_card_of(run) == again
    assert run.decisions.count() == 2


@pytest.mark.parametrize("status", ["stopping", "terminated"])
def test_a_run_that_was_ended_by_then_stays_ended(status):
    run = a_stuck_run()
    made = tap(run, "allowlist")
    type(run).objects.filter(pk=run.pk).update(status=status)

    undo(run, made)

    assert (run.status, run.open_decision) == (status, None)


@pytest.mark.parametrize("paused", [True, False])
def test_a_hold_that_was_lifted_after_the_end_stands_again(paused):
    run = report(a_run(), a_call("ls"), a_proposal("make")) if paused else a_stuck_run()
    if paused:
        tap(run, "pause")
    sessions.end_session(run.id, at=after(1))
    made = tap(run, "continue", at=after(2))
    assert directive_of(run).action == "proceed"

    undo(run, made)

    assert (run.status, directive_of(run).action) == ("completed", "hold")
    run = report(run, a_proposal("make clean"), at=after(3))
    assert (run.status, bool(run.open_decision), bool(run.reason)) == ("holding", not paused, True)


def test_a_hold_that_was_lifted_before_the_end_does_not_stand_again():
    run = a_stuck_run()
    made = tap(run, "continue")
    sessions.end_session(run.id, at=after(1))

    undo(run, made)

    assert report(run, a_proposal("make"), at=after(2)).status == "running"


def test_the_board_is_told_of_a_standing_hold_and_of_its_end():
    run = a_stuck_run()
    sessions.end_session(run.id, at=after(1))
    run.refresh_from_db()
    assert run_row(run, at=after(1)).hold_stands
    made = tap(run, "continue", at=after(2))
    undo(run, made)

    moves = [move["hold_stands"] for move in payloads_of(run, "run.moved")[-4:]]
    assert moves == [True, False, True, True]  # the end, the lift, the undo and its answer
