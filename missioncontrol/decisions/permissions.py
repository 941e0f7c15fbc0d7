"""What an agent asks its own person's permission for, and what people here say to it.

Its request stays open as long as the card does. Whoever ends it says how: a tap; the call's
outcome, or the request's own end, which tell that somebody answered at the agent's terminal;
time. Nothing here permits a call by itself: what nobody answers stays with the terminal.

Its card is no detection: it holds nobody, no judge is asked, and it stands beside the run's
other card. The agent's own dialog is open meanwhile, and the first answer wins. What is given a
run's id takes its row lock; what is given a transaction stands in one that holds it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from guard.describe import headline
from guard.quoting import named
from guard.reading.normalize import call_text, command_in
from guard.turn import Phase
from guard.turn import Turn as GuardTurn
from missioncontrol.decisions import allowlist, directives, rows
from missioncontrol.decisions.cards import publish, resolve
from missioncontrol.decisions.models import SPOKE, Decision, Intervention
from missioncontrol.redaction import NOTHING, Redaction
from missioncontrol.runs import journal
from missioncontrol.runs.cleaning import storable_turn
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, FORBIDDEN
from missioncontrol.runs.models import Run, Turn
from missioncontrol.wire.decisions import PERMISSION, AskedCall, CardEvidence, EvidenceTurn

# A request that was not known open for this long is not: the server was away under it.
UNSEEN_AFTER = timedelta(seconds=30)
# A third of `UNSEEN_AFTER`: one note that is late or lost closes nothing.
SEEN_EVERY_S = 10.0
# Questions of one run that people are asked at once; the terminal has the rest.
MOST_OPEN = 16
# What people answer; whatever else closes such a card left it to the agent's own person.
ANSWERS = frozenset({"allow_once", "deny"})
# Characters of a call that a card shows.
LONGEST = 20_000
# Calls under way among which the asked one is looked for.
LOOKED_AT = 16
# In the order in which they say most: a pattern means little without its path.
SUBJECTS = ("file_path", "notebook_path", "path", "url", "pattern", "query")


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
    to_grant, call = allowlist.call_to_grant(call, own), storable_turn(call, own)
    with journal.writing_run(run_id, at=at) as (tx, run):
        if run.status in ENDED | FORBIDDEN or run.meters.open_permissions >= MOST_OPEN:
            return None
        if keeps:
            # Nobody answered the last one either: this agent shall not wait in vain again.
            asked = Decision.objects.filter(run=run, kind=PERMISSION).order_by("-opened_at")
            last = asked.first()
            if last is not None and last.resolution == "timed_out":
                return None
        # Which proposal it asks about: the question carries no key.
        alike = Turn.objects.filter(run=run, phase=Phase.PROPOSED, tool=call.tool)
        # Compared here: the two databases compare JSON by different rules.
        newest = alike.order_by("-seq")[:LOOKED_AT]
        turn = next((turn for turn in newest if turn.args == call.args), None)
        for card in open_cards(run):
            # By the turn, for the question has no id: two hooks may tell of one call.
            if turn is not None and card.signal["turns"] == [turn.seq]:
                return card.id
        until = at + timedelta(seconds=for_s)
        # Secrets leave one mark alike: a call that has one is not known again.
        same = to_grant == call_text(call)
        return _open_card(tx, run, call, turn=turn, until=until, same=same).id


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


def _settle_one(tx: RunTransaction, run: Run, card_id: UUID, *, resolution: str) -> bool:
    for card in open_cards(run):
        if card.id == card_id:
            _settle(tx, run, card, resolution=resolution)
            return True
    return False


def _settle(tx: RunTransaction, run: Run, card: Decision, *, resolution: str) -> None:
    by = SPOKE["terminal"] if resolution == "answered" else SPOKE["policy"]
    close_card(tx, run, card, resolution=resolution, by=by)


def leave(run_id: UUID, card_id: UUID, *, at: datetime) -> None:
    """Note that the agent took its question back: it was refused at the terminal, or left.

    Its turn is over then, and no hook of its own tells so.
    """
    with journal.writing_run(run_id, at=at) as (tx, run):
        if _settle_one(tx, run, card_id, resolution="answered"):
            run.meters.presence = "waiting" if run.meters.open_permissions else "idle"


def follow(run_id: UUID, *, done_seq: int | None, rests: str, at: datetime) -> None:
    """Close the cards that what the agent did since has answered.

    `done_seq` is a turn that came to its end; `rests` the agent that rests, or was given a prompt.
    """
    with journal.writing_run(run_id, at=at) as (tx, run):
        for card in open_cards(run):
            if card.signal["turns"] == [done_seq] or (rests and card.agent == rests):
                _settle(tx, run, card, resolution="answered")


def note_delivered(run_id: UUID, card_id: UUID, *, at: datetime) -> None:
    """Note that people's answer left on the request that was open for it."""
    with journal.writing([run_id], at=at) as tx:
        made = Intervention.objects.filter(decision=card_id, action__in=ANSWERS).first()
        if made is not None:
            directives.deliver_one(tx, tx.run(run_id), made)


def time_out_unheard(*, at: datetime) -> None:
    """Close the cards whose request is gone without a word: the server was away under it."""
    lost = Decision.objects.filter(kind=PERMISSION, status="open", heard_at__lt=at - UNSEEN_AFTER)
    for card_id, run_id in list(lost.values_list("id", "run_id")):
        # Each under its run's own lock; who answers meanwhile finds it open, or closed by this.
        settle(run_id, card_id, resolution="timed_out", at=at)


def open_cards(run: Run) -> list[Decision]:
    """Return the run's open permission cards, oldest first."""
    # The count stands in a row that is read anyway: most runs never ask.
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
    same: bool,
) -> Decision:
    """Open a card on a call, whose texts are masked; it is asked until a moment.

    `same`: asked for again, it is known to be the same call.
    """
    tx.bump(run)
    shown = _evidence(run, call, turn, same=same, at=tx.at)
    decision = Decision(
        run=run,
        status="open",
        kind=PERMISSION,
        detector="",
        holds=False,
        agent=call.agent or run.agent,
        # No detector raised it; `follow` finds its card by the turn.
        signal={"turns": list(shown.turns)},
        evidence=rows.evidences.dump_python(shown, mode="json"),
        version=run.version,
        opened_at=tx.at,
        heard_at=tx.at,
        expires_at=until,
    )
    # Beside `open_decision`: a run may ask for several permissions, and have a loop's card too.
    run.meters.open_permissions += 1
    # By the agent: nothing was detected.
    publish(tx, run, decision, by="agent")
    return decision


def close_card(
    tx: RunTransaction, run: Run, decision: Decision, *, resolution: str, by: str
) -> None:
    """Close an open permission card."""
    tx.bump(run)
    run.meters.open_permissions -= 1
    resolve(tx, run, decision, resolution=resolution, by=by)


def close_all(tx: RunTransaction, run: Run, *, resolution: str, by: str) -> None:
    """Close what a run's agent asks: it is over."""
    for decision in open_cards(run):
        close_card(tx, run, decision, resolution=resolution, by=by)


def _evidence(
    run: Run, call: GuardTurn, turn: Turn | None, *, same: bool, at: datetime
) -> CardEvidence:
    args = call.args or {}
    candidates = [args.get(name) for name in SUBJECTS]
    subject = next((value for value in candidates if isinstance(value, str) and value), "")
    text = command_in(call.args) or subject
    # The command comes first, and the rest as far as there is room.
    room, details = LONGEST - len(text), dict[str, str]()
    for name, value in args.items():
        if value != text:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            details[name] = shown[: max(room, 0)]
            room -= len(name) + len(shown)
    asks = AskedCall(
        tool=call.tool or "",
        text=text[:LONGEST],
        details=details,
        cut=room < 0,
        for_run=same and room >= 0,
    )
    item = EvidenceTurn(
        run=run.id,
        seq=turn.seq if turn else 0,
        agent=call.agent or run.agent,
        call=headline(call),
        result=None,
        error=None,
        ran=False,
        at=turn.ts if turn else at,
    )
    return CardEvidence(
        summary=f"It asks for permission to use {named(asks.tool)}.",
        turns=(turn.seq,) if turn else (),
        items=(item,) if turn else (),
        calls=(call_text(call),),
        repeats=0,
        limit=0,
        similarity=None,
        threshold=None,
        changed=None,
        spent=None,
        ceiling=None,
        unit=None,
        cost_usd=None,
        asks=asks,
    )
