"""A turn's own words, each text cut to its head and tail, and the files that it names."""

from __future__ import annotations

from typing import NamedTuple

from guard.turn import Turn

# Arguments that name a file; the surest first.
PATH_ARGUMENTS = (
    "file_path",
    "filepath",
    "path",
    "filename",
    "file",
    "notebook_path",
    "target_file",
)


def head_and_tail(text: str, *, head: int = 3_000, tail: int = 1_000, joint: str = " ") -> str:
    """Cut a text to its head and tail, where it is to be kept or searched."""
    # The head gets more: it usually says what failed and where; the verdict is at the end.
    return text if len(text) <= head + tail else f"{text[:head]}{joint}{text[-tail:]}"


class RawTexts(NamedTuple):
    """A turn's own words, each text cut to its head and tail.

    Attributes:
        content: What the agent wrote.
        result: What the tool returned.
        error: Why it failed, from the field of that name.
        files: The files touched, sorted, each once: the turn's own list, else
            the paths among its arguments.
        state: The caller's hash of the environment.
    """

    content: str
    result: str
    error: str
    files: tuple[str, ...]
    state: str

    @property
    def output(self) -> str:
        """The result and the error, each once."""
        if not self.error or self.error in self.result:
            return self.result
        return f"{self.error}\n{self.result}".strip()


NO_TEXTS = RawTexts(content="", result="", error="", files=(), state="")


def raw_texts_of(turn: Turn) -> RawTexts:
    """Read a turn's own words; a proposed call has no result yet."""
    done = not turn.is_proposed
    # In a fixed order of names, so that the same call always reads the same.
    values = [(turn.args or {}).get(name) for name in PATH_ARGUMENTS]
    files = turn.files or [value for value in values if isinstance(value, str) and value]
    return RawTexts(
        content=head_and_tail(turn.content or "", joint="\n"),
        result=head_and_tail(turn.result or "", joint="\n") if done else "",
        error=head_and_tail(turn.error or "", joint="\n") if done else "",
        files=tuple(sorted(set(files))),
        state=turn.state or "",
    )
