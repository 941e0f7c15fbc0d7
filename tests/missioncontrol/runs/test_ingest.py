"""Turns are numbered, kept once, and completed in place."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest
from asgiref.sync import sync_to_async

from guard.turn import Role, Turn
from missioncontrol.api.web_process import writer
from missioncontrol.errors import NotFound
from missioncontrol.runs.ingest import Arrival, Writer, sanitize, store
from missioncontrol.runs.models import JournalRow
from missioncontrol.runs.models import Turn as TurnRow
from tests.build import NOON, a_call, a_project, a_proposal, a_run, put

pytestmark = pytest.mark.django_db

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


def test_it_numbers_turns_from_zero_in_order_of_arrival():
    run = a_run()

    put(run, a_call("ls"), a_call("pwd"))

    assert list(TurnRow.objects.order_by("seq").values_list("seq", flat=True)) == [0, 1]


def test_it_does_not_store_a_key_twice():
    run, call = a_run(), a_call()

    put(run, call)
    again = put(run, call)

    assert (again.accepted, again.duplicates, again.last_seq) == (0, 1, 0)
    assert TurnRow.objects.count() == 1


def test_it_does_not_store_a_key_twice_within_one_request():
    stored = put(a_run(), a_call(key="a"), a_call(key="a"))

    assert (stored.accepted, stored.duplicates) == (1, 1)


def test_it_completes_a_proposed_turn_in_place():
    run = a_run()

    put(run, a_proposal(key="a"))
    stored = put(run, a_call(key="a", result="ok"))

    turn = TurnRow.objects.get()
    assert (turn.seq, turn.phase, turn.result) == (0, "done", "ok")
    assert (turn.first_obs, turn.obs, stored.last_seq) == (1, 2, 0)


def test_a_completion_keeps_what_only_the_proposal_said_and_else_wins():
    run, fields = a_run(), {"model": "opus", "provider": "anthropic", "call_id": "m1"}

    put(run, a_proposal(key="a", **fields), a_proposal(key="b", **fields))
    put(run, a_call(key="a"), a_call(key="b", model="haiku", call_id="m2"))

    kept, other = TurnRow.objects.order_by("seq")
    assert (kept.model, kept.provider, kept.call_id) == ("opus", "anthropic", "m1")
    assert (other.model, other.provider, other.call_id) == ("haiku", "anthropic", "m2")


def test_a_completion_keeps_the_files_and_the_state_that_only_the_proposal_named():
    run, fields = a_run(), {"files": ("a.py",), "state": "half done"}

    put(run, a_proposal(key="a", **fields), a_proposal(key="b", **fields))
    put(run, a_call(key="a"), a_call(key="b", files=("b.py",), state="done"))

    kept, other = TurnRow.objects.order_by("seq")
    assert (kept.files, kept.state) == (["a.py"], "half done")
    assert (other.files, other.state) == (["b.py"], "done")


@pytest.mark.django_db(transaction=True)
async def test_one_arrival_that_cannot_be_stored_spoils_no_other_of_its_batch():
    run = await sync_to_async(a_run)()
    good, other = (replace(a_call(), key=key) for key in ("good", "other"))
    # Marked as clean: what makes a turn fit for the database has been passed by.
    bad = replace(a_call(), key="bad", args={"at": object()})
    writer = Writer()

    def put_in(turn, *, is_sanitized=False):
        return writer.put(
            Arrival(run=run.id, project=run.project_id, turns=[turn], is_sanitized=is_sanitized)
        )

    outcomes = await asyncio.gather(
        put_in(good), put_in(bad, is_sanitized=True), put_in(other), return_exceptions=True
    )

    assert [isinstance(one, TypeError) for one in outcomes] == [False, True, False]
    kept = await sync_to_async(lambda: set(TurnRow.objects.values_list("key", flat=True)))()
    assert kept == {"good", "other"}


def test_it_completes_a_proposal_that_came_in_the_same_request():
    run = a_run()

    put(run, a_proposal(key="a"), a_call(key="a", result="ok"))

    turn = TurnRow.objects.get()
    assert (turn.phase, turn.first_obs, turn.obs) == ("done", 1, 2)


def test_it_ignores_a_proposal_that_comes_after_its_completion():
    run = a_run()

    put(run, a_call(key="a", result="ok"))
    stored = put(run, a_proposal(key="a"))

    assert stored.duplicates == 1
    assert TurnRow.objects.get().result == "ok"


def test_it_masks_secrets_before_they_are_stored():
    put(a_run(), a_call(f"export OPENAI_API_KEY={SECRET}"))

    assert "abcdefghijklmnop" not in str(TurnRow.objects.get().args)


def test_it_masks_the_agent_and_the_state_too():
    put(a_run(), replace(a_call(), agent=f"agent {SECRET}", state=f"state {SECRET}"))

    stored = TurnRow.objects.get()
    assert (stored.agent, stored.state) == ("agent [masked]", "state [masked]")


def test_what_is_sanitized_is_not_masked_again():
    run = a_run()
    arrival = sanitize(Arrival(run=run.id, project=run.project_id, turns=[a_call()]))

    assert sanitize(arrival) is arrival


@pytest.mark.django_db(transaction=True)
async def test_a_large_body_is_masked_beside_the_thread_that_stores():
    run = await sync_to_async(a_run)()
    text, order = "token=" * 160_000, []

    async def stored(name, size, *turns):
        await writer.put(Arrival(run=run.id, project=run.project_id, turns=turns), size=size)
        order.append(name)

    large = [replace(a_call(result=text), key=f"large {n}") for n in range(8)]
    await asyncio.gather(stored("large", 8 * len(text), *large), stored("small", 200, a_call("ls")))

    assert order == ["small", "large"]


def test_it_removes_what_postgresql_cannot_store():
    turn = Turn(role=Role.ASSISTANT, tool="x", args={"a\0": [float("nan"), "b\0"]}, result="c\0")

    put(a_run(), turn)

    stored = TurnRow.objects.get()
    assert stored.args == {"a": ["nan", "b"]}
    assert stored.result == "c"


def test_it_refuses_another_projects_run_and_keeps_the_rest():
    mine, other = a_run(), a_run(a_project("other"))

    good, bad = store(
        [
            Arrival(run=mine.id, project=mine.project_id, turns=[a_call()]),
            Arrival(run=other.id, project=mine.project_id, turns=[a_call()]),
        ],
        at=NOON,
    )

    assert isinstance(bad, NotFound)
    assert TurnRow.objects.get().run_id == mine.id
    assert not isinstance(good, Exception)


def test_it_writes_one_event_an_observation_with_the_digest_only():
    run = a_run()

    put(run, a_proposal(key="a"))
    put(run, a_call(key="a", result="a long result"))

    recorded = JournalRow.objects.filter(type__startswith="turn.").order_by("seq")
    assert [row.type for row in recorded] == ["turn.recorded", "turn.completed"]
    assert "a long result" not in recorded[1].payload


def test_a_completed_run_that_speaks_again_is_running():
    run = a_run()
    type(run).objects.filter(pk=run.pk).update(status="completed")

    stored = put(run, a_call())

    assert (stored.run.status, stored.run.version) == ("running", run.version + 1)


def test_a_repeat_does_not_bring_a_completed_run_back():
    run, call = a_run(), a_call()
    put(run, call)
    type(run).objects.filter(pk=run.pk).update(status="completed")

    again = put(run, call)

    assert (again.duplicates, again.run.status, again.run.version) == (1, "completed", 0)


def test_half_an_emoji_is_stored_as_a_replacement_sign():
    put(a_run(), Turn(role=Role.ASSISTANT, tool="x", args={"a": "\ud83d"}, result="b\udc00"))

    stored = TurnRow.objects.get()
    assert (stored.args, stored.result) == ({"a": "\ufffd"}, "b\ufffd")


def test_an_empty_key_is_no_key():
    stored = put(a_run(), a_call(key=""), a_call(key=""))

    assert stored.accepted == 2


def test_a_time_out_of_range_becomes_the_time_of_arrival():
    moment = datetime.fromisoformat("0001-01-01T00:00:00+14:00")

    put(a_run(), a_call(ts=moment))

    assert TurnRow.objects.get().ts == NOON
