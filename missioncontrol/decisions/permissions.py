"""What an agent asks its own person's permission for, and what people here say to it.

Its request stays open as long as the card does. Whoever ends it says how: a tap; the call's
outcome, or the request's own end, which tell that somebody answered at the agent's terminal;
time. Nothing here permits a call by itself: what nobody answers stays with the terminal.
Each takes the run's row lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from guard.turn import Turn as GuardTurn
from missioncontrol.decisions import permission_cards, receipts
from missioncontrol.decisions.models import SPOKE, Decision, Intervention
from missioncontrol.decisions.permission_cards import ANSWERS
from missioncontrol.redaction import NOTHING, Redaction
from missioncontrol.runs import journal
from missioncontrol.runs.cleaning import storable_turn
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN
from missioncontrol.runs.models import Run
from missioncontrol.wire.decisions import PERMISSION

# A request that was not known open for this long is not: the server was away under it.
UNHEARD = timedelta(seconds=30)
# A third of `UNHEARD`: one note that is late or lost closes nothing.
HEARD_EVERY_S = 10.0
# Questions of one run that people are asked at once; the terminal has the rest.
MOST_OPEN = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a question was settled. `message`: what the model is to read of a refusal."""

    resolution: str
    message: str = ""

    @property
    def is_answer(self) -> bool:
        """People here answered; otherwise nothing is to be said."""
        return self.resolution in ANSWERS


def ask(
    run_id: UUID,
    call: GuardTurn,
    *,
    for_s: float,
    at: datetime,
    keeps: bool = False,
    own: Redaction = NOTHING,
) -> UUID | None:
    """Open a card on a call; asked of twice, it is one card. None: people are not asked.

    `keeps`: the agent has no dialog, and waits for us alone. Once nobody answered it, its
    run is not kept waiting again. `own`: what the project masks besides secrets.
    """
    # Before any lock: masking a long call takes its time.
    call = storable_turn(call, own)
    with journal.writing([run_id], at=at) as tx:
        run = tx.run(run_id)
        if run.status in ENDED | FORBIDDEN or run.meters.open_permissions >= MOST_OPEN:
            return None
        if keeps:
            # Nobody answered the last one either: this agent shall not wait in vain again.
            asked = Decision.objects.filter(run=run, kind=PERMISSION).order_by("-opened_at")
            last = asked.first()
            if last is not None and last.resolution == "timed_out":
                return None
        turn = permission_cards.turn_of(run, call)
        for card in permission_cards.open_cards(run):
            # By the turn, for the question has no id: two hooks may tell of one call.
            if turn is not None and card.signal["turns"] == [turn.seq]:
                return card.id
        until = at + timedelta(seconds=for_s)
        return permission_cards.open_card(tx, run, call, turn=turn, until=until).id


def outcome_of(card_id: UUID) -> Outcome | None:
    """Return how a question was settled; None: it is open."""
    card = Decision.objects.only("status", "resolution").filter(pk=card_id).first()
    if card is None:
        # Deleted with its run: whoever waits for it need not wait on.
        return Outcome(resolution="ended")
    if card.resolution is None:
        return None
    answers = Intervention.objects.filter(decision=card_id, action=card.resolution)
    # Only an answer of people has words; a closing by time or at the terminal has none.
    message = answers.values_list("message", flat=True).first()
    return Outcome(resolution=card.resolution, message=message or "")


def hear(card_id: UUID, *, at: datetime) -> None:
    """Note that the agent's request is open; no event, no lock."""
    # Only an open one: a card that was answered must not seem to wait.
    Decision.objects.filter(pk=card_id, status="open").update(heard_at=at)


def settle(run_id: UUID, card_id: UUID, *, resolution: str, at: datetime) -> None:
    """Close a card whose request has ended, unless it is closed already."""
    with journal.writing([run_id], at=at) as tx:
        _settle_one(tx, tx.run(run_id), card_id, resolution=resolution)


def _settle_one(tx: journal.RunTransaction, run: Run, card_id: UUID, *, resolution: str) -> bool:
    for card in permission_cards.open_cards(run):
        if card.id == card_id:
            _settle(tx, run, card, resolution=resolution)
            return True
    return False


def _settle(tx: journal.RunTransaction, run: Run, card: Decision, *, resolution: str) -> None:
    by = SPOKE["terminal"] if resolution == "answered" else SPOKE["policy"]
    permission_cards.close_card(tx, run, card, resolution=resolution, by=by)


def leave(run_id: UUID, card_id: UUID, *, at: datetime) -> None:
    """Note that the agent took its question back: it was refused at the terminal, or left.

    Its turn is over then, and no hook of its own tells so.
    """
    with journal.writing([run_id], at=at) as tx:
        run = tx.run(run_id)
        if _settle_one(tx, run, card_id, resolution="answered"):
            run.meters.presence = "waiting" if run.meters.open_permissions else "idle"


def follow(run_id: UUID, *, done_seq: int | None, rests: str, at: datetime) -> None:
    """Close the cards that what the agent did since has answered.

    `done_seq` is a turn that came to its end; `rests` the agent that rests, or was given a prompt.
    """
    with journal.writing([run_id], at=at) as tx:
        run = tx.run(run_id)
        for card in permission_cards.open_cards(run):
            if card.signal["turns"] == [done_seq] or (rests and card.agent == rests):
                _settle(tx, run, card, resolution="answered")


def note_delivered(run_id: UUID, card_id: UUID, *, at: datetime) -> None:
    """Note that people's answer left on the request that was open for it."""
    with journal.writing([run_id], at=at) as tx:
        made = Intervention.objects.filter(decision=card_id, action__in=ANSWERS).first()
        if made is not None:
            receipts.deliver_one(tx, tx.run(run_id), made)


def time_out_unheard(*, at: datetime) -> None:
    """Close the cards whose request is gone without a word: the server was away under it."""
    lost = Decision.objects.filter(kind=PERMISSION, status="open", heard_at__lt=at - UNHEARD)
    for card_id, run_id in list(lost.values_list("id", "run_id")):
        # Each under its run's own lock; who answers meanwhile finds it open, or closed by this.
        settle(run_id, card_id, resolution="timed_out", at=at)
