"""Every drawing there is: the open ones, and the sealed ones kept for scoring."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guard.drawings import (
    browser,
    coding_session,
    corner_loops,
    crew,
    data_agent,
    games,
    look_alikes,
    odd_forms,
    sealed_forms,
    sealed_mixed,
    sealed_ops,
    sealed_play,
    sealed_service,
    sealed_teams,
    sealed_typescript,
    service,
    verifying_coder,
    web_team,
    without_results,
)
from tests.guard.drawings.drawing import Drawing

OPEN: tuple[Callable[[int], Iterator[Drawing]], ...] = (
    coding_session.drawings,
    verifying_coder.drawings,
    web_team.drawings,
    service.drawings,
    data_agent.drawings,
    browser.drawings,
    crew.drawings,
    games.drawings,
    without_results.drawings,
    corner_loops.drawings,
    look_alikes.drawings,
    odd_forms.drawings,
)
SEALED: tuple[Callable[[int], Iterator[Drawing]], ...] = (
    sealed_typescript.drawings,
    sealed_ops.drawings,
    sealed_teams.drawings,
    sealed_service.drawings,
    sealed_play.drawings,
    sealed_mixed.drawings,
    sealed_forms.drawings,
)


def open_drawings(variant: int = 0) -> list[Drawing]:
    """Draw what may be looked at."""
    return [drawing for draw in OPEN for drawing in draw(variant)]


def sealed_drawings(variant: int = 0) -> list[Drawing]:
    """Draw what is for scoring only."""
    return [drawing for draw in SEALED for drawing in draw(variant)]
