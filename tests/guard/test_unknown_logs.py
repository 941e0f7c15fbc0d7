"""Logs in forms that nobody has described, and texts that are none."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from time import process_time

import pytest

from guard.errors import UnreadableRecording
from guard.formats.labelled_logs import read_labelled_log
from guard.formats.unknown_records import read_unknown_records
from guard.turn import Role
from tests.guard.invented_forms import OPEN, OPEN_UNREAD, SEALED, SEALED_UNREAD, STEPS, cut_short
from tests.guard.no_runs import NO_RUNS

ROOT = Path(__file__).resolve().parents[2]
# Texts of this repository in which calls and answers are shown or stored.
SHOWN = ("tests/", "frontend/src/sync/streams/")


def bare(text):
    return "".join(text.replace("\\n", "\n").replace("\\", "").split())


@pytest.mark.parametrize(
    "form", [one for one in (*OPEN, *SEALED) if one not in OPEN_UNREAD + SEALED_UNREAD]
)
def test_each_call_is_read_with_its_answer_in_a_form_that_no_program_has(form, read):
    calls = [turn for turn in read(form(STEPS)) if turn.tool]

    assert len(calls) == len(STEPS)
    for call, step in zip(calls, STEPS, strict=True):
        told, came = bare(f"{call.tool} {call.args}"), bare(call.result or call.error or "")
        assert step.tool in told
        assert all(bare(str(value)) in told for value in step.args.values())
        assert bare(step.came.splitlines()[0] if form in cut_short else step.came) in came


@pytest.mark.parametrize("form", OPEN_UNREAD + SEALED_UNREAD)
def test_what_cannot_be_told_from_other_texts_is_refused(form, read):
    with pytest.raises(UnreadableRecording):
        read(form(STEPS))


@pytest.mark.parametrize("text", NO_RUNS.values(), ids=NO_RUNS)
def test_a_text_whose_lines_recur_is_no_run_by_that(text, read):
    with pytest.raises(UnreadableRecording):
        read(text)


@pytest.mark.slow
def test_no_text_of_this_repository_is_a_run_by_how_it_is_built():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=True)
    names = [name for name in listed.stdout.decode().split() if not name.startswith(SHOWN)]
    texts = {name: (ROOT / name).read_bytes().decode("utf-8", "replace") for name in names}

    runs = [
        name
        for name, text in texts.items()
        if len(text) < 500_000
        and (read_unknown_records(text, stem="a") or read_labelled_log(text, stem="a"))
    ]

    assert len(texts) > 500
    assert runs == []


def test_what_is_said_before_a_call_stands_with_it(read):
    text = "".join(f"[THINK] on {n}\n[DO] look at={n}\n[SEE] fog {n}\n" for n in range(3))

    assert [turn.content for turn in read(text)] == ["on 0", "on 1", "on 2"]


def test_a_program_s_name_before_each_line_does_not_hide_its_calls(read):
    turns = read("".join(f"[Agent] Calling tool: ls\n[Agent] Result: {n}\n" for n in range(9)))

    assert [(turn.tool, turn.result) for turn in turns] == [("ls", str(n)) for n in range(9)]


def test_no_line_of_a_log_is_lost(read):
    text = "Ahoy.\n" + "".join(f"[DO] look at={n}\nwet\n[SEE] fog {n}\n\ngulls\n" for n in range(3))

    told = " ".join(f"{one.content} {one.tool} {one.args} {one.result}" for one in read(text))

    assert all(told.count(word) == 3 for word in ("wet", "gulls", "fog"))
    assert "Ahoy." in told


def test_a_label_of_an_error_tells_that_a_call_failed(read):
    text = "".join(
        f"Tool: look\nInput: n={n}\n{'Error' if n else 'Result'}: fog\n" for n in range(3)
    )

    assert [turn.error for turn in read(text)] == [None, "fog", "fog"]


def test_who_asked_is_a_person(read):
    step = "Task: look {n}\nThought: well\nCommand: look at={n}\nOutput: fog {n}\n"
    turns = read("".join(step.format(n=n) for n in range(3)))

    assert [turn.content for turn in turns if turn.role is Role.USER] == [
        "look 0",
        "look 1",
        "look 2",
    ]


def test_dictionaries_are_read_as_the_objects_that_json_would_have(read):
    log = [{"call": {"name": "look", 1: "east"}, "result": "fog"}] * 3

    assert read("\n".join(map(repr, log)))[0].args == {"1": "east"}


def test_dictionaries_whose_fields_have_no_names_are_no_run(read):
    with pytest.raises(UnreadableRecording):
        read("{1: 'look', 2: 'fog'}\n" * 3)


HOSTILE = {
    "labels": "[DO] a\n[SEE] b\n" * 3 + "call: " * 1_000_000,
    "inputs": "Tool: x\n" + "Input: y\n" * 90_000,
    "nesting": "[" * 100_000,
    "tags": "<a " * 1_000_000,
    "quotes": "[DO] f(" + "a='" * 500_000,
    "brackets": "\n".join("[" * 80 for _ in range(50_000)),
    "insertions": "INSERT INTO a (b, c) VALUES (" * 100_000,
    "rows": "1. a(b) -> c\n" * 50_000,
    "records": json.dumps([{"cmd": "x", "args": {"n": n}, "output": "y"} for n in range(20_000)]),
    "names": json.dumps([dict.fromkeys(map(str, range(40_000))), *[{}] * 40_000]),
    "signs": "call -> " * 500_000,
    "constructors in constructors": f"{'f(a=' * 90}1{')' * 90}\n" * 10_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_take_no_longer_than_others(text):
    began = process_time()
    read_unknown_records(text, stem="a")
    read_labelled_log(text, stem="a")

    assert process_time() - began < 15  # of a second or two
