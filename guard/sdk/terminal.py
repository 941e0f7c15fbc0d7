"""Ask the person at the terminal, if there is one: t, c, a or i."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from guard.printing import printable
from guard.sdk.forking import ForkSafeLock

# How often a waiting question checks whether it is still needed.
POLL_S = 0.2
MAX_ANSWER_BYTES = 4096
SHOWN_CHARS = 400

_terminal_lock = ForkSafeLock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person is asked while the server is away.

    Attributes:
        run: The run's name.
        reason: What repeats, in one sentence.
        call: The call that waits.
        limit_s: How long to wait for an answer.
    """

    run: str
    reason: str
    call: str
    limit_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the person chose; `message` is the text of an `inject`."""

    action: Literal["terminate", "continue", "allowlist", "inject"]
    message: str | None = None


ACTION_OF_LETTER: dict[str, Literal["terminate", "continue", "allowlist"]] = {
    "t": "terminate",
    "c": "continue",
    "a": "allowlist",
}
PROMPT = "[t]erminate, [c]ontinue, [a]llow this call in this run, [i]nject a message: "


def ask_at_terminal(
    question: Question, *, is_obsolete: Callable[[], bool] = lambda: False
) -> Choice | None:
    """Ask, and wait for an answer; return None if nobody is there or nobody answers.

    A question is asked only where a person can answer: standard input and standard error are the
    same terminal, in line mode, and this process is in its foreground. Only one question is asked
    at a time.

    Args:
        question: What is asked.
        is_obsolete: Called while waiting; when it returns true, the question is no longer needed.
    """
    descriptor = _terminal_descriptor()
    if descriptor is None:
        return None
    import termios

    # Two threads must not ask at once: one letter would answer both questions.
    with _terminal_lock.lock:
        deadline = time.monotonic() + question.limit_s
        read = partial(
            _read_line, descriptor, lambda: is_obsolete() or time.monotonic() >= deadline
        )
        # What was typed before the question is not an answer to it.
        termios.tcflush(descriptor, termios.TCIFLUSH)
        shown = (question.run, question.reason, question.call)
        # Each on one printable line: what an agent wrote must not control the terminal.
        name, reason, call = (printable(words, max_length=SHOWN_CHARS) for words in shown)
        _print(f"\nMission Control is away, and {name} may be stuck: {reason}\n  {call}\n")
        while True:
            _print(PROMPT)
            line = read()
            if line is None:
                _print("\n")
                return None
            letter, rest = line[:1].lower(), line[1:].strip()
            if letter in ACTION_OF_LETTER:
                return Choice(action=ACTION_OF_LETTER[letter])
            if letter == "i":
                if not rest:
                    _print("What shall it read instead of a result? ")
                    rest = read() or ""
                if rest:
                    return Choice(action="inject", message=rest)


def _read_line(descriptor: int, is_over: Callable[[], bool]) -> str | None:
    while not is_over():
        # Not a blocking read: an answer from elsewhere must be able to end the question.
        ready, _, _ = select.select([descriptor], [], [], POLL_S)
        if ready:
            try:
                raw = os.read(descriptor, MAX_ANSWER_BYTES)
            except OSError:
                return None
            return raw.decode(errors="replace").strip() if raw else None
    return None


def _terminal_descriptor() -> int | None:
    """Return the terminal's descriptor if a person can be asked there now."""
    try:
        import termios
    except ImportError:  # Windows
        return None
    try:
        descriptor = sys.stdin.fileno()
        if not (os.isatty(descriptor) and sys.stderr.isatty()):
            return None
        if os.tcgetpgrp(descriptor) != os.getpgrp():
            return None  # in the background: a read would stop this process
        by_lines = termios.tcgetattr(descriptor)[3] & termios.ICANON
    except (OSError, ValueError, AttributeError, termios.error):
        return None
    return descriptor if by_lines else None  # a full-screen host reads the keys itself


def _print(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
