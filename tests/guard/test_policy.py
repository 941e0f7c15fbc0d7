from __future__ import annotations

import dataclasses
import json
import tomllib
from pathlib import Path

import pytest
from jsonschema_rs import validator_for
from pydantic import TypeAdapter, ValidationError

from guard.deciding import AllowPattern, is_allowed
from guard.errors import PolicyInvalid
from guard.policy import (
    DEFAULT_POLICY,
    RULES,
    SCHEMA,
    Errors,
    Policy,
    Repeat,
    Talk,
)
from guard.policy.fields import SHARE, problems, within
from guard.signals import Evidence, Kind, Signal

ROOT = Path(__file__).resolve().parents[2]
PRESET_TABLES = tomllib.loads((ROOT / "guard" / "policy" / "presets.toml").read_text("utf-8"))


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
    count = within(2, 50)

    assert [one for one in (1, 2, 50, 51) if problems(count, one)] == [1, 51]
    assert [one for one in (0, 0.001, 1) if problems(SHARE, one)] == [0]


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


@pytest.mark.parametrize("level", [0.2, 1.0, "high", True])
def test_a_sensitivity_that_is_none_is_told(level):
    with pytest.raises(PolicyInvalid, match="sensitivity"):
        Policy.from_mapping({"sensitivity": level})


def test_the_words_of_before_there_were_five_rules_are_refused_with_todays():
    with pytest.raises(PolicyInvalid, match=r"one of .*sensitivity, repeat") as caught:
        Policy.from_mapping({"exact_repeat": {"repeats": 5}})

    assert caught.value.field == "exact_repeat"


def test_the_schema_tells_each_field_with_its_range():
    assert SCHEMA["properties"]["repeat"]["properties"]["calls"] == {
        "type": "integer",
        "minimum": 2,
        "maximum": 50,
        "errorMessage": "a whole number from 2 to 50",
        "default": 3,
        "description": "the same call with the same outcome, so often",
    }
    assert SCHEMA["properties"]["talk"]["properties"]["new_terms"]["exclusiveMinimum"] == 0
    assert set(SCHEMA["properties"]) == {*DEFAULT_POLICY.as_mapping(), "extends", "preset"}


def test_the_schema_tells_what_a_table_may_set():
    own = {
        scope: SCHEMA["properties"][scope]["additionalProperties"]["properties"].keys()
        for scope in ("task_type", "tool", "agent")
    }

    assert own["task_type"] - own["agent"] == {"judged", "judge", "budget"}
    assert own["tool"] - own["agent"] == {"loop_key", "progress_key", "retry"}
    assert own["agent"] < own["task_type"]


@pytest.mark.parametrize(
    "mapping",
    [
        {"repeat": {"calls": 1}},
        {"talk": {"embedding": "my hashing"}},
        {"ladder": {"psychic": {}}},
        {"tool": {"Bash": {"retry": "often"}}},
        {"tool": {"Bash": {"loop_key": ["x"] * 21}}},
        {"agent": {"reviewer": {"budget": {"usd": 1}}}},
        {"extends": "lax"},
    ],
)
def test_an_editor_that_reads_the_schema_refuses_what_we_refuse(mapping):
    with pytest.raises(PolicyInvalid):
        Policy.from_mapping(mapping)

    assert not validator_for(json.loads(json.dumps(SCHEMA))).is_valid(mapping)


@pytest.mark.parametrize("table", PRESET_TABLES.values(), ids=PRESET_TABLES)
def test_nothing_is_wrong_with_a_preset(table):
    assert problems(SCHEMA, table) == []
    assert validator_for(json.loads(json.dumps(SCHEMA))).is_valid(table)


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"tool": {"Bash": {"retry": "often"}}}, "tool.Bash.retry"),
        ({"agent": {"reviewer": {"judged": True}}}, "agent.reviewer.judged"),
        ({"contrib": {"broker": {"warn": 5, "terminate": 4}}}, "contrib.broker.terminate"),
        ({"ladder": {"every": {"trip": "explode"}}}, "ladder.every.trip"),
    ],
)
def test_a_policy_made_in_code_is_held_against_the_schema_too(fields, wrong):
    with pytest.raises(PolicyInvalid) as caught:
        Policy(**fields)

    assert [problem.field for problem in caught.value.problems] == [wrong]


@pytest.mark.parametrize("section", RULES)
def test_the_page_has_a_row_for_each_field(section):
    page = (ROOT / "docs" / "detectors.md").read_text()

    for name, described in SCHEMA["properties"][section]["properties"].items():
        default = (
            str(described["default"]).lower()
            if described["type"] == "boolean"
            else described["default"]
        )
        expected, means = described["errorMessage"], described["description"]
        assert f"| `{section}.{name}` | {default} | {expected} | {means} |" in page
