from __future__ import annotations

import json

import pytest

from guard.cli import main
from guard.explain.command import as_text
from guard.explain.reasons import Result, explain, find_telling
from guard.formats import Recording
from guard.policy import Policy
from guard.replay import replay
from guard.turn import Role, Turn
from tests.guard import transcripts
from tests.guard.build import a_call, a_proposal, a_user
from tests.guard.scenes import HEALTHY, LOOPS
from tests.guard.transcripts import write_lines

FAILING = a_call("Bash", error="boom", command="make")


def a_recording(*turns: Turn | None) -> Recording:
    return Recording(run="r", turns=turns)


def explained(*turns: Turn | None, at: int | None = None, policy: Policy | None = None):
    found = explain(a_recording(*turns), at, policy or Policy())
    assert found is not None
    return found


def guard_explain(*argv: object) -> int:
    return main(["explain", *(str(word) for word in argv)])


# --- it says what replay does -------------------------------------------------


@pytest.mark.parametrize("scene", sorted(LOOPS))
def test_by_default_it_explains_the_first_alarm(scene):
    turns, detector = LOOPS[scene]

    found = explained(*turns)

    assert (found.place, found.result) == (replay(a_recording(*turns)).first_alarm, Result.ALARM)
    assert found.assessment.trip is not None
    assert found.assessment.trip.detector == detector


def test_a_persons_words_are_explained_without_a_step():
    found = explained(FAILING, a_user("now look at the tests"), a_call("ls"), at=1)

    assert (found.place, found.step) == (1, None)


@pytest.mark.parametrize("role", [Role.TOOL, Role.USER])
def test_an_alarm_that_comes_with_an_answer_is_explained_by_the_call_it_answers(role):
    call = Turn(role=Role.ASSISTANT, tool="Bash", args={"command": "make"})
    answer = Turn(role=role, content="boom: no rule to make target")

    found = explained(a_user("Build it."), *[call, answer] * 3)

    assert (found.place, found.result) == (6, Result.ALARM)
    assert found.step is not None
    assert (found.step.seq, found.step.outcome and found.step.outcome.text) == (5, answer.content)
    assert found.findings


@pytest.mark.parametrize("scene", sorted(HEALTHY))
def test_a_healthy_turn_is_never_said_to_be_flagged(scene):
    turns = HEALTHY[scene]

    results = {explained(*turns, at=place).result for place in range(len(turns))}

    assert Result.ALARM not in results


def test_without_an_alarm_it_explains_what_came_nearest_to_one():
    turns = [a_user(), FAILING, FAILING, a_call("Read", "the Makefile, and its rules", path="M")]

    assert find_telling(a_recording(*turns)) == 2
    assert explained(*turns).result is Result.NUDGE


def test_after_the_alarm_the_card_is_open_already():
    assert explained(*[FAILING] * 4, at=3).result is Result.OPEN


def test_each_alarm_of_a_replay_is_explained_as_one():
    news = a_call("Bash", "a whole new story\nof two lines about ships", command="cat story")
    turns = [*[FAILING] * 4, news, *[FAILING] * 4]
    alarms = [alarm.index for alarm in replay(a_recording(*turns)).alarms]
    places = range(len(turns))

    assert len(alarms) == 2
    assert [at for at in places if explained(*turns, at=at).result is Result.ALARM] == alarms
    assert explained(*turns, at=5).began == "the agent got on, and its card closed"


def test_a_card_that_a_machines_report_in_a_users_turn_opens_is_explained_as_one():
    report = "Observation: NameError: name 'x' is not defined"
    failing = a_call("execute", error=report, code="print(x)")
    turns = [a_user("Solve it."), *[failing, a_user(report)] * 4]
    alarm = replay(a_recording(*turns)).first_alarm

    assert alarm is not None
    assert turns[alarm].role is Role.USER
    assert (found := explained(*turns)).place == alarm
    assert found.result is Result.ALARM
    assert (found.since, found.began) == (1, "a person spoke")
    assert "trips: repeat" in as_text(found, Policy())


def test_what_the_judge_lets_go_is_explained_with_its_reason():
    turns = [a_call("Bash", f"{n} failed", command="pytest -q") for n in (3, 2, 1)]
    strict = Policy.from_mapping({"detectors": ["loopguard"]})
    moments = [explained(*turns, at=place, policy=strict) for place in range(3)]
    let_go = [found for found in moments if found.result is Result.DISMISSED]

    assert let_go
    assert let_go[0].verdict is not None
    assert "Fewer checks fail" in let_go[0].verdict.reason


def test_what_a_person_says_is_not_judged_and_starts_afresh():
    turns = [FAILING, FAILING, a_user(), FAILING]

    assert explained(*turns, at=2).result is Result.SPOKEN_TO
    last = explained(*turns, at=3)
    assert (last.since, last.began, len(last.steps)) == (3, "a person spoke", 1)


def test_a_machine_that_refuses_what_is_handed_in_is_no_person():
    refused = a_user("ERROR! Your patch is empty. Please provide a patch that fixes the problem.")
    turns = [turn for n in range(4) for turn in (a_call("task_done", message=f"{n}"), refused)]

    found = explained(a_user("Make the kernel faster."), *turns)

    assert found.place == replay(a_recording(a_user("Make the kernel faster."), *turns)).first_alarm
    assert found.result is Result.ALARM
    assert found.step is not None
    assert found.step.failed


def test_an_unreadable_position_has_nothing_to_explain():
    assert explain(a_recording(FAILING, None), 1) is None
    assert explain(a_recording(), None) is None


def test_a_completed_proposal_is_explained_as_one_turn():
    asked = a_proposal("Bash", command="make", key="k", seq=0)
    done = a_call("Bash", error="boom", command="make", key="k", seq=1)
    found = explained(asked, done, at=1)

    assert found.step is not None
    assert (found.step.seq, found.step.failed, len(found.steps)) == (0, True, 1)


# --- the attempts, and the parts of the score -----------------------------------


def test_it_shows_what_each_attempt_repeats_brings_and_counts():
    news = a_call("Bash", "a whole new story\nof two lines about ships", command="cat story")
    found = explained(FAILING, FAILING, news, at=2)

    assert [weight.repeats for weight in found.weights] == ["", "same", ""]
    assert found.weights[1].gain > 0
    assert found.weights[2].brings in {"news", "some_news"}
    assert found.weights[2].keep < 1


def test_each_rule_says_its_own():
    signals = {one.detector: one.signal for one in explained(*[FAILING] * 3).findings}

    assert tuple(signals) == Policy().detectors
    assert signals["repeat"].score == 1.0
    assert signals["talk"] is None


# --- the command --------------------------------------------------------------


@pytest.fixture
def transcript(tmp_path):
    return write_lines(tmp_path / "session.jsonl", transcripts.claude_code(4))


def test_as_text_it_says_what_was_read_and_what_followed(transcript, capsys):
    assert guard_explain(transcript) == 0

    shown = capsys.readouterr().out
    assert "flagged: a card opens" in shown
    assert "repeat (exact_repeat): score 1.00, 3 of 3" in shown
    assert "trips: repeat, severity ask" in shown
    assert "judge: a loop." in shown


def test_a_turn_can_be_chosen(transcript, capsys):
    assert guard_explain(transcript, "--turn", 4) == 0

    shown = capsys.readouterr().out
    assert "turn 4 of df28a4ce: not flagged" in shown
    assert "most alike: turn 2, 1 of 1; nothing changed" in shown


def test_as_json_it_says_the_same(transcript, capsys):
    assert guard_explain(transcript, "--json") == 0

    found = json.loads(capsys.readouterr().out)
    exact = next(one for one in found["detectors"] if one["detector"] == "repeat")
    assert (found["turn"], found["result"], found["step"]["failed"]) == (6, "alarm", True)
    assert (exact["signal"]["score"], exact["signal"]["rung"]) == (1.0, "ask")
    assert found["judge"]["loop"] is True


def test_a_laxer_policy_explains_a_quieter_turn(transcript, tmp_path, capsys):
    policy = tmp_path / "lax.toml"
    policy.write_text('detectors = ["repeat"]\n[repeat]\ncalls = 9\nwithout_results = 9\n')

    assert guard_explain(transcript, "--turn", 6, "--policy", policy) == 0
    assert "3 of 9" in capsys.readouterr().out


def test_every_turn_of_every_agents_transcript_can_be_explained(tmp_path, capsys):
    for name in ("claude_code", "codex", "gemini"):
        path = write_lines(tmp_path / f"{name}.jsonl", getattr(transcripts, name)(3))
        for turn in range(4):
            assert guard_explain(path, "--turn", turn) == 0


def test_hostile_text_cannot_break_the_terminal(tmp_path, capsys):
    turn = {
        "role": "assistant",
        "tool": "Bash\x1b[2J",
        "args": {"command": "\x1b]0;x\x07"},
        "error": "\u202eboom\x1b[31m",
        "agent": "\x1b[5m",
    }
    path = write_lines(tmp_path / "a.jsonl", [{"run": "\x1b[2J"}, turn, turn, turn])

    assert guard_explain(path) == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("argv", "status"),
    [(["nowhere.jsonl"], 1), (["--turn", "99"], 1), (["--preset", "brokre"], 2)],
)
def test_what_cannot_be_explained_is_an_error_with_a_sentence(transcript, capsys, argv, status):
    file = [] if argv[0] == "nowhere.jsonl" else [transcript]

    assert guard_explain(*file, *argv) == status
    assert capsys.readouterr().err.startswith("guard explain: ")
