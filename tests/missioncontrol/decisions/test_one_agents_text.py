"""A person's text for one agent of a run is that one's alone, and moves nothing of the others."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from missioncontrol.decisions import sessions
from missioncontrol.errors import ActionUnavailable, InvalidRequest
from tests.build import a_call, a_proposal, a_run, a_stuck_run, after, put, report
from tests.missioncontrol.taps import directive_of, tap

pytestmark = pytest.mark.django_db

TEXT = "Round per invoice."


@pytest.fixture
def crew(project):
    return report(a_run(project), a_call(agent="coder"), a_call("ls", agent="tester"))


def tell(run, agent="tester", **fields):
    return tap(run, "inject", message=TEXT, agent=agent, **fields)


def status_of(run, made):
    return run.interventions.get(key=made.key).status


def turn_of(run, agent):
    return run.turn_rows.filter(agent=agent).latest("seq").seq


def send(run, agent=None):
    run.refresh_from_db()
    asked_by = turn_of(run, agent) if agent else None
    sent = sessions.take_texts(run.id, version=run.version, asked_by=asked_by, at=after(9))
    return [text.text for text in sent]


# --- who has it ------------------------------------------------------------------------


def test_another_agents_turn_does_not_acknowledge_the_message(crew):
    made = tell(crew)

    report(crew, a_call("make", agent="coder"))

    assert status_of(crew, made) == "asked"


def test_a_turn_before_the_message_does_not_acknowledge_it(crew):
    put(crew, a_call("make", agent="tester"))
    made = tell(crew)

    report(crew)

    assert status_of(crew, made) == "asked"


def test_the_agents_own_turn_after_delivery_acknowledges_the_message(crew):
    made = tell(crew)
    assert send(crew, "tester") == [TEXT]

    report(crew, a_call("make", agent="coder"))
    assert status_of(crew, made) == "delivered"

    report(crew, a_call("make", agent="tester"))
    assert status_of(crew, made) == "acknowledged"


def test_another_agents_request_does_not_receive_the_message(crew):
    made = tell(crew)

    assert send(crew, "coder") == []
    followed, theirs = crew.meters.unconfirmed, turn_of(crew, "coder")
    sessions.record_answer_sent(crew.id, followed, asked_by=theirs, at=after(9))

    assert status_of(crew, made) == "asked"
    tap(crew, "undo", undoes=made.key)
    assert send(crew) == []


def test_a_request_of_an_unknown_agent_receives_the_message(crew):
    made = tell(crew)

    assert send(crew) == [TEXT]

    assert status_of(crew, made) == "delivered"


def test_a_message_undelivered_at_the_end_of_its_run_is_unreachable(crew):
    made = tell(crew)

    sessions.end_session(crew.id, at=after(9))

    assert status_of(crew, made) == "unreachable"


# --- what it leaves alone --------------------------------------------------------------


def test_a_pause_stands_and_is_the_answer_that_is_confirmed(crew):
    pause = tap(crew, "pause")

    made = tell(crew)
    report(crew, a_proposal("make", agent="coder"))
    sessions.record_waiting(crew.id, at=after(9))

    assert directive_of(crew).action == "hold"
    assert (status_of(crew, pause), status_of(crew, made)) == ("acknowledged", "asked")


def test_waiting_again_in_a_hold_does_not_acknowledge_the_message(crew):
    tap(crew, "pause")
    sessions.record_waiting(crew.id, at=after(1))
    made = tell(crew)
    sessions.park_session(crew.id, at=after(2))

    sessions.record_waiting(crew.id, at=after(3))

    assert status_of(crew, made) == "asked"


def test_held_calls_wait_as_before(crew):
    tap(crew, "pause")
    report(crew, a_proposal("make", agent="tester"))

    tell(crew)

    assert not crew.turn_rows.filter(skipped=True).exists()


def test_a_message_to_one_agent_does_not_cancel_finishing(crew):
    tap(crew, "finish")
    last = crew.meters.finish_seq

    undone = tell(crew)
    assert crew.meters.finish_seq == last
    tap(crew, "undo", undoes=undone.key)

    assert crew.meters.finish_seq == last is not None


def test_a_message_to_one_agent_resets_no_streak():
    run = report(a_run(), *[a_call("make", error="no rule") for _ in range(2)])

    tell(run, agent="coder")

    assert report(run, a_proposal("make")).open_decision is not None


def test_taking_it_back_pauses_nobody_again_and_runs_no_call_that_was_answered_since(crew):
    tap(crew, "pause")
    report(crew, a_proposal("make", agent="tester"))
    made = tell(crew)
    tap(crew, "inject", message="Stop that, all of you.")

    tap(crew, "undo", undoes=made.key)

    assert (directive_of(crew).action, directive_of(crew).call) == ("proceed", "skip")


# --- what is refused -------------------------------------------------------------------


def test_an_open_card_is_answered_for_its_own_agent():
    run = a_stuck_run()

    with pytest.raises(InvalidRequest, match="answer the card first") as refused:
        tell(run, agent="coder")

    run.refresh_from_db()
    assert (refused.value.fields["field"], run.open_decision is not None) == ("agent", True)


@pytest.mark.parametrize("action", ["pause", "continue", "finish", "terminate"])
def test_no_other_action_takes_an_agent(crew, action):
    with pytest.raises(InvalidRequest, match="`agent`"):
        tap(crew, action, agent="tester")


def test_an_agent_without_turns_in_the_run_cannot_be_messaged(crew):
    with pytest.raises(InvalidRequest, match="No turn of this run"):
        tell(crew, agent="testre")


def test_a_delivered_message_to_one_agent_cannot_be_withdrawn(crew):
    tap(crew, "pause")
    made = tell(crew)
    tap(crew, "continue")
    send(crew, "tester")

    with pytest.raises(ActionUnavailable, match="has received the text"):
        tap(crew, "undo", undoes=made.key)


def test_an_unknown_agent_name_is_looked_up_before_the_run_is_locked(crew):
    with CaptureQueriesContext(connection) as asked_of, pytest.raises(InvalidRequest):
        tell(crew, agent="nobody")

    told = [query["sql"] for query in asked_of]
    locked_at = next(at for at, sql in enumerate(told) if sql.startswith("SAVEPOINT"))
    looked_at = [at for at, sql in enumerate(told) if '"runs_turn"."agent"' in sql]
    assert looked_at[-1] < locked_at
