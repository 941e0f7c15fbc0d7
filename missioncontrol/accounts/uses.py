"""From where keys and tokens were used, and on which runs: what is asked when one has leaked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Max, Min, QuerySet

from missioncontrol.accounts.models import AgentKey, PersonalToken, SecretUse

# Of one secret, told apart. Whoever has one chooses its program, and some choose their address.
MOST_PLACES = 200
ELSEWHERE = ""
_WHEN: dict[str, Any] = {"since": Min("first_at"), "until": Max("last_at")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of a key or a token: from which address, by which program, on which run."""

    secret: type[AgentKey | PersonalToken]
    id: UUID
    address: str
    program: str
    run: UUID | None = None


def note(use: Use, *, at: datetime) -> None:
    """Put a use down; beyond `MOST_PLACES`, as one from elsewhere."""
    mine = _uses_of(use.secret, use.id)
    # An update as a rule: of a key that is in use every request comes from a place that is known.
    here = mine.filter(address=use.address, program=use.program)
    if here.filter(run=use.run).update(last_at=at):
        return
    is_known = here.exists() or mine.values("address", "program").distinct().count() < MOST_PLACES
    # One place more for all that is beyond: who has a secret cannot fill the table with names.
    place = {"address": use.address, "program": use.program}
    if not is_known:
        place = dict.fromkeys(place, ELSEWHERE)
        if mine.filter(run=use.run, **place).update(last_at=at):
            return
    SecretUse.objects.create(
        **{_column(use.secret): use.id}, run=use.run, first_at=at, last_at=at, **place
    )


def places(secret: AgentKey | PersonalToken) -> list[dict[str, Any]]:
    """Return from where and by which programs a secret was used, the last one first."""
    found: Any = _uses_of(type(secret), secret.pk).values("address", "program")
    return list(found.annotate(**_WHEN).order_by("-until", "address", "program"))


def runs(secret: AgentKey, *, most: int) -> list[dict[str, Any]]:
    """Return the runs that a key was used on, the last one first."""
    found: Any = _uses_of(AgentKey, secret.pk).exclude(run=None).values("run")
    return list(found.annotate(**_WHEN).order_by("-until", "run")[:most])


def _uses_of(secret: type[AgentKey | PersonalToken], pk: UUID) -> QuerySet[SecretUse]:
    return SecretUse.objects.filter(**{_column(secret): pk})


def _column(secret: type[AgentKey | PersonalToken]) -> str:
    return "key_id" if secret is AgentKey else "token_id"
