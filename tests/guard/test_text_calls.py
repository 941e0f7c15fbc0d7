"""Commands that stand in an agent's text, and answers that come in the user's name."""

from __future__ import annotations

import html
import json
from typing import NamedTuple

import pytest

from guard.engine import Engine
from guard.reading.attempts import TurnKind, TurnReader
from guard.reading.outcome import outcome_of
from guard.reading.text_calls import as_call, is_report, report_content, shown_call
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
ARGUMENTS = json.dumps({"command": "COMMAND"})
BLOCKS = json.dumps(
    [{"type": "tool_use", "id": "u1", "name": "bash", "input": {"command": "COMMAND"}}]
)
OPENAI = json.dumps(
    {"tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": ARGUMENTS}}]}
)
AUTOGEN = f"""desk (to chat_manager):

SAID
***** Suggested tool call (call_7f3a): bash *****
Arguments:
{ARGUMENTS}
*************************************************

{"-" * 80}"""
AUTOGEN_ANSWER = f"""
>>>>>>>> EXECUTING FUNCTION bash...
Call ID: call_7f3a
proxy (to chat_manager):

***** Response from calling tool (call_7f3a) *****
ANSWER
**************************************************

{"-" * 80}"""
LANGGRAPH = f"""{"=" * 34} Ai Message {"=" * 34}

SAID
Tool Calls:
  bash (call_7f3a)
 Call ID: call_7f3a
  Args:
    command: COMMAND"""
LANGGRAPH_ANSWER = f"{'=' * 33} Tool Message {'=' * 33}\nName: bash\n\nANSWER"


def a_panel(title: str, *lines: str) -> str:
    walled = [f"│  {line:<76}  │" for line in ("", *lines, "")]
    return "\n".join([f"╭{f' {title} ':─^80}╮", *walled, f"╰{'─' * 80}╯"])


PANELS = f"{a_panel('Agent Tool Execution', 'SAID', 'Using Tool: bash')}\n" + a_panel(
    "Tool Input", ARGUMENTS
)
LOG = "2026-03-01 12:00:0NUMBER INFO desk: "
WIRE = json.dumps(
    {"jsonrpc": "2.0", "method": "tools/call", "id": 1}
    | {"params": {"name": "bash", "arguments": {"command": "COMMAND"}}}
)
WIRE_ANSWER = (
    "2025-03-04T09:12:51Z [shop] [info] from server: "
    '{"jsonrpc": "2.0", "id": NUMBER, "result": {"content": [{"type": "text", "text": "ANSWER"}]}}'
)
EVENT = json.dumps({"id": 1, "source": "agent", "action": "run", "args": {"command": "COMMAND"}})
EVENT_ANSWER = (
    '{"id": NUMBER, "observation": "run", "content": "ANSWER", '
    '"extras": {"metadata": {"exit_code": 0}}, "success": true}'
)
COMMENT = f"**@desk** wrote at 9:12\n\nSAID\n\n@robot runs `bash`\n\n```json\n{ARGUMENTS}\n```"
COMMENT_ANSWER = (
    "**@robot** wrote at 9:1NUMBER\n\n`bash` :check: done (job [#4NUMBER](https://ci/4NUMBER))\n\n"
    "<details>\n<summary>Log</summary>\n\n```\nANSWER\n```\n\n</details>"
)

FORMS = {
    "an MCP client's log": Form(f"2025-03-04T09:12:48Z [info] from client: {WIRE}", WIRE_ANSWER),
    "OpenHands' events": Form(EVENT, EVENT_ANSWER, Role.TOOL),
    "comments of an issue": Form(COMMENT, COMMENT_ANSWER),
    "labels in German": Form(
        f"Gedanke: SAID\n\nWerkzeug: bash\nEingabe: {ARGUMENTS}",
        "Ergebnis (Schritt NUMBER, Dauer 3,NUMBER s):\nANSWER",
    ),
    "headed results": Form(
        f"SAID\nTool: bash\n{ARGUMENTS}", "[step NUMBER/250 | 1NUMBER s] bash: ok\nANSWER"
    ),
    "LangChain4j's log": Form(
        f'09:12 INFO --- [shop] : AiMessage {{ text = "SAID" toolExecutionRequests = '
        f'[ToolExecutionRequest {{ id = "c1", name = "bash", arguments = "{ARGUMENTS}" }}] }}',
        "Tool execution result: ANSWER",
        Role.TOOL,
    ),
    "AutoGen": Form(AUTOGEN, AUTOGEN_ANSWER),
    "AutoGen, of components": Form(
        f"SAID\n[FunctionCall(id='c1', arguments='{ARGUMENTS}', name='bash')]",
        "Tool 'bash' returned: ANSWER",
    ),
    "CrewAI": Form(PANELS, "Tool Output:\nANSWER", Role.ASSISTANT),
    "LangGraph": Form(LANGGRAPH, LANGGRAPH_ANSWER, Role.TOOL),
    "blocks of messages": Form(BLOCKS, "[Tool result]\nANSWER"),
    "OpenAI's messages": Form(OPENAI, "ANSWER", Role.TOOL),
    "a logger's lines": Form(
        f"{LOG}SAID\n{LOG}Calling tool 'bash' with input {ARGUMENTS}",
        f"{LOG}Tool 'bash' returned: ANSWER",
        Role.SYSTEM,
    ),
    "a logger's lines, all by one": Form(
        f"{LOG}Calling tool 'bash' with input {{'command': 'COMMAND'}}",
        f"{LOG}Tool 'bash' returned: ANSWER",
        Role.ASSISTANT,
    ),
    "Markdown": Form(
        f"SAID\n\n**Tool:** `bash`\n\n**Arguments:**\n```json\n{ARGUMENTS}\n```",
        "**Result:**\n```\nANSWER\n```",
    ),
    "Markdown, a call and its id over its arguments": Form(
        f"SAID\n\n**Tool Use: bash** (ID: call_7f3a)\n```json\n{ARGUMENTS}\n```",
        "**Tool Result:**\n```\nANSWER\n```",
    ),
    "invocations in tags": Form(
        'SAID\n<function_calls>\n<invoke name="bash">\n<parameter name="command">COMMAND'
        "</parameter>\n</invoke>\n</function_calls>",
        "<function_results>\nANSWER\n</function_results>",
    ),
    "a call in code": Form("SAID\nbash(command='COMMAND')", "Result: ANSWER"),
    "ReAct with an object": Form(
        f"Thought: SAID\nAction: bash\nAction Input: {ARGUMENTS}", "Observation: ANSWER"
    ),
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
    call = call.replace("NUMBER", str(number))
    if form.answer.endswith("}"):
        answer = json.dumps(answer)[1:-1]
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


PROSE = (
    "Use the following plan.\nFirst the prices, then the tax.",
    "Tool support is what I would add: a saw, a plane and a file.",
    "Calling the mill now. Note: nobody answers.",
    'The options are {"width": 3} as you asked.',
    'I set it in `tsconfig.json`:\n```json\n{"strict": true}\n```',
    'It stands in `tsconfig.json`\n```json\n{"strict": true}\n```',
    "I ran it. Output:\n12 passed",
)


@pytest.mark.parametrize("text", PROSE)
def test_what_is_said_of_tools_is_no_call(text):
    assert as_call(a_message(text)).tool is None


def test_a_notice_in_the_users_name_is_no_person():
    beat = '{"type": "heartbeat", "reason": "an automated message", "time": "9:12"}'
    message = '{"type": "user_message", "message": "Stop that.", "time": "9:12"}'
    pasted = '{"type": "module", "scripts": {"test": "vitest"}}'

    kinds = [TurnReader().read(a_user(text), 0).kind for text in (beat, message, pasted)]

    assert kinds == [TurnKind.NOISE, TurnKind.PERSON, TurnKind.PERSON]


def test_a_call_that_a_gateway_hands_on_is_the_call_itself():
    given = {"server": "shop", "name": "search", "arguments": '{"for": "mill"}'}

    call = as_call(Turn(role=Role.ASSISTANT, tool="call_tool", args=given))

    assert (call.tool, call.args) == ("search", {"for": "mill"})


def test_a_written_call_says_which_tool_is_used_by_its_name():
    text = '{"action": "use_tool", "name": "count_lamps", "arguments": {"pier": 3}}'

    call = as_call(Turn(role=Role.ASSISTANT, content=text))

    assert (call.tool, call.args) == ("count_lamps", {"pier": 3})


def test_a_tool_that_makes_functions_hands_none_on():
    made = Turn(
        role=Role.ASSISTANT, tool="create_function", args={"name": "add", "parameters": {"a": 1}}
    )

    assert as_call(made) is made


@pytest.mark.parametrize(
    ("text", "tool", "args"),
    [
        ("NEXT ACTION:  COMMAND = look ARGUMENTS = {'at': 'tide'}", "look", {"at": "tide"}),
        ('Action: Ask a colleague\nAction Input: {"why": 1}', "Ask a colleague", {"why": 1}),
        (
            '## Using tool: Ask a colleague\n## Tool Input:\n"{\\"why\\": \\"wet\\"}"',
            "Ask a colleague",
            {"why": "wet"},
        ),
        (
            "Look.\n\n<read_file>\n<path>a.ts</path>\n</read_file>\n\n---",
            "read_file",
            {"path": "a.ts"},
        ),
        ('**Tool call: look**\n\n```json\n{\n "at": 1\n}\n```', "look", {"at": 1}),
        ('{ "action": "look", "action_input": { "at": 1 } }', "look", {"at": 1}),
        ('{\r\n\t"name": "look",\r\n\t"args": {\t"at": 1 }\r\n}', "look", {"at": 1}),
        ("Action:`look`\r\nInput: tide", "look", {"input": "tide"}),
    ],
)
def test_a_call_is_read_whatever_stands_around_its_parts(text, tool, args):
    call = as_call(a_message(text))

    assert (call.tool, call.args) == (tool, args)


def test_what_a_system_says_a_command_returned_is_a_report():
    answer = Turn(role=Role.USER, content="SYSTEM:  Command look returned: It is low.")

    assert is_report(answer)
    assert report_content(answer.content) == "It is low."


def test_a_script_that_only_calls_a_tool_is_that_call():
    code = "result = search(query='mill', most=3)\nprint(result)"

    call = as_call(Turn(role=Role.ASSISTANT, tool="python_interpreter", args={"code": code}))

    assert (call.tool, call.args) == ("search", {"query": "mill", "most": 3})


@pytest.mark.parametrize("code", ["x = 1", "a(1)\nb(2)", "search(query=", "search(query=other)"])
def test_any_other_script_is_a_script(code):
    script = Turn(role=Role.ASSISTANT, tool="python_interpreter", args={"code": code})

    assert as_call(script) is script


def test_a_coloured_step_holds_its_call_and_what_came_of_it():
    text = (
        "\x1b[32;1m\x1b[1;3m\nInvoking: `search` with `{'query': \"the mill's\"}`\n"
        "responded: I look it up.\n\n\n\x1b[0m\x1b[36;1m\x1b[1;3mNo page.\x1b[0m"
    )

    call = as_call(a_message(text))

    assert (call.tool, call.args, call.result) == ("search", {"query": "the mill's"}, "No page.")


def test_what_is_typed_at_a_recorded_prompt_is_a_call():
    text = "\x1b[1m[09:12:41]\x1b[0m me@box /shop % \x1b[?2004hmake test\x1b[?2004l\n1 failed\n"

    call = as_call(a_message(text))

    assert (call.tool, call.args, call.result) == ("bash", {"command": "make test"}, "1 failed")


def test_the_attributes_of_an_element_are_a_call():
    given = html.escape(json.dumps(json.dumps({"query": "mill"})))
    text = f'<details type="tool_calls" id="c1" name="search" arguments="{given}" result="">'

    call = as_call(a_message(text))

    assert (call.tool, call.args) == ("search", {"query": "mill"})


@pytest.mark.parametrize(
    "text",
    [
        "Fehler (Schritt 3, Dauer 2,1 s):\nall of it",
        "[step 3/250 | 12 s] bash: error\nall of it",
        "`bash` :x: (job 48, 3 s)\n\n<details>\n\n```\nall of it\n```\n\n</details>",
    ],
    ids=["a label", "a heading", "a comment"],
)
def test_what_stands_over_an_answer_tells_that_it_failed(text):
    assert report_content(text) == "error: all of it"


@pytest.mark.parametrize("said", ['"success": false', '"extras": {"metadata": {"exit_code": 2}}'])
def test_fields_beside_an_answer_tell_that_it_failed(said):
    call = Turn(role=Role.ASSISTANT, tool="run", args={}, result=f'{{"content": "x", {said}}}')
    outcome = outcome_of(call)

    assert outcome is not None
    assert outcome.failed


def test_a_message_written_as_an_event_is_a_message():
    event = json.dumps({"action": "message", "args": {"content": "The totals are off."}})

    assert as_call(a_message(event)).content == "The totals are off."
    assert as_call(a_user(event)).content == "The totals are off."


def test_results_delivered_later_belong_to_their_calls_in_order():
    later = "job_{} started. Its output is delivered when it has finished."
    reader = TurnReader()
    turns = [
        Turn(role=Role.ASSISTANT, tool="build", args={"of": "a"}, result=later.format("1a")),
        Turn(role=Role.ASSISTANT, tool="build", args={"of": "b"}, result=later.format("2b")),
        Turn(role=Role.TOOL, content="job_1a (build) completed. Output:\nall of a"),
        Turn(role=Role.ASSISTANT, tool="build", args={"of": "c"}, result=later.format("3c")),
        Turn(role=Role.TOOL, content="job_2b (build) completed. Output:\nall of b"),
    ]

    read = [reader.read(turn, place) for place, turn in enumerate(turns)]

    came = [(one.turn.args, one.turn.result) for one in read if one.kind is TurnKind.ACTION]
    assert came == [({"of": "a"}, "all of a"), ({"of": "b"}, "all of b")]


def test_what_was_promised_before_a_person_stepped_in_is_owed_no_longer():
    later = "The job started. Its output is delivered when it has finished."
    call = Turn(role=Role.ASSISTANT, tool="build", args={"of": "a"}, result=later)
    reader = TurnReader()
    for place in range(12):
        reader.read(call, place)

    reader.clear()

    assert reader.read(call, 12).kind is TurnKind.NOISE


def test_promises_that_are_never_kept_are_attempts_in_the_end():
    later = "The job started. Its output is delivered when it has finished."
    turns = [Turn(role=Role.ASSISTANT, tool="build", args={"of": "a"}, result=later)] * 12

    assert first_trip(turns) is not None


def test_a_person_who_answers_a_proposal_is_a_person():
    reader = TurnReader()
    turns = [a_message("Try this:\n```bash\nnpm ci\n```"), a_user("That fails on my laptop.")]

    kinds = [reader.read(turn, place).kind for place, turn in enumerate(turns * 2)]

    assert kinds[1] is TurnKind.PERSON


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

    assert report_content(first) == report_content(second) == "3 passed"


def test_a_report_without_a_frame_stays_whole_when_it_comes_again():
    text = "The build is slow.\nObservation: 3 passed"
    again = "".join(list(text))  # equal, and another object

    assert report_content(text) == report_content(again) == text


def test_an_exit_code_stays_with_what_was_printed():
    assert (
        report_content("<returncode>2</returncode>\n<output>\nno\n</output>") == "exit code 2\nno"
    )
    assert report_content("<returncode>0</returncode>\n<output>\nyes\n</output>") == "yes"


def test_what_a_harness_says_below_each_output_is_no_part_of_it():
    text = "<returncode>0</returncode>\n<output>\nyes\n</output>\nReflect on what you did."

    assert report_content(text) == "yes"


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
        '{"a": ' * 8000 + "}",
        "- " * 20_000 + "x}",
        "Using tool: a\n" * 2800 + "b: {}",
        "tool: 'a" * 5000,
        "│ ---- " * 6000,
        'name="a" arguments="&quot;' * 1500,
        'name="a" arguments="&quot;&#' + "9" * 5000,
        "a@b: " + "x " * 15_000,
        "`ab`\n\n" * 6000 + '{"',
        "{'a': " * 6000 + "}",
        "{'a': 1}\n" * 4000 + "{'a': " + "-" * 5000 + "1}",
        "ab:\n" * 9000 + "```json\n{}",
        "```\n" * 9000 + "</a>",
        "\x1b[0m\x1b[1m" * 4000 + "Observation:",
        "[1] a" * 7000,
    ],
    ids=range(24),
)
def test_no_text_keeps_the_reader_busy(text):
    engine = Engine()

    assert engine.observe(a_message(text)).seq == 0
    assert engine.observe(a_user(text)).seq == 1
    assert engine.observe(Turn(role=Role.ASSISTANT, tool="run", result=text)).seq == 2
