"""What an agent can do, read from whatever an adapter told."""

import pytest

from guard.adapters import ADAPTERS, adapter_of
from guard.adapters.capabilities import Capabilities, EndBy, InjectAt, WhenAway
from guard.adapters.hook import HookEvent
from guard.sdk.base_session import CAPABILITIES


def test_an_unreported_capability_counts_as_yes():
    silent = Capabilities.read({})

    assert silent.unavailable("codex") == {}
    assert (silent.inject, silent.terminate, silent.as_mapping()) == (None, None, {"hold": True})


@pytest.mark.parametrize("no", [False, None, []])
def test_an_agent_that_takes_no_text_is_not_asked_to_sum_up_either(no):
    assert set(Capabilities.read({"inject": no}).unavailable("")) == {"inject", "finish"}


@pytest.mark.parametrize("no", [False, None, "not"])
def test_an_agent_that_cannot_be_ended_says_so_by_name(no):
    assert Capabilities.read({"terminate": no}).unavailable("codex") == {
        "terminate": "codex cannot be ended from here."
    }


def test_the_adapters_own_reason_is_shown():
    able = Capabilities.read({"hold": False, "why": {"hold": "It was started without hooks."}})

    assert able.unavailable("codex") == {"pause": "It was started without hooks."}


def test_moments_are_ordered_soonest_first():
    able = Capabilities.read({"inject": ["when_idle", "at_stop", "now"]})

    assert able.inject == (InjectAt.NOW, InjectAt.AT_STOP, InjectAt.WHEN_IDLE)


def test_one_moment_may_come_as_a_word():
    assert Capabilities.read({"inject": "at_stop"}).inject == (InjectAt.AT_STOP,)


@pytest.mark.parametrize("odd", [{"inject": ["some day"]}, {"inject": 3}, {"terminate": "magic"}])
def test_an_unknown_word_counts_as_not_reported(odd):
    able = Capabilities.read(odd | {"away": 3, "cost": 4, "why": "because"})

    assert able == Capabilities()


def reported_by(client):
    return adapter_of(client).capabilities(HookEvent(client=client, name="Stop", session="s"))


@pytest.mark.parametrize("reported", [*map(reported_by, ADAPTERS), dict(CAPABILITIES)])
def test_capabilities_reported_by_adapters_are_all_understood(reported):
    assert Capabilities.read(reported).as_mapping() == reported


def test_a_report_is_read_back_as_it_was_written():
    able = Capabilities(
        inject=(InjectAt.AT_NEXT_TOOL,),
        terminate=EndBy.SIGNAL,
        cost="otlp",
        away=WhenAway.BLOCKED,
        why={"hold": "no"},
    )

    assert Capabilities.read(able.as_mapping()) == able
