"""Which runs an agent key may speak for. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from missioncontrol.accounts.models import AgentKey, Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHolder:
    """Whoever sends an agent key: it has one project, and reaches some of its runs.

    `agent` is whose runs it reaches, where it is limited to an agent's.
    """

    key: UUID
    project: UUID
    reach: Reach
    agent: str = ""

    def reaches(self, *, opened_by: UUID | None, agent: str) -> bool:
        """Tell whether a run of the project is this key's to report on, answer and end."""
        if self.reach == Reach.PROJECT:
            return True
        return agent == self.agent if self.reach == Reach.AGENT else opened_by == self.key


def holder_of(key: AgentKey) -> KeyHolder:
    """Say what a key reaches."""
    return KeyHolder(key=key.id, project=key.project_id, reach=Reach(key.reach), agent=key.agent)
