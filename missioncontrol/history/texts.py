"""What of a run and its turns is indexed, and shown where it matched.

Everything here was masked when it was stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from uuid import UUID

from missioncontrol.decisions.models import Decision, Intervention, Message
from missioncontrol.history.words import AGENT, TOOL, shortened, tag, texts_in, words_of
from missioncontrol.runs.models import Run, Turn

# What it is called, and its text.
Field = tuple[str, str]


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
    return _about(run, texts_beside([run])[run.id])


def texts_beside(runs: Collection[Run]) -> dict[UUID, list[Field]]:
    """Read what was said about runs in their cards, messages and interventions."""
    found: dict[UUID, list[Field]] = defaultdict(list)
    # One query a table for all the runs: indexing takes 32 of them at a time.
    cards = Decision.objects.filter(run__in=runs).order_by("id")
    for run, evidence, verdict in cards.values_list("run_id", "evidence", "verdict"):
        ruling = verdict or {}
        judge = "\n".join(filter(None, [ruling.get("reason"), ruling.get("fix")]))
        found[run] += [("reason", evidence.get("summary") or ""), ("judge", judge)]
    messages = Message.objects.filter(run__in=runs).order_by("id")
    for run, text in messages.values_list("run_id", "text"):
        found[run].append(("message", text))
    made = Intervention.objects.filter(run__in=runs).order_by("id")
    for run, message in made.values_list("run_id", "message"):
        found[run].append(("reason", message or ""))
    return found


def _about(run: Run, beside: Iterable[Field]) -> Iterator[Field]:
    # In the order in which a match is shown: what a run is before why it stands.
    yield "name", run.name
    yield "goal", run.goal
    yield "agent", run.agent
    yield "reason", run.reason
    yield from beside


def turn_words(turn: Turn) -> list[str]:
    """Return the words of a turn, and its tags."""
    tags = [tag(TOOL, turn.tool or ""), tag(AGENT, turn.agent)]
    return [*_words(turn_texts(turn)), *filter(None, tags)]


def run_words(run: Run, beside: Iterable[Field]) -> list[str]:
    """Return a run's own words, those said `beside` it, and its tags."""
    return [*_words(_about(run, beside)), *filter(None, [tag(AGENT, run.agent)])]


def _words(texts: Iterator[Field]) -> Iterator[str]:
    for _, text in texts:
        if text:
            yield from words_of(shortened(text))
