"""Open and close the cards on which an agent asks for a permission, under the run's lock.

Such a card is no detection: it holds nobody, no judge is asked, and it stands beside the
run's other card. The agent's own dialog is open meanwhile, and the first answer wins.
"""

from __future__ import annotations

import json
from datetime import datetime

from guard.describe import command_of, headline
from guard.quoting import named
from guard.reading.normalize import call_text
from guard.turn import Phase
from guard.turn import Turn as GuardTurn
from missioncontrol.decisions import rows
from missioncontrol.decisions.cards import resolve
from missioncontrol.decisions.models import Decision
from missioncontrol.ids import new_id
from missioncontrol.notify import services as notices
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.models import Run, Turn
from missioncontrol.wire.decisions import PERMISSION, AskedCall, CardEvidence, EvidenceTurn
from missioncontrol.wire.events import DecisionOpened

# What people answer; whatever else closes such a card left it to the agent's own person.
ANSWERS = frozenset({"allow_once", "deny"})
# Characters of a call that a card shows.
LONGEST = 20_000
# Calls under way among which the asked one is looked for.
LOOKED_AT = 16
# In the order in which they say most: a pattern means little without its path.
SUBJECTS = ("file_path", "notebook_path", "path", "url", "pattern", "query")


def open_cards(run: Run) -> list[Decision]:
    """Return the run's open permission cards, oldest first."""
    # The count stands in a row that is read anyway: most runs never ask.
    if not run.meters.open_permissions:
        return []
    return list(run.decisions.filter(kind=PERMISSION, status="open").order_by("id"))


def turn_of(run: Run, call: GuardTurn) -> Turn | None:
    """Return the proposed turn that a question is about: the question carries no key."""
    alike = Turn.objects.filter(run=run, phase=Phase.PROPOSED, tool=call.tool)
    # Compared here: the two databases compare JSON by different rules.
    newest = alike.order_by("-seq")[:LOOKED_AT]
    return next((turn for turn in newest if turn.args == call.args), None)


def open_card(
    tx: RunTransaction, run: Run, call: GuardTurn, *, turn: Turn | None, until: datetime
) -> Decision:
    """Open a card on a call, whose texts are masked; it is asked until a moment."""
    tx.bump(run)
    shown = _evidence(run, call, turn, at=tx.at)
    decision = Decision(
        id=new_id(),
        run=run,
        status="open",
        kind=PERMISSION,
        detector="",
        holds=False,
        agent=call.agent or run.agent,
        # No detector raised it; `permissions.follow` finds its card by the turn.
        signal={"turns": list(shown.turns)},
        evidence=rows.evidences.dump_python(shown, mode="json"),
        version=run.version,
        opened_at=tx.at,
        heard_at=tx.at,
        expires_at=until,
    )
    decision.save(force_insert=True)
    # Beside `open_decision`: a run may ask for several permissions, and have a loop's card too.
    run.meters.open_permissions += 1
    row = rows.decision_row(decision, run)
    # By the agent: nothing was detected.
    tx.record(run, DecisionOpened, by="agent", row=row)
    notices.announce(row, run, at=tx.at)
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


def _evidence(run: Run, call: GuardTurn, turn: Turn | None, *, at: datetime) -> CardEvidence:
    args = call.args or {}
    candidates = [args.get(name) for name in SUBJECTS]
    subject = next((value for value in candidates if isinstance(value, str) and value), "")
    text = command_of(call) or subject
    # The command comes first, and the rest as far as there is room.
    room, details = LONGEST - len(text), dict[str, str]()
    for name, value in args.items():
        if value != text:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            details[name] = shown[: max(room, 0)]
            room -= len(name) + len(shown)
    asks = AskedCall(tool=call.tool or "", text=text[:LONGEST], details=details, cut=room < 0)
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
