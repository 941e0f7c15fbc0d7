"""Transcripts written for people: what is said, called, given and answered is told apart."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.errors import UnreadableRecording
from guard.formats import read_recording
from guard.formats.transcript import read_transcript
from guard.replay import replay
from guard.turn import Role


@pytest.fixture
def file(tmp_path):
    return tmp_path / "walk.md"


def read(file, text):
    file.write_text(text, encoding="utf-8")
    return read_recording(file)


def calls(file, text):
    turns = read(file, text).turns
    return [(one.tool, one.args, one.result, one.error) for one in turns if one.tool]


HEADINGS = """# Export of Tuesday

---

## \U0001f464 User

Mend the tide table.

---

## \U0001f916 Assistant (mid-size model)

I'll read it first.

\U0001f527 **Tool Use: Read** (ID: call_7)
```json
{"path": "tides.csv"}
```

---

## \U0001f464 User

\U0001f4ca **Tool Result:**
```
low,high
```
"""


def test_headings_tell_who_speaks_and_an_answer_in_the_user_s_name_is_the_call_s(file):
    recording = read(file, HEADINGS)

    assert [one.role for one in recording.turns] == [Role.USER, Role.ASSISTANT]
    assert recording.turns[1].content == "I'll read it first."
    assert calls(file, HEADINGS) == [("Read", {"path": "tides.csv"}, "low,high", None)]
    assert (recording.form, recording.run) == ("transcript", "walk")


def test_a_call_under_labels_is_read_with_its_error(file):
    text = """## User

go

## Assistant (Build)

**Tool: edit**

**Input:**
```json
{"file": "quay.md"}
```

**Error:**
```
quay.md is gone
```

**Tool: shell**

**Input:**
```json
{"command": "ls"}
```

**Output:**
```
pier.md
```

It moved.
"""

    assert calls(file, text) == [
        ("edit", {"file": "quay.md"}, None, "quay.md is gone"),
        ("shell", {"command": "ls"}, "pier.md", None),
    ]
    assert read(file, text).turns[-1].content == "It moved."


def test_an_element_named_after_a_tool_holds_all_of_a_call(file):
    text = """_**User (2026-05-01 10:00Z)**_

Count the boats.

---

_**Agent (large model)**_

<tool-use data-tool-type="shell" data-tool-name="run_cmd">
<details><summary>Tool use: **run_cmd** • Run command: wc -l boats</summary>

```bash
wc -l boats
```

```
12 boats
```
</details>
</tool-use>

---

<tool-use data-tool-type="read" data-tool-name="open_file">
<details><summary>Tool use: **open_file** • Read file: boats</summary>

</details>
</tool-use>
"""

    assert calls(file, text) == [
        ("run_cmd", {"command": "wc -l boats"}, "12 boats", None),
        ("open_file", {"input": "boats"}, None, None),
    ]


def test_a_captured_terminal_has_bullets_prompts_and_answers_below(file):
    text = """> build it

⏺ I'll build the ferry.

⏺ Bash(make ferry)
  ⎿  Waiting…

  ⎿  Error: no planks
     in the yard

⏺ Update Todos
  ⎿  ☐ Buy planks

⏺ There are no planks.
  Shall I buy some?

> yes
"""

    recording = read(file, text)

    assert calls(file, text) == [
        ("Bash", {"command": "make ferry"}, "Error: no planks\n     in the yard", None),
        ("Update Todos", {}, "☐ Buy planks", None),
    ]
    assert [one.content for one in recording.turns if one.role is Role.USER] == ["build it", "yes"]


def test_a_sign_that_was_away_leaves_a_call_in_the_paragraph_before_its_answer(file):
    text = """> mend the pier

⏺ I'll look at the pier first.

  Read(maps/north/the_old_
      pier.txt)
  ⎿  Read 40 lines

⏺ Bash(hammer --gently)
  ⎿  Error: no nails


  Bash(buy nails && hammer
      --gently)
  ⎿  mended (1 of 9)

⏺ Update Todos

  ⎿  ☐ Paint it
"""

    assert calls(file, text) == [
        ("Read", {"input": "maps/north/the_old_ pier.txt"}, "Read 40 lines", None),
        ("Bash", {"command": "hammer --gently"}, "Error: no nails", None),
        ("Bash", {"command": "buy nails && hammer --gently"}, "mended (1 of 9)", None),
        ("Update Todos", {}, "☐ Paint it", None),
    ]
    said = [one.content for one in read(file, text).turns if one.role is Role.ASSISTANT]
    assert "I'll look at the pier first." in said


def test_a_terminal_s_answers_may_have_lost_the_blanks_before_them(file):
    text = """> mend the pier

⏺ Read(maps/pier.txt)…
⎿ Read 40 lines (ctrl+r to expand)

⏺ Update Todos
⎿ ☐ Buy nails
☐ Paint it

⏺ Bash(hammer)
⎿ Error: no nails

⏺ There are none.
"""

    assert calls(file, text) == [
        ("Read", {"input": "maps/pier.txt"}, "Read 40 lines (ctrl+r to expand)", None),
        ("Update Todos", {}, "☐ Buy nails\n☐ Paint it", None),
        ("Bash", {"command": "hammer"}, "Error: no nails", None),
    ]


def test_what_came_of_two_answers_below_one_call_is_no_call(file):
    text = """> sail

⏺ Bash(sail)
  ⎿  wind(strong)

     and rain
  ⎿  wet

⏺ Read(log)
  ⎿  calm
"""

    assert [tool for tool, *_ in calls(file, text)] == ["Bash", "Read"]


def test_a_call_within_a_fence_keeps_the_fences_of_what_it_is_given_and_what_came(file):
    text = """# Ferries

## User

count them

---

## Assistant

_Thinking:_

The list has them.

```
Tool: read

**Input:**
```json
{"filePath": "ferries.md"}
```

**Output:**
```
Tool: ferry
```
```

```
Tool: count

**Input:**
```json
{"of": "oars"}
```
**Error:**
```
no oars
```
```

---

## Assistant

There is one.
"""

    assert calls(file, text) == [
        ("read", {"filePath": "ferries.md"}, "Tool: ferry", None),
        ("count", {"of": "oars"}, None, "no oars"),
    ]


def test_a_bullet_that_goes_on_along_a_bar_is_what_was_done(file):
    text = """\u203a weigh it

• Ran weigh --all
  │ --in tons
  └ 12 t
    13 t

• Called scale.read({"unit": "t"})
  └ 12

• It weighs twelve tons.
"""

    assert calls(file, text) == [
        ("run", {"command": "weigh --all --in tons"}, "12 t\n    13 t", None),
        ("scale.read", {"unit": "t"}, "12", None),
    ]


def test_a_rule_with_a_tool_s_name_begins_a_call_and_a_prompt_ends_with_its_line(file):
    text = """( O)> where are we?
I'll look.
─── shell | developer ──────────
command: pwd

Here we are.
─── open_file | developer ──────────
path: map.txt
lines: 3

( O)> thanks
"""

    recording = read(file, text)

    assert calls(file, text) == [
        ("shell", {"command": "pwd"}, None, None),
        ("open_file", {"path": "map.txt", "lines": "3"}, None, None),
    ]
    assert [one.content for one in recording.turns] == [
        "where are we?",
        "I'll look.",
        "Here we are.",
        "thanks",
    ]


def test_a_log_within_a_fence_is_read(file):
    log = "".join(STAMPED.format(n=n) for n in range(1, 3))

    assert len(calls(file, f"# A report\n\nIt said:\n\n```\n{log}```\n")) == 2


def test_a_state_stands_above_what_came_back(file):
    text = """## User

look

## Assistant

**Tool Call: List the `pier`**
Status: Completed

# Files
rope

## Assistant

Only a rope.
"""

    assert calls(file, text) == [("List the pier", {}, "# Files\nrope", None)]


def test_numbered_speakers_of_any_language_are_told_apart(file):
    text = "### 用户 #1\n\n看船\n\n### 助手\n\n好\n\n### 用户 #2\n\n谢谢\n"

    assert [one.role for one in read(file, text).turns] == [Role.USER, Role.ASSISTANT, Role.USER]


def test_labels_on_the_line_tell_speakers_calls_and_answers_behind_a_clock(file):
    text = """[10:00:01] User: look
[10:00:02] Assistant: I look.
[10:00:03] Tool call: read_file({"path": "a"})
[10:00:04] Tool result: low
[10:00:05] Assistant: It is low.
[10:00:06] Tool call: read_file({"path": "b"})
[10:00:07] Tool result: high
"""

    assert calls(file, text) == [
        ("read_file", {"path": "a"}, "low", None),
        ("read_file", {"path": "b"}, "high", None),
    ]
    assert [one.content for one in read(file, text).turns] == ["look", "I look.", "It is low."]


def test_a_numbered_heading_ends_what_came_back(file):
    step = (
        '### Step {n}\n**Action:** look\n**Action Input:** {{"at": {n}}}\n**Observation:** fog\n\n'
    )

    assert calls(file, step.format(n=1) + step.format(n=2)) == [
        ("look", {"at": 1}, "fog", None),
        ("look", {"at": 2}, "fog", None),
    ]


def test_speakers_in_brackets_are_no_names_of_agents(file):
    text = "[USER]: do it\n\n[AGENT]: I begin.\n\n[AGENT]: Done.\n"

    assert [one.content for one in read(file, text).turns] == ["do it", "I begin.", "Done."]


def test_a_panel_holds_a_call_its_state_and_what_came_back(file):
    text = """✦ I'll look.
╭──────────────────────╮
│ ✓  Shell ls pier     │
│                      │
│ rope                 │
│ "tools": [           │
╰──────────────────────╯
✦ And again.
╭──────────────────────╮
│ ✗  ReadFile rope     │
│                      │
│ it is a directory    │
╰──────────────────────╯
"""

    assert calls(file, text) == [
        ("Shell", {"command": "ls pier"}, 'rope\n"tools": [', None),
        ("ReadFile", {"input": "rope"}, None, "it is a directory"),
    ]


def test_a_call_its_input_and_its_output_may_have_panels_of_their_own(file):
    text = """╭── 🤖 Agent Started ──╮
│                      │
│  Agent: Pilot        │
│                      │
╰──────────────────────╯

╭── 🔧 Tool Execution ─╮
│                      │
│  Thought: I look.    │
│  Using Tool: tides   │
│                      │
╰──────────────────────╯

╭─ Tool Input ─────────╮
│                      │
│  {"at": "quay"}      │
│                      │
╰──────────────────────╯

╭─ Tool Output ────────╮
│                      │
│ It is low.           │
╰──────────────────────╯

""".partition("╭── 🔧")
    one = "╭── 🔧" + text[2]

    assert calls(file, text[0] + one * 2) == 2 * [("tides", {"at": "quay"}, "It is low.", None)]


def test_what_came_back_may_stand_below_the_panel_of_its_call(file):
    text = """╭──────────────────────────────────────────────────────╮
│ Calling tool: 'tides' with arguments: {'at': 'quay'} │
╰──────────────────────────────────────────────────────╯
Observations: It is low.
"""

    assert calls(file, 2 * text) == 2 * [("tides", {"at": "quay"}, "It is low.", None)]


@pytest.mark.parametrize(
    "stamp", ["2026-05-01 10:00:01,120 - pilot - INFO - ", "INFO:pilot:", "pilot - DEBUG - "]
)
def test_a_sentence_of_a_program_s_log_says_what_is_called_and_what_it_returned(stamp, file):
    text = f"""{stamp}Calling tool tides with args {{'at': 'quay'}}
{stamp}Tool tides returned: It is low.
"""

    assert calls(file, 2 * text) == 2 * [("tides", {"at": "quay"}, "It is low.", None)]


def test_an_arrow_shows_a_call_and_what_stands_to_the_right_of_it_came_back(file):
    text = """## step 1

I'll test it.

    -> run_tests({})

       2 of 3 pass

## step 2

Once more:

    -> run_tests({"only": "gate"})

       1 of 1 pass
"""

    assert calls(file, text) == [
        ("run_tests", {}, "       2 of 3 pass", None),
        ("run_tests", {"only": "gate"}, "       1 of 1 pass", None),
    ]
    assert [one.content for one in read(file, text).turns] == ["I'll test it.", "Once more:"]


STAMPED = """2026-05-01 10:00:0{n},120 INFO  THOUGHTS: I should look at the tide.
2026-05-01 10:00:0{n},220 INFO NEXT ACTION:  COMMAND = look_up  ARGUMENTS = {{'what': 'tide'}}
2026-05-01 10:00:0{n},320 INFO AUTHORISED COMMANDS LEFT: {n}
2026-05-01 10:00:0{n},420 INFO SYSTEM:  Command look_up returned: It is low.
"""


def test_a_logger_s_lines_are_read_without_its_stamps_and_a_loop_in_them_is_found(file):
    text = "".join(STAMPED.format(n=n) for n in range(1, 6))

    assert calls(file, text) == 5 * [("look_up", {"what": "tide"}, "It is low.", None)]
    assert replay(read_recording(file)).first_alarm == 2


def test_a_verbose_console_names_agents_tools_and_what_they_gave(file):
    text = """# Agent: Harbour master
## Thought: Somebody has to look.
## Using tool: Ask a colleague
## Tool Input:
"{\\"question\\": \\"Is the gate shut?\\"}"
## Tool Output:
It is.


# Agent: Harbour master
## Using tool: Ask a colleague
## Tool Input:
"{\\"question\\": \\"Since when?\\"}"
## Tool Output:
Since noon.


# Agent: Harbour master
## Final Answer:
Shut since noon.
"""

    assert calls(file, text) == [
        ("Ask a colleague", {"question": "Is the gate shut?"}, "It is.", None),
        ("Ask a colleague", {"question": "Since when?"}, "Since noon.", None),
    ]
    assert {one.agent for one in read(file, text).turns} == {"Harbour master"}


def test_a_heading_needs_no_colon_to_say_what_is_given_and_what_came(file):
    text = (
        3
        * """# Agent: Harbour master

## Using tool: Ask a colleague

## Tool Input

"{\\"question\\": \\"Is the gate shut?\\"}"

## Tool Output

It is.

"""
    )

    ask = ("Ask a colleague", {"question": "Is the gate shut?"}, "It is.", None)
    assert calls(file, text) == [ask, ask, ask]


def test_a_ruled_line_says_what_is_called_and_what_came(file):
    text = (
        2
        * """=== Calling Function ===
Calling function: look_up with args: {"what": "tide"}
=== Function Output ===
It is low.
"""
    )

    assert calls(file, text) == 2 * [("look_up", {"what": "tide"}, "It is low.", None)]


def test_who_speaks_may_be_named_by_two_words_with_a_hyphen(file):
    step = """## [ai]
I'll look again.
```
ls boats
```
## [user-observation]
ls: boats: no such file
"""
    text = f"# Walk 3\n## [system]\nA shell.\n## [user-observation]\nFind the boats.\n{6 * step}"

    recording = read(file, text)

    assert [one.role for one in recording.turns[1:3]] == [Role.ASSISTANT, Role.TOOL]
    assert replay(recording).first_alarm is not None


CONSOLE = """clerk (to desk):

***** Suggested tool call (call_7f3a): look_up *****
Arguments:
{"what": "tide"}
****************************************************

--------------------------------------------------------------------------------

Next speaker: proxy


>>>>>>>> EXECUTING FUNCTION look_up...
proxy (to desk):

***** Response from calling tool (call_7f3a) *****
It is low.
**************************************************

--------------------------------------------------------------------------------

Next speaker: clerk


>>>>>>>> USING AUTO REPLY...
"""


def test_a_console_s_rules_of_asterisks_name_calls_and_answers(file):
    text = "User (to desk):\n\nIs it low?\n\n" + 2 * CONSOLE

    assert calls(file, text) == 2 * [("look_up", {"what": "tide"}, "It is low.", None)]
    said = [one.content for one in read(file, text).turns if not one.tool]
    assert said == ["Is it low?"]


def test_an_answer_may_list_tools_and_say_how_they_are_called(file):
    text = """# Agent: Harbour master
## Using tool: Find the key
## Tool Input:
"{\\"gate\\": \\"north\\"}"
## Tool Output:
Action 'Find the key' don't exist, these are the only available Actions:
Tool Name: Ask a colleague
Tool Description: Ask a colleague(question: 'string') - somebody knows.
Tool Arguments: {'question': 'str'}
Moving on then. Use the following format:

Thought: you should always think about what to do
Action: the action to take, only one of [Ask a colleague]

Thought: I now can give a great answer
Final Answer: Your final answer must be the great and the most complete as possible


"""

    found = calls(file, 3 * text)

    assert [tool for tool, *_ in found] == 3 * ["Find the key"]
    assert "Action: the action to take" in found[0][2]
    assert len(read(file, 3 * text).turns) == len(found)


PRINTED = """================================ Human Message =================================

How high is the tide at both piers?
================================== Ai Message ==================================

I'll look.
Tool Calls:
  tide_at (call_7f3a)
 Call ID: call_7f3a
  Args:
    pier: north
    day: today
  tide_at (call_8b4c)
 Call ID: call_8b4c
  Args:
    pier: south
    day: today


Update from node tools:


================================= Tool Message =================================
Name: tide_at

2 metres
================================= Tool Message =================================
Name: tide_at

3 metres
"""


def test_printed_messages_are_cut_at_their_rules_and_their_calls_told_apart(file):
    said = PRINTED.replace("Human", "System").replace("How high", "You know how high")

    assert calls(file, said + PRINTED) == 2 * [
        ("tide_at", {"pier": "north", "day": "today"}, "2 metres", None),
        ("tide_at", {"pier": "south", "day": "today"}, "3 metres", None),
    ]
    first, *_ = read(file, PRINTED).turns
    assert (first.role, first.content) == (Role.USER, "How high is the tide at both piers?")


def test_what_a_model_says_between_a_call_and_its_answer_belongs_to_neither(file):
    text = """> Entering new AgentExecutor chain...
Thought: I need a plan.
Action: Planning
Action Input: Make a list of piers
Final Answer: List made.
For troubleshooting, visit: https://docs.example.org/failure
Observation: Invalid or incomplete response
"""

    plan = ("Planning", {"input": "Make a list of piers"}, "Invalid or incomplete response", None)
    assert calls(file, 3 * text) == 3 * [plan]


def test_a_name_that_no_tool_has_may_be_refused_on_the_line_that_calls_it(file):
    text = """Thought: I'll count.
Action: count boats
Action Input: all of themcount boats is not a valid tool, try another one. I'll draw.
"""

    refused = "count boats is not a valid tool, try another one."
    assert calls(file, 2 * text) == 2 * [("count boats", {"input": "all of them"}, refused, None)]


def test_what_is_done_may_stand_below_its_label(file):
    step = """## Round {n}

Observation:
You arrive at pier {n}.

Action:
go to pier {n}

"""
    text = "# A walk\n\n" + "".join(step.format(n=n) for n in range(1, 4))

    assert [one[:3] for one in calls(file, text)][:2] == [
        ("act", {"input": "go to pier 1"}, "You arrive at pier 2."),
        ("act", {"input": "go to pier 2"}, "You arrive at pier 3."),
    ]


def test_a_log_may_say_that_a_command_is_run_and_what_came_of_it(file):
    text = """------ Step {n} ------

[*] Thought: Try again.
[*] Executing command: ls boats
copied to the yard
[+] Command executed, result:
--------------------------------
returncode: 2
stderr: no such file
--------------------------------

"""

    found = calls(file, "".join(text.format(n=n) for n in range(1, 4)))

    assert [one[:2] for one in found] == 3 * [("bash", {"command": "ls boats"})]
    assert "no such file" in found[0][2]


def test_a_trace_of_chains_keeps_what_tools_were_given_and_gave(file):
    text = """[chain/start] [1:chain:Executor] Entering Chain run with input:
{"input": "Is it low?"}
[llm/end] [1:chain:Executor > 2:llm:Model] [1.20s] Exiting LLM run with output:
{"text": "Action: look_up\\nAction Input: tide"}
[tool/start] [1:chain:Executor > 3:tool:look_up] Entering Tool run with input:
"tide"
[tool/end] [1:chain:Executor > 3:tool:look_up] [4ms] Exiting Tool run with output:
"It is low."
"""

    assert calls(file, 2 * text) == 2 * [("look_up", {"input": "tide"}, '"It is low."', None)]


def test_dots_are_drawn_between_what_is_done_and_what_came_of_it(file):
    text = """> I'll look.

\U0001f6e0\ufe0f  Using tool: execute_bash (trusted)
 ⋮
 ● I will run the following shell command:
ls boats
 ⋮
 ↳ Purpose: Count the boats

no such file

 ⋮
 ● Execution failed after 0.1s:

\U0001f6e0\ufe0f  Using tool: fs_read (trusted)
 ⋮
 ● Reading file: oars.txt, all lines
 ✓ Successfully read 464 bytes
 ⋮
 ● Completed in 0.0s

> Done.
"""

    assert calls(file, text) == [
        (
            "execute_bash",
            {"input": "I will run the following shell command:\nls boats"},
            None,
            "no such file",
        ),
        (
            "fs_read",
            {"input": "Reading file: oars.txt, all lines"},
            "✓ Successfully read 464 bytes",
            None,
        ),
    ]


def test_calls_and_answers_may_have_one_heading(file):
    text = """> USER

Look.

> AGENT

I'll look.

> TOOL

tool_use Bash
id: toolu_01
```json
{"command": "ls boats"}
```

> TOOL

tool_result [ERROR]
id: toolu_01
```
no such file
```

"""

    assert calls(file, 2 * text) == 2 * [("Bash", {"command": "ls boats"}, None, "no such file")]


def test_code_and_what_it_printed_stand_in_fences_below_a_heading(file):
    step = """### Environment Interaction {n}
----------------------------------------
```python
print(boats(page={n}))
```

```
[]
```

"""
    text = "".join(step.format(n=n) for n in range(1, 4))

    assert calls(file, text)[:2] == [
        ("python", {"input": "print(boats(page=1))"}, "[]", None),
        ("python", {"input": "print(boats(page=2))"}, "[]", None),
    ]


def test_what_is_done_may_stand_in_a_tag_between_observations(file):
    text = """Observation: You are at pier 1.
Output: <think>
It is foggy.
</think>
<action>go to pier 2</action>
Observation: Nothing happens.
Output: <action>wait</action>
"""

    go = ("act", {"input": "go to pier 2"}, "Nothing happens.", None)
    wait = ("act", {"input": "wait"}, "You are at pier 1.", None)
    assert calls(file, 2 * text)[:3] == [go, wait, go]


def test_what_a_harness_refuses_before_any_call_parts_what_is_said(file):
    text = """> Entering new AgentExecutor chain...
Thought: Could not parse what was said: I would rather sail.
Observation: Invalid or incomplete response
Thought: I would rather sail now.
Observation: Invalid or incomplete response
"""

    recording = read(file, 3 * text)

    refused = [one.content for one in recording.turns if one.role is Role.TOOL]
    assert refused == 6 * ["Invalid or incomplete response"]
    assert recording.turns[2].content == "Thought: I would rather sail now."
    assert replay(recording).first_alarm is not None


def test_steps_may_be_numbered_and_their_calls_bracketed(file):
    text = """Question: Which pier is the older one?
Thought 1: I'll look for the north pier.
Action 1: Search[north pier]
Observation 1: Built in 1901.
Thought 2: Now the other.
Action 2: Search[south pier]
Observation 2: No such page.
Thought 3: So be it.
Action 3: Finish[north pier]
"""

    assert calls(file, text) == [
        ("Search", {"input": "north pier"}, "Built in 1901.", None),
        ("Search", {"input": "south pier"}, "No such page.", None),
        ("Finish", {"input": "north pier"}, None, None),
    ]
    stepped = text.replace("Thought ", "[Step 1] Thought ").replace("Action ", "[Step 1] Action ")
    assert len(calls(file, stepped)) == 3


def test_what_is_typed_at_a_game_s_prompt_is_done(file):
    text = """You are on a pier. Your task is to find an oar.
> think: It may be in the boat.
OK.
> open boat
It is locked.

> open boat

It is locked.
> open boat
It is locked.
"""

    opened = ("act", {"input": "open boat"}, "It is locked.", None)
    assert calls(file, text) == 3 * [opened]
    with pytest.raises(UnreadableRecording):
        read(file, text.replace("> open", "> I say\n> open"))  # quotes in a letter
    letter = "> Is the boat yours?\nNo.\n> Who has the oar?\nPia.\n> When are you back?\nAt six.\n"
    with pytest.raises(UnreadableRecording):
        read(file, letter)


@pytest.mark.parametrize(
    "step",
    [
        '[tool] read {"path": "oars"}\n[result] 2 oars\n',
        '12:00:03 tool_call read {"path": "oars"}\n12:00:04 tool_result 2 oars\n',
    ],
)
def test_a_log_may_tag_calls_and_what_came_of_them(file, step):
    assert calls(file, 3 * step) == 3 * [("read", {"path": "oars"}, "2 oars", None)]


def test_a_sign_tells_how_a_call_behind_a_sign_went(file):
    text = """\U0001f527 read({"path": "oars"})
✅ 2 oars
\U0001f527 read({"path": "boats"})
❌ no such file
"""

    assert calls(file, text) == [
        ("read", {"path": "oars"}, "2 oars", None),
        ("read", {"path": "boats"}, None, "no such file"),
    ]


def test_a_numbered_list_may_say_what_was_done_and_why(file):
    text = "# A walk\n\n- **Steps:** 5\n\n" + "".join(
        f"{n}. `press · key=Down` — Try again to open the list, the {n}. time.\n" for n in range(5)
    )

    found = calls(file, text)

    assert found == 5 * [("press", {"input": "key=Down"}, None, None)]
    said = read(file, text).turns[1].content
    assert said == "Thought: Try again to open the list, the 1. time."


def test_a_printout_says_what_it_invokes_and_what_was_responded(file):
    text = """Invoking: `look_up` with `{'what': 'tide'}`
responded: I'll look again.

It is low.

"""

    assert calls(file, 2 * text) == 2 * [("look_up", {"what": "tide"}, "It is low.", None)]


@pytest.mark.parametrize(
    "labels",
    [
        "思考\uff1a|行动\uff1a|行动输入\uff1a|观察\uff1a",
        "思考1: |动作1: |动作输入1: |观察1: ",
        "Мысль: |Действие: |Ввод: |Наблюдение: ",
    ],
)
def test_labels_of_a_log_may_be_of_other_languages(file, labels):
    thought, action, given, seen = labels.split("|")
    text = f"{thought}tide?\n{action}look_up\n{given}tide\n{seen}low\n"

    assert calls(file, 2 * text) == 2 * [("look_up", {"input": "tide"}, "low", None)]


def test_a_browser_s_log_has_signs_for_what_is_thought_and_done(file):
    text = """INFO     [agent] \U0001f4cd Step 1
INFO     [agent] \U0001f44d Eval: Failed
INFO     [agent] \U0001f3af Next goal: open the list
INFO     [agent] \U0001f6e0\ufe0f  Action 1/1: {"click_element":{"index":3}}
INFO     [controller] \U0001f5b1\ufe0f  Clicked button with index 3
"""

    clicked = "INFO     [controller] \U0001f5b1\ufe0f  Clicked button with index 3"
    assert calls(file, 2 * text) == 2 * [("click_element", {"index": 3}, clicked, None)]


def test_events_may_be_headed_by_their_kinds(file):
    text = """**CmdRunAction (source=EventSource.AGENT, is_input=False)**
COMMAND:
ls boats
**CmdOutputObservation (source=EventSource.AGENT, exit code=1)**
no such file
"""

    assert [one[:3] for one in calls(file, 2 * text)] == 2 * [
        ("CmdRun", {"input": "COMMAND:\nls boats"}, "no such file")
    ]


def test_parsed_code_stands_between_rules_and_its_logs_below(file):
    text = f"""{"━" * 20} Step 1 {"━" * 20}
 ─ Executing parsed code: {"─" * 20}
  tide_at("north")
 {"─" * 46}
Execution logs:
low

Out: None
"""

    found = calls(file, 2 * text)

    assert [one[:2] for one in found] == 2 * [("python", {"input": 'tide_at("north")'})]
    assert "low" in found[0][2]


def test_streamed_messages_are_printed_as_code_makes_them(file):
    text = """{'agent': [AIMessage(\
tool_calls=[{'name': 'look_up', 'args': {'what': 'tide'}, 'id': 'c'}])]}
{'tools': {'messages': [ToolMessage(content='It\\'s low', name='look_up', tool_call_id='c')]}}
"""

    assert calls(file, 2 * text) == 2 * [("look_up", {"what": "tide"}, "It's low", None)]


def test_a_small_agent_s_steps_are_its_messages(file):
    text = """mini-swe-agent (step 1, $0.01):
THOUGHT: look

```bash
ls boats
```

User:
<returncode>2</returncode>
<output>
no such file
</output>
"""

    assert [one.role for one in read(file, 2 * text).turns] == 2 * [Role.ASSISTANT, Role.USER]


def test_a_command_is_told_with_where_it_ran_and_how_it_ended(file):
    text = """user
Weigh the cargo.
codex
I'll weigh it.
exec
/bin/sh -c 'weigh in kilos' in /srv/port exited 2 in 31ms:
no scale
exec
/bin/sh -c 'weigh' in /srv/port succeeded in 4ms:
12 t
codex
It is 12 t.
"""

    assert calls(file, text) == [
        ("bash", {"command": "/bin/sh -c 'weigh in kilos'"}, None, "no scale"),
        ("bash", {"command": "/bin/sh -c 'weigh'"}, "12 t", None),
    ]


def test_lines_that_tell_what_was_done_are_calls_and_who_begins_is_a_person(file):
    text = """Wanda: run the pump

GitHub Copilot: Let me start it.

Ran terminal command: pump --start

Now I'll oil it:

Using "Replace Text"


```

```
Made changes.

Wanda: and stop it

GitHub Copilot: Stopping.

Ran terminal command: pump --stop
"""

    recording = read(file, text)

    assert [one.content for one in recording.turns if one.role is Role.USER] == [
        "run the pump",
        "and stop it",
    ]
    assert [(tool, args) for tool, args, *_ in calls(file, text)] == [
        ("run_command", {"command": "pump --start"}),
        ("Replace Text", {"input": "Now I'll oil it:"}),
        ("run_command", {"command": "pump --stop"}),
    ]


def test_deeds_whose_object_a_log_leaves_out_are_not_the_same_again(file):
    said = "\n\n*Edited relevant file*\n\n*Edited relevant file*\n\n*Edited relevant file*\n"
    text = f"### User Input\n\ngo\n\n### Planner Response\n\nI mend three sails.{said}"

    assert [tool for tool, *_ in calls(file, text)] == ["edit_relevant_file"]


def test_in_a_chat_of_headings_and_quotes_a_program_s_words_are_no_person_s(file):
    text = """# aider chat started at 2026-05-01 10:00:00

#### paint the hull
#### in blue

Painted.

> Applied edit to hull.txt
"""

    assert [(one.role, one.content) for one in read(file, text).turns] == [
        (Role.USER, "paint the hull\nin blue"),
        (Role.ASSISTANT, "Painted."),
        (Role.TOOL, "Applied edit to hull.txt"),
    ]


BRACKETS = """# library_escape | some-model

**[system]**

**[environment]** A dusty hall. Exits: north

**[agent]** `look under the carpet`

**[environment]** Unknown command: look

**[agent]** `You stand in a hall.%s What will you do?`

**[environment]** Unknown command: You
"""


def test_speakers_in_bold_brackets_say_what_follows_on_their_line(file):
    turns = read(file, BRACKETS % (" It is dusty." * 12)).turns

    assert [turn.role for turn in turns] == [Role.TOOL, Role.ASSISTANT] * 2 + [Role.TOOL]
    assert turns[1].content == "look under the carpet"
    assert turns[3].content.endswith("dusty. What will you do?")
    assert turns[4].content == "Unknown command: You"


@pytest.mark.parametrize("time", ["(12:0%s)", "- 12:0%s", "— 2026-11-28 12:0%s", " (11:4%s PM)"])
def test_a_time_behind_a_speaker_in_brackets_is_not_what_is_said(file, time):
    said = [("User", "Fix it."), ("Assistant", "I look."), ("Tool", "3 failed"), ("User", "Well?")]
    text = "\n".join(f"[{name}] {time % n}\n{told}\n" for n, (name, told) in enumerate(said))

    turns = read(file, text).turns

    assert [(turn.role, turn.content) for turn in turns] == [
        (Role.USER, "Fix it."),
        (Role.ASSISTANT, "I look."),
        (Role.TOOL, "3 failed"),
        (Role.USER, "Well?"),
    ]


STEPS = """
## [2026-01-25 21:43:51] Execution Update

### Step 1 - Tool Call

**Tool**: `shell_ls`
**Args**: ```json
{
  "args": [
    "/root"
  ]
}
```

## [2026-01-25 21:43:51] Execution Update

### Step 1 - Tool Result

```
shared
```

## [2026-01-25 21:43:53] Execution Update

### Step 2 - Tool Call

**Tool**: `shell_date`
**Args**: ```json
{}
```

## [2026-01-25 21:43:53] Execution Update

### Step 2 - Tool Result

```
Sun Jan 25
```
"""


def test_a_fence_may_open_behind_its_label_and_a_result_have_a_step_s_number(file):
    told = calls(file, STEPS)

    assert [(tool, result) for tool, _, result, _ in told] == [
        ("shell_ls", "shared"),
        ("shell_date", "Sun Jan 25"),
    ]
    assert told[0][1] == {"args": ["/root"]}


SIGNS = """cody> chat mend the readme

🔧 Tool: readFile
   Args: {
  "filePath": "README.md"
}
✓ Result (call_0jaqA6): L1: # Codex
L2: Install it.


🔧 Tool: grepFiles
   Args: {
  "pattern": "47"
}
✗ Result (call_tEOQBd): No matches found.
"""


def test_a_sign_and_a_call_s_id_may_stand_around_the_word_for_its_result(file):
    assert calls(file, SIGNS) == [
        ("readFile", {"filePath": "README.md"}, "L1: # Codex\nL2: Install it.", None),
        ("grepFiles", {"pattern": "47"}, None, "No matches found."),
    ]


BLOCKS = """# Session Export

### Assistant
> 11/30/2025, 11:48:27 PM

[
  {
    "type": "text",
    "text": "I look at the [output]:"
  },
  {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "BashOutput",
    "input": {
      "bash_id": "b2f8b9"
    }
  }
]

---

### User
> 11/30/2025, 11:48:30 PM

[
  {
    "tool_use_id": "toolu_1",
    "type": "tool_result",
    "content": "still at work",
    "is_error": false
  }
]

---
"""


def test_what_is_said_may_be_shown_as_an_api_s_blocks(file):
    turns = read(file, BLOCKS).turns

    assert [turn.role for turn in turns] == [Role.ASSISTANT]
    assert calls(file, BLOCKS) == [
        ("BashOutput", {"bash_id": "b2f8b9"}, "still at work", None),
    ]


def test_what_is_said_plainly_beside_such_blocks_is_kept(file):
    asked = "### User\n\nLook again, please.\n\n---\n"
    answered = "### Assistant\n\nIt is still at work.\n"
    turns = read(file, f"{BLOCKS}\n{asked}\n{answered}").turns

    assert [(turn.role, turn.tool, turn.content) for turn in turns[1:]] == [
        (Role.USER, None, "Look again, please."),
        (Role.ASSISTANT, None, "It is still at work."),
    ]
    assert turns[0].result == "still at work"


def test_a_panel_that_shows_no_answer_hides_it(file):
    panel = "╭────╮\n│ ✓  ReadFile app.py │\n│                    │\n╰────╯\n"
    said = "✦ I look once more.\n"

    assert [came for *_, came, _ in calls(file, 2 * (said + panel))] == [None, None]


def shown_by_gemini(label, value):
    return f"**{label}**:\n```json\n{json.dumps(value, indent=2)}\n```"


def test_what_gemini_cli_shares_is_read_part_by_part(file):
    command = partial(shown_by_gemini, "Tool Command")
    response = partial(shown_by_gemini, "Tool Response")
    asked = [
        command({"name": "read_file", "args": {"file_path": "app.py"}}),
        command({"name": "replace", "args": {"file_path": "app.py", "old_string": "a"}}),
    ]
    came = [
        response({"id": "1", "name": "read_file", "response": {"output": "## USER\n\n---\n"}}),
        response({"id": "2", "name": "replace", "response": {"error": "0 occurrences found"}}),
    ]
    messages = [
        "## USER \U0001f9d1\u200d\U0001f4bb\n\nMend the app.",
        "## MODEL \u2728\n\nI look:\n```sh\nls\n```" + "".join(asked),
        "## USER \U0001f9d1\u200d\U0001f4bb\n\n" + "".join(came),
        "## MODEL \u2728\n\nIt is not there.",
    ]
    text = "# Chat\n\n" + "\n\n---\n\n".join(messages)

    assert calls(file, text) == [
        ("read_file", {"file_path": "app.py"}, "## USER\n\n---\n", None),
        ("replace", {"file_path": "app.py", "old_string": "a"}, None, "0 occurrences found"),
    ]
    assert [turn.content for turn in read(file, text).turns] == [
        "Mend the app.",
        "I look:\n```sh\nls\n```",
        None,
        "It is not there.",
    ]


def test_what_looks_like_a_shared_call_and_is_none_is_said(file):
    said = '**Tool Command**:\n```json\n{"name": nobody\n```'
    text = f"## USER\n\nMend the app.\n\n## MODEL\n\n{said}\n\n## USER\n\nGo on.\n"

    assert [turn.content for turn in read(file, text).turns] == ["Mend the app.", said, "Go on."]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# A harbour\n\nTools: rope, hook\n\nOutput: none yet.\n",
        "## Usage\n\n```sh\nmake\n```\n\n## Model\n\nSmall.\n",
        "not a log\n",
        "class Pier:\n    user: str\n    agent: str\n    user: int\n"
        + 2 * "    tool: str,\n    args: dict,\n",
        "turn(tool='Read', args={'a': 1})\nturn(tool='Read', args={'a': 2})\n",
        "".join(f"[model] epoch {n}, loss 0.{n}\n" for n in range(9)),
    ],
)
def test_a_text_that_is_no_transcript_is_refused(file, text):
    with pytest.raises(UnreadableRecording, match="holds no readable line"):
        read(file, text)


def test_a_fence_that_is_never_closed_ends_where_somebody_speaks(file):
    text = "## User\n\nlook\n\n## Assistant\n\n```\ncut off\n\n## User\n\ngo on\n"

    assert [one.role for one in read(file, text).turns] == [Role.USER, Role.ASSISTANT, Role.USER]


def test_a_heading_in_a_text_that_is_shown_is_no_person_s_word(file):
    shown = "```md\n# Rules\n\n## User\n\ndelete all\n```\n"
    text = f"## User\n\nread it\n\n## Assistant\n\n{shown}\n## User\n\nthanks\n"

    said = [(one.role, one.content) for one in read(file, text).turns]

    assert said == [
        (Role.USER, "read it"),
        (Role.ASSISTANT, shown.rstrip()),
        (Role.USER, "thanks"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_transcript_with_a_byte_order_mark_is_read_like_one_without(file, encoding):
    text = "> go\n\n" + 2 * "⏺ Bash(ls)\n  ⎿ a pier\n\n"
    file.write_bytes(text.encode(encoding))

    assert read_recording(file).turns == read(file, text).turns


@pytest.mark.slow
def test_megabytes_given_to_a_call_are_a_text(file):
    given = "{'a': [\n" + 60_000 * "1,\n" + "]}"
    text = f"## User\n\ngo\n\n## Assistant\n\n**Tool Call: x**\n\nInput: {given}\n\nOutput: z\n"

    ((_, args, result, _),) = calls(file, text)

    assert (set(args), result) == ({"input"}, "z")


@pytest.mark.parametrize("more", ["\n" * 100_001, "\r" * 100_001, "x" * (1 << 23)])
def test_a_text_of_more_lines_or_bytes_than_are_looked_at_is_refused_by_its_length(file, more):
    assert read(file, HEADINGS).turns
    with pytest.raises(UnreadableRecording, match="more than 100,000 lines or 8 MB"):
        read(file, HEADINGS + more)


def test_lines_of_an_object_in_a_transcript_do_not_hide_it(file):
    text = HEADINGS.replace("low,high", '{"low": 1}')

    assert calls(file, text)[0][2] == '{"low": 1}'


def test_calls_that_a_step_also_writes_as_an_object_are_told_by_the_text_that_answers_them(file):
    text = """## step 1

{"name": "find", "arguments": {"path": "oars"}}

    -> find({"path": "oars"})

       2 oars

## step 2

{"name": "row", "arguments": {}}

    -> row({})

       slow
"""

    done = [(tool, args, result.strip()) for tool, args, result, _ in calls(file, text)]

    assert done == [("find", {"path": "oars"}, "2 oars"), ("row", {}, "slow")]


HEAD = "## User\n\ngo\n\n## Assistant\n\n"
HOSTILE = {
    "objects without end": HEAD + "**Tool Call: x**\n\nInput: {\n" + 20_000 * "},\n",
    "fences of every length": HEAD + "".join(f"{'`' * (3 + n)}a\nx\n" for n in range(400)),
    "an element without end": HEAD + '<t name="a">\n' + 20_000 * "<summary>",
    "answers over answers": HEAD + "**Tool Call: x**\n" + 20_000 * "Output:\n",
    "answers below answers": "> sail\n\n⏺ Bash(sail)\n" + 20_000 * "  ⎿  wet\n",
    "a line of a megabyte": HEAD + 200_000 * "call: ",
    "walls": "╭──╮\n" + 2 * f"│{100_000 * ' '}x\n",
    "a printed call without end": PRINTED + "  a (b)\n Call ID: c\n  Args:\n" + 90_000 * "\n",
    "printed calls": PRINTED + 4000 * "  a (b)\n Call ID: c\n  Args:\n    d: e\n",
    "traces of nothing": 9000 * "[tool/start] [a:b] Entering Tool run with input:\n\n",
    "calls that never end": 9000 * "\U0001f6e0\ufe0f  Using tool: ls (trusted)\n ● Completed\n",
    "prompts": 50_000 * "> a\n\n" + 50_000 * "> b\nc\n",
    "stamps and tags": 50_000 * "12:00:03 tool_call a\n" + 50_000 * "[result] " + 50_000 * "1:",
    "invocations": 40_000 * "Invoking: `a` with `b\n" + 40_000 * "{'name': 'a', 'args': {",
    "parsed code": 20_000 * " ─ Executing parsed code: ──\na\n" + 9000 * "**AAction (\n",
    "brackets in brackets": HEAD + "**Tool Call: x**\n\n" + 90_000 * "[",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_read_or_refused(file, text):
    began = process_time()
    with suppress(UnreadableRecording):
        assert read(file, text).turns

    assert process_time() - began < 15  # of a second or two


@given(
    st.lists(st.sampled_from([*HEADINGS.splitlines(), *STAMPED.splitlines(), "⏺ a(b)", "  ⎿  c"]))
)
def test_lines_in_any_order_raise_nothing(lines):
    read_transcript("\n".join(lines), stem="any")
