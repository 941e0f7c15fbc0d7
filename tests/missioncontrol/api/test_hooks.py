"""Decisions of the hook endpoint itself; its whole story is in tests/agents."""

from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync

from guard.adapters import ADAPTERS, adapter_of
from guard.adapters.hook import HookEvent, ModelCall
from guard.errors import UnreadableHook
from guard.turn import Usage
from missioncontrol.api import hooks
from missioncontrol.errors import NotFound
from missioncontrol.ids import new_id
from missioncontrol.runs import models
from tests.build import NOON, a_project, a_run


@pytest.mark.django_db(transaction=True)
def test_a_hook_whose_run_was_deleted_stops_waiting():
    with pytest.raises(NotFound, match="The run"):
        async_to_sync(hooks._control_state)(new_id())


@pytest.mark.parametrize("client", ADAPTERS)
def test_a_session_id_too_long_for_a_run_key_is_refused_with_the_limit(client):
    most = 200 - len(f"{client}:")
    longest, longer = (
        {"hook_event_name": "PreToolUse", "session_id": name, "conversation_id": name}
        for name in ("s" * most, "s" * (most + 1))
    )

    assert len(adapter_of(client).read(longest).run_key) == 200
    with pytest.raises(UnreadableHook, match=f"at most {most} characters, got {most + 1}"):
        adapter_of(client).read(longer)


def a_hook(*calls):
    return HookEvent(client="claude-code", name="Usage", session="s", calls=calls)


def a_model_call(call_id, seconds):
    made_at = NOON + timedelta(seconds=seconds)
    usage = Usage(input=10)
    return ModelCall(call_id=call_id, source="transcript", usage=usage, made_at=made_at)


def counted(run):
    return set(models.ModelCall.objects.filter(run=run).values_list("call_id", flat=True))


@pytest.mark.django_db
def test_calls_copied_into_a_forks_transcript_count_for_the_original_session():
    project = a_project()
    first, fork = a_run(project), a_run(project)
    hooks._count_new_calls(a_hook(a_model_call("msg_1", -60)), first)

    hooks._count_new_calls(a_hook(a_model_call("msg_1", -60), a_model_call("msg_2", 5)), fork)

    assert (counted(first), counted(fork)) == ({"msg_1"}, {"msg_2"})


@pytest.mark.django_db
def test_a_known_fork_is_not_charged_for_earlier_calls():
    fork = a_run()
    fork.relation = "forked"

    hooks._count_new_calls(a_hook(a_model_call("msg_1", -60), a_model_call("msg_2", 5)), fork)

    assert counted(fork) == {"msg_2"}
