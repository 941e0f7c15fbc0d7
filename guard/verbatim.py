"""What a turn says word for word, for rules that read the raw text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from guard.turn import Turn

_LONGEST = 4000
_FILE_ARGS = ("file_path", "filepath", "path", "filename", "file", "notebook_path", "target_file")


class Verbatim(NamedTuple):
    """A turn's own words, each text by at most its head and tail.

    Attributes:
        content: What the agent wrote.
        result: What the tool returned.
        error: Why it failed, as told in the field of that name.
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
    def came_back(self) -> str:
        """The result and the error, each once."""
        if not self.error or self.error in self.result:
            return self.result
        return f"{self.error}\n{self.result}".strip()


UNSAID = Verbatim(content="", result="", error="", files=(), state="")


def verbatim_of(turn: Turn) -> Verbatim:
    """Read a turn's own words; nothing came back from a proposed call."""
    done = not turn.is_proposed
    return Verbatim(
        content=_bounded(turn.content),
        result=_bounded(turn.result) if done else "",
        error=_bounded(turn.error) if done else "",
        files=tuple(sorted(set(turn.files or _named_files(turn.args)))),
        state=turn.state or "",
    )


def _named_files(args: Mapping[str, Any] | None) -> list[str]:
    values = [(args or {}).get(name) for name in _FILE_ARGS]
    return [value for value in values if isinstance(value, str) and value]


def _bounded(text: str | None) -> str:
    if not text or len(text) <= _LONGEST:
        return text or ""
    return f"{text[: _LONGEST * 3 // 4]}\n{text[-_LONGEST // 4 :]}"
