"""What people and an agent said: how far each text is known to have come, and no farther."""

import json

import pytest

from guard.turn import Role, Turn
from missioncontrol.decisions import sessions
from missioncontrol.decisions.conversation import MAX_ITEMS, show_conversation
from missioncontrol.decisions.messages import queue_message
from missioncontrol.runs import journal
from missioncontrol.runs.models import JournalRow, ModelCall
from tests.build import NOON, a_call, a_run, a_stuck_run, after, deliver_messages, put
from tests.missioncontrol.taps import tap

pytestmark = pytest.mark.django_db

TEXT = "Round per invoice, see docs/billing.md."


def words(text, **fields):
    return Turn(role=Role.ASSISTANT, content=text, agent="coder", **fields)


def first_message(run):
    return show_conversation(run).messages[-1]


@pytest.fixture
def running(project):
    run = a_run(project)
    put(run, a_call("ls"), at=after(1))
    tap(run, "inject", message=TEXT, key="first", at=after(2))
    return run


@pytest.fixture
def delivered(running):
    deliver_messages(running, at=after(3))
    return running


def counted(run, seconds, source="transcript"):
    ModelCall.objects.create(run=run, call_id=f"m{seconds}", at=after(seconds), source=source)


def test_a_stranger_finds_nothing(project, stranger, as_person):
    run = a_run(project)

    assert as_person(stranger).get(f"/api/v1/runs/{run.id}/conversation/").status_code == 404


def test_a_viewer_reads_it(viewer, as_person, running):
    response = as_person(viewer).get(f"/api/v1/runs/{running.id}/conversation/")

    assert [one["text"] for one in response.json()["messages"]] == [TEXT]


def test_a_message_is_queued_until_an_answer_carries_it(running):
    assert (first_message(running).state, first_message(running).by) == ("queued", "ana")
    assert (first_message(running).key, first_message(running).undoable) == ("first", True)


def test_a_queued_message_can_be_taken_back(running):
    tap(running, "undo", key="back", undoes=first_message(running).key)

    assert (first_message(running).state, first_message(running).undoable) == ("withdrawn", False)


def test_a_queued_message_that_is_on_its_way_cannot_be_taken_back(running):
    sessions.take_texts(running.id, version=running.version, at=after(3))

    assert (first_message(running).state, first_message(running).undoable) == ("queued", False)


def test_a_delivered_message_is_not_yet_read(delivered):
    assert (first_message(delivered).state, first_message(delivered).undoable) == (
        "delivered",
        False,
    )
    assert (first_message(delivered).delivered_at, first_message(delivered).read_at) == (
        after(3),
        None,
    )


def test_the_end_of_a_call_that_was_under_way_does_not_read_it(project):
    run = a_run(project)
    put(run, a_call("ls", key="slow", phase="proposed"), at=after(1))
    tap(run, "inject", message=TEXT, at=after(2))
    deliver_messages(run, at=after(3))
    put(run, a_call("ls", key="slow"), at=after(4))

    assert first_message(run).state == "delivered"


def test_the_agents_next_turn_has_read_it(delivered):
    put(delivered, a_call("git status"), at=after(4))

    assert (first_message(delivered).state, first_message(delivered).read_seq) == ("read", 1)
    assert first_message(delivered).read_at == after(4)


def test_a_call_beside_the_one_that_carried_it_has_not_read_it(delivered):
    counted(delivered, 1)
    put(delivered, a_call("git status"), at=after(4))
    assert first_message(delivered).state == "delivered"

    counted(delivered, 5, source="judge")
    assert first_message(delivered).state == "delivered"

    counted(delivered, 6)
    assert first_message(delivered).state == "read"


def test_what_the_agent_says_has_read_it(delivered):
    counted(delivered, 1)
    put(delivered, words("All right."), at=after(4))

    assert first_message(delivered).state == "read"


def test_another_agents_turn_does_not_read_what_is_for_one(project):
    run = a_run(project)
    with journal.lock_runs([run.id], at=NOON) as tx:
        queue_message(tx, tx.run(run.id), TEXT, by="guard", agent="tester")
    deliver_messages(run, at=after(1))
    put(run, a_call(agent="coder"), at=after(2))
    assert (first_message(run).state, first_message(run).by) == ("delivered", "guard")

    put(run, a_call("ls", agent="tester"), at=after(3))
    assert first_message(run).state == "read"


def test_a_persons_message_to_one_agent_is_that_agents_alone(project):
    run = a_run(project)
    put(run, a_call(agent="coder"), a_call("ls", agent="tester"), at=after(1))
    tap(run, "inject", message=TEXT, agent="tester", at=after(2))

    assert first_message(run).agent == "tester"
    assert deliver_messages(run, at=after(3), agents={"coder"}) == []
    assert len(deliver_messages(run, at=after(4), agents={"tester"})) == 1


def test_a_tap_stored_before_agents_could_be_named_is_still_recognised(running):
    kept = running.interventions.get(key="first")

    assert "agent" not in json.loads(kept.body)


def test_a_turn_that_names_its_file_acts_on_it(delivered):
    put(delivered, a_call("git status"), a_call("cat docs/billing.md"), at=after(4))

    assert (first_message(delivered).state, first_message(delivered).acted_seq) == ("acted_on", 2)


def test_a_file_that_was_at_hand_before_proves_nothing(project):
    run = a_run(project)
    put(run, a_call("cat docs/billing.md"), at=after(1))
    tap(run, "inject", message="See docs/billing.md.", at=after(2))
    deliver_messages(run, at=after(3))
    put(run, a_call("cat docs/billing.md"), at=after(4))

    assert first_message(run).state == "read"


def test_after_erasing_only_the_delivery_of_a_message_is_known(delivered):
    put(delivered, a_call("cat docs/billing.md"), at=after(4))
    JournalRow.objects.filter(run=delivered).update(payload=None, salt=None)

    assert first_message(delivered).state == "delivered"


def test_only_the_agents_own_words_are_shown(project):
    run = a_run(project)
    put(run, Turn(role=Role.USER, content="Fix it"), words("I look."), a_call(), words("Done."))

    assert [(one.seq, one.text) for one in show_conversation(run).words] == [
        (1, "I look."),
        (3, "Done."),
    ]


def test_a_correction_of_a_card_stands_among_the_messages():
    run = a_stuck_run()
    tap(run, "inject", message="Look into app/token.py.")

    assert (first_message(run).text, first_message(run).state) == (
        "Look into app/token.py.",
        "queued",
    )


def test_only_the_newest_are_shown_and_the_others_counted(project):
    run = a_run(project)
    for number in range(MAX_ITEMS + 2):
        tap(run, "inject", message=f"number {number}", at=after(number))

    shown = show_conversation(run)

    assert (shown.messages[0].text, len(shown.messages), shown.earlier) == (
        "number 2",
        MAX_ITEMS,
        2,
    )
