"""Commands that stand in an agent's text, and answers that come in the user's name."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from guard.engine import Engine
from guard.reading.attempts import Kind, TurnReader
from guard.reading.written import as_call, is_report, reported, shown_call
from guard.turn import Role, Turn
from tests.guard.build import a_message, a_user, first_trip

COMMAND = "npx vitest run tests/orders.spec.ts"
FAILURE = "FAIL tests/orders.spec.ts\nExpected total 42.50, received 42.05\n1 failed, 11 passed"
GOAL = "Order totals are a few cents off. Find out why and mend it."
SAID = ("The totals are still off.", "Perhaps the cache was stale.", "I check once more.")


class Form(NamedTuple):
    """How one kind of log writes a command and what came of it."""

    call: str
    answer: str
    role: Role = Role.USER


AUTOGPT = json.dumps(
    {"thoughts": {"text": "SAID"}, "command": {"name": "shell", "args": {"line": "COMMAND"}}},
    indent=1,
)
TERMINUS = json.dumps(
    {"analysis": "SAID", "commands": [{"keystrokes": "COMMAND\n", "duration": 1.0}]}
)
HERMES_CALL = json.dumps({"name": "bash", "arguments": {"command": "COMMAND"}})
HERMES = f"SAID\n<tool_call>\n{HERMES_CALL}\n</tool_call>"
ROO = (
    "[execute_command for 'COMMAND'] Result:\nANSWER\n<environment_details>\n# Current Time\n"
    "10:1NUMBER AM\n\n# Current Cost\n$0.1NUMBER\n</environment_details>"
)
FENCED = "THOUGHT: SAID\n\n```bash\nCOMMAND\n```"
FORMS = {
    "mini-swe-agent": Form(FENCED, "<returncode>0</returncode>\n<output>\nANSWER\n</output>"),
    "SWE-agent": Form(
        "SAID\n```\nCOMMAND\n```", "ANSWER\n(Open file: n/a)\n(Current directory: /shop)\nbash-$"
    ),
    "a fence and an observation": Form(FENCED, "Observation: ANSWER"),
    "a fence and a tool's turn": Form(FENCED, "ANSWER", Role.TOOL),
    "OpenHands, functions": Form(
        "SAID\n<function=execute_bash>\n<parameter=command>COMMAND</parameter>\n</function>",
        "EXECUTION RESULT of [execute_bash]:\nANSWER\n[Command finished with exit code 1]",
    ),
    "OpenHands, tags": Form(
        "SAID\n<execute_bash>\nCOMMAND\n</execute_bash>", "OBSERVATION:\nANSWER"
    ),
    "Cline and Roo": Form(
        "SAID\n\n<execute_command>\n<command>COMMAND</command>\n</execute_command>", ROO
    ),
    "Kilo, as exported": Form(
        "SAID\n\n[Tool Use: execute_command]\nCommand: COMMAND\nCwd: /shop", f"[Tool]\n{ROO}"
    ),
    "AutoGPT": Form(AUTOGPT, "Command shell returned: ANSWER"),
    "Terminus": Form(TERMINUS, "New Terminal Output:\n\nroot@box:/shop# COMMAND\nANSWER"),
    "Hermes": Form(HERMES, "<tool_response>\nANSWER\n</tool_response>"),
    "smolagents": Form("Thought: SAID\n<code>\nrun('COMMAND')\n</code>", "Observation:\nANSWER"),
    "a text world": Form("Action:\nCOMMAND", "Observation:\nANSWER", Role.TOOL),
    "a Python fence": Form(
        "SAID\n```python\nprint(run('COMMAND'))\n```", "Output:\n```\nANSWER\n```"
    ),
}


def turns_in(form: Form, said: str, command: str, answer: str, number: int) -> list[Turn]:
    """Write a command and its answer as this form does."""
    call = form.call.replace("SAID", said).replace("COMMAND", command)
    words = form.answer.replace("COMMAND", command).replace("ANSWER", answer)
    return [
        a_message(call),
        Turn(role=form.role, content=words.replace("NUMBER", str(number))),
    ]


def a_vain_run(form: Form, times: int) -> list[Turn]:
    steps = [turns_in(form, SAID[n % 3], COMMAND, FAILURE, n) for n in range(times)]
    return [a_user(GOAL), *[turn for step in steps for turn in step]]


def a_run_that_gets_on(form: Form) -> list[Turn]:
    commands = {
        "ls src": "orders.ts\nprices.ts\ntax.ts",
        "cat src/orders.ts": "export function total(items) {\n  return sum(items)\n}",
        "cat src/tax.ts": "export const VAT = 0.19\nexport function withTax(n) {}",
        "grep -rn withTax src": "src/prices.ts:12: return withTax(base)",
        "cat src/prices.ts": "import { withTax } from './tax'",
        "sed -i s/base/cents/ src/prices.ts": "(no output)",
        COMMAND: "12 passed",
        "git commit -am 'Round to cents'": "[main 3f2a9c1] Round to cents",
    }
    steps = [
        turns_in(form, f"Step {n}.", command, answer, n)
        for n, (command, answer) in enumerate(commands.items())
    ]
    return [a_user(GOAL), *[turn for step in steps for turn in step]]


@pytest.mark.parametrize("name", FORMS)
def test_the_same_failure_is_seen_at_the_third_time_in_each_form(name):
    trip = first_trip(a_vain_run(FORMS[name], 6))

    assert trip == 6


@pytest.mark.parametrize("name", FORMS)
def test_work_that_gets_on_is_left_alone_in_each_form(name):
    assert first_trip(a_run_that_gets_on(FORMS[name])) is None


def test_a_person_who_answers_a_proposal_is_a_person():
    reader = TurnReader()
    turns = [a_message("Try this:\n```bash\nnpm ci\n```"), a_user("That fails on my laptop.")]

    kinds = [reader.take(turn, place).kind for place, turn in enumerate(turns * 2)]

    assert kinds[1] is Kind.PERSON


def test_a_persons_answer_that_a_harness_wraps_is_a_persons():
    text = "[ask_followup_question for 'Which one?'] Result:\n<answer>\nthe first\n</answer>"

    assert not is_report(a_user(text))


@pytest.mark.parametrize(
    "text",
    [
        "Output from my own machine looks fine.",
        "The function below is what I mean:\ndef total(items): ...",
        "[see the log for 'tests'] It broke again.",
    ],
)
def test_what_a_person_writes_is_no_report(text):
    assert not is_report(a_user(text))


def test_the_surroundings_of_an_answer_are_no_part_of_it():
    first, second = (ROO.replace("NUMBER", n).replace("ANSWER", "3 passed") for n in "12")

    assert reported(first) == reported(second) == "3 passed"


def test_an_exit_code_stays_with_what_was_printed():
    assert reported("<returncode>2</returncode>\n<output>\nno\n</output>") == "exit code 2\nno"
    assert reported("<returncode>0</returncode>\n<output>\nyes\n</output>") == "yes"


def test_what_a_harness_says_below_each_output_is_no_part_of_it():
    text = "<returncode>0</returncode>\n<output>\nyes\n</output>\nReflect on what you did."

    assert reported(text) == "yes"


def test_each_argument_of_an_exported_call_has_its_line():
    text = "First.\n[Tool Use: write_file]\nPath: a.md\nFile_text: Wells\n\nThree of them.\n"

    call = as_call(a_message(text))

    assert call.tool == "write_file"
    assert call.args == {"path": "a.md", "file_text": "Wells\n\nThree of them."}
    assert call.content == "First."


SENT_BACK = (
    "[ERROR] You did not use a tool in your previous response!\n<environment_details>\n10:0NUMBER",
    "Please always provide EXACTLY ONE action in triple backticks, found 0 actions.",
    "Your output was not formatted correctly. You must always include one command.",
)


@pytest.mark.parametrize("words", SENT_BACK)
def test_replies_that_a_harness_sends_back_are_vain(words):
    turns = [a_user(GOAL)]
    for number in range(5):
        turns.append(a_message(f"Now I write part {number} of the long script."))
        turns.append(a_user(words.replace("NUMBER", str(number))))

    assert first_trip(turns) == 6
    assert first_trip([*turns[:5], *a_run_that_gets_on(FORMS["OpenHands, tags"])[1:]]) is None


def test_a_person_who_speaks_with_a_refusal_is_a_person():
    text = SENT_BACK[0] + "\n<feedback>\nuse the other file\n</feedback>"

    assert not is_report(a_user(text))


def test_several_fences_are_no_command():
    text = "Either\n```bash\nls\n```\nor\n```bash\ndir\n```"

    assert shown_call(a_message(text)) is None


def test_tools_may_be_named_in_any_script():
    call = as_call(a_message("Action: データ分析\nAction Input: 売上"))

    assert call.tool == "データ分析"


@pytest.mark.parametrize(
    "text",
    [
        "<function=" * 4000 + "x",
        "<execute_bash>\n" * 2500 + "</code>",
        "<a_b>\n" * 6000 + ">",
        "```" * 13_000,
        "<parameter=a>" * 3000 + "</function>",
        "[ab for '" * 4000 + "] Result:",
        "[Tool Use: a]\n" * 2500 + "Command: " * 900,
        "[Tool Use: a]\n" + "Ab: x\n" * 5000,
        "(Open file: " * 3000 + "(Current directory: ",
    ],
    ids=range(9),
)
def test_no_text_keeps_the_reader_busy(text):
    engine = Engine()

    assert engine.observe(a_message(text)).seq == 0
    assert engine.observe(a_user(text)).seq == 1
