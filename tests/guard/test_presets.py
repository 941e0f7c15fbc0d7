"""Policies by name."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from guard.budget import Spent
from guard.cli import main
from guard.engine import Engine
from guard.errors import PolicyInvalid
from guard.policy import DEFAULT_POLICY, PRESETS, Policy
from tests.guard.build import a_message, first_trip
from tests.guard.scenes import HEALTHY, LOOPS
from tests.guard.transcripts import write_lines

OTHERS = ["broker", "fingerprint", "ralph", "loopguard"]


def test_the_default_looks_with_its_own_detectors_alone():
    assert not set(OTHERS) & set(DEFAULT_POLICY.detectors)
    assert DEFAULT_POLICY.judged


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_policy_may_name_it(name):
    assert Policy.from_mapping({"preset": name}) == PRESETS[name]


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_it_survives_the_way_to_json_and_back(name):
    preset = PRESETS[name]

    assert Policy.from_mapping(json.loads(json.dumps(preset.as_mapping()))) == preset


@pytest.mark.parametrize(("old", "new"), [("conservative", "quiet"), ("strict", "watchful")])
def test_the_name_it_had_before_is_known(old, new):
    assert Policy.from_mapping({"extends": old}) == PRESETS[new]


def test_where_both_words_name_one_extends_wins():
    assert Policy.from_mapping({"preset": "ralph", "extends": "quiet"}) == PRESETS["quiet"]


def test_the_replay_command_says_which_names_there_are(tmp_path, capsys):
    assert main(["replay", str(tmp_path / "run.jsonl"), "--preset", "brokre"]) == 2

    assert "'preset': expected one of default, quiet" in capsys.readouterr().err


def test_other_fields_set_it_apart():
    policy = Policy.from_mapping(
        {
            "preset": "broker",
            "contrib": {"broker": {"warn": 2}},
            "budget": {"usd": "2"},
            "judged": True,
        }
    )

    assert policy == replace(
        PRESETS["broker"], contrib={"broker": {"warn": 2}}, budget=policy.budget, judged=True
    )
    assert first_trip([a_message("Much the same.")] * 4, policy) == 2
    assert policy.budget.usd == Decimal(2)


@pytest.mark.parametrize(
    ("mapping", "field"),
    [
        ({"preset": "brokre"}, "preset"),
        ({"preset": 3}, "preset"),
        ({"preset": "broker", "judged": "no"}, "judged"),
        ({"preset": "broker", "contrib": {"broker": {"terminate": 2}}}, "contrib.broker.terminate"),
        (
            {"preset": "fingerprint", "contrib": {"fingerprint": {"halt": 2}}},
            "contrib.fingerprint.halt",
        ),
        ({"preset": "ralph", "contrib": {"ralph": {"threshold": 90}}}, "contrib.ralph.threshold"),
        (
            {"preset": "loopguard", "contrib": {"loopguard": {"repeats": 1}}},
            "contrib.loopguard.repeats",
        ),
    ],
)
def test_what_is_wrong_with_it_is_named(mapping, field):
    with pytest.raises(PolicyInvalid) as caught:
        Policy.from_mapping(mapping)

    assert caught.value.field == field


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_an_engine_rebuilt_from_its_last_window_says_the_same_next(name):
    scenes = [*HEALTHY.values(), *(turns for turns, _ in LOOPS.values())]
    turns = [turn for scene in scenes for turn in scene]
    turns = [replace(turn, seq=seq) for seq, turn in enumerate(turns)]
    meter = Spent(turns=40, usd=Decimal("0.20"))

    for end in range(Engine.WINDOW, len(turns), 29):
        whole, rebuilt = Engine(PRESETS[name]), Engine(PRESETS[name])
        assessed = [whole.observe(turn, spent=meter) for turn in turns[:end]][-1]
        again = [rebuilt.observe(turn, spent=meter) for turn in turns[end - Engine.WINDOW : end]]
        assert again[-1] == assessed


@pytest.mark.parametrize(
    ("name", "alarm", "stop"), [("broker", 3, 5), ("ralph", 1, 1), ("loopguard", 2, None)]
)
def test_the_replay_command_takes_its_name(name, alarm, stop, tmp_path, capsys):
    line = {"role": "assistant", "content": "Let me look at the parser once more."}
    file = write_lines(tmp_path / "run.jsonl", [line] * 8)

    assert main(["replay", str(file), "--preset", name, "--json"]) == 0

    row = json.loads(capsys.readouterr().out)
    assert (row["detector"], row["first_alarm"], row["first_stop"]) == (name, alarm, stop)


def test_a_judge_dismisses_no_end_of_a_policy_without_one(tmp_path, capsys):
    moving = [
        {
            "role": "assistant",
            "tool": "get_job",
            "args": {"id": 7},
            "result": f"job 7 is running, state {n} of 20, please wait a little and ask again",
        }
        for n in range(8)
    ]
    file = write_lines(tmp_path / "run.jsonl", moving)

    main(["replay", str(file), "--preset", "broker", "--json"])

    row = json.loads(capsys.readouterr().out)
    assert (row["first_alarm"], row["first_stop"]) == (3, 5)


def test_an_end_after_a_card_is_told_too():
    engine = Engine(PRESETS["broker"])

    severities = [engine.observe(a_message("The same again.")).trip for _ in range(7)]

    assert [trip.severity.name if trip else None for trip in severities] == [
        None,
        None,
        None,
        "ESCALATE",
        "ESCALATE",
        "STOP",
        "STOP",
    ]
