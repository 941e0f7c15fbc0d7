"""Which runs an agent key may speak for. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from missioncontrol.accounts.models import AgentKey, Reach
from missioncontrol.redaction import NOTHING, Redaction


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHolder:
    """Whoever sends an agent key: it has one project, and reaches some of its runs.

    `agent` is whose runs it reaches, where it is limited to an agent's. `line` are the keys
    that it was rotated with: their runs are its own. `redaction`: what its project masks.
    """

    key: UUID
    project: UUID
    reach: Reach
    agent: str = ""
    reports_only: bool = False
    line: frozenset[UUID] = frozenset()
    redaction: Redaction = NOTHING

    def reaches(self, *, opened_by: UUID | None, agent: str) -> bool:
        """Tell whether a run of the project is this key's to report on, answer and end."""
        if self.reach == Reach.PROJECT:
            return True
        # By the name that an agent gives itself: whoever has such a key may open runs of it alone.
        if self.reach == Reach.AGENT:
            return agent == self.agent
        # A rotated key goes on with the runs that its predecessor opened.
        return opened_by == self.key or opened_by in self.line


def holder_of(key: AgentKey, *, line: Iterable[UUID] = ()) -> KeyHolder:
    """Say what a key reaches; `line` are the keys that it was rotated with."""
    return KeyHolder(
        key=key.id,
        project=key.project_id,
        reach=Reach(key.reach),
        agent=key.agent,
        reports_only=key.reports_only,
        line=frozenset(line),
        redaction=key.project.redaction,
    )
