"""What came of a try to deliver."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`failure`: why it was not taken, in clear words and without the address; None: it was."""

    failure: str | None = None
    is_final: bool = False
    """It would fail the same way again: no further try."""
    is_gone: bool = False
    """The target itself is no more: a subscription that ended is removed."""


SENT = Outcome()
# Not 408, 425, 429 and 5xx: those may pass.
FINAL_STATUSES = frozenset({400, 401, 403, 404, 405, 410, 413})


def of_status(status: int) -> Outcome:
    """Read an HTTP status: taken, refused for good, or worth another try."""
    if 200 <= status < 300:  # noqa: PLR2004 - successes
        return SENT
    return Outcome(failure=f"it answered {status}", is_final=status in FINAL_STATUSES)
