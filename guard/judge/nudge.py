"""What an agent is told when a detector is nearly sure: what repeats, and the first error."""

from __future__ import annotations

from collections.abc import Sequence

from guard.quoting import quoted
from guard.reading.outcome import outcome_of
from guard.signals import Signal
from guard.turn import Turn

# A nudge is a hint between two turns, but a line may be as long as a page.
_MAX_LINE_LENGTH = 300
_ADVICE = "Before you do it again, change what matters or look for another way."


def nudge_text(signal: Signal, turns: Sequence[Turn]) -> str:
    """Return the message: what was noticed, the first error if there is one, advice.

    Args:
        signal: The signal below its trip.
        turns: The turns it rests on, oldest first.
    """
    lines = [f"Noticed by the loop guard: {signal.evidence.summary}"]
    if (error := first_error(turns)) is not None:
        lines.append(f"The first error was, word for word: {quoted(error)}")
    return "\n".join([*lines, _ADVICE])


def first_error(turns: Sequence[Turn]) -> str | None:
    r"""Return the most telling line of the first failed turn; None: no turn failed.

    >>> from guard.turn import Role
    >>> failed = Turn(role=Role.ASSISTANT, tool="Bash", error="Traceback…\nKeyError: 'a'")
    >>> first_error([failed])
    "KeyError: 'a'"
    """
    for turn in turns:
        outcome = outcome_of(turn)
        if outcome is not None and outcome.failed:
            # The last line of a traceback, otherwise the first line with text.
            text = turn.error or turn.result or ""
            lines = [line.strip() for line in text[:20_000].splitlines() if line.strip()]
            if not lines:
                return None
            line = lines[-1] if lines[0].startswith("Traceback") else lines[0]
            return line if len(line) <= _MAX_LINE_LENGTH else f"{line[:_MAX_LINE_LENGTH]}…"
    return None
