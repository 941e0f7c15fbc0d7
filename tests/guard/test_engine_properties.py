"""What holds for every run, however odd: found by Hypothesis, not by us."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guard.budget import Budget
from guard.engine import Engine
from guard.errors import UnreadableRecording
from guard.formats import FORMATS, Recording, read_recording
from guard.policy import DETECTOR_NAMES, PRESETS, Policy
from guard.replay import replay
from guard.signals import Assessment
from guard.turn import Phase, Role, Turn, Usage
from tests.examples import examples_for
from tests.guard.build import a_call, a_message, a_proposal, a_user

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = Policy(detectors=DETECTOR_NAMES, budget=Budget(usd=Decimal(5), calls=900, failures=50))
FEW = settings(
    max_examples=examples_for(15),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
MANY = settings(FEW, max_examples=examples_for(48))

# --- runs that look like runs --------------------------------------------------

READS = [a_call("Read", f"def part_{n}():\n    return {n * 7}\n" * 3, path=n) for n in range(5)]
DEEDS = [
    *READS,
    a_call("Bash", error="boom: no such target", command="make"),
    a_call("Bash", error="boom: no such target", command="make -k"),
    a_call("Bash", "3 failed, 2 passed", command="pytest -q"),
    a_call("Bash", "2 failed, 3 passed", command="pytest -q"),
    a_call("Bash", "still running", command="sleep 5 && docker ps"),
    a_call("Edit", "has been edited", path="a.py", old="x", new="y"),
    a_call("Edit", "has been edited", path="a.py", old="y", new="x"),
    a_call("grep", "", pattern="needle"),
    a_call("grep", "", pattern="needles"),
    a_call("step", "ok", content="I move on."),
    a_message("Let me think about the failing test once more."),
    a_message("Let me think again about the failing test."),
    replace(a_message("Over to you."), agent="planner"),
    replace(a_message("No, over to you."), agent="coder"),
    a_proposal("Bash", command="make"),
    a_user("Go on."),
]
RUNS = st.lists(st.sampled_from(DEEDS), max_size=80)
LONG_RUNS = st.integers(0, 2**32).flatmap(
    lambda seed: st.lists(st.sampled_from(DEEDS[:-1]), min_size=30, max_size=60).map(
        lambda turns: [
            turns[(seed >> (place % 7)) % len(turns) - place % 5] for place in range(190)
        ]
    )
)


def numbered(turns: list[Turn]) -> list[Turn]:
    return [replace(turn, seq=place) for place, turn in enumerate(turns)]


def assessments_of(engine: Engine, turns: list[Turn]) -> list[Any]:
    return [engine.observe(turn) for turn in turns]


@FEW
@given(RUNS, st.sampled_from(sorted(PRESETS)))
def test_the_same_turns_give_the_same_signals(turns, preset):
    turns = numbered(turns)

    assert assessments_of(Engine(PRESETS[preset]), turns) == assessments_of(
        Engine(PRESETS[preset]), turns
    )


def told_apart(turns: list[Turn]) -> list[Turn]:
    """Give answers as turns of their own."""
    return [
        one
        for turn in turns
        for one in (
            (replace(turn, result=None), Turn(role=Role.TOOL, content=turn.result))
            if turn.tool and turn.result and turn.role is Role.ASSISTANT
            else (turn,)
        )
    ]


def both_engines(turns: list[Turn]) -> tuple[Assessment, Assessment]:
    """Give what one that saw all and one that saw the last window say of the last turn."""
    *past, newest = numbered(turns)
    lived, rebuilt = Engine(), Engine()
    assessments_of(lived, past)
    assessments_of(rebuilt, past[-Engine.WINDOW :])
    return lived.observe(newest), rebuilt.observe(newest)


@FEW
@given(LONG_RUNS)
def test_an_engine_rebuilt_from_the_last_window_says_the_same_next(turns):
    lived, rebuilt = both_engines(turns)

    assert (rebuilt.signals, rebuilt.changed) == (lived.signals, lived.changed)


@FEW
@given(LONG_RUNS)
def test_where_answers_stand_apart_it_tells_what_changed_the_same(turns):
    lived, rebuilt = both_engines(told_apart(turns))

    assert rebuilt.changed == lived.changed


@pytest.mark.parametrize("after", [45, 70])
def test_a_rebuilt_engine_forgets_the_same_pages_where_answers_stand_apart(after):
    pages = [
        a_call("Read", f"quay{n} lamp{n} rope{n} mast{n} keel{n} sail{n}", path=f"{n}.md")
        for n in range(after)
    ]
    lived, rebuilt = both_engines(told_apart([*pages, *pages, pages[0]]))

    assert rebuilt.changed == lived.changed


@FEW
@given(RUNS)
def test_scores_are_shares_and_evidence_is_of_this_run(turns):
    for place, assessment in enumerate(assessments_of(Engine(EVERYTHING), numbered(turns))):
        assert 0.0 <= assessment.score <= 1.0
        for signal in assessment.signals:
            assert 0.0 < signal.score <= 1.0
            assert list(signal.turns) == sorted(set(signal.turns))
            assert 0 <= signal.turns[0] <= signal.turns[-1] <= place


WATCHED_ELSEWHERE = """
import sys
from guard.engine import Engine
from tests.guard.scenes import HEALTHY, LOOPS
for turns in [turns for turns, _ in LOOPS.values()] + list(HEALTHY.values()):
    engine = Engine()
    print([engine.observe(turn) for turn in turns])
"""


def test_another_process_with_other_hashes_says_the_same():
    results = {
        subprocess.run(
            [sys.executable, "-c", WATCHED_ELSEWHERE],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(results) == 1


# --- memory --------------------------------------------------------------------


def held_by(engine: Engine) -> int:
    """Bytes that an engine keeps alive; code is not counted."""
    seen, waiting, size = set[int](), [engine], 0
    code = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, code):
            continue
        seen.add(id(thing))
        size += sys.getsizeof(thing)
        waiting.extend(gc.get_referents(thing))
    return size


def a_new_turn(number: int) -> Turn:
    lines = "\n".join(f"{number} says line {line} of its answer" for line in range(60))
    return a_call(f"tool_{number}", lines, agent=f"agent {number}", key=f"k{number}", n=number)


@pytest.mark.slow
def test_a_long_run_holds_no_more_than_a_short_one():
    engine = Engine(EVERYTHING)
    sizes = []
    for number in range(1400):
        engine.observe(a_new_turn(number))
        if number in {700, 1399}:
            sizes.append(held_by(engine))

    assert sizes[1] < 1.2 * sizes[0]


def test_proposals_that_never_complete_are_forgotten():
    engine = Engine(EVERYTHING)
    sizes = []
    for number in range(900):
        engine.observe(a_proposal("Bash", key=f"k{number}", command=f"job {number}"))
        if number in {400, 899}:
            sizes.append(held_by(engine))

    assert sizes[1] < 1.2 * sizes[0]


def test_long_answers_are_not_held():
    engine = Engine(EVERYTHING)
    for number in range(60):
        engine.observe(a_call("Bash", f"{number}\n" + f"line {number}\n" * 100_000, n=number))

    assert held_by(engine) < 8_000_000


def test_a_step_takes_little_room_beside_what_it_names():
    engine = Engine(EVERYTHING)
    engine.observe(a_call("Bash", command="ls"))
    step = engine.history.last

    assert sys.getsizeof(step) + sys.getsizeof(getattr(step, "__dict__", None)) < 600


# --- input of any sort ---------------------------------------------------------

# Lone surrogates, controls and every script: what a broken tool may hand over.
TEXTS = st.text(st.characters(), max_size=60)
NUMBERS = st.one_of(
    st.floats(), st.integers(), st.sampled_from([10**400, -(10**400), 2**63, float("nan")])
)
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.binary(max_size=20))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
COUNTS = st.integers(0, 10**40)
USAGES = st.builds(Usage, input=COUNTS, cache_read=COUNTS, output=COUNTS)
TIMES = st.one_of(st.datetimes(), st.datetimes(timezones=st.just(UTC)))
ODD_TURNS = st.builds(
    Turn,
    role=st.sampled_from(Role),
    key=st.none() | st.sampled_from(["a", "b"]) | TEXTS,
    agent=st.none() | TEXTS,
    phase=st.sampled_from(Phase),
    tool=st.none() | st.sampled_from(["Bash", "Read", "Edit"]) | TEXTS,
    args=st.none() | st.dictionaries(TEXTS | st.sampled_from(["command", "path"]), VALUES),
    content=st.none() | TEXTS,
    result=st.none() | TEXTS,
    error=st.none() | TEXTS,
    files=st.lists(TEXTS, max_size=3).map(tuple),
    state=st.none() | TEXTS,
    action_class=st.none() | TEXTS,
    call_id=st.none() | TEXTS,
    model=st.none() | st.sampled_from(["gpt-5", "claude-sonnet-4-5"]) | TEXTS,
    provider=st.none() | TEXTS,
    usage=st.none() | USAGES,
    cost_usd=st.none() | st.decimals(min_value=0, allow_nan=False, allow_infinity=False),
    ts=st.none() | TIMES,
    seq=st.none() | st.integers(0, 20),
)


@MANY
@given(st.lists(ODD_TURNS, max_size=12))
def test_no_turn_raises(turns):
    recording = Recording(run="odd", turns=tuple(turns))

    assert replay(recording, EVERYTHING).turns == len(turns)


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"end": "here"}
    for _ in range(depth):
        value = {"in": [value]}
    return value


def circular() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


HUGE: dict[str, Callable[[], Turn]] = {
    "10 MB on one line": lambda: a_call("Bash", "x" * 10_000_000, command="y" * 10_000_000),
    "10 MB of lines": lambda: a_call("Bash", "a line\n" * 1_400_000, command="cat"),
    "10 MB of an error": lambda: a_call("Bash", error="error: " * 1_400_000, command="make"),
    "10 MB of binary": lambda: a_call("Bash", bytes(range(256)).decode("latin-1") * 40_000),
    "10 MB said": lambda: a_message("word " * 2_000_000),
    "10 MB chanted": lambda: a_message("The tests pass now. " * 500_000),
    "10 MB of digits": lambda: a_call("Bash", "9" * 10_000_000),
    "10 MB of brackets": lambda: a_call("Bash", "[" * 10_000_000, command="(" * 1_000_000),
    "50,000 arguments": lambda: a_call("Bash", args={str(n): n for n in range(50_000)}),
    "nested deeply": lambda: a_call("Bash", args=nested(100_000)),
    "nested in itself": lambda: a_call("Bash", args=circular()),
    "things that are no JSON": lambda: a_call(
        "Bash", args={"a": object(), "b": {1, 2}, 3: b"\xff"}
    ),
    "lone surrogates": lambda: a_call("\ud800", "\udfff" * 1000, path="\ud800\udc00\ud800"),
    "no number": lambda: a_call("Bash", args={"a": float("nan"), "b": float("inf"), "c": 10**5000}),
}


@pytest.mark.parametrize("name", sorted(HUGE))
def test_no_size_or_shape_raises(name):
    huge = HUGE[name]()
    turns = (huge, replace(huge, phase=Phase.PROPOSED), huge, huge)

    assert replay(Recording(run="huge", turns=turns), EVERYTHING).turns == 4


# --- files of any sort ---------------------------------------------------------

WORDS = (
    "run",
    "role",
    "tool",
    "args",
    "content",
    "result",
    "error",
    "ts",
    "usage",
    "cost_usd",
    "files",
    "type",
    "message",
    "id",
    "sessionId",
    "uuid",
    "timestamp",
    "model",
    "payload",
    "call_id",
    "name",
    "arguments",
    "input",
    "output",
    "info",
    "last_token_usage",
    "total_token_usage",
    "messages",
    "$set",
    "toolCalls",
    "tokens",
    "status",
    "is_error",
    "tool_use_id",
    "text",
    "isSidechain",
    "input_tokens",
    "cached",
    "cache_creation",
    "workspace",
    "goal",
    "label",
)
TELLING = st.sampled_from(
    [
        "assistant",
        "user",
        "gemini",
        "tool_use",
        "tool_result",
        "text",
        "function_call",
        "function_call_output",
        "response_item",
        "event_msg",
        "token_count",
        "message",
        "session_meta",
        "2026-11-21T21:08:00Z",
        "error",
    ]
)
JSON_LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, TELLING)
JSON_VALUES = st.recursive(
    JSON_LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6)
    ),
    max_leaves=25,
)
ROWS = st.lists(
    st.none() | st.dictionaries(st.sampled_from(WORDS), JSON_VALUES, max_size=8), max_size=8
)


@MANY
@given(ROWS, st.sampled_from(sorted(FORMATS)))
def test_no_row_of_json_breaks_a_reader(rows, form):
    recognises, read = FORMATS[form]
    recognises([row for row in rows if row is not None])

    recording = read(rows, stem="odd")

    assert replay(recording, EVERYTHING).turns <= len(recording.turns)


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("odd")
    return folder / "odd.jsonl"


def read_or_refuse(file: Path) -> Recording | None:
    try:
        return read_recording(file)
    except UnreadableRecording:
        return None


@MANY
@given(st.binary(max_size=300) | ROWS.map(lambda rows: "\n".join(map(json.dumps, rows)).encode()))
def test_no_bytes_break_a_file(file, data):
    file.write_bytes(data)

    recording = read_or_refuse(file)

    assert recording is None or replay(recording).turns <= len(recording.turns)


HUGE_FILES = {
    "nothing": b"",
    "zeros": bytes(1_000_000),
    "nested deeply": b'{"role":"user","content":' + b"[" * 1_000_000,
    "nested deeply and closed": b'{"tool":"t","args":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001,
    "one document, broken": b'{\n"sessionId": 1, "messages": [' + b"{}," * 100_000,
    "one long line": b'{"role":"assistant","content":"' + b"x" * 10_000_000 + b'"}\n',
    "a number too long": b'{"role":"user","content":"a","ts":' + b"9" * 10_000 + b"}",
    "a huge number": b'{"role":"user","content":"a","ts":' + b"9" * 400 + b',"cost_usd":1e999}',
    "huge tokens": b'{"role":"user","tool":"a","usage":{"input":' + b"9" * 400 + b"}}",
    "no numbers": b'{"role":"user","content":"a","ts":NaN,"cost_usd":Infinity}',
    "UTF-16": '{"role":"user","content":"a"}'.encode("utf-16"),
    "lone surrogates": b'{"role":"assistant","tool":"\\ud800","result":"\\udfff"}\n' * 4,
    "carriage returns": b'{"role":"user","content":"a"}\r\n' * 3,
}


@pytest.mark.parametrize("name", sorted(HUGE_FILES))
def test_no_size_or_shape_of_a_file_raises(file, name):
    file.write_bytes(HUGE_FILES[name] + b"\n" + HUGE_FILES[name])

    recording = read_or_refuse(file)

    assert recording is None or replay(recording, EVERYTHING).turns <= len(recording.turns)


def test_a_line_longer_than_any_turn_is_one_malformed_position(tmp_path, monkeypatch):
    monkeypatch.setattr("guard.formats._MAX_LINE_BYTES", 100)
    turn = b'{"role":"user","content":"a"}\n'
    path = tmp_path / "a.jsonl"
    path.write_bytes(turn + b'{"role":"user","content":"' + b"x" * 500 + b'"}\n' + turn)

    recording = read_recording(path)

    assert [turn is None for turn in recording.turns] == [False, True, False]
    assert recording.malformed == 1


def test_times_far_from_ours_are_read_or_absent():
    at = datetime(1, 1, 1, tzinfo=UTC)
    turns = (replace(READS[0], ts=at), replace(READS[1], ts=datetime.max.replace(tzinfo=UTC)))

    assert replay(Recording(run="old", turns=turns), EVERYTHING).turns == 2
