"""A drawn run, and the log it is written into."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from guard.turn import Role, Turn

_POOLS = Path(__file__).parent / "pools"
_MORNING = datetime(2026, 3, 9, 8, 41, 7, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """One run with its label.

    Attributes:
        name: Unique; also the seed of its chances. `name#2` is the same story with other chances.
        kind: What sort of agent it is.
        shape: How it is stuck, or which loop it only looks like.
        why: One sentence on the label.
        turns: Oldest first.
        start: Position of the first turn of the fruitless stretch; None: healthy.
    """

    name: str
    kind: str
    shape: str
    why: str
    turns: tuple[Turn, ...]
    start: int | None = None


class Log:
    """A run being written: turns, the chances of its name, a clock."""

    def __init__(self, name: str, kind: str, variant: int = 0) -> None:
        self.name, self.kind = f"{name}#{variant}" if variant else name, kind
        self.rng = random.Random(self.name)  # noqa: S311 - drawings, not secrets
        self.turns: list[Turn] = []
        self.start: int | None = None
        self.now = _MORNING + timedelta(seconds=self.rng.randint(0, 9_000_000))
        self.tools_report = False
        self._decks: dict[str, list[str]] = {}

    def user(self, text: str) -> None:
        """Let a person speak."""
        self.turns.append(Turn(role=Role.USER, content=text))

    def say(self, text: str, agent: str | None = None) -> None:
        """Let an agent speak without a call."""
        self.turns.append(Turn(role=Role.ASSISTANT, content=text, agent=agent))

    def report(self, text: str, agent: str) -> None:
        """Let an agent that only does what it is told report, as a tool or in words."""
        if self.tools_report:
            self.turns.append(Turn(role=Role.TOOL, agent=agent, tool=agent, result=text))
        else:
            self.say(text, agent)

    def call(
        self,
        tool: str,
        args: Mapping[str, Any],
        result: str | None = None,
        *,
        error: str | None = None,
        thought: str | None = None,
        agent: str | None = None,
    ) -> None:
        """Let an agent call a tool."""
        self.turns.append(
            Turn(
                role=Role.ASSISTANT,
                tool=tool,
                args=dict(args),
                result=result,
                error=error,
                content=thought,
                agent=agent,
            )
        )

    def stuck_from_here(self) -> None:
        """Note where the fruitless stretch begins."""
        self.start = len(self.turns)

    def drawn(self, shape: str, why: str) -> Drawing:
        """Give the finished run."""
        return Drawing(
            name=self.name,
            kind=self.kind,
            shape=shape,
            why=why,
            turns=tuple(self.turns),
            start=self.start,
        )

    def tick(self, least_s: float = 1, most_s: float = 90) -> datetime:
        """Let time pass and give the hour."""
        self.now += timedelta(seconds=self.rng.uniform(least_s, most_s))
        return self.now

    def deal(self, deck: str, **names: object) -> str:
        """Give a text of a pool (`file.section`), none twice before all were given."""
        if not self._decks.get(deck):
            file, section = deck.split(".")
            self._decks[deck] = list(pool(file)[section])
            self.rng.shuffle(self._decks[deck])
        return fill(self._decks[deck].pop(), **names)

    def number(self, least: int, most: int) -> int:
        """Give a whole number by chance, both bounds included."""
        return self.rng.randint(least, most)

    def hex(self, length: int) -> str:
        """Give hexadecimal digits by chance."""
        return "".join(self.rng.choice("0123456789abcdef") for _ in range(length))


def fill(text: str, **names: object) -> str:
    """Put names where `{name}` stands; other braces stay."""
    return re.sub(
        r"\{(\w+)\}",
        lambda found: str(names[found[1]]) if found[1] in names else found[0],
        text,
    )


@cache
def pool(file: str) -> dict[str, tuple[str, ...]]:
    """Read a pool: `[section]` holds a text a line, `[section*]` texts between %% lines."""
    sections: dict[str, tuple[str, ...]] = {}
    text = (_POOLS / f"{file}.txt").read_text(encoding="utf-8")
    for part in re.split(r"(?m)^(?=\[[a-z_]+\*?\]$)", text):
        head, _, body = part.partition("\n")
        if not head.startswith("["):
            continue
        name = head.strip("[]")
        if name.endswith("*"):
            texts = [block.strip("\n") for block in re.split(r"(?m)^%%$", body)]
        else:
            texts = body.splitlines()
        sections[name.rstrip("*")] = tuple(text for text in texts if text.strip())
    return sections
