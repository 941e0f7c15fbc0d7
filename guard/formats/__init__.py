"""Recorded runs of every form guard can read.

`read_recording` looks at what a file holds, not at its name.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from guard.errors import UnreadableRecording
from guard.formats import claude_code, codex, gemini, messages, trajectories, turn_file
from guard.formats.recording import Recording, Unread, Why
from guard.formats.transcript import read_transcript

Row = Mapping[str, Any]
Recognises = Callable[[Sequence[Row]], bool]
BufferedFile = io.BufferedReader | io.BufferedRandom

# Summaries and file snapshots may stand before the first message.
_EARLY = 250
# A longer line is no turn of an agent, but a file of another sort.
_LONGEST_LINE = 1 << 26
# Who exported the wrong lines sees it from a few of them.
_NAMED = 10

# Asked in this order: a turn file is the most general form, so it comes last.
FORMATS: dict[str, tuple[Recognises, Callable[..., Recording]]] = {
    "claude-code": (claude_code.recognises, claude_code.Reader.read),
    "codex": (codex.recognises, codex.Reader.read),
    "gemini": (gemini.recognises, gemini.Reader.read),
    "trajectory": (trajectories.recognises, trajectories.Reader.read),
    "messages": (messages.recognises, messages.Reader.read),
    "turns": (turn_file.recognises, turn_file.read),
}


def read_recording(path: Path) -> Recording:
    """Read a recorded run, line by line: only its turns are held in memory.

    Raises:
        UnreadableRecording: the file cannot be opened or holds no known form.
    """
    try:
        with path.open("rb") as file:
            return read_stream(file, path)
    except OSError as error:
        raise UnreadableRecording(str(path), error.strerror or "cannot be opened") from error


def read_stream(file: BufferedFile, path: Path) -> Recording:
    """Read a recorded run from an open file; `path` is what it is called.

    Raises:
        UnreadableRecording: it holds no known form.
    """
    unread: list[Unread] = []
    rows = _read_rows(file, unread)
    early = list(islice(rows, _EARLY))
    known = [row for row in early if row is not None]
    for form, (recognises, read) in FORMATS.items():
        if recognises(known):
            recording = read(chain(early, rows), stem=path.stem)
            named = sorted([*unread, *recording.unread], key=lambda one: one.entry)
            return replace(recording, form=form, unread=tuple(named[:_NAMED]))
    file.seek(0)
    text = file.read(_LONGEST_LINE)
    transcript = read_transcript(text.decode("utf-8", "replace"), stem=path.stem)
    if transcript and not file.read(1):
        return replace(transcript, form="transcript")
    if known or not early:
        raise UnreadableRecording(
            str(path),
            "is no turn file, no transcript of Claude Code, Codex or Gemini, and holds neither"
            " chat messages, a trajectory of a known form nor a text that says who speaks",
        )
    raise UnreadableRecording(str(path), "holds no readable line")


def _read_rows(file: BufferedFile, unread: list[Unread]) -> Iterator[Row | None]:
    """Read JSON Lines; one JSON document is one row, a list its items. None: no object.

    The first few that are none are added to `unread`.
    """
    source: io.BufferedIOBase = file
    # Only what begins like a document is held whole: a log of gigabytes is read by the line.
    if file.peek(64).lstrip().startswith((b"{\n", b"{\r\n", b"[")):
        text = file.read()
        whole = _read_json(text)
        if isinstance(whole, list) and all(isinstance(item, dict) for item in whole):
            yield from whole
            return
        if isinstance(whole, dict):
            yield whole
            return
        # Neither one object nor a list of them: a log whose first line happens to look so.
        source = io.BytesIO(text)
    for number, line in enumerate(iter(lambda: source.readline(_LONGEST_LINE), b""), 1):
        read: Row | Why
        if len(line) < _LONGEST_LINE or line.endswith(b"\n"):
            value = _read_json(line)
            if isinstance(value, dict):
                read = value
            elif value is not None:
                read = "no_object"
            else:
                read = "not_json" if line.strip() else "empty"
        else:  # too long a line: its rest is no line of its own
            while (more := source.readline(_LONGEST_LINE)) and not more.endswith(b"\n"):
                pass
            read = "too_long"
        if isinstance(read, str) and len(unread) < _NAMED:
            unread.append(Unread(entry=number, why=read))
        yield None if isinstance(read, str) else read


def _read_json(text: bytes) -> Any:
    # A broken byte costs a character, not the line; arrays in a thousand arrays cost the line.
    try:
        return json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


__all__ = ["FORMATS", "Recording", "Unread", "read_recording", "read_stream"]
