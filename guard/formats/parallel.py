"""Sub-agents that speak in turn under one name: told apart by their sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, groupby, islice

from guard.turn import Role, Turn

# Sessions that are held against each other; a log of more is no run of sub-agents.
_MOST = 200


def tell_apart(turns: Sequence[Turn | None]) -> tuple[Turn | None, ...]:
    """Name agents of sessions that alternate after these, as one run's.

    A session that follows another is a new beginning. Two of which each comes back after
    the other run side by side, and neither begins anew each time the other has spoken.

    >>> turn = Turn(role=Role.ASSISTANT, agent="coder", tool="Bash", session="a")
    >>> both = [turn, replace(turn, session="b")]
    >>> [one.agent for one in tell_apart([*both, *both])]
    ['coder a', 'coder b', 'coder a', 'coder b']
    >>> [one.agent for one in tell_apart([*both, turn])]
    ['coder', 'coder', 'coder']
    """
    sessions = (turn.session for turn in turns if turn is not None and turn.session)
    spans: dict[str | None, tuple[int, int]] = {}
    for place, (session, _) in enumerate(groupby(sessions)):
        spans[session] = (spans[session][0] if session in spans else place, place)
    back = islice((one for one, (first, last) in spans.items() if last > first), _MOST)
    pairs = combinations(back, 2)  # in the order in which they began
    parallel = {one for a, b in pairs if spans[b][0] < spans[a][1] < spans[b][1] for one in (a, b)}
    named: list[Turn | None] = []
    for turn in turns:
        if turn is None or turn.session not in parallel:
            named.append(turn)
            continue
        # Without its session: one that changes would begin everything anew.
        name = " ".join(filter(None, (turn.agent, turn.session)))
        agent = None if turn.role is Role.USER else name
        named.append(replace(turn, agent=agent, session=None))
    return tuple(named)
