from __future__ import annotations

import json
from decimal import Decimal

import pytest

from guard.cli import main
from guard.formats import Recording
from guard.policy import Policy
from guard.replay import replay
from guard.turn import Turn, Usage
from tests.guard import transcripts
from tests.guard.build import a_call, a_user
from tests.guard.scenes import HEALTHY, LOOPS
from tests.guard.transcripts import write_lines

KEYS = [
    "run",
    "turns",
    "first_alarm",
    "first_stop",
    "detector",
    "kind",
    "cost_usd",
    "wasted_usd",
    "us_per_turn",
    "alarms",
]
FAILING = {"role": "assistant", "tool": "Bash", "args": {"command": "make"}, "error": "boom"}


def a_recording(turns: list[Turn | None], **fields) -> Recording:
    return Recording(run="r", turns=tuple(turns), **fields)


def guard(*argv: object) -> int:
    return main([str(word) for word in argv])


@pytest.mark.parametrize("scene", sorted(LOOPS))
def test_a_loop_alarms_on_its_last_turn(scene):
    turns, detector = LOOPS[scene]

    replayed = replay(a_recording(turns))

    assert (replayed.first_alarm, replayed.detector) == (len(turns) - 1, detector)
    assert replayed.first_stop is None


@pytest.mark.parametrize("scene", sorted(HEALTHY))
def test_healthy_work_raises_no_alarm(scene):
    assert replay(a_recording(HEALTHY[scene])).first_alarm is None


def test_the_first_alarm_stays_the_first():
    failing = a_call("Bash", error="boom", command="make")

    assert replay(a_recording([failing] * 9)).first_alarm == 2


def test_unreadable_positions_count_as_positions():
    failing = a_call("Bash", error="boom", command="make")

    replayed = replay(a_recording([None, failing, None, failing, failing]))

    assert (replayed.first_alarm, replayed.turns) == (4, 3)


def test_cost_is_absent_where_nothing_is_priced():
    replayed = replay(a_recording([a_call()]))

    assert (replayed.cost_usd, replayed.wasted_usd) == (None, None)


def test_a_run_without_an_alarm_wastes_nothing():
    replayed = replay(a_recording([a_call("Bash", cost_usd=Decimal("0.50"))]))

    assert (replayed.cost_usd, replayed.wasted_usd) == (Decimal("0.50"), Decimal(0))


def test_waste_is_counted_from_the_evidence_to_the_next_news():
    paid = {"cost_usd": Decimal(1)}
    good = [a_call("Read", f"text {n} of it", path=n, **paid) for n in "abc"]
    stuck = [a_call("Bash", error="boom", command="make", **paid)] * 4

    replayed = replay(a_recording([good[0], *stuck, *good[1:]]))

    assert (replayed.cost_usd, replayed.wasted_usd) == (Decimal(7), Decimal(4))


def test_usage_of_one_model_call_is_paid_once():
    used = {
        "usage": Usage(input=1200, cache_write_5m=300, cache_read=9000, output=42),
        "model": "claude-sonnet-4-5",
        "provider": "anthropic",
        "call_id": "m",
    }

    replayed = replay(a_recording([a_call("a", **used), a_call("b", **used)]))

    assert replayed.cost_usd == Decimal("0.008055")


def test_a_budget_is_an_alarm_and_no_stop():
    policy = Policy.from_mapping({"budget": {"turns": 3}})

    replayed = replay(a_recording(HEALTHY["page after page"]), policy)

    assert (replayed.first_alarm, replayed.kind, replayed.first_stop) == (2, "budget", None)


def test_the_command_prints_the_contracts_line_for_each_file(tmp_path, capsys):
    loop = write_lines(tmp_path / "loop.jsonl", [{"run": "r1"}, FAILING, FAILING, FAILING])
    fine = write_lines(tmp_path / "fine.jsonl", [FAILING])

    assert guard("replay", loop, fine, "--json") == 0

    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert list(first) == KEYS
    assert (first["run"], first["first_alarm"], first["kind"]) == ("r1", 2, "exact_repeat")
    assert (second["run"], second["first_alarm"], second["turns"]) == ("fine", None, 1)


def test_the_command_reads_the_policy_as_for_a_type_of_task(tmp_path, capsys):
    loop = write_lines(tmp_path / "loop.jsonl", [FAILING] * 4)
    policy = tmp_path / "policy.toml"
    policy.write_text("[task_type.research.repeat]\ncalls = 4\n")

    for words in ([], ["--task-type", "research"]):
        guard("replay", loop, "--policy", policy, "--json", *words)

    plain, research = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (plain["first_alarm"], research["first_alarm"]) == (2, 3)


@pytest.mark.parametrize("rows", [transcripts.claude_code, transcripts.codex, transcripts.gemini])
def test_the_command_finds_the_loop_in_every_agents_transcript(tmp_path, capsys, rows):
    file = write_lines(tmp_path / "session.jsonl", rows())

    guard("replay", file, "--json")

    row = json.loads(capsys.readouterr().out)
    assert row["detector"] == "repeat"
    assert Decimal(row["cost_usd"]) > 0


def test_the_label_changes_nothing(tmp_path, capsys):
    rows = [FAILING] * 3
    for name, label in (("a", {"looping": True, "loop_start": 0}), ("b", None)):
        write_lines(tmp_path / f"{name}.jsonl", [{"run": "r", "label": label}, *rows])

    guard("replay", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--json")

    one, other = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert {**one, "us_per_turn": 0} == {**other, "us_per_turn": 0}


def test_unreadable_lines_are_counted_on_stderr(tmp_path, capsys):
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(FAILING) + "\n\n{\n")

    assert guard("replay", file, "--json") == 0

    captured = capsys.readouterr()
    assert "2 unreadable lines" in captured.err
    assert len(captured.out.splitlines()) == 1


def test_without_json_it_prints_a_table(tmp_path, capsys):
    file = write_lines(tmp_path / "a.jsonl", [FAILING] * 3)

    guard("replay", file)

    head, line = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["run", "turns", "alarm"]
    assert line.split()[:4] == ["a", "3", "2", "repeat"]


def test_a_missing_file_does_not_stop_the_others(tmp_path, capsys):
    file = write_lines(tmp_path / "a.jsonl", [FAILING])

    assert guard("replay", tmp_path / "none.jsonl", file, "--json") == 1

    captured = capsys.readouterr()
    assert "none.jsonl" in captured.err
    assert len(captured.out.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", '{"repeat": {"calls": 2}}'),
        ("p.toml", "[repeat]\ncalls = 2\n"),
    ],
)
def test_a_policy_file_is_json_or_toml(tmp_path, capsys, name, text):
    file = write_lines(tmp_path / "a.jsonl", [FAILING] * 3)
    policy = tmp_path / name
    policy.write_text(text)

    guard("replay", file, "--policy", policy, "--json")

    assert json.loads(capsys.readouterr().out)["first_alarm"] == 1


@pytest.mark.parametrize("text", ["[repeat]\ncalls = 'x'\n", "not = [toml", "{"])
def test_a_wrong_policy_file_is_explained(tmp_path, capsys, text):
    policy = tmp_path / "p.toml"
    policy.write_text(text)

    assert guard("replay", "x.jsonl", "--policy", policy) == 2
    assert "policy field" in capsys.readouterr().err


def test_an_unknown_preset_is_answered_with_the_known_ones(capsys):
    assert guard("replay", "x.jsonl", "--preset", "brokre") == 2
    assert "default" in capsys.readouterr().err


def test_a_poll_the_judge_lets_go_is_no_alarm():
    turns = [a_call("Bash", f"{n} failed", command="pytest -q") for n in (3, 2, 1)]

    replayed = replay(a_recording([a_user(), *turns]))

    assert (replayed.first_alarm, replayed.alarms) == (None, ())


def test_what_the_judge_took_back_is_shown_with_its_reason(tmp_path, capsys):
    file = write_lines(tmp_path / "a.jsonl", transcripts.fewer_failing())
    policy = tmp_path / "p.toml"
    policy.write_text('detectors = ["loopguard"]\n')

    guard("replay", file, "--policy", policy, "--json")
    (taken_back,) = json.loads(capsys.readouterr().out)["dismissed"]
    guard("replay", file, "--policy", policy)
    head, line = capsys.readouterr().out.splitlines()

    assert (taken_back["index"], taken_back["judge"]) == (2, "local")
    assert taken_back["reason"] == "Fewer checks fail each time: 3, now 1."
    assert line[head.index("let go") :].split()[0] == "1"


def test_every_alarm_is_told_not_the_first_alone():
    failing = a_call("Bash", error="boom", command="make")
    news = a_call("Read", "\n".join(f"line {n} of the plan" for n in range(30)), path="plan.md")
    turns = [failing, failing, failing, failing, news, failing, failing, failing]

    replayed = replay(a_recording(turns))

    assert [alarm.index for alarm in replayed.alarms] == [2, 7]
    assert replayed.as_row()["alarms"][0] == {
        "index": 2,
        "detector": "repeat",
        "kind": "exact_repeat",
    }
