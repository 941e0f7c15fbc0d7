"""Where a person's answer is: asked, delivered, acknowledged or unreachable; whether it is new."""

from __future__ import annotations

from missioncontrol.decisions.models import Intervention
from missioncontrol.errors import KeyReused
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import Run, Turn

# Answers to a permission: the agent's request for it is open and carries them.
ON_THEIR_OWN_REQUEST = frozenset({"allow_once", "deny"})


def find_repeated(run: Run, key: str, *, body: str) -> Intervention | None:
    """Return the answer that came before under this key; it is answered again, and does no more.

    Under the run's lock: of two equal ones at once, the second finds the first.

    Raises:
        KeyReused: that one had another body.
    """
    known = Intervention.objects.filter(run=run, key=key).first()
    if known is not None and known.body != body:
        raise KeyReused(key)
    return known


def miss(tx: RunTransaction, run: Run, made: Intervention) -> None:
    """Note that nobody was there to take a person's answer; a comeback mends it."""
    made.status = "unreachable"
    made.save(update_fields=["status"])
    _tell_intervention(tx, run, made)


def miss_followed(tx: RunTransaction, run: Run) -> None:
    """Note that the person's answer that is followed did not leave, unless it did elsewhere."""
    made = _unconfirmed(run)
    if made and made.status == "asked":
        miss(tx, run, made)


def deliver(tx: RunTransaction, run: Run) -> None:
    """Note that a person's answer left on a request that was open."""
    made = _unconfirmed(run)
    if made and made.action not in ON_THEIR_OWN_REQUEST:
        deliver_one(tx, run, made)


def deliver_one(tx: RunTransaction, run: Run, made: Intervention) -> None:
    """Note that this answer left."""
    # Only forward: an answer that was acted on is not `delivered` again.
    if made.status in {"asked", "unreachable"}:
        made.status, made.delivered_at = "delivered", tx.at
        made.save(update_fields=["status", "delivered_at"])
        _tell_intervention(tx, run, made)


def confirm(tx: RunTransaction, run: Run, *, reached: bool = True) -> None:
    """Note that the agent acted on a person's answer, or never will."""
    made = _unconfirmed(run)
    # Forgotten at once: one answer is followed, and it is settled here.
    run.meters.unconfirmed = None
    if made is None:
        return
    if made.action == "deny":
        asked = made.decision.signal["turns"] if made.decision else []
        came_back = Turn.objects.filter(run=made.run_id, seq__in=asked, phase="done")
        # What was denied ran all the same: it had been permitted at the terminal.
        reached = reached and not came_back.exists()
    made.status = "acknowledged" if reached else "unreachable"
    made.acknowledged_at = tx.at if reached else None
    # What was acted on has arrived, even if nobody saw it leave.
    made.delivered_at = made.delivered_at or made.acknowledged_at
    made.save(update_fields=["status", "acknowledged_at", "delivered_at"])
    _tell_intervention(tx, run, made)


def _unconfirmed(run: Run) -> Intervention | None:
    return (
        Intervention.objects.filter(pk=run.meters.unconfirmed).first()
        if run.meters.unconfirmed
        else None
    )


def _tell_intervention(tx: RunTransaction, run: Run, made: Intervention) -> None:
    tx.moved(
        run,
        by="agent",
        reason=f"answer {made.status}",
        intervention=made.id,
        intervention_status=made.status,
    )
