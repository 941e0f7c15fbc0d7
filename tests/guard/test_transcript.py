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
        "# A harbour\n\nTools: rope, hook\n\nOutput: none yet.\n",
        "## Usage\n\n```sh\nmake\n```\n\n## Model\n\nSmall.\n",
        "not a log\n",
        "class Pier:\n    user: str\n    agent: str\n    user: int\n"
        + 2 * "    tool: str,\n    args: dict,\n",
        "turn(tool='Read', args={'a': 1})\nturn(tool='Read', args={'a': 2})\n",
        "".join(f"[model] epoch {n}, loss 0.{n}\n" for n in range(9)),
        "".join(f"[Agent] Calling tool: ls\n[Agent] Result: {n}\n" for n in range(9)),
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


def test_megabytes_given_to_a_call_are_a_text(file):
    given = "{'a': [\n" + 60_000 * "1,\n" + "]}"
    text = f"## User\n\ngo\n\n## Assistant\n\n**Tool Call: x**\n\nInput: {given}\n\nOutput: z\n"

    ((_, args, result, _),) = calls(file, text)

    assert (set(args), result) == ({"input"}, "z")


@pytest.mark.parametrize("more", ["\n" * 100_001, "x" * (1 << 23)], ids=["lines", "bytes"])
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
    "brackets in brackets": HEAD + "**Tool Call: x**\n\n" + 90_000 * "[",
}


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
