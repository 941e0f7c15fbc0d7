"""Turns become attempts: who asked whom for what, and what the outcome was.

Logs differ in form. The answer to a call may be in the call, in a tool's turn, in a user's, in
another agent's message, in the same text or missing; between the two there may be a routing line, a
banner or nothing at all. Agents that write their calls as text ("Thought: … Action: … Observation:
…", or JSON) are read as what they are, calls with a result. This module puts together what belongs
together, so that detectors need not know the form.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from guard.reading import Phrase, pattern_of, read_words, text_calls
from guard.reading.messages import stems_of
from guard.reading.outcome import looks_failed
from guard.reading.terms import differ_in_quotes, texts_in, words_in
from guard.turn import ASSISTANT, PROPOSED, SYSTEM, TOOL, USER, Turn

# The tool of a refusal that is heard again: it is read as the outcome of submitting work.
SUBMISSION = "hand in"

_MIN_BLANKS = 3
# This many blank turns or routing lines in a row are read as attempts; two routers give three.
_MIN_ROUTES = 5
_MAX_NAMES, _MAX_REMEMBERED = 1000, 8
_MAX_CALL = 100_000
_MAX_ROUTING = 160
_MIN_REPEATS = 2  # this many repeated replies come from a machine
_MAX_AGE = 1000
_MAX_READ, _MAX_SHORT = 4000, 200
_MIN_TERMS = 4
_SAME_SUBJECT_SHARE = 0.5
_ROUTING_WORDS = stems_of(" ".join(read_words("talk")["routes"]))
_NOTICE = re.compile(rf"\s{{0,4}}{pattern_of('notices')}", re.IGNORECASE)
_BOXES = "\u2610\u2611\u2612\u2713\u2714\u25fb\u25fc"
_BOX = re.compile(rf"\s{{0,12}}(?:[-*] )?(?:\[[ xX~]\]|[{_BOXES}])")
_COMPLAINS = Phrase("complains", head=_MAX_SHORT, lower=True, words=True)
_GOES_ROUND = Phrase("goes_round", head=_MAX_SHORT, lower=True)
_HALTS = Phrase("halts", words=True)
_PROMISES = Phrase("promises", head=_MAX_SHORT, lower=True)


class TurnKind(Enum):
    """How a turn is read, given the turns before it."""

    ACTION = "action"  # a call, or a message of an agent: an attempt of its own
    ANSWER = "answer"  # the outcome of an earlier call
    PERSON = "person"  # new words of a person: everything starts afresh
    NUDGE = "nudge"  # a person's earlier words again, while the agent only talked
    REFUSAL = "refusal"  # an earlier complaint again, whatever was done in between
    NOISE = "noise"  # a notice, a blank or a routing line: neither words nor action


@dataclass(slots=True)
class ReadTurn:
    """A turn as it is read."""

    kind: TurnKind
    turn: Turn  # for an answer: its call, with the outcome
    call: int | None = None  # for an answer: the number of the call's turn
    refusals: int = 0  # for a refusal: how often it was heard, including this time
    # Attempts that had been read as messages, oldest first: only this turn shows that a machine
    # answers them.
    earlier: tuple[Turn, ...] = ()


class TurnReader:
    """Matches answers with the calls they answer, and distinguishes machines from people."""

    def __init__(self) -> None:
        self._pending: list[Turn] = []
        self._was_answered = False
        self._promised: set[int | None] = set()
        # Tools whose calls carry their own results: what follows such a call is no answer.
        self._tools_with_results: set[str] = set()
        self._names: set[str] = set()
        self._last_named: str | None = None  # the agent whose name was taken last
        self._callers: set[str] = set()
        self._messages: deque[_UserMessage] = deque(maxlen=_MAX_REMEMBERED)
        self._has_acted = False
        self._last_notice: str | None = None
        self._user_gives_answers = self._user_complained = False
        self._last_agent: str | None = None
        # The name under which agents are read as one (None: each under its own), and who spoke
        # last.
        self._merged_agent: tuple[str | None, str | None] | None = None
        self._blank_turns = self._routing_lines = 0
        # Whether a message showed a command, and whether the harness runs what is shown.
        self._shows_command, self._runs_commands = False, False
        # The last message, the answers to each message, and whether a machine gives them.
        self._last_message: tuple[int, Turn] | None = None  # with its number
        self._replies: deque[_Reply] = deque(maxlen=_MAX_REMEMBERED)
        self._is_machine = False

    def clear(self, *, messages: bool = False) -> None:
        """Forget open calls, as a person stepped in; with `messages`, also what the user said."""
        if messages:
            self._messages.clear()
            self._replies.clear()
            self._last_message, self._is_machine = None, False
        self._pending.clear()
        self._was_answered, self._merged_agent, self._promised = False, None, set()

    def read(self, turn: Turn, seq: int) -> ReadTurn:
        """Read the next turn, which has this number."""
        turn = text_calls.as_call(turn)
        reports = text_calls.is_report(turn)
        if turn.role is ASSISTANT and turn.tool is None and not reports:
            # A command in a message is a call, if such commands were run before.
            call = text_calls.shown_call(turn)
            self._shows_command = call is not None
            turn = call if call and self._runs_commands else turn
        if turn.role is SYSTEM and not (self._pending and reports):
            again = not self._has_acted and turn.content == self._last_notice
            self._last_notice = turn.content
            return ReadTurn(TurnKind.NUDGE if again else TurnKind.NOISE, turn)
        if turn.agent != self._last_named and len(self._names) < _MAX_NAMES:
            self._names |= stems_of(turn.agent or "")
            self._last_named = turn.agent
        if self._is_routing_line(turn):
            self._routing_lines += 1
            is_action = self._routing_lines >= _MIN_ROUTES
            return ReadTurn(TurnKind.ACTION if is_action else TurnKind.NOISE, turn)
        has_content = (
            turn.tool is not None or turn.result or turn.error or (turn.content or "").strip()
        )
        if has_content:
            self._routing_lines = 0
        if turn.role is USER and not reports:
            return self._read_user(turn, seq)
        if not has_content:
            self._blank_turns += 1
            is_action = self._blank_turns >= _MIN_BLANKS
            return ReadTurn(TurnKind.ACTION if is_action else TurnKind.NOISE, turn)
        self._blank_turns = 0
        turn = self._merge_agents(turn)
        answered = self._read_answer(turn, reports=reports)
        is_list = turn.tool is None and _is_checklist(turn.content or "")
        if answered or is_list or self._note_promise(turn, seq):
            return answered or ReadTurn(TurnKind.NOISE, turn)
        self._last_agent = turn.agent
        if turn.role is USER:  # a report without a call: drop what ends every report
            turn = replace(
                turn, content=(turn.content or "").partition(text_calls.REPORT_FOOTER)[0]
            )
        self._remember_call(turn, seq)
        is_said = turn.role is ASSISTANT and turn.tool is None
        self._last_message = (seq, turn) if is_said and not self._pending else None
        return ReadTurn(TurnKind.ACTION, turn)

    def _note_promise(self, turn: Turn, seq: int) -> bool:
        """Note a call whose result only promises one; return whether it was noted."""
        if not turn.tool or not turn.result or not _PROMISES.occurs_in(turn.result):
            return False
        self._remember_call(replace(turn, result=None), seq)
        if is_noted := len(self._promised) < _MAX_REMEMBERED:
            self._promised.add(seq)
        return is_noted

    def _merge_agents(self, turn: Turn) -> Turn:
        """Give agents one name while the user complains between any two of them.

        An agent that acts on a complaint about another's attempt continues that attempt. That both
        are asked for the same is no complaint.
        """
        if turn.role is not ASSISTANT:
            return turn
        name, last = self._merged_agent or (turn.agent, turn.agent)
        name = name if turn.agent == last or self._user_complained else None
        self._merged_agent, self._user_complained = (name, turn.agent), False
        return turn if name in {None, turn.agent} else replace(turn, agent=name)

    def _remember_call(self, turn: Turn, seq: int) -> None:
        """Remember a call without a result, under its number."""
        if turn.role is TOOL or turn.tool is None or turn.phase is PROPOSED:
            return
        self._has_acted = True
        if turn.agent and len(self._callers) < _MAX_NAMES:
            self._callers.add(turn.agent)
        tells = turn.result or turn.error  # an empty result may mean that there is none
        if tells and len(self._tools_with_results) < _MAX_NAMES:
            self._tools_with_results.add(turn.tool)
        if self._was_answered:
            # All results of a batch come before its agent's next call.
            agent, owed = turn.agent, self._promised
            self._pending = [one for one in self._pending if one.agent != agent or one.seq in owed]
            self._was_answered = False
        is_open = turn.result is None and turn.error is None
        if is_open and sum(map(len, texts_in(turn.args))) <= _MAX_CALL:
            self._pending = [*self._pending[-15:], replace(turn, seq=seq)]

    def _read_answer(self, turn: Turn, *, reports: bool) -> ReadTurn | None:
        """Read a tool's or another agent's turn as the outcome of an open call."""
        if turn.args or turn.is_proposed:
            return None
        if not self._pending:
            is_told = turn.role is TOOL and not turn.tool
            return self._read_reply(turn) if is_told or (self._shows_command and reports) else None
        if turn.role is TOOL or reports:
            if turn.content is None and turn.result is None and turn.error is None:
                return None
            fits = (at for at, call in enumerate(self._pending) if turn.tool in {None, call.tool})
            return next((self._answer_call(at, turn) for at in fits), None)
        if turn.tool is not None or not turn.content or not turn.agent:
            return None
        # Another agent's message answers the newest call. It does not if the caller itself thinks
        # aloud, perhaps under a longer name, or a colleague speaks: an environment never makes
        # calls.
        caller = self._pending[-1].agent
        is_team = turn.agent.startswith(caller) if caller else turn.agent in self._callers
        return None if is_team else self._answer_call(-1, turn)

    def _answer_call(self, place: int, answer: Turn) -> ReadTurn:
        self._was_answered = True
        call = self._pending.pop(place)
        result = answer.result if answer.result is not None else answer.content
        completed = replace(
            call, result=result and text_calls.report_content(result), error=answer.error
        )
        if call.seq in self._promised:
            self._promised.remove(call.seq)
            return ReadTurn(TurnKind.ACTION, completed)
        return ReadTurn(TurnKind.ANSWER, completed, call.seq)

    def _read_reply(self, turn: Turn) -> ReadTurn | None:
        """Read what a machine answers to a message as the message's outcome: it was an act.

        A game or a harness answers what an agent writes, without any tool. In the user's
        name it is recognised by its words: it says the same to different messages, except for
        what it quotes of them. A single request to go on, repeated, is no answer.
        """
        said, self._last_message = self._last_message, None
        if said is None or not turn.content:
            return None
        seq, message = said
        call = text_calls.shown_call(message) or text_calls.spoken_call(message)
        attempt = replace(call, seq=seq, result=text_calls.report_content(turn.content))
        words = words_in(turn.content) if stems_of(turn.content[:_MAX_READ]) else frozenset[str]()
        reply = _Reply(attempt, words_in(message.content or ""), words)
        alike = [one for one in self._replies if reply.has_same_answer(one)]
        self._replies.append(reply)
        if is_complaint := bool(alike) and _complains(turn.content):
            for one in (*alike, reply):  # the same complaint again: these failed
                one.attempt = replace(one.attempt, error=one.attempt.result)
        earlier: tuple[Turn, ...] = ()
        if turn.role is not USER or text_calls.is_report(turn):
            self._runs_commands = self._runs_commands or self._shows_command
        else:
            was_machine, repeats = self._is_machine, self._count_repeats()
            # A person may also repeat one sentence. A machine is read as one until it has repeated
            # nothing for long.
            is_sure = is_complaint or len(repeats) > 1
            is_found = sum(repeats) >= _MIN_REPEATS and is_sure
            self._is_machine = bool(repeats) if was_machine else is_found
            if not self._is_machine:
                return None
            if not was_machine:
                earlier = tuple(one.attempt for one in list(self._replies)[:-1])
        return ReadTurn(TurnKind.ANSWER, reply.attempt, seq, earlier=earlier)

    def _count_repeats(self) -> list[int]:
        """Count the repetitions of each of the last replies that was repeated."""
        sorts: list[list[_Reply]] = []
        for reply in self._replies:
            known = next((sort for sort in sorts if reply.has_same_answer(sort[0])), None)
            if known is None:
                sorts.append(known := [])
            known.append(reply)
        return [len(sort) - 1 for sort in sorts if len(sort) > 1]

    def _is_routing_line(self, turn: Turn) -> bool:
        """Return whether a line only says who is next: an agent, one just called, "the agent"."""
        text, is_message = turn.content or "", turn.role is ASSISTANT and turn.tool is None
        if not is_message or turn.result or len(text) > _MAX_ROUTING:
            return False
        terms = stems_of(text)
        asked = stems_of(self._pending[-1].tool or "" if self._pending else "")
        names = self._names | asked if terms & _ROUTING_WORDS else self._names
        if not terms <= names | _ROUTING_WORDS:
            return False
        if terms & names:
            return True
        # "Agent active, running." may just as well be the outcome of a call.
        is_answer = bool(self._pending) and turn.agent not in {None, self._pending[-1].agent}
        return len(terms) > 1 and (not is_answer or bool(terms & stems_of("speaker")))

    def _read_user(self, turn: Turn, seq: int) -> ReadTurn:
        text = turn.content or ""
        if not text.strip() or _NOTICE.match(text):
            return ReadTurn(TurnKind.NOISE, turn)
        answers = self._last_message is not None and not self._has_acted
        if not self._has_acted and (replied := self._read_reply(turn)) is not None:
            return replied
        plain = " ".join(text[:_MAX_READ].lower().split()).rstrip(".!? ")
        to, complains = self._last_agent, _complains(text)
        message = _UserMessage(seq, to, plain, stems_of(plain), complains)
        before = [one for one in self._messages if seq - one.at <= _MAX_AGE]
        again = [one for one in before if message.repeats(one)]
        # A call waits for an answer, and this log gives answers in the user's name. If several
        # calls wait, the log leaves answers out, unless it gave one before.
        waits = self._pending and self._pending[-1].tool not in self._tools_with_results
        if not again and waits and (len(self._pending) == 1 or self._user_gives_answers):
            self._user_gives_answers = True
            return self._answer_call(-1, turn)
        self._messages.append(message)
        self._user_complained = self._user_complained or complains
        action, self._has_acted = self._has_acted, False
        # The outcome of submitting work; if the words are the same as before, of whatever was sent.
        if again and complains and (action or any(one.plain == plain for one in again)):
            refusals = sum(one.to == message.to for one in again) + 1
            attempt = replace(turn, role=ASSISTANT, agent=self._last_agent, tool=SUBMISSION)
            handed_in = replace(attempt, args={}, content=None, error=text)
            return ReadTurn(TurnKind.REFUSAL, handed_in, refusals=refusals)
        if again and not (action and message.terms):  # a bare "go on" is no new word
            return ReadTurn(TurnKind.NUDGE, turn)
        # Still the same matter, or an agent whose last two messages are the same: nothing starts
        # afresh.
        last = [(one.attempt.tool, one.attempt.args) for one in list(self._replies)[-2:]]
        says_same = answers and last[:1] == last[1:] != []
        is_unheard = says_same and bool(stems_of(str(last[1][1])) - stems_of("input"))
        insists = any(map(message.repeats_complaint, before))
        is_same = is_unheard or insists or _GOES_ROUND.occurs_in(text)
        return ReadTurn(TurnKind.NOISE if is_same else TurnKind.PERSON, turn)


@dataclass(slots=True)
class _Reply:
    """A message and its answer, as an attempt, and the words of both."""

    attempt: Turn
    message: frozenset[str]
    reply: frozenset[str]

    def has_same_answer(self, other: _Reply) -> bool:
        """Return whether the answers are the same, except for what they quote of the messages."""
        return differ_in_quotes(self.reply, self.message, other.reply, other.message)


class _UserMessage(NamedTuple):
    """A message in the user's name."""

    at: int
    to: str | None
    plain: str
    terms: frozenset[str]
    complains: bool

    def repeats(self, other: _UserMessage) -> bool:
        """Return whether it has the same words, the same few terms, or none, as in "go on"."""
        if self.plain == other.plain:
            return True
        if not (self.terms or other.terms):  # "no" and "wait" differ from "yes" and "go on"
            return _HALTS.occurs_in(self.plain) == _HALTS.occurs_in(other.plain)
        is_short = max(len(self.plain), len(other.plain)) <= _MAX_SHORT
        return is_short and len(self.terms) > 1 and self.terms <= other.terms

    def repeats_complaint(self, other: _UserMessage) -> bool:
        """Return whether it is mostly an earlier complaint in other words."""
        if not (self.complains and other.complains) or len(self.terms) < _MIN_TERMS:
            return False
        return len(self.terms & other.terms) >= _SAME_SUBJECT_SHARE * len(self.terms)


def _is_checklist(text: str) -> bool:
    """Return whether it is a list of tick boxes: shown again with each change, it is no attempt."""
    if text.count("[") < 2 and not any(map(text.__contains__, _BOXES)):  # noqa: PLR2004 - mostly
        return False
    lines = text[:_MAX_READ].splitlines()
    ticked = sum(_BOX.match(line) is not None for line in lines)
    return ticked > 1 and 2 * ticked >= len(lines)


def _complains(text: str) -> bool:
    return looks_failed(text) or _COMPLAINS.occurs_in(text)
