from __future__ import annotations

import dataclasses
import json
from dataclasses import replace

import pytest
from pydantic import TypeAdapter, ValidationError

from guard.errors import PolicyInvalid
from guard.policy import (
    DEFAULT_POLICY,
    AllowPattern,
    ExactRepeat,
    PingPong,
    Policy,
    Response,
    SemanticRepeat,
    decide,
    is_allowed,
)
from guard.signals import Assessment, Evidence, Kind, Rung, Signal
from guard.wire import Mode


def a_signal(kind: Kind = Kind.EXACT_REPEAT, score: float = 1.0, calls: tuple[str, ...] = ("a",)):
    evidence = Evidence(summary="It did.", calls=calls)
    return Signal(detector=kind.value, kind=kind, score=score, turns=(0,), evidence=evidence)


def answer(mode: Mode, *signals: Signal, card_open=False, fix_failed=False) -> Response:
    assessment = Assessment(seq=0, similarity=1.0, changed=False, signals=signals)
    return decide(assessment, mode, card_open=card_open, fix_failed=fix_failed)


@pytest.mark.parametrize(
    ("mode", "response"),
    [
        (Mode.WARN, Response.WARN),
        (Mode.FLAG, Response.FLAG),
        (Mode.PAUSE, Response.HOLD),
        (Mode.AUTO, Response.FIX),
    ],
)
def test_each_mode_has_its_answer_to_a_loop(mode, response):
    assert answer(mode, a_signal()) is response


@pytest.mark.parametrize(
    ("mode", "response"),
    [
        (Mode.WARN, Response.WARN),
        (Mode.FLAG, Response.FLAG),
        (Mode.PAUSE, Response.HOLD),
        (Mode.AUTO, Response.HOLD),
    ],
)
def test_each_mode_has_its_answer_to_a_spent_budget(mode, response):
    assert answer(mode, a_signal(Kind.BUDGET)) is response


@pytest.mark.parametrize("mode", list(Mode))
def test_nothing_follows_from_no_trip_a_nudge_or_a_card_that_is_open(mode):
    assert answer(mode) is Response.GO_ON
    assert answer(mode, a_signal(score=0.9)) is Response.GO_ON
    assert answer(mode, a_signal(), card_open=True) is Response.GO_ON


def test_a_correction_that_failed_leads_to_a_person():
    assert answer(Mode.AUTO, a_signal(), fix_failed=True) is Response.HOLD


@pytest.mark.parametrize(
    ("rung", "mode", "response"),
    [
        (Rung.ESCALATE, Mode.WARN, Response.WARN),
        (Rung.ESCALATE, Mode.FLAG, Response.ESCALATE),
        (Rung.ESCALATE, Mode.PAUSE, Response.ESCALATE),
        (Rung.ESCALATE, Mode.AUTO, Response.ESCALATE),
        (Rung.STOP, Mode.WARN, Response.WARN),
        (Rung.STOP, Mode.FLAG, Response.FLAG),
        (Rung.STOP, Mode.PAUSE, Response.STOP),
        (Rung.STOP, Mode.AUTO, Response.STOP),
    ],
)
def test_each_rung_has_its_answer_within_the_mode(rung, mode, response):
    assert answer(mode, replace(a_signal(), rung=rung)) is response


def test_an_open_card_keeps_back_all_but_the_end():
    assert answer(Mode.PAUSE, replace(a_signal(), rung=Rung.STOP), card_open=True) is Response.STOP
    assert answer(Mode.FLAG, replace(a_signal(), rung=Rung.STOP), card_open=True) is Response.GO_ON
    escalated = replace(a_signal(), rung=Rung.ESCALATE)
    assert answer(Mode.PAUSE, escalated, card_open=True) is Response.GO_ON


def test_the_highest_rung_of_a_turn_is_answered():
    signals = [replace(a_signal(), rung=rung) for rung in (Rung.ESCALATE, Rung.STOP, Rung.ASK)]

    assert answer(Mode.PAUSE, *signals) is Response.STOP


def test_the_default_is_what_the_files_say():
    assert Policy.from_mapping({}) == DEFAULT_POLICY


def test_a_policy_survives_the_way_to_json_and_back():
    policy = Policy.from_mapping(
        {"detectors": ["budget"], "ping_pong": {"rounds": 4}, "budget": {"usd": "1.50"}}
    )

    assert Policy.from_mapping(json.loads(json.dumps(policy.as_mapping()))) == policy


def test_the_default_is_plain_json_by_asdict():
    assert json.loads(json.dumps(dataclasses.asdict(DEFAULT_POLICY)))["budget"] is None


def test_pydantic_reads_it_too():
    text = b'{"exact_repeat": {"repeats": 5}, "budget": {"usd": "2", "calls": 9}}'

    policy = TypeAdapter(Policy).validate_json(text)

    assert policy == Policy.from_mapping(json.loads(text))


@pytest.mark.parametrize("text", [b'{"detectors": ["psychic"]}', b'{"exact_repeat":{"repeats":1}}'])
def test_pydantic_refuses_what_is_out_of_bounds(text):
    with pytest.raises(ValidationError, match="policy field"):
        TypeAdapter(Policy).validate_json(text)


@pytest.mark.parametrize(
    ("mapping", "field"),
    [
        ({"exact": {}}, "exact"),
        ({"exact_repeat": {"repeats": "3"}}, "exact_repeat.repeats"),
        ({"exact_repeat": {"repeats": 3.5}}, "exact_repeat.repeats"),
        ({"exact_repeat": {"repeats": True}}, "exact_repeat.repeats"),
        ({"exact_repeat": {"repeats": 99}}, "exact_repeat.repeats"),
        ({"exact_repeat": {"times": 3}}, "exact_repeat.times"),
        ({"exact_repeat": 3}, "exact_repeat"),
        ({"semantic_repeat": {"threshold": 0}}, "semantic_repeat.threshold"),
        ({"semantic_repeat": {"threshold": "high"}}, "semantic_repeat.threshold"),
        ({"ping_pong": {"rounds": 1}}, "ping_pong.rounds"),
        ({"detectors": "exact_repeat"}, "detectors"),
        ({"detectors": ["exact"]}, "detectors"),
        ({"budget": 5}, "budget"),
        ([], "policy"),
    ],
)
def test_a_wrong_field_is_named_with_what_was_expected(mapping, field):
    with pytest.raises(PolicyInvalid) as caught:
        Policy.from_mapping(mapping)

    assert caught.value.field == field
    assert caught.value.expected in str(caught.value)


@pytest.mark.parametrize(
    ("section", "field"),
    [(ExactRepeat, "polls"), (SemanticRepeat, "window"), (PingPong, "without_results")],
)
def test_bounds_hold_in_code_too(section, field):
    with pytest.raises(PolicyInvalid):
        section(**{field: 0})


def test_an_exact_pattern_covers_that_call_alone():
    pattern = AllowPattern(pattern='Bash {"command":"ls [a]*"}')

    assert is_allowed(a_signal(calls=('Bash {"command":"ls [a]*"}',)), [pattern])
    assert not is_allowed(a_signal(calls=('Bash {"command":"ls ab"}',)), [pattern])


def test_a_glob_covers_a_family_of_calls():
    pattern = AllowPattern(pattern="get_job *", match="glob")

    assert is_allowed(a_signal(calls=('get_job {"id":1}', 'get_job {"id":2}')), [pattern])
    assert not is_allowed(a_signal(calls=('get_job {"id":1}', "stop")), [pattern])


def test_every_call_must_be_covered_by_some_pattern():
    patterns = [AllowPattern(pattern="a"), AllowPattern(pattern="b")]

    assert is_allowed(a_signal(calls=("a", "b")), patterns)
    assert not is_allowed(a_signal(calls=()), patterns)
    assert not is_allowed(a_signal(), [])


def test_a_budget_is_never_allowed_by_a_pattern():
    everything = AllowPattern(pattern="*", match="glob")

    assert not is_allowed(a_signal(Kind.BUDGET), [everything])
