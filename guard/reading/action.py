"""What a turn asks for or says, whatever comes back: read once for each wording.

A call that is made again, or is proposed and then done, is not read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from guard.reading.arguments import Arguments, read_arguments
from guard.reading.classify import asks, classify, hands_over, moves, thinks, verb_of, waits_by_call
from guard.reading.messages import find_chant, shows_work, terms_of
from guard.reading.normalize import (
    call_text,
    command_in,
    lasting_args,
    mask_request,
    meant_args,
    write_call,
)
from guard.reading.terms import Memo, bounded, words_in
from guard.turn import ActionClass, Turn

_REMEMBERED = 256


@dataclass(slots=True, eq=False, kw_only=True)
class Action:
    """What a turn asks for or says; it does not change, and steps share it.

    Attributes:
        verb: What is done, without to what: the tool and the command's name.
        action_class: What kind of action it is (`guard.reading.classify.classify`).
        is_call: A tool call; else a message.
        call: Canonical text for people and allowlists.
        request: What is compared: equal requests ask for the same.
        arguments: To what: the arguments, ready to be compared.
        command: The command line it runs, "" where it runs none.
        asks: The call only asks; else it acts.
        waits: It waits for something: its name, arguments or command say so.
        moves: It moves by one step: repeating it is how it is used.
        edits: It changes files.
        thinks: It only thinks aloud.
        hands_over: It passes the matter to another agent.
        shows: A message that holds an action or what came of one, not talk alone.
        meaning: The text whose likeness counts: the request, or the message.
        words: The words of `meaning`.
        terms: What a message tells (`guard.reading.messages.terms_of`); a call's only where it
            hands over, or thinks.
        chant: What a message says over and over within itself, or None.
    """

    verb: str
    action_class: str
    is_call: bool
    call: str
    request: str
    meaning: str
    words: frozenset[str]
    arguments: Arguments = field(default_factory=Arguments)
    command: str = ""
    asks: bool = False
    waits: bool = False
    moves: bool = False
    edits: bool = False
    thinks: bool = False
    hands_over: bool = False
    shows: bool = False
    terms: frozenset[str] = frozenset()
    chant: str | None = None


_calls = Memo[tuple[str, str | None], Action](_REMEMBERED)
_messages = Memo[tuple[str, str | None], Action](_REMEMBERED)


def read_action(turn: Turn) -> Action:
    """Read what a turn asks for or says."""
    if turn.tool is None:
        return _read_message(turn)
    args = meant_args(turn.args)
    call = write_call(turn.tool, args)
    known = _calls.find((call, turn.action_class))
    return known or _calls.keep((call, turn.action_class), _read_call(turn, turn.tool, call, args))


def _read_call(turn: Turn, tool: str, call: str, args: Mapping[str, Any]) -> Action:
    command = command_in(args)
    action_class = turn.action_class or classify(tool, command, args).value
    request = mask_request(turn, call, args)
    passes_on, is_thought = hands_over(tool), thinks(tool)
    return Action(
        verb=verb_of(tool, command),
        action_class=action_class,
        is_call=True,
        call=call,
        request=request,
        meaning=request,
        words=words_in(request),
        arguments=read_arguments(lasting_args(args)),
        command=command,
        asks=asks(action_class, tool, command),
        waits=waits_by_call(tool, command, args),
        moves=moves(tool, args),
        edits=action_class == ActionClass.FILE_EDIT,
        thinks=is_thought,
        hands_over=passes_on,
        terms=terms_of(request) if passes_on or is_thought else frozenset(),
    )


def _read_message(turn: Turn) -> Action:
    said = turn.content or ""
    known = _messages.find((said, turn.action_class))
    if known is not None:
        return known
    call, meaning = call_text(turn), bounded(said)
    message = Action(
        verb="",
        action_class=turn.action_class or ActionClass.MESSAGE.value,
        is_call=False,
        call=call,
        request=call,
        meaning=meaning,
        words=words_in(meaning),
        asks=asks(turn.action_class or ActionClass.MESSAGE, None, ""),
        shows=shows_work(said),
        terms=terms_of(meaning),
        chant=find_chant(said) if said else None,
    )
    return _messages.keep((said, turn.action_class), message) if meaning is said else message
