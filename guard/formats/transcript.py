"""Transcripts for people: Markdown exports, captured terminals, verbose console logs.

Every program has its own format, but all have lines that announce what follows: a speaker, a
tool's call, its arguments, its result. These lines are recognised by their words, whatever
punctuation surrounds them; only what is marked without words (a panel, an element, a bullet before
a call) is recognised by its form. They divide the text into turns. A call inside a message is read
by `guard.reading.text_calls`, as in any log.

Source: exports of SpecStory, Cline, Cursor, Copilot, Windsurf and OpenCode, chat histories of
aider, captured terminals of Claude Code, Gemini CLI and Codex, logs of AutoGPT and CrewAI.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from guard.formats.console_formats import relabel, relabel_loosely
from guard.formats.fragments import (
    ARGUMENTS_LABEL,
    FENCE,
    LIST_ITEM,
    MAX_ARGUMENTS_LENGTH,
    has_open_fence,
    object_end,
    parse_arguments,
    read_element,
    unfenced,
)
from guard.formats.recording import Recording
from guard.reading import TABLES, compile_phrases, pattern_of, read_words
from guard.reading.text_calls import FREE_ACTION
from guard.turn import Role, Turn

_WORDS = read_words("transcripts")
_TOOL_BY_VERB: dict[str, str] = TABLES["did"]
_ROLES = {
    **dict.fromkeys(_WORDS["people"], Role.USER),
    **dict.fromkeys(_WORDS["agents"], Role.ASSISTANT),
    **dict.fromkeys(_WORDS["tools"], Role.TOOL),
}
# In characters: a longer line never announces what follows.
_MAX_LINE_LENGTH = 2000
_MIN_TURNS, _MAX_WORDS, _MAX_BEFORE, _MAX_LINES = 2, 8, 3, 16
_SPEAKER, _STAMP = compile_phrases("speaker"), compile_phrases("log_stamp")
_CALL_LINE = compile_phrases("call_line", re.IGNORECASE)
_RESULT_LINE, _SPEECH_LINE = (
    compile_phrases(name, re.IGNORECASE) for name in ("came_line", "says_line")
)
_CODE_CALL, _ENDED_COMMAND = compile_phrases("shown_call"), compile_phrases("ended_line")
_TOOL_REFUSED = re.compile(r" is not a valid tool, try (?:another one|one of \[[^\]\n]*\])\.")
_COMMAND_LINE = compile_phrases("ran_line", re.IGNORECASE)
# A tool in a list, a list of tools on one line, instructions, and a harness's line for a call.
_LISTED = re.compile(r"^Tool Name:(?=[^\n]{1,100}\nTool (?:Arguments|Description):)", re.MULTILINE)
_LISTED_BESIDE = re.compile(r"\W{0,8}tools\b", re.IGNORECASE)
_MANUAL = compile_phrases("manual", re.IGNORECASE)
_ASSIGNED = compile_phrases("assigned_call", re.IGNORECASE)
_BRACKETED = re.compile(r"([^\W\d]\w{0,60})\[([^\n]+)")  # ReAct's notation
# A label that names a call; one that only names a tool may occur in any text.
_CALLED = re.compile(r"us(?:e|ing|ed)|call|invo", re.IGNORECASE)
# The addressee after a speaker, as AutoGen's console prints it.
_ADDRESSED = re.compile(r" \(to [\w-]{1,60}\):$")
_COLOURS = re.compile(r"\x1b\[[\d;?]{0,20}[A-Za-z]")
_ELEMENT = re.compile(
    r"<(?!a\s)([a-z][\w-]{0,30})\s[^<>\n]{0,200}?\bname=\"([^\"\n]{1,80})\"[^<>\n]*>"
)
# The first line of a call in a panel: the outcome and the tool's name. "✓  Shell ls"
_STATUS = re.compile(r"([^\w\s\"'`({\[<>#*+.$-]|x)[ \t]{1,3}([A-Z]\w{1,30})(?:[ \t]+(.*))?")
_FAILED = frozenset("\u2717\u2718\u274c\u2716\u2a2fx!")
_SIGNS = frozenset("\u2705\u2714\u2713\u274c\u2717\u2718")
_BULLET = re.compile("[\u23fa\u25cf\u2726\u2022\u273b\u2736\u2722\u2733\u273d][ \t]+(.*)")
_PROMPT = re.compile("(?:\\([^()\n]{1,4}\\))?[>\u276f\u203a][ \t](.*)")
_WRAPPED, _BELOW = (
    re.compile("[ \t]+\u2502[ \t]?(.*)"),
    re.compile("(?:[ \t]+[\u23bf\u2514]|\u23bf)[ \t]*(.*)"),
)
# The placeholder until a result arrives.
_WAITS = re.compile(r"(?:\w{1,30}(?:…|\.\.\.))?")
_TITLED = compile_phrases("titled")
# Arguments begin with a list item, an object, a tag or a bar.
_BEGINS = re.compile(rf"[ \t]*[{{\[\"|<]|{LIST_ITEM.pattern}|[a-z][\w-]{{0,40}}: ")
# Lines of the frame: a rule, a date (labelled, or in a heading), a call's id, a number, a notice.
_FRAME = re.compile(
    r"#{1,6} \[\d{4}-\d\d-\d\d[T ][\d:.]{5,18}Z?\][^\n]{0,40}|"
    r"[-*_═─=]{3,}|\W{0,4}(?:\w{2,12}\W{1,6})?\d{4}-\d\d-\d\d[T ][\d:.]{5,18}Z?\W{0,4}"
    rf"|[_*`]{{0,2}}(?i:(?:tool_)?call[_ ]id)[_*`]{{0,2}}:.*|(?i:{pattern_of('stamps')})"
    r"|>{6,} [A-Z][^\n]{0,200}|Next speaker: [^\n]{1,80}|For troubleshooting, visit: .*"
)
# The words between a tool's name and its arguments on the same line.
_GIVEN_BESIDE = re.compile(r"[\"'`]? with (?:arguments|args|inputs?|parameters):? ", re.IGNORECASE)
_ID = re.compile(r"[*_`]{0,4}[ \t]{0,4}\(ID: [^)\n]{1,80}\)")
_OBJECT = re.compile(r"`[^`\n]+`|\[[^\[\]\n]*\]\([^()\n]+\)|: +\S|\"[^\"\n]+\"")
# The head of a file in which headings are a person's messages, and quotes a program's output.
_QUOTES_TOOLS = re.compile(r"# aider chat started")
# A fence that opens on the line of its label.
_FENCE_BESIDE = re.compile(r"^([^`\n]{1,60}:[^`\w\n]{0,4})(`{3,}[\w+-]{0,20})[ \t]*$", re.MULTILINE)
# OpenCode up to 1.0 puts a call into a fence, with its arguments and result in inner fences.
_CALL_FENCED = re.compile(r"(?<=\n\n)```\n(?=Tool: \S)")
_FENCED_CALL_ENDS = re.compile(r"^```\n```$", re.MULTILINE)
# An action in plain words is on the line below its label.
_ACT_BELOW = re.compile(r"^(Action:)[ \t]*\n(?=\w)(?!Action|Observation|Thought)", re.MULTILINE)
_ACT = re.compile(r"\W{0,4}action:", re.IGNORECASE)
# Gemini CLI's `/chat share` prints the parts of its API's messages in sequence.
_PART, _PART_ENDS = re.compile(r"\*\*Tool (Command|Response)\*\*:\n```json\n"), "\n```"
_PARTS = {"Command": "functionCall", "Response": "functionResponse"}
# A message may begin after the bracket around a name; a time there is not a message.
_SAID_BESIDE = re.compile(r"\][*_]{0,3}[ \t]++(?![(\u2014\u2013-][\s\d:.,/TZAPMapm-]{0,40}\)?\Z)")
_EDGE, _END = "\0panel", "\0end"


def read_transcript(text: str, *, stem: str) -> Recording | None:
    """Read a transcript; None if nothing in the text shows that it is one."""
    turns = _read_turns(text)
    if not turns and (loosely := relabel_loosely(text)) != text:
        turns = _read_turns(loosely)
    return Recording(run=stem, turns=tuple(turns)) if turns else None


def blocks_of(turns: Sequence[Turn | None]) -> list[dict[str, Any]]:
    """Return the turns as an API's messages if any contains blocks in JSON; else none."""
    messages = list[dict[str, Any]]()
    for turn in filter(None, turns):
        said = turn.content or ""
        _, opens, rest = f"\n{said}".partition("\n[")
        content: Any = None if turn.tool else _read_message_parts(said) or said
        with suppress(ValueError, RecursionError):
            blocks, _ = json.JSONDecoder().raw_decode(f"[{rest}" if opens else "null")
            if blocks and all(isinstance(one, dict) and "type" in one for one in blocks):
                content = blocks
        if content:
            messages.append({"role": turn.role.value, "content": content})
    return messages if any(isinstance(one["content"], list) for one in messages) else []


def _read_message_parts(text: str) -> list[dict[str, Any]]:
    """Return the text, calls and answers of a message from Gemini CLI; empty: only text."""
    parts, at = list[dict[str, Any]](), 0
    for label in _PART.finditer(text):
        with suppress(ValueError, RecursionError):
            value, end = json.JSONDecoder().raw_decode(text, label.end())
            if said := text[at : label.start()].strip():
                parts.append({"type": "text", "text": said})
            parts.append({_PARTS[label[1]]: value})
            at = end + len(_PART_ENDS) if text.startswith(_PART_ENDS, end) else end
    rest = text[at:].strip()
    return [*parts, {"type": "text", "text": rest}] if parts and rest else parts


def _read_turns(text: str) -> Sequence[Turn]:
    """Divide a text into turns; empty: it is not a transcript."""
    text, enclosed = _CALL_FENCED.subn("", _COLOURS.sub("", text))
    text = _FENCED_CALL_ENDS.sub("```", text) if enclosed else text
    text = _LISTED.sub("-", _FENCE_BESIDE.sub(r"\1\n\2", text))
    lines = _ACT_BELOW.sub(r"\1 ", relabel(text)).splitlines()
    # Remove a logger's prefix if most lines have one.
    ends = [found.end() if (found := _STAMP.match(line)) else 0 for line in lines]
    if 2 * sum(map(bool, ends)) >= len(lines):
        lines = [line[end:] for line, end in zip(lines, ends, strict=True)]
    cutter = _TranscriptReader(lines)
    for line in lines if cutter.is_chat else _open_panels(lines):
        cutter.take(line)
    cutter.flush()
    calls = sum(turn.tool is not None or turn.role is Role.TOOL for turn in cutter.turns)
    if len(cutter.turns) < _MIN_TURNS or (calls < _MIN_TURNS and not cutter.is_chat):
        return ()  # any text may contain a single call or message
    roles = {turn.role for turn in cutter.turns}
    if roles == {Role.TOOL} or (not calls and cutter.is_tagged and len(roles) == 1):
        return ()  # a program's log, with its name at the beginning of each line
    return cutter.turns


def _open_panels(lines: Sequence[str]) -> Iterator[str]:
    """Return lines with each of a terminal's panels replaced by its content between two marks."""
    is_open = lines[:1] != [] and _within_walls(lines[0]) is not None
    if is_open:
        yield _EDGE
    for line in lines:
        bare = line.strip()
        if bare[:2] not in {"╭─", "╰─"} or bare[-1] not in "╮╯":
            inner = _within_walls(line) if is_open else None
            yield line if inner is None else inner
        elif not (is_open := bare[0] == "╭"):
            yield _END
        elif title := bare.strip("╭╮─ "):
            # A panel with a title may hold a call's arguments or its result.
            yield f"{title}:"
        else:
            yield _EDGE


def _within_walls(line: str) -> str | None:
    bare = line.strip()
    is_walled = len(bare) > 1 and bare[0] == bare[-1] == "│"
    return bare[1:-1].rstrip().removeprefix(" ") if is_walled else None


def _parse_speaker(line: str) -> tuple[str, str, str] | None:
    """Return the form, speaker and message of a line that may name one; None: it does not."""
    # Indented lines are fields in code.
    is_inner = line[:1].isspace() or len(line) > _MAX_LINE_LENGTH
    if is_inner or not (found := _SPEAKER.match(line)):
        return None
    name, rest = found[2].lower(), found[3].lstrip("*_`]")
    is_told = rest[:1] == ":" or (found[1][-1:] == "[" and _SAID_BESIDE.match(found[3]))
    said = rest.removeprefix(":").strip("*_` \t") if is_told else ""
    form = "".join(sign for sign in found[1] if sign in "#*_>[<") + ":" * bool(said)
    return form, name, said


def _role_of(name: str) -> Role | None:
    """Return the role of a speaker's name; None: the name is unknown."""
    words = [name] if name in _ROLES else re.split(r"[\s-]+", name)
    if has_noun := len(words) > 1 and words[-1] in _WORDS["nouns"]:
        words.pop()
    if not all(word in _ROLES or word in _WORDS["before"] for word in words):
        return None
    role = _ROLES.get(words[-1])
    return None if has_noun and role is Role.TOOL else role  # "Tool input" labels arguments


def _find_speakers(lines: Sequence[str]) -> dict[tuple[str, str], Role]:
    """Return speakers by form and name, of forms that name two roles, or one role repeatedly."""
    named: dict[str, Counter[str]] = {}
    first: tuple[str, str] | None = None
    speakers: dict[tuple[str, str], Role] = {}
    for line in lines:
        if found := _parse_speaker(line):
            form, name, said = found
            if _ADDRESSED.search(line):
                speakers[form, name] = _role_of(name) or Role.ASSISTANT
            first = first or (form, name)
            # "Tool: Read" is a call; "[environment] You see a door." is none.
            is_call = said != "" and ("[" not in form or name.startswith("tool"))
            if (role := _role_of(name)) and not (is_call and role is Role.TOOL):
                named.setdefault(form, Counter())[name] += 1
    for form, names in named.items():
        roles = {name: role for name in names if (role := _role_of(name))}
        is_bare = not form.strip(":")
        if is_bare and names.total() <= len(names):
            continue  # "model: gpt-5" among settings at the top
        # If only agents are known by name, the first speaker in their form is the person.
        is_often = names.total() >= _MIN_TURNS
        if is_often and first and first[0] == form and {*roles.values()} == {Role.ASSISTANT}:
            roles.setdefault(first[1], Role.USER)
        if len({*roles.values()}) > 1 or (names.total() > _MIN_TURNS and not is_bare):
            speakers |= {(form, name): role for name, role in roles.items()}
    return speakers


class _TranscriptReader:
    """Divides a transcript into turns, line by line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.turns: list[Turn] = []
        self._quotes_tools = any(map(_QUOTES_TOOLS.match, lines[:20]))
        self._speakers = {} if self._quotes_tools else _find_speakers(lines)
        self.is_chat = self._quotes_tools or bool(self._speakers)
        forms = {form for form, _ in self._speakers}
        self.is_tagged = forms != set() and all("[" in form and ":" in form for form in forms)
        # Bullets and prompts count only in a terminal; elsewhere they are lists and quotes.
        bullets = sum(line.startswith(("⏺", "✦")) for line in lines)
        has_signs = any(_BELOW.match(line) or _TITLED.match(line) for line in lines)
        self._is_terminal = not self.is_chat and (bullets > 1 or has_signs)
        # If a fence is left open, a speaker ends it; otherwise speakers in a fence are quoted.
        self._leaves_open = has_open_fence(lines)
        # The first reading that accepts a line is used.
        self._readings = (
            self._take_element,
            self._take_fence,
            self._take_speaker,
            self._take_quote,
            self._take_manual,
            self._take_panel,
            self._take_below,
            self._take_bullet,
            self._take_shown,
            self._take_assigned,
            self._take_ended,
            self._take_command,
            self._take_called,
            self._take_action_phrase,
            self._take_arguments,
            self._take_sign,
            self._take_answer,
            self._take_speech,
            self._take_text,
        )
        # The text before the first speaker is the document's head.
        self._role, self._agent = Role.SYSTEM if self.is_chat else Role.ASSISTANT, ""
        self._open_calls: list[int] = []  # places of calls whose answers come later
        self._fence, self._element, self._is_panel = "", "", False
        self._reset()

    def _reset(self) -> None:
        self._message_lines: list[str] = []
        self._argument_lines: list[str] = []
        self._result_lines: list[str] = []
        self._current_lines = self._message_lines
        self._tool, self._lines_seen = "", 0
        self._is_sure = False  # whether this is certainly a call
        self._may_be_action = False  # whether the text may be an action
        self._is_labelled = False  # whether a label announced the arguments
        self._is_act = False  # whether the tool's name may be the whole action
        # Whether the arguments or the result are complete: other text follows.
        self._is_complete = False
        self._is_announced = self._has_failed = False  # of the result
        # Whether the result may come without a label, and its least indentation.
        self._may_follow, self._indent = False, 0
        self._is_walled = False  # whether the result ends with its panel

    def take(self, line: str) -> None:
        """Take the next line of the transcript."""
        any(read(line) for read in self._readings)

    def flush(self) -> None:
        """End the current turn and begin the next."""
        said, came = _join_lines(self._message_lines), unfenced(_join_lines(self._result_lines))
        if self._tool and (
            self._is_sure or self._argument_lines or self._current_lines is self._result_lines
        ):
            self._add_call(said, came)
        elif said and self._role is Role.TOOL and self._open_calls:
            place, told = self._open_calls.pop(0), unfenced(said)
            result, error = (None, told) if self._has_failed else (told, None)
            self.turns[place] = replace(self.turns[place], result=result, error=error)
        elif (said := _join_lines([said, self._tool])) and self._role is not Role.SYSTEM:
            self._add(Turn(role=self._role, content=said))
        self._reset()

    def _add(self, turn: Turn) -> None:
        self.turns.append(replace(turn, agent=self._agent or None, seq=len(self.turns)))

    def _add_call(self, said: str, came: str) -> None:
        tool, args = self._tool, parse_arguments(self._tool, _join_lines(self._argument_lines))
        if self._is_act and not args and not self._is_labelled:
            tool, args = FREE_ACTION, {"input": tool}
        last = self.turns[-1] if self.turns else None
        if not args and not said and last and last.tool == tool and came in (last.result or ""):
            return  # without arguments, it may be the same call again
        if not args and not came and said:
            args = {"input": said.rpartition("\n\n")[2]}
        call = Turn(role=Role.ASSISTANT, tool=tool, args=args, content=said or None)
        if self._current_lines is not self._result_lines:
            self._open_calls.append(len(self.turns))
        elif self._has_failed:
            call = replace(call, error=came or "failed")
        else:
            call = replace(call, result=came or None)
        self._add(call)

    def _start_message(self, line: str) -> None:
        """Add a line to the message; after a call, begin a new turn for it."""
        if self._tool:
            self.flush()
        self._message_lines.append(line)

    def _start_call(self, tool: str, given: str = "", *, is_sure: bool = True) -> None:
        if self._tool:
            self.flush()
        self._tool, self._is_sure, self._current_lines = tool, is_sure, self._argument_lines
        if given:
            self._add_arguments(given)

    def _add_arguments(self, text: str) -> None:
        self._argument_lines.append(text)
        # An object ends with a line of its own; parsing is tried only so often for each call.
        self._lines_seen += len(self._argument_lines) == 1 or text.startswith("}")
        if self._lines_seen > _MAX_LINES or (len(self._argument_lines) > 1 and text[:1] != "}"):
            return
        given = _join_lines(self._argument_lines)
        end = object_end(given)
        self._is_complete = end is not None
        if end and self._may_follow and (rest := given[end:].strip()):
            self._argument_lines[:] = [given[:end]]
            self._start_answer(rest)

    def _start_answer(self, text: str, *, has_failed: bool = False) -> None:
        is_there = len(self._result_lines) > _MAX_BEFORE or not _WAITS.fullmatch(
            _join_lines(self._result_lines)
        )
        if self._current_lines is self._result_lines and is_there:
            self._result_lines.append(text)
            return
        self._current_lines = self._result_lines
        self._has_failed, self._is_complete = has_failed, False
        self._result_lines[:] = [text] if text else []

    def _take_element(self, line: str) -> bool:
        """Take a line of an element that has a tool's name and holds the whole call."""
        if not self._element:
            found = (
                _ELEMENT.match(line) if self._role is Role.ASSISTANT and not self._fence else None
            )
            if found is None:
                return False
            self._start_call(found[2])
            self._element = found[1]
        self._argument_lines.append(line)
        if f"</{self._element}>" in line:
            args, came = read_element(_join_lines(self._argument_lines)[:MAX_ARGUMENTS_LENGTH])
            self._element, self._argument_lines[:] = "", [json.dumps(args)] if args else []
            if came is not None:
                self._start_answer(came)
            self.flush()
        return True

    def _take_fence(self, line: str) -> bool:
        """Take a fence, or a line inside of one."""
        found = FENCE.match(line)
        if self._fence:
            may_end = self._leaves_open and line.startswith("#")
            speaker = _parse_speaker(line) if may_end else None
            if speaker and speaker[:2] in self._speakers:  # the fence was never closed
                self._fence = ""
                return False
            self._current_lines.append(line)
            if found and found[1].startswith(self._fence) and not found[2]:
                self._fence, self._is_complete = "", self._current_lines is not self._message_lines
            return True
        if found is None or self._is_walled:
            return False
        if self._is_complete and self._current_lines is self._argument_lines:
            self._start_answer("")  # a second fence, directly below the arguments
        elif self._is_complete:
            self.flush()
        self._fence = found[1]
        self._current_lines.append(line)
        return True

    def _take_speaker(self, line: str) -> bool:
        """Take a line that names the next speaker."""
        found = _parse_speaker(line) if self._speakers else None
        if found is None or (role := self._speakers.get(found[:2])) is None:
            return False
        self.flush()
        self._role, said = role, found[2]
        # "# Agent: Researcher" names an agent.
        self._agent = said if found[:2] == ("#:", "agent") else ""
        self._message_lines.append("" if self._agent else said)
        return True

    def _take_quote(self, line: str) -> bool:
        """Take a line of a chat with a person's messages as headings and output as quotes."""
        if not self._quotes_tools:
            return False
        role, said = Role.ASSISTANT, line
        if _QUOTES_TOOLS.match(line):
            role = Role.SYSTEM
        elif line.startswith("#### "):
            role, said = Role.USER, line[5:]
        elif line.startswith("> "):
            role, said = Role.TOOL, line[2:]
        if role is not self._role and line.strip():
            self.flush()
            self._role = role
        self._message_lines.append(said)
        return True

    def _take_manual(self, line: str) -> bool:
        """Take a line of a result that repeats a prompt's instructions and looks like the log's."""
        if self._current_lines is not self._result_lines or not _MANUAL.match(line):
            return False
        self._result_lines.append(line)
        return True

    def _take_panel(self, line: str) -> bool:
        """Take a panel's edge, a result in a panel, or its first line if that is a call."""
        if line in {_EDGE, _END}:
            # The result of a call in a panel may follow below the panel.
            if self._tool and (line == _EDGE or self._current_lines is self._result_lines):
                self.flush()
            self._is_panel = line == _EDGE
            return True
        if self._is_walled:
            self._result_lines.append(line)
            return True
        if not self._is_panel or not line.strip():
            return False
        self._is_panel = False
        found = _STATUS.fullmatch(line.strip())
        if found:
            self._start_call(found[2], found[3] or "")
            self._start_answer("", has_failed=found[1] in _FAILED)
            self._is_walled = True
        return found is not None

    def _take_below(self, line: str) -> bool:
        """Take a line below a bullet: the rest of its text, or a result."""
        if not self._is_terminal:
            return False
        if self._may_be_action and (wrapped := _WRAPPED.match(line)):
            self._message_lines.append(wrapped[1])
            return True
        below = _BELOW.match(line)
        if (
            below
            and self._tool
            and self._current_lines is self._result_lines
            and len(self._result_lines) <= _MAX_LINES
        ):
            # A result may end with the next call: its sign blinks and was off when captured.
            came, done = _split_last_paragraph(self._result_lines)
            if len(came) < len(self._result_lines) and (called := _match_code_call(done)):
                self._result_lines[:] = came
                self._start_call(called[1], called[2][:-1])
        if below is None or not (self._tool or self._take_action()):
            return False
        self._start_answer(below[1])
        self._indent = int(line[:1].isspace())
        return True

    def _take_bullet(self, line: str) -> bool:
        """Take a terminal's line that begins with a sign, or is a rule with a tool's name."""
        if not self._is_terminal:
            return False
        if titled := _TITLED.match(line):
            self._start_call(titled[1])
            return True
        bullet, prompt = _BULLET.match(line), _PROMPT.match(line)
        if not (said := bullet or prompt):
            return False
        self.flush()
        self._role = Role.USER if prompt else Role.ASSISTANT
        if not self._take_shown(line):
            self._message_lines.append(said[1])
            self._may_be_action = bullet is not None
        return True

    def _take_action(self) -> bool:
        """Make a bullet's text a call, since a result follows below; False: it cannot be one."""
        if not self._may_be_action or len(self._message_lines) > _MAX_LINES:
            return False
        said, done = _split_last_paragraph(self._message_lines)
        self._message_lines[:] = said
        verb, _, rest = done.partition(" ")
        if called := _match_code_call(done) or _match_code_call(rest):
            self._start_call(called[1], called[2][:-1])
        elif tool := _TOOL_BY_VERB.get(verb.lower()):
            self._start_call(tool, rest)
        else:
            self._start_call(done)
        return True

    def _take_shown(self, line: str) -> bool:
        """Take a call in code that follows a sign."""
        found = _CODE_CALL.match(line) if self._may_call(line) else None
        if found is None or not (given := found[2].rstrip(" \t\u2026")).endswith(")"):
            return False
        self._start_call(found[1], given[:-1])
        self._is_complete = self._may_follow = True
        self._indent = 1 + len(line) - len(line.lstrip())
        return True

    def _take_assigned(self, line: str) -> bool:
        """Take a call whose tool and arguments follow equals signs, or words such as "calling"."""
        found = _ASSIGNED.search(line) if self._may_call(line) else None
        tool, given = [*filter(None, found.groups()), "", ""][:2] if found else ("", "")
        if not given:
            return False
        self._start_call(tool)
        self._may_follow = True
        self._add_arguments(given)
        return True

    def _take_ended(self, line: str) -> bool:
        """Take a command with its directory and outcome."""
        ended = _ENDED_COMMAND.search(line) if self._may_call(line) else None
        typed = line[: ended.start()].rpartition(" in ")[0] if ended else ""
        if ended and typed:
            self._start_call("bash", typed)
            self._start_answer("", has_failed=ended[1] != "succeeded")
        return typed != ""

    def _take_command(self, line: str) -> bool:
        """Take a line that names a command being run."""
        found = _COMMAND_LINE.match(line) if self._may_call(line) else None
        if found:
            self._start_call("bash", found[1].strip("` "))
            self._is_complete = self.is_chat
            if not self.is_chat:
                self._start_answer("")
        return found is not None

    def _take_called(self, line: str) -> bool:
        """Take a line that names the tool of a call."""
        found = _CALL_LINE.match(line) if self._may_call(line) else None
        told, *beside = _GIVEN_BESIDE.split(found[1], maxsplit=1) if found else [""]
        name = _ID.sub("", told).replace("`", "").strip("*_'\"] ")
        if not found or len(name.split()) > _MAX_WORDS or name.endswith(tuple(".!?,;{")):
            return False
        if ", " in name and _LISTED_BESIDE.match(line):
            return False
        shown = _match_code_call(name)
        name, given = (shown[1], shown[2][:-1]) if shown else (name, "".join(beside))
        if bracketed := _BRACKETED.fullmatch(name):
            name, given = bracketed.groups()
        self._start_call(name, given, is_sure=_CALLED.search(line[: found.start(1)]) is not None)
        self._is_act = _ACT.match(line) is not None
        return True

    def _take_action_phrase(self, line: str) -> bool:
        """Take a line that describes an action: its verb gives the tool, the rest the arguments."""
        if not self.is_chat or len(line) >= _MAX_LINE_LENGTH or not self._may_call(line):
            return False
        is_slanted = line[:1] in "*_" and line.rstrip()[-1:] in "*_"
        text = line.strip().rstrip("*").strip("*_ ")
        found = _OBJECT.search(text)
        if text.endswith((".", "!", "?", ":")) or not (found or is_slanted):
            return False
        phrase = re.findall(r"[a-z]+", (text[: found.start()] if found else text).lower())
        at = next(
            (at for at, word in enumerate(phrase[:_MAX_BEFORE]) if word in _TOOL_BY_VERB), None
        )
        if found and text.lower().startswith("using ") and found[0][0] == '"':
            self._start_call(found[0].strip('"'), "")
        elif at is None or len(phrase) > _MAX_WORDS:
            return False
        else:
            verb = "_".join((_TOOL_BY_VERB[phrase[at]], *phrase[at + 1 :]))
            tool = "run_command" if "command" in phrase else verb
            self._start_call(tool, text[found.start() :].strip(": `") if found else "")
        self._is_complete = True
        return True

    def _may_call(self, line: str) -> bool:
        return self._role is Role.ASSISTANT and len(line) < MAX_ARGUMENTS_LENGTH

    def _take_arguments(self, line: str) -> bool:
        """Take a line that announces a call's arguments."""
        if not self._tool or self._current_lines is not self._argument_lines:
            return False
        if found := ARGUMENTS_LABEL.match(line[:MAX_ARGUMENTS_LENGTH]):
            self._is_sure = self._is_labelled = True
            self._may_follow = self._may_follow or "ction" in line[:12]  # ReAct's "Action Input:"
            told = found[1] or ""
            refused = _TOOL_REFUSED.search(told)
            at = refused.start() - len(self._tool) if refused else -1
            is_refused = at > 0 and told.startswith(self._tool, at)
            self._add_arguments(told[:at] if is_refused else told)
            if refused and is_refused:
                self._start_answer(told[at : refused.end()])
                self._start_message(told[refused.end() :].lstrip())
        return found is not None

    def _take_sign(self, line: str) -> bool:
        """Take a line with a sign for the outcome of the call directly above it."""
        is_told = line[:1] in _SIGNS and self._may_follow and self._is_complete
        if not is_told or self._current_lines is not self._argument_lines:
            return False
        self._start_answer(line[1:].strip(), has_failed=line[:1] in _FAILED)
        return True

    def _take_answer(self, line: str) -> bool:
        """Take a line that announces a result."""
        if (found := _RESULT_LINE.match(line)) is None:
            return False
        told = next(filter(None, found.groups()), "").strip(" *_`")
        has_failed = "rror" in line[: len(line) - len(told)] or line[:1] in _FAILED - {"x"}
        if self._tool:
            if not self._is_announced:  # unannounced lines before it were about the call
                self._current_lines = self._argument_lines
            self._is_sure = self._is_announced = True
            self._start_answer(told, has_failed=has_failed)
            return True
        is_agents = self._role is Role.ASSISTANT and not self.is_chat and not self._open_calls
        if is_agents and told and line.startswith("Observation:"):
            self.flush()  # a harness rejects the agent's message
            self._add(Turn(role=Role.TOOL, content=told))
            return True
        may_tell = self._role is not Role.ASSISTANT or line.startswith("***")
        if not self._open_calls or not may_tell or any(map(str.strip, self._message_lines)):
            return False
        self._role, self._has_failed = Role.TOOL, has_failed
        self._message_lines.append(told)
        return True

    def _take_speech(self, line: str) -> bool:
        """Take a line at which an agent speaks again, or one of the frame."""
        is_said = _SPEECH_LINE.match(line) or (line.startswith("> ") and not self.is_chat)
        is_open = (
            self._may_follow
            and self._current_lines is self._argument_lines
            and not self._is_complete
        )
        if is_said and is_open and "answer" in line[:20].lower():
            self._message_lines.append(line)  # before the result
            return True
        if self._role is Role.ASSISTANT and is_said:
            self._start_message(line)
            return True
        if len(line) > _MAX_LINE_LENGTH or not _FRAME.fullmatch(line.strip()):
            return False
        is_apart = self._is_complete or self._indent or line.startswith("#")
        if self._tool and (self._current_lines is self._argument_lines or is_apart):
            self._is_complete = True
            return True
        return self._current_lines is self._message_lines

    def _take_text(self, line: str) -> bool:
        """Take any other line as a continuation of the lines before it."""
        is_right = line.startswith(" " * self._indent)
        if not line.strip():
            self._current_lines.append(line)
            self._is_complete |= (
                self._current_lines is self._argument_lines
                and self._argument_lines[0][:1] not in {"", "{"}
            )
        elif (
            self._current_lines is self._argument_lines
            and self._is_complete
            and self._may_follow
            and is_right
        ):
            self._start_answer(line)
        elif self._tool and (self._is_complete or not is_right):
            self._start_message(line)
        elif self._current_lines is self._result_lines:
            self._result_lines.append(line)
        elif self._current_lines is self._argument_lines and (
            self._is_labelled or any(map(str.strip, self._argument_lines)) or _BEGINS.match(line)
        ):
            self._add_arguments(line)
        elif self._is_terminal and self._role is Role.USER and line[:1] != " ":
            self.flush()  # further lines of a person's input are indented
            self._role = Role.ASSISTANT
            self._message_lines.append(line)
        else:
            self._start_message(line)
        return True


def _join_lines(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n")


def _split_last_paragraph(lines: Sequence[str]) -> tuple[list[str], str]:
    """Return the lines before the last paragraph, and that paragraph joined to one line."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    end = filled[-1] + 1 if filled else 0
    at = max((at for at in range(end) if not lines[at].strip()), default=0)
    return [*lines[:at]], " ".join(filter(None, map(str.strip, lines[at:])))


def _match_code_call(text: str) -> re.Match[str] | None:
    """Match a call in code: group 1 is its name, group 2 its arguments with the parenthesis."""
    return _CODE_CALL.match(f"-> {text}") if text.endswith(")") else None
