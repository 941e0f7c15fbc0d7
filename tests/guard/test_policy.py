from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from guard.deciding import AllowPattern, is_allowed
from guard.errors import PolicyInvalid
from guard.policy import (
    DEFAULT_POLICY,
    RULES,
    Errors,
    EscalationRule,
    JudgeRule,
    Policy,
    Repeat,
    Stagnation,
    Talk,
    schema,
)
from guard.policy.fields import SHARE, expected, fields_of, holds, within
from guard.signals import Evidence, Kind, Signal


def a_signal(kind: Kind = Kind.EXACT_REPEAT, score: float = 1.0, calls: tuple[str, ...] = ("a",)):
    evidence = Evidence(summary="It did.", calls=calls)
    return Signal(detector=kind.value, kind=kind, score=score, turns=(0,), evidence=evidence)


def test_the_default_is_what_the_files_say():
    assert Policy.from_mapping({}) == DEFAULT_POLICY


def test_a_policy_survives_the_way_to_json_and_back():
    policy = Policy.from_mapping(
        {"detectors": ["budget"], "repeat": {"rounds": 4}, "budget": {"usd": "1.50"}}
    )

    assert Policy.from_mapping(json.loads(json.dumps(policy.as_mapping()))) == policy


def test_the_default_is_plain_json_by_asdict():
    assert json.loads(json.dumps(dataclasses.asdict(DEFAULT_POLICY)))["budget"] is None


def test_pydantic_reads_it_too():
    text = b'{"repeat": {"calls": 5}, "budget": {"usd": "2", "calls": 9}}'

    policy = TypeAdapter(Policy).validate_json(text)

    assert policy == Policy.from_mapping(json.loads(text))


@pytest.mark.parametrize("text", [b'{"detectors": ["psychic"]}', b'{"repeat":{"calls":1}}'])
def test_pydantic_refuses_what_is_out_of_bounds(text):
    with pytest.raises(ValidationError, match="policy field"):
        TypeAdapter(Policy).validate_json(text)


@pytest.mark.parametrize(
    ("mapping", "field"),
    [
        ({"exact": {}}, "exact"),
        ({"repeat": {"calls": "3"}}, "repeat.calls"),
        ({"repeat": {"calls": 3.5}}, "repeat.calls"),
        ({"repeat": {"calls": True}}, "repeat.calls"),
        ({"repeat": {"calls": 99}}, "repeat.calls"),
        ({"repeat": {"times": 3}}, "repeat.times"),
        ({"repeat": 3}, "repeat"),
        ({"talk": {"new_terms": 0}}, "talk.new_terms"),
        ({"talk": {"new_terms": "high"}}, "talk.new_terms"),
        ({"repeat": {"rounds": 1}}, "repeat.rounds"),
        ({"detectors": "repeat"}, "detectors"),
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
    [(Repeat, "polls"), (Talk, "messages"), (Errors, "refused")],
)
def test_bounds_hold_in_code_too(section, field):
    with pytest.raises(PolicyInvalid):
        section(**{field: 0})


def test_both_ends_of_a_range_belong_to_it_and_nothing_is_no_share():
    count, share = {"type": "integer", **within(2, 50)}, {"type": "number", **SHARE}

    assert [holds(count, value) for value in (1, 2, 50, 51)] == [False, True, True, False]
    assert [holds(share, value) for value in (0, 0.001, 1)] == [False, True, True]


def test_yes_is_no_whole_number():
    with pytest.raises(PolicyInvalid):
        Repeat(calls=True)


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


def test_a_policy_written_before_there_was_one_score_asks_as_early_as_before():
    assert Policy.from_mapping({"stall": {"evidence": 5.0}}).sensitivity == 0.8
    assert Policy.from_mapping({"stall": {"evidence": 7}}).sensitivity > 0.85


@pytest.mark.parametrize("scope", ["tool", "agent"])
def test_so_does_a_table_of_it_for_one_tool_or_agent(scope):
    policy = Policy.from_mapping({scope: {"x": {"stall": {"evidence": 7}}}})

    assert policy.for_step(tool="x", agent="x").sensitivity > 0.85


@pytest.mark.parametrize("level", [0.2, 1.0, "high", True])
def test_a_sensitivity_that_is_none_is_told(level):
    with pytest.raises(PolicyInvalid, match="sensitivity"):
        Policy.from_mapping({"sensitivity": level})


BEFORE = json.loads((Path(__file__).parent / "policy_before_five_rules.json").read_text())


def test_a_whole_policy_of_before_there_were_five_rules_is_todays_default():
    asked_at = JudgeRule(drought=BEFORE["judge"]["drought"])

    assert Policy.from_mapping(BEFORE) == replace(DEFAULT_POLICY, judge=asked_at)


def test_what_it_set_is_set_under_todays_names():
    before = {
        **BEFORE,
        "detectors": ["same_error", "exact_repeat", "reverification"],
        "exact_repeat": {"repeats": 5, "without_results": 6, "polls": 9},
        "semantic_repeat": {"window": 4, "embedding": "wordllama"},
        "ping_pong": {"rounds": 4, "threshold": 0.9},
        "k_cycle": {"rounds": 5, "longest": 4},
        "same_error": {"in_a_row": 6, "near": 5, "variants": 9, "refusals": 7},
        "monologue": {"messages": 6, "fresh": 1.5, "new_terms": 0.2},
        "hand_offs": {"rounds": 5},
        "stall": {"evidence": 7, "without_results": 10},
        "ladder": {"exact_repeat": {"stop_at": 9}, "relay": {"trip": "observe"}},
        "tool": {"Bash": {"retry": "poll", "exact_repeat": {"repeats": 8}}},
    }

    policy = Policy.from_mapping(before)

    assert policy.detectors == ("repeat", "errors")
    assert policy.repeat == Repeat(calls=5, without_results=6, polls=9, rounds=4, cycles=5)
    assert policy.errors == Errors(same=6, near=5, variants=9, refused=7)
    assert policy.stagnation == Stagnation(without_results=10)
    assert policy.talk == Talk(
        messages=6, rounds=5, fresh=1.5, new_terms=0.2, embedding="wordllama"
    )
    assert policy.sensitivity > 0.85
    assert policy.escalation_of("repeat").stop_at == 9
    assert policy.escalation_of("errors").trip == "observe"
    assert policy.for_step(tool="Bash", agent=None).repeat.calls == 8


def test_what_it_says_in_todays_names_wins_wherever_it_stands():
    ladder = {"exact_repeat": {"stop_at": 9}, "repeat": {"ask_at": 4}}
    before = {"exact_repeat": {"repeats": 8}, "repeat": {"calls": 5}, "ladder": ladder}

    policy = Policy.from_mapping(before)

    assert policy.repeat.calls == 5
    assert policy.escalation_of("repeat") == EscalationRule(ask_at=4)


def test_what_it_set_wrongly_is_told_in_todays_names():
    with pytest.raises(PolicyInvalid) as caught:
        Policy.from_mapping({"exact_repeat": {"repeats": 1}, "k_cycle": {"often": 3}})

    assert {one.field for one in caught.value.problems} == {"repeat.calls", "k_cycle"}


def test_the_schema_tells_each_field_with_its_range():
    described = schema()

    assert described["properties"]["repeat"]["properties"]["calls"] == {
        "type": "integer",
        "minimum": 2,
        "maximum": 50,
        "default": 3,
        "description": "the same call with the same outcome, so often",
    }
    assert described["properties"]["talk"]["properties"]["new_terms"]["exclusiveMinimum"] == 0
    assert set(described["properties"]) == {*DEFAULT_POLICY.as_mapping(), "extends", "preset"}


@pytest.mark.parametrize("section", RULES)
def test_the_page_has_a_row_for_each_field(section):
    page = (Path(__file__).resolve().parents[2] / "docs" / "detectors.md").read_text()

    for name, (_, described) in fields_of(type(getattr(DEFAULT_POLICY, section))).items():
        default = (
            str(described["default"]).lower()
            if described["type"] == "boolean"
            else described["default"]
        )
        means = described["description"]
        assert f"| `{section}.{name}` | {default} | {expected(described)} | {means} |" in page
