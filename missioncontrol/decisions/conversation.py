"""What people and an agent said to each other, and how far each text is known to have come.

A turn counts as acting on a message only by what can be checked: it names a file, a command or
words of the message that no turn named before the agent read it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.db.models import Max, Q, TextField, Value
from django.db.models.functions import Cast, Coalesce, Concat, Left

from guard.turn import Role
from missioncontrol.costs.ledger import JUDGE
from missioncontrol.decisions.actions import TEXT_ACTIONS
from missioncontrol.decisions.directives import UNDELIVERED_STATUSES
from missioncontrol.decisions.models import Message
from missioncontrol.runs.models import JournalRow, ModelCall, Run, Turn
from missioncontrol.wire.decisions import (
    PERMISSION,
    CardEvidence,
    Conversation,
    MessageRow,
    MessageState,
    PermissionRow,
    WordsRow,
)
from missioncontrol.wire.rows import from_json, row_of

# Newest items shown, of each kind.
MAX_ITEMS = 30
# How many turns back the agent's words are searched.
SEARCHED_TURNS = 3_000
# Turns, from the first after a message was read, that may act on it.
TURNS_AFTER = 40
# Turns before that: what they named proves nothing.
TURNS_BEFORE = 20
MAX_TEXT = 4_000
# A single word in common may be chance.
MIN_WORDS = 2
_MIN_SHARE = 1 / 3
_PHRASE = re.compile(
    r"`([^`\n]{2,200})`|\"([^\"\n]{3,200})\"|“([^“”\n]{3,200})”|„([^„“\n]{3,200})“"
)
# One character class for all of it: alternatives with a common prefix took quadratic time.
_TOKEN = re.compile(r"[\w@~.+/-]+(?:::\w+)*")
_MAX_EXTENSION = 8
_WORD = re.compile(r"[^\W_]{4,}")
# Words that any message may contain and any answer repeat.
_STOP_WORDS = frozenset(
    _WORD.findall(
        "about after again also before change could does done dont each from have here into just "
        "like make more need only please rather should some than that them then there these they "
        "this those use using very want what when where which will with would your "
        "aber alle auch bitte dann dass dein denn diese dieser doch eine einen einer erst etwas "
        "haben hier jetzt kann kein keine machen mehr mich nach nicht noch nur oder sein sich sind "
        "soll statt über und unter vorher wenn werden wieder wird"
    )
)


def show_conversation(run: Run) -> Conversation:
    """Return the newest part of what was said in a run."""
    messages = Message.objects.filter(run=run).select_related("intervention", "autofix")
    newest = list(messages.order_by("-id")[:MAX_ITEMS])[::-1]
    answers = Turn.objects.filter(
        run=run, role=Role.ASSISTANT, tool=None, seq__gt=run.meters.last_seq - SEARCHED_TURNS
    ).exclude(Q(content=None) | Q(content=""))
    # Cut by the database: to show the beginning of a long answer, it need not be read whole.
    openings = answers.annotate(opening=Left("content", MAX_TEXT)).order_by("-seq")
    words = openings.values_list("seq", "ts", "agent", "opening")[:MAX_ITEMS]
    settled = run.decisions.filter(kind=PERMISSION).exclude(resolved_at=None)
    permissions = (
        PermissionRow(
            decision=card.id,
            seq=evidence.turns[0] if evidence.turns else None,
            tool=evidence.asks.tool,
            text=evidence.asks.text[:MAX_TEXT],
            resolution=cast(Any, card.resolution),
            by=card.resolved_by,
            at=card.resolved_at,
        )
        for card in reversed(settled.order_by("-id")[:MAX_ITEMS])
        for evidence in [from_json(CardEvidence, card.evidence)]
        if evidence.asks is not None and card.resolved_at is not None
    )
    return Conversation(
        run=run.id,
        messages=tuple(_message_rows(run, newest)),
        words=tuple(
            WordsRow(seq=seq, at=at, agent=agent, text=text)
            for seq, at, agent, text in reversed(words)
        ),
        permissions=tuple(permissions),
        # Stated so that a page does not claim to show everything.
        earlier=messages.count() - len(newest),
    )


def _message_rows(run: Run, messages: Sequence[Message]) -> Iterable[MessageRow]:
    """Follow each text: it leaves in an answer, the model reads it, a turn acts on it."""
    moments = [one.delivered_at for one in messages if one.delivered_at]
    # Matched by time: one transaction writes a text's delivery and its event.
    deliveries = JournalRow.objects.filter(
        project=run.project_id, at__in=moments, run=run, type="message.delivered"
    )
    left = dict(deliveries.order_by("seq").values_list("at", "seq"))
    # The judge's model calls are not the agent's: they do not tell what the agent has read.
    counted = ModelCall.objects.filter(run=run).exclude(source=JUDGE).aggregate(at=Max("at"))
    for message in messages:
        read = None
        if message.delivered_at and message.delivered_at in left:
            read = _first_turn_after(run, message, left[message.delivered_at], counted["at"])
        acted = _acting_turn(run, message, read) if read else None
        state: MessageState = "delivered"
        if message.withdrawn_at is not None:
            state = "withdrawn"
        elif message.delivered_at is None:
            state = "queued"
        elif read is not None:
            state = "read" if acted is None else "acted_on"
        intervention = message.intervention
        sender = "auto" if hasattr(message, "autofix") else "guard"
        yield row_of(
            MessageRow,
            message,
            by=intervention.by if intervention else sender,
            state=state,
            read_at=read.ts if read else None,
            read_seq=read.seq if read else None,
            acted_seq=acted,
            key=intervention.key if intervention else None,
            # Once it has left for the model, it cannot be taken back.
            undoable=state == "queued"
            and intervention is not None
            and intervention.action in TEXT_ACTIONS
            and intervention.status in UNDELIVERED_STATUSES,
        )


def _first_turn_after(
    run: Run, message: Message, left: int, counted_at: datetime | None
) -> Turn | None:
    """Return the first turn that the model made after it could read the text.

    A call may have been made before the text, in parallel with the call whose answer carried
    it. So unless the agent spoke, a model call must have been counted since, if the agent
    reports any.
    """
    since = JournalRow.objects.filter(run=run, seq__gt=left, type="turn.recorded")
    recorded = since.order_by("seq").values_list("payload", flat=True).first()
    if recorded is None:
        return None  # no turn came since, or it was erased
    later = Turn.objects.filter(
        run=run, seq__gte=json.loads(recorded)["turn_seq"], role=Role.ASSISTANT
    )
    # Only that agent reads a text for one agent of the run.
    if message.agent:
        later = later.filter(agent=message.agent)
    turn = later.order_by("seq").only("seq", "ts", "tool").first()
    if turn is None or turn.tool is None or counted_at is None or message.delivered_at is None:
        return turn
    return turn if counted_at > message.delivered_at else None


def _acting_turn(run: Run, message: Message, read: Turn) -> int | None:
    around = Q(seq__gte=read.seq - TURNS_BEFORE, seq__lt=read.seq + TURNS_AFTER)
    turns = Turn.objects.filter(around, run=run).exclude(role=Role.USER).order_by("seq")
    text_of = Left(
        Concat(_ARGS_TEXT, Value(" "), _CONTENT_TEXT, output_field=TextField()), MAX_TEXT
    )
    texts = [
        # Arguments are JSON text: a newline is two characters there and would join words.
        (seq, text.replace("\\n", " "))
        for seq, text in turns.annotate(text=text_of).values_list("seq", "text")
    ]
    before = [text for seq, text in texts if seq < read.seq]
    return find_acting_turn(message.text, before, [one for one in texts if one[0] >= read.seq])


_ARGS_TEXT = Coalesce(Cast("args", TextField()), Value(""), output_field=TextField())
_CONTENT_TEXT = Coalesce("content", Value(""), output_field=TextField())


@dataclass(frozen=True, slots=True)
class MessageTerms:
    """What a message names: files, commands and quoted phrases; and its words."""

    names: frozenset[str]
    words: frozenset[str]


def extract_terms(text: str) -> MessageTerms:
    """Return what a message names.

    >>> sorted(extract_terms("Skip legacy plans, see docs/billing.md").names)
    ['docs/billing.md']
    """
    names = ["".join(found) for found in _PHRASE.findall(text)]
    for found in _TOKEN.findall(text):
        # A full stop after a file name ends the sentence and is not part of the name.
        token = found.rstrip(".")
        is_path = "/" in token.rstrip("/") or "_" in token.strip("_") or "::" in token
        # A file has an extension; the end of a sentence or a number has none.
        stem, _, extension = token.rpartition(".")
        is_file = stem and extension[:1].isalpha() and len(extension) <= _MAX_EXTENSION
        if is_path or is_file:
            names.append(token)
    return MessageTerms(
        frozenset(" ".join(name.lower().split()) for name in names), _words_of(text)
    )


def find_acting_turn(
    message: str, before: Iterable[str], after: Iterable[tuple[int, str]]
) -> int | None:
    """Return the number of the first turn that acts on the message, or None.

    Args:
        message: What the agent was told.
        before: What the agent said and called in its last turns before it.
        after: The turns since, oldest first: number, and what was said or called.
    """
    asked, earlier = extract_terms(message), "\n".join(before).lower()
    # What the agent named before the message is no sign that it acts on it.
    names = [name for name in asked.names if name not in earlier]
    words = asked.words - _words_of(earlier)
    # A long message needs a share of its words, or two common ones would do.
    enough = max(MIN_WORDS, len(asked.words) * _MIN_SHARE)
    for number, text in after:
        lowered = text.lower()
        if any(name in lowered for name in names) or len(words & _words_of(lowered)) >= enough:
            return number
    return None


def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _STOP_WORDS
