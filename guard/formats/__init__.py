"""Readers of recorded runs, in every format that guard knows.

`read_recording` goes by a file's content, not by its name.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from guard.errors import UnreadableRecording
from guard.formats import claude_code, cline, codex, gemini, messages, trajectories, turn_file
from guard.formats.labelled_logs import read_labelled_log
from guard.formats.log_lines import read_log_lines
from guard.formats.pages import quotes_in
from guard.formats.recording import Recording, Unread, Why
from guard.formats.transcript import blocks_of, read_transcript
from guard.formats.unknown_records import read_unknown_records
from guard.turn import Role

Row = Mapping[str, Any]
Recognises = Callable[[Sequence[Row]], bool]
BufferedFile: TypeAlias = "io.BufferedReader[Any] | io.BufferedRandom"

# Rows by which a format is recognised: summaries and file snapshots may precede the messages.
_EARLY = 250
# In bytes. A longer line is not an agent's turn: the file is of another kind.
_MAX_LINE_BYTES = 1 << 26
# Each line of a text is tried in many ways: millions of blank ones must not block a server.
_MAX_TRANSCRIPT_BYTES, _MAX_LINES = 1 << 23, 100_000
# The beginning of a JSON document, as opposed to the first of several JSON lines.
_DOCUMENT_START = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,60}(?:\[|\{[ \t]{0,60}\r?\n)")
# A table's header row, with a column that names a speaker or an actor.
_TABLE_HEADER = re.compile(
    rb"(?i)(?:\xef\xbb\xbf)?(?=[^\n{}]{0,300}\b(?:role|actor|speaker|source|agent|tool(?:_name)?)\b)"
    rb"[\"\w -]{1,40}([,;\t])[\"\w -]{1,40}(?:\1[\"\w -]{0,40}){0,40}\r?\n"
)
# Generic formats: records of many programs look like these.
_GENERIC_FORMS = frozenset({"trajectory", "messages", "turns", "log"})
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_DECODER, _NEXT = json.JSONDecoder(), re.compile(r"[^\s,]")
# A few unreadable entries are enough to see that the wrong lines were exported.
_MAX_UNREAD = 10

# Tried in this order: a turn file is the most general format, so it comes last.
FORMATS: dict[str, tuple[Recognises, Callable[..., Recording]]] = {
    "claude-code": (claude_code.recognises, claude_code.Reader.read),
    "codex": (codex.recognises, codex.Reader.read),
    "gemini": (gemini.recognises, gemini.Reader.read),
    "cline": (cline.recognises, cline.Reader.read),
    "trajectory": (trajectories.recognises, trajectories.Reader.read),
    "messages": (messages.recognises, messages.Reader.read),
    "turns": (turn_file.recognises, turn_file.read),
}


def read_recording(path: Path) -> Recording:
    """Read a recorded run line by line; only its turns are held in memory.

    Raises:
        UnreadableRecording: the file cannot be opened or is in no known format.
    """
    try:
        with path.open("rb") as file:
            return read_stream(file, path)
    except OSError as error:
        raise UnreadableRecording(str(path), error.strerror or "cannot be opened") from error


def read_stream(file: BufferedFile, path: Path) -> Recording:
    """Read a recorded run from an open file; `path` only names it.

    Raises:
        UnreadableRecording: it is in no known format.
    """
    return _read_stream(file, path, is_quote=False)


def _read_stream(file: BufferedFile, path: Path, *, is_quote: bool) -> Recording:
    found, is_text, is_told = _read_records(file, stem=path.stem)
    if found is not None and not is_text:
        return found
    file.seek(0)
    text = file.read(_MAX_TRANSCRIPT_BYTES + 1)
    decoded = text.decode("utf-16" if text.startswith(_UTF_16) else "utf-8-sig", "replace")
    # Lines may end with other characters than a line feed.
    is_long = len(text) > _MAX_TRANSCRIPT_BYTES or len(decoded.splitlines()) > _MAX_LINES
    if not is_long:
        quotes = [] if is_quote else quotes_in(decoded)
        if quotes and found is not None and not _is_log(found):
            found = None
        # Lines that are only JSON objects were read above.
        told = _read_text(decoded, stem=path.stem, may_log=is_text)
        found = max(filter(None, [found, told]), key=_count_answered, default=None)
        is_doubtful = found is None or 2 * _count_answered(found) <= _count_calls(found)
        if is_doubtful and not is_quote:
            others = (
                _read_quoted(quotes, path)
                or read_unknown_records(decoded, stem=path.stem)
                or read_labelled_log(decoded, stem=path.stem)
            )
            found = max(filter(None, [found, others]), key=_count_answered, default=None)
    if found is not None:
        return found
    why = "holds no readable line"
    if is_told:
        why = (
            "is no turn file, no transcript of Claude Code, Codex or Gemini, and holds neither"
            " records in which somebody speaks, calls a tool or answers, nor a text that says so"
        )
    if is_long:
        why += f"; texts of more than {_MAX_LINES:,} lines or 8 MB are not looked through"
    raise UnreadableRecording(str(path), why)


def _read_records(file: BufferedFile, *, stem: str) -> tuple[Recording | None, bool, bool]:
    """Return the run that objects hold, whether they may be in a text, and whether any exist."""
    unread: list[Unread] = []
    rows = _read_rows(file, unread)
    early = list(islice(rows, _EARLY))
    known = [row for row in early if row is not None]
    found: Recording | None = None
    for form, (recognises, read) in FORMATS.items():
        if recognises(known):
            recording = read(chain(early, rows), stem=stem)
            if form == "messages" and not any(recording.turns):
                break  # an empty run would look like a healthy one
            named = sorted([*unread, *recording.unread], key=lambda one: one.entry)
            found = replace(recording, form=form, unread=tuple(named[:_MAX_UNREAD]))
            break
    # A text may also contain lines that are objects: arguments or results of its calls.
    return found, 2 * len(known) <= len(early), bool(known)


def _read_quoted(quotes: Sequence[str], path: Path) -> Recording | None:
    """Read the log that a page quotes; of several, the one with the most answered calls."""
    logs = list[Recording]()
    for quote in quotes:
        with suppress(UnreadableRecording):
            file = io.BufferedReader(io.BytesIO(quote.encode()))
            logs.append(_read_stream(file, path, is_quote=True))
    return max(filter(_is_log, logs), key=_count_answered, default=None)


def _is_log(quote: Recording) -> bool:
    """Return whether it is a run's log; an example of an API's records shows at most one call."""
    if quote.form == "transcript":
        return any(turn and (turn.tool or turn.role is Role.TOOL) for turn in quote.turns)
    return _count_answered(quote) > (quote.form in _GENERIC_FORMS)


def _read_text(text: str, *, stem: str, may_log: bool) -> Recording | None:
    """Read a transcript or a program's log: the reading in which more calls were answered."""
    forms = list[Recording]()
    if shown := read_transcript(text, stem=stem):
        forms.append(replace(shown, form="transcript"))
        if told := blocks_of(shown.turns):
            forms.append(replace(messages.Reader.read(told, stem=stem), form="transcript"))
    lines = list(read_log_lines(text)) if may_log else []
    events = list(filter(None, lines))
    if events and 2 * len(events) >= len(lines) and messages.recognises(events):
        logged = messages.Reader.read(lines, stem=stem)
        if any(turn and turn.tool for turn in logged.turns):
            forms.append(replace(logged, form="log"))
    return max(forms, key=_count_answered, default=None)


def _count_calls(recording: Recording) -> int:
    return sum(turn is not None and turn.tool is not None for turn in recording.turns)


def _count_answered(recording: Recording) -> int:
    calls = [turn for turn in recording.turns if turn is not None and turn.tool]
    return sum(call.result is not None or call.error is not None for call in calls)


def _read_rows(file: BufferedFile, unread: list[Unread]) -> Iterator[Row | None]:
    """Read JSON Lines, a table, a document (one row) or a list (its items). None: not an object.

    The first few rows that are not objects are added to `unread`.
    """
    source: io.BufferedIOBase = file
    head = file.peek(64)
    if table := _TABLE_HEADER.match(head):
        yield from _read_table(file, delimiter=table[1].decode())
        return
    # Only a document is loaded whole: a log of gigabytes is read line by line.
    if _DOCUMENT_START.match(head) or head.startswith(_UTF_16):
        text = file.read()
        if head.startswith(_UTF_16):  # PowerShell redirects a command's output in UTF-16
            text = text.decode("utf-16", "replace").encode("utf-8", "replace")
        if (whole := _read_document(text)) is not None:
            yield from whole
            return
        # Not a document: a log whose first line happens to look like one.
        source = io.BytesIO(text)
    yield from _read_lines(source, unread)


def _read_lines(source: io.BufferedIOBase, unread: list[Unread]) -> Iterator[Row | None]:
    for number, line in enumerate(iter(lambda: source.readline(_MAX_LINE_BYTES), b""), 1):
        read: Row | Why
        if len(line) < _MAX_LINE_BYTES or line.endswith(b"\n"):
            value = _read_json(line)
            if isinstance(value, dict):
                read = value
            elif value is not None:
                read = "no_object"
            else:
                read = "not_json" if line.strip() else "empty"
        else:  # too long: skip the rest of the line
            while (more := source.readline(_MAX_LINE_BYTES)) and not more.endswith(b"\n"):
                pass
            read = "too_long"
        if isinstance(read, str) and len(unread) < _MAX_UNREAD:
            unread.append(Unread(entry=number, why=read))
        yield None if isinstance(read, str) else read


def _read_table(file: BufferedFile, *, delimiter: str) -> Iterator[Row | None]:
    """Read CSV: each row becomes an object without its empty fields."""
    lines = codecs.getreader("utf-8-sig")(file, "replace")
    rows = csv.DictReader(lines, delimiter=delimiter)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error:  # a field is longer than the limit of `csv`
            yield None
            continue
        fields = {name: value for name, value in row.items() if name and value}
        # Only fields that hold calls are parsed as JSON; all others stay text.
        calls = {name: _read_json(fields[name].encode()) for name in fields if "calls" in name}
        yield {**fields, **calls}


def _read_document(text: bytes) -> list[Row] | None:
    """Read a list's items, or one or more objects that follow each other; None: anything else."""
    decoded, values, at = text.decode("utf-8-sig", "replace"), list[Any](), 0
    try:
        while following := _NEXT.search(decoded, at):
            value, at = _DECODER.raw_decode(decoded, following.start())
            values.append(value)
    except (ValueError, RecursionError):
        return None
    values = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    return values if all(isinstance(value, dict) for value in values) else None


def _read_json(text: bytes) -> Any:
    # An invalid byte costs one character, not the line; JSON that nests too deeply costs the line.
    try:
        # Server-sent events put "data:" before the JSON.
        return json.loads(text.decode("utf-8-sig", "replace").removeprefix("data:"))
    except (ValueError, RecursionError):
        return None


__all__ = ["FORMATS", "Recording", "Unread", "read_recording", "read_stream"]
