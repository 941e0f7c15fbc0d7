"""Logs without results: only calls, or only messages, open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from guard.turn import Role, Turn
from tests.guard.drawings import (
    browser,
    coding_loops,
    coding_session,
    crew,
    data_agent,
    service,
    verifying_coder,
)
from tests.guard.drawings.drawing import Drawing, Log

KIND = "without-results"
Draw = Callable[[Log], str]


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, keep, draw in STUCK + HEALTHY:
        log = Log(f"without/{name}", KIND, variant)
        why = draw(log)
        yield stripped(log.drawn(shape, why), keep)


def stripped(drawing: Drawing, keep: str) -> Drawing:
    """Keep only the calls, or only what was said; the start moves along."""
    kept = [n for n, turn in enumerate(drawing.turns) if keep == "calls" or turn.content]
    start = None
    if drawing.start is not None:
        start = sum(n < drawing.start for n in kept)
    turns = tuple(_bare(drawing.turns[n], keep) for n in kept)
    return replace(drawing, turns=turns, start=start, why=f"{drawing.why} Only {keep} are known.")


def _bare(turn: Turn, keep: str) -> Turn:
    if turn.role is Role.USER:
        return turn
    if keep == "calls":
        return replace(turn, result=None, error=None, content=None if turn.tool else turn.content)
    return replace(turn, tool=None, args=None, result=None, error=None)


STUCK: list[tuple[str, str, str, Draw]] = [
    ("interleaved", "interleaved repeats", "calls", coding_loops.interleaved),
    ("condensed", "re-reading after condensation", "calls", coding_loops.condensed_rereading),
    ("cycle", "k-cycle", "calls", coding_loops.cycle_of_three),
    ("build", "poll unchanged", "calls", coding_loops.unmoved_build),
    ("lookups", "k-cycle", "calls", service.two_lookups),
    ("dead-button", "same request, page unchanged", "calls", browser.dead_button),
    ("checker", "k-cycle", "calls", data_agent.checker_cycle),
    ("reports", "reworded monologue", "messages", verifying_coder.reports_on),
    ("circle", "circle of agents", "messages", crew.two_in_circle),
]
HEALTHY: list[tuple[str, str, str, Draw]] = [
    ("session-1", "long session", "calls", coding_session.long_session),
    (
        "session-2",
        "long session",
        "calls",
        lambda log: coding_session.long_session(log, "codex", 7),
    ),
    ("fixes", "same test after real edits", "calls", coding_session.twelve_fixes),
    ("talk", "long conversation", "calls", lambda log: service.talk(log, 24, airline=True)),
    ("talk-words", "long conversation", "messages", lambda log: service.talk(log, 30)),
    ("form", "form filling", "calls", browser.fills_form),
    ("categories", "one question for each", "calls", data_agent.per_category),
    ("report", "hand-offs that progress", "messages", crew.report),
    ("session-words", "long session", "messages", coding_session.long_session),
]
