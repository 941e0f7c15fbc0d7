"""What an agent asks its own person's permission for, and what people answer here.

The agent's request stays open as long as the card is. The card is closed by a tap, by the
call's outcome or the request's own end (both mean that somebody answered at the agent's
terminal), or by time. Nothing here permits a call by itself: an unanswered question stays with
the terminal.

A permission card is no detection: it holds no agent, no judge is asked, and the run may have
another card open. The agent's own dialog is open at the same time, and the first answer wins.
Functions that take a run's id lock its row; those that take a transaction expect it locked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from guard.quoting import name_or_quote
from guard.reading.normalize import call_text, command_in
from guard.signals import Evidence
from guard.turn import Phase
from guard.turn import Turn as GuardTurn
from missioncontrol.decisions import allowlist, directives
from missioncontrol.decisions.cards import evidence_turn, publish_card, resolve_card
from missioncontrol.decisions.directives import PERMISSION_ANSWERS
from missioncontrol.decisions.models import SPOKE, Decision, Intervention
from missioncontrol.redaction import NO_REDACTION, Redaction
from missioncontrol.runs import journal
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, MUST_STOP
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.sanitizing import storable_turn
from missioncontrol.wire.decisions import PERMISSION, AskedCall, CardEvidence
from missioncontrol.wire.rows import row_of, to_json

# A request not heard from for this long is gone: it ended while the server was away.
LOST_AFTER = timedelta(seconds=30)
# A third of `LOST_AFTER`, so that one late or lost note closes nothing.
REFRESH_EVERY_S = 10.0
# Questions of one run that people are asked at once; further ones stay with the terminal.
MAX_OPEN = 16
# Characters of a call shown on a card.
MAX_CALL_TEXT = 20_000
# How many calls under way are compared with the asked one.
COMPARED_CALLS = 16
# The most telling argument first: a pattern means little without its path.
SUBJECT_ARGUMENTS = ("file_path", "notebook_path", "path", "url", "pattern", "query")


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionOutcome:
    """How a question was settled. `message` is what the model is to read of a refusal."""

    resolution: str
    message: str = ""

    @property
    def is_answer(self) -> bool:
        """Tell whether people here answered; otherwise the agent is told nothing."""
        return self.resolution in PERMISSION_ANSWERS


def ask_permission(
    run_id: UUID,
    call: GuardTurn,
    *,
    for_s: float,
    at: datetime,
    has_no_dialog: bool = False,
    redaction: Redaction = NO_REDACTION,
) -> UUID | None:
    """Open a card on a call, or return the open one for it; None: people are not asked.

    `has_no_dialog`: the agent has no dialog and waits for this server alone. If nobody answered the
    run's last question, it is not kept waiting again. `redaction`: what the project masks besides
    secrets.
    """
    # Before any lock: masking a long call takes time.
    to_grant, call = allowlist.grant_pattern(call, redaction), storable_turn(call, redaction)
    with journal.lock_run(run_id, at=at) as (tx, run):
        if run.status in ENDED | MUST_STOP or run.meters.open_permissions >= MAX_OPEN:
            return None
        if has_no_dialog:
            # Nobody answered the last question either: this agent must not wait in vain again.
            asked = Decision.objects.filter(run=run, kind=PERMISSION).order_by("-opened_at")
            last = asked.first()
            if last is not None and last.resolution == "timed_out":
                return None
        # The question carries no key: find the proposal that it asks about.
        proposals = Turn.objects.filter(run=run, phase=Phase.PROPOSED, tool=call.tool)
        # Compared in Python: the two databases compare JSON by different rules.
        newest = proposals.order_by("-seq")[:COMPARED_CALLS]
        turn = next((turn for turn in newest if turn.args == call.args), None)
        for card in open_cards(run):
            # By turn, because a question has no id: two hooks may report the same call.
            if turn is not None and card.signal["turns"] == [turn.seq]:
                return card.id
        until = at + timedelta(seconds=for_s)
        # All secrets get the same mark, so a call with one is not recognised again.
        is_recognisable = to_grant == call_text(call)
        return _open_card(tx, run, call, turn=turn, until=until, is_recognisable=is_recognisable).id


def outcome_of(card_id: UUID) -> PermissionOutcome | None:
    """Return how a question was settled; None: it is open."""
    card = Decision.objects.only("status", "resolution").filter(pk=card_id).first()
    if card is None:
        # Deleted with its run: nobody need wait for it any longer.
        return PermissionOutcome(resolution="ended")
    if card.resolution is None:
        return None
    answers = Intervention.objects.filter(decision=card_id, action=card.resolution)
    # Only an answer of people has a message; closing by time or at the terminal has none.
    message = answers.values_list("message", flat=True).first()
    return PermissionOutcome(resolution=card.resolution, message=message or "")


def refresh_request(card_id: UUID, *, at: datetime) -> None:
    """Note that the agent's request is open; records no event and takes no lock."""
    # Only if it is open: an answered card must not seem to wait.
    Decision.objects.filter(pk=card_id, status="open").update(heard_at=at)


def close_request(run_id: UUID, card_id: UUID, *, resolution: str, at: datetime) -> None:
    """Close a card whose request has ended, unless it is already closed."""
    with journal.lock_run(run_id, at=at) as (tx, run):
        _close_cards(tx, run, lambda card: card.id == card_id, resolution=resolution)


def _close_cards(
    tx: RunTransaction, run: Run, is_meant: Callable[[Decision], bool], *, resolution: str
) -> bool:
    """Close open cards that people here did not answer; False: none of them is meant."""
    by = SPOKE["terminal"] if resolution == "answered" else SPOKE["policy"]
    meant = [card for card in open_cards(run) if is_meant(card)]
    for card in meant:
        resolve_card(tx, run, card, resolution=resolution, by=by)
    return bool(meant)


def withdraw_request(run_id: UUID, card_id: UUID, *, at: datetime) -> None:
    """Note that the agent withdrew its question: it was refused or abandoned at the terminal.

    This ends the agent's turn, and no hook of its own reports that.
    """
    with journal.lock_run(run_id, at=at) as (tx, run):
        if _close_cards(tx, run, lambda card: card.id == card_id, resolution="answered"):
            run.meters.presence = "waiting" if run.meters.open_permissions else "idle"


def close_answered_cards(
    run_id: UUID, *, done_seq: int | None, resting_agent: str, at: datetime
) -> None:
    """Close the cards that the agent's later acts show to be answered.

    `done_seq` is a turn that has ended; `resting_agent` is one that is idle or was given a prompt.
    """

    def is_answered(card: Decision) -> bool:
        is_at_rest = resting_agent != "" and card.agent == resting_agent
        return is_at_rest or card.signal["turns"] == [done_seq]

    with journal.lock_run(run_id, at=at) as (tx, run):
        _close_cards(tx, run, is_answered, resolution="answered")


def record_delivered(run_id: UUID, card_id: UUID, *, at: datetime) -> None:
    """Note that people's answer left on its open request."""
    with journal.lock_run(run_id, at=at) as (tx, run):
        answered = Intervention.objects.filter(decision=card_id, action__in=PERMISSION_ANSWERS)
        if intervention := answered.first():
            directives.mark_delivered(tx, run, intervention)


def time_out_lost_requests(*, at: datetime) -> None:
    """Close cards whose request vanished without notice while the server was away."""
    lost = Decision.objects.filter(kind=PERMISSION, status="open", heard_at__lt=at - LOST_AFTER)
    for card_id, run_id in list(lost.values_list("id", "run_id")):
        # Each under its run's own lock; anyone who answers meanwhile finds the card open or closed.
        close_request(run_id, card_id, resolution="timed_out", at=at)


def open_cards(run: Run) -> list[Decision]:
    """Return the run's open permission cards, oldest first."""
    # The count is in a row that is read anyway: most runs never ask.
    if not run.meters.open_permissions:
        return []
    return list(run.decisions.filter(kind=PERMISSION, status="open").order_by("id"))


def _open_card(
    tx: RunTransaction,
    run: Run,
    call: GuardTurn,
    *,
    turn: Turn | None,
    until: datetime,
    is_recognisable: bool,
) -> Decision:
    """Open a card on a call, whose texts are masked; people are asked `until` then.

    `is_recognisable`: if the call is asked for again, it can be recognised.
    """
    tx.raise_version(run)
    shown = _evidence(call, turn, is_recognisable=is_recognisable)
    decision = Decision(
        run=run,
        status="open",
        kind=PERMISSION,
        detector="",
        holds=False,
        agent=call.agent or run.agent,
        # No detector raised it; `close_answered_cards` finds its card by the turn.
        signal={"turns": list(shown.turns)},
        evidence=to_json(shown),
        version=run.version,
        opened_at=tx.at,
        heard_at=tx.at,
        expires_at=until,
    )
    # Apart from `open_decision`: a run may ask for several permissions and have a loop's card.
    run.meters.open_permissions += 1
    # `by` the agent: nothing was detected.
    publish_card(tx, run, decision, by="agent")
    return decision


def close_all_cards(tx: RunTransaction, run: Run, *, resolution: str, by: str) -> None:
    """Close all open permission cards of a run that is over."""
    for decision in open_cards(run):
        resolve_card(tx, run, decision, resolution=resolution, by=by)


def _evidence(call: GuardTurn, turn: Turn | None, *, is_recognisable: bool) -> CardEvidence:
    args = call.args or {}
    candidates = [args.get(name) for name in SUBJECT_ARGUMENTS]
    subject = next((value for value in candidates if isinstance(value, str) and value), "")
    text = command_in(call.args) or subject
    # The command comes first, then the rest as far as there is room.
    room, details = MAX_CALL_TEXT - len(text), dict[str, str]()
    for name, value in args.items():
        if value != text:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            details[name] = shown[: max(room, 0)]
            room -= len(name) + len(shown)
    asks = AskedCall(
        tool=call.tool or "",
        text=text[:MAX_CALL_TEXT],
        details=details,
        cut=room < 0,
        for_run=is_recognisable and room >= 0,
    )
    summary = f"It asks for permission to use {name_or_quote(asks.tool)}."
    return row_of(
        CardEvidence,
        Evidence(summary=summary, calls=(call_text(call),)),
        turns=(turn.seq,) if turn else (),
        items=(evidence_turn(turn),) if turn else (),
        cost_usd=None,
        offer_allowlist=None,
        asks=asks,
    )
