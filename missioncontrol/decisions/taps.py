"""What a person's tap says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, TypeAdapter

from guard.budget import LEAST, MOST
from missioncontrol.wire.decisions import InterventionAction

Dollars = Annotated[Decimal, Field(ge=LEAST, le=MOST)]
Count = Annotated[int, Field(ge=1, le=int(MOST))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much more a budget allows, by unit; above 0, like the ceilings themselves."""

    usd: Dollars | None = None
    tokens: Count | None = None
    calls: Count | None = None
    turns: Count | None = None
    seconds: Count | None = None
    failures: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """One request of a person; `key` makes a repeat harmless."""

    key: Annotated[str, Field(min_length=1, max_length=200)]
    action: InterventionAction
    decision: UUID | None = None
    message: str | None = None
    version: int | None = None
    amount: Amount | None = None
    scope: Literal["run", "agent", "project"] = "run"
    expires_at: datetime | None = None
    undoes: str | None = None
    """Of `undo`: the key of the tap that is taken back."""


taps: TypeAdapter[Tap] = TypeAdapter(Tap)
