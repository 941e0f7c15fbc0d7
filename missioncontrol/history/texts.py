"""What of a run and its turns is indexed, and shown where it matched.

Everything here was masked when it was stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from missioncontrol.history.words import AGENT, TOOL, shortened, tag, texts_in, words_of
from missioncontrol.oversight.models import Decision, Intervention, Message
from missioncontrol.runs.models import Run, Turn

Field = tuple[str, str]
"""What it is called, and its text."""


def turn_texts(turn: Turn) -> Iterator[Field]:
    """Yield the texts of a turn, in the order in which a match is shown."""
    yield "tool", turn.tool or ""
    yield "args", "\n".join(texts_in(turn.args))
    yield "content", turn.content or ""
    yield "error", turn.error or ""
    yield "result", turn.result or ""
    yield "files", "\n".join(turn.files)


def run_texts(run: Run) -> Iterator[Field]:
    """Yield a run's own texts: what it is, and why it was held or ended."""
    yield "name", run.name
    yield "goal", run.goal
    yield "agent", run.agent
    yield "reason", run.reason
    for card in Decision.objects.filter(run=run).order_by("id"):
        yield "reason", card.evidence.get("summary") or ""
        yield "judge", _ruling(card.verdict or {})
    for message in Message.objects.filter(run=run).order_by("id"):
        yield "message", message.text
    for made in Intervention.objects.filter(run=run).order_by("id"):
        yield "reason", made.message or ""


def turn_words(turn: Turn) -> list[str]:
    """Return the words of a turn, and its tags."""
    tags = [tag(TOOL, turn.tool or ""), tag(AGENT, turn.agent)]
    return [*_words(turn_texts(turn)), *filter(None, tags)]


def run_words(run: Run) -> list[str]:
    """Return a run's own words, and its tags."""
    return [*_words(run_texts(run)), *filter(None, [tag(AGENT, run.agent)])]


def _words(texts: Iterator[Field]) -> Iterator[str]:
    for _, text in texts:
        if text:
            yield from words_of(shortened(text))


def _ruling(verdict: dict[str, Any]) -> str:
    return "\n".join(filter(None, [verdict.get("reason"), verdict.get("fix")]))
