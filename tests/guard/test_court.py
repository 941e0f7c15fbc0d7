"""A model judges recorded runs: `guard replay --judge URL --judge-model M`."""

from __future__ import annotations

import json

import pytest

from guard.cli import main
from guard.engine import Engine
from guard.formats import Recording
from guard.judge import JudgeModel, LLMJudge
from guard.policy import DEFAULT_POLICY, Policy
from guard.replay import replay
from guard.turn import Turn
from tests.guard.build import a_call, a_user
from tests.guard.chat_endpoint import ChatServer, Reply, a_completion, a_verdict
from tests.guard.small_talk import small_talk

FAILING = a_call("Bash", error="E1: missing brace", command="make")
TRIPS_ALONE = Policy.from_mapping({"judge": {"suspicions": False}})


def replayed(turns, *replies, policy=None):
    with ChatServer(*replies) as chat:
        judge = LLMJudge(JudgeModel(url=chat.url, model="gpt-4o-mini"))
        recording = Recording(run="r", turns=tuple(turns))
        return replay(recording, policy or Policy(), judge), chat


def test_a_loop_the_model_sees_is_an_alarm_as_before():
    outcome, chat = replayed([FAILING] * 5, a_completion(a_verdict()), policy=TRIPS_ALONE)

    assert (outcome.first_alarm, outcome.judge_calls, len(chat.asked)) == (2, 1, 1)


def test_a_trip_the_model_dismisses_is_no_alarm():
    outcome, _ = replayed([FAILING] * 4, a_completion(a_verdict(loop=False)))

    assert outcome.first_alarm is None


def test_the_local_judge_stands_in_for_a_model_that_fails():
    outcome, _ = replayed([FAILING] * 4, Reply({}, 500))

    assert (outcome.first_alarm, outcome.fallback_rulings) == (2, 1)


def test_a_model_may_see_a_loop_before_any_rule_does():
    outcome, _ = replayed([FAILING] * 4, a_completion(a_verdict()))

    assert (outcome.first_alarm, outcome.detector) == (1, "suspicion")


def test_a_suspicion_that_the_model_confirms_is_an_alarm():
    outcome, _ = replayed(small_talk(13), a_completion(a_verdict(confidence=0.9)))

    assert (outcome.detector, outcome.kind) == ("suspicion", "suspicion")


@pytest.mark.parametrize("ruling", [{"loop": False}, {"confidence": 0.7}])
def test_a_suspicion_that_is_not_confirmed_is_none(ruling):
    outcome, chat = replayed(small_talk(13), a_completion(a_verdict(**ruling)))

    assert outcome.first_alarm is None
    assert chat.asked


def test_few_questions_are_asked():
    policy = Policy.from_mapping({"judge": {"every": 100}})

    _, chat = replayed(small_talk(13), a_completion(a_verdict(loop=False)), policy=policy)

    assert len(chat.asked) == 1


@pytest.mark.parametrize("fields", [{"judge": {"suspicions": False}}, {"judged": False}])
def test_a_policy_can_forbid_questions(fields):
    policy = Policy.from_mapping(fields)

    _, chat = replayed(small_talk(13), a_completion(a_verdict()), policy=policy)

    assert chat.asked == []


def test_the_command_asks_the_model_and_says_what_it_cost(tmp_path, monkeypatch, capsys):
    line = {"role": "assistant", "tool": "Bash", "args": {"command": "make"}, "error": "E1"}
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join([json.dumps(line)] * 4))
    monkeypatch.setenv("MISSIONCONTROL_JUDGE_KEY", "csk-judge-0123456789abcdef0123")

    with ChatServer(a_completion(a_verdict())) as chat:
        asked = ["--judge", chat.url, "--judge-model", "gpt-4o-mini"]
        code = main(["replay", str(path), "--json", *asked])

    printed = capsys.readouterr()
    row = json.loads(printed.out)
    assert code == 0
    assert (row["first_alarm"], row["judge_calls"], row["judge_cost_usd"]) == (1, 1, "0.000171")
    assert "asked 1 times, $0.000171" in printed.err
    assert chat.headers[0]["Authorization"].endswith("0123")


@pytest.mark.parametrize(
    "args",
    [["--judge", "http://x/v1"], ["--judge-model", "m"], ["--judge", "x", "--judge-model", "m"]],
)
def test_a_judge_half_named_is_a_wrong_command_line(tmp_path, args, capsys):
    assert main(["replay", str(tmp_path / "none.jsonl"), *args]) == 2
    assert "guard replay: " in capsys.readouterr().err


# --- what is suspicious ------------------------------------------------------------


def suspect(turns, policy=DEFAULT_POLICY):
    engine = Engine(policy, suspects=True)
    return [engine.observe(turn) for turn in turns]


def suspected_at(turns, policy=None) -> list[int]:
    found = suspect(turns, policy or Policy())
    return [place for place, assessment in enumerate(found) if assessment.suspicion]


def edits_and_tests(outcomes) -> list[Turn]:
    turns = []
    for n, outcome in enumerate(outcomes):
        turns.append(a_call("Edit", "File updated.", path="a.py", old=f"v{n}", new=f"w{n}"))
        turns.append(a_call("Bash", outcome, command="pytest -q"))
    return turns


def pages(count: int) -> list[Turn]:
    return [
        a_call("Read", "\n".join(f"{name}{n} = {n * 7}" for name in "abc"), path=f"f{n}.py")
        for n in range(count)
    ]


def test_evidence_short_of_a_card_asks():
    assert suspected_at([FAILING, FAILING]) == [1]


@pytest.mark.parametrize(
    "checks",
    [
        [
            a_call("Bash", f"nothing in {n}", command=f"grep {n} log")
            for n in "abcdefghijklmnopqrst"
        ],
        small_talk(20),
    ],
    ids=["searches", "talk"],
)
@pytest.mark.parametrize("every", [1, 10])
def test_attempts_that_bring_little_ask_and_ask_again_after_as_many_more(checks, every):
    edit = a_call("Edit", "File updated.", path="a.py", old="a", new="b")
    policy = Policy.from_mapping({"judge": {"every": every, "drought": 8}})

    first, second = suspected_at([edit, *checks], policy)[:2]

    assert first in {8, 9}
    assert second - first == max(8, every)


def test_how_many_it_takes_is_the_policys():
    policy = Policy.from_mapping({"judge": {"drought": 4, "every": 1}})

    assert suspected_at(small_talk(9), policy) == [3, 7]


def test_a_suspicion_names_the_attempts_it_rests_on():
    suspicion = suspect(small_talk(8))[-1].suspicion

    assert suspicion.turns == tuple(range(8))
    assert suspicion.evidence.summary == "8 attempts have brought little."


def test_news_ends_a_drought():
    assert suspected_at([*small_talk(7), *pages(1), *small_talk(7, 7)]) == []


@pytest.mark.parametrize(
    "turns",
    [pages(30), edits_and_tests(f"{n} failed, {9 - n} passed" for n in (6, 5, 4, 3, 2, 1))],
)
def test_what_moves_is_not_suspicious(turns):
    assert suspected_at(turns) == []


def test_where_a_rule_trips_nothing_is_left_to_suspect():
    found = suspect([FAILING] * 4)

    assert not any(assessment.suspicion for assessment in found if assessment.trip)


def test_a_person_who_speaks_ends_a_suspicion():
    turns = small_talk(10)

    assert suspected_at([*turns[:5], a_user(), *turns[5:]]) == []


def test_a_suspicion_never_trips():
    found = suspect(small_talk(13))

    assert any(assessment.suspicion for assessment in found)
    assert all(assessment.trip is None for assessment in found)


def test_an_engine_rebuilt_from_its_window_suspects_the_same():
    turns = small_talk(13)
    whole, rebuilt = suspect(turns), suspect(turns)

    assert [one.suspicion for one in whole] == [one.suspicion for one in rebuilt]
