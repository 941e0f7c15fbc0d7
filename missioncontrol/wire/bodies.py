"""Fields of requests that are read otherwise than pydantic would by itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, Strict

Whole = Annotated[int, Strict()]
"""A whole number; `true` is none, which Python takes for 1."""


def _with_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_with_zone)]
"""A time; without a zone it is UTC, as in a query."""
