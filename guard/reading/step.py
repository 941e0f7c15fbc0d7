"""A turn, read once: what every detector needs of it.

What it asks for or says hangs on its wording alone, and is read once for each (`Action`):
a call that is made again, or is proposed and then done, is not read again. A `Step` is that
beside the turns before it, with what came back.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from guard.memo import Memo
from guard.nature import Retry, ToolNature, pick_args, progress_in
from guard.reading.classify import asks, classify, moves, says_to_wait, traits_of, verb_of, waits
from guard.reading.messages import SHOWN_WORK, find_chant, terms_of, unstamped
from guard.reading.normalize import (
    Arguments,
    call_text,
    command_in,
    lasting_args,
    mask_request,
    meant_args,
    nearness,
    one_line,
    read_arguments,
    write_call,
)
from guard.reading.outcome import LATE, NOTHING_FOUND, Outcome, is_transient
from guard.reading.terms import NEWS, words_in
from guard.turn import ActionClass, Role, Turn
from guard.verbatim import UNSAID, Verbatim, bounded, verbatim_of

# `timestamp` refuses the year 1, and reads a time without a zone in the machine's own.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# So many new terms are found in any rewording.
FEW_TERMS = 3
# Who speaks where a tool's turn names no agent.
TOOL = "tool"


@dataclass(slots=True, eq=False)
class Action:
    """What a turn asks for or says; it does not change, and steps share it."""

    verb: str  # what is done, without to what: the tool and the command's name
    action_class: str  # what kind of action it is (`guard.reading.classify.classify`)
    is_call: bool  # a tool call; else a message
    call: str  # canonical text for people and allowlists
    request: str  # what is compared: equal requests ask for the same
    meaning: str  # the text whose likeness counts: the request, or the message
    words: frozenset[str]  # the words of `meaning`
    arguments: Arguments  # to what: the arguments, ready to be compared
    command: str  # the command line it runs, "" where it runs none
    asks: bool  # the call only asks; else it acts
    waits: bool  # it waits for something: its name, arguments or command say so
    moves: bool  # it moves by one step: repeating it is how it is used
    edits: bool  # it changes files
    thinks: bool  # it only thinks aloud
    hands_over: bool  # it passes the matter to another agent
    shows: bool  # a message that holds an action or what came of one, not talk alone
    # What a message tells (`terms_of`); a call's only where it hands over, or thinks.
    terms: frozenset[str]
    chant: str | None  # what a message says over and over within itself


_actions = Memo[tuple[bool, str, str | None], Action](256)


def read_action(turn: Turn) -> Action:
    """Read what a turn asks for or says."""
    args = meant_args(turn.args) if turn.tool is not None else {}
    said = turn.content or "" if turn.tool is None else write_call(turn.tool, args)
    key = turn.tool is None, said, turn.action_class
    if (known := _actions.find(key)) is not None:
        return known
    action = _read(turn, said, args)
    # A message that is long, or is not all meant, is not held for the next time.
    return _actions.keep(key, action) if action.is_call or action.meaning is said else action


def _read(turn: Turn, said: str, args: Mapping[str, Any]) -> Action:
    is_call, command, traits = turn.tool is not None, command_in(args), traits_of(turn.tool)
    action_class = turn.action_class or classify(turn.tool, command, args).value
    kept = lasting_args(args)
    if turn.tool is not None:
        call = said
        meaning = request = mask_request(turn.tool, args, said, kept=kept)
    else:
        call, meant = call_text(turn), unstamped(said)
        request = call if meant is said else call_text(replace(turn, content=meant))
        meaning = bounded(meant)
    tells = not is_call or not traits.isdisjoint({"hands_over", "thinks"})
    return Action(
        verb=verb_of(turn.tool or "", command),
        action_class=action_class,
        is_call=is_call,
        call=call,
        request=request,
        meaning=meaning,
        words=words_in(meaning),
        arguments=read_arguments(kept),
        command=command,
        asks=asks(action_class, turn.tool, command),
        waits=waits(turn.tool, command, args=args),
        moves=moves(turn.tool, args),
        edits=is_call and action_class == ActionClass.FILE_EDIT,
        thinks="thinks" in traits,
        hands_over="hands_over" in traits,
        shows=not is_call and SHOWN_WORK.stands_in(said),
        terms=terms_of(meaning) if tells else frozenset(),
        chant=None if is_call else find_chant(said),
    )


@dataclass(slots=True, eq=False, kw_only=True)
class Step(Action):
    """What a turn asks for or says, beside the turns before it, and what came back.

    Where something is said of its tool, `request`, `arguments` and `moves` are as that has it.
    """

    seq: int  # the turn's number
    key: str | None  # the client's id of the turn, by which a completion finds it
    at: float | None  # when it was, in seconds; None where that is not told
    agent: str  # who acted; "" where unnamed
    proposed: bool  # the call has not run yet: no outcome
    outcome: Outcome | None  # what came back; None: unknown
    news: float  # share of its terms never seen before, in [0, 1]; 0 where unknown
    patient: bool  # it waits for something, or failed for a reason that may pass
    nudged: bool  # it answers a message sent again, by a machine or out of patience
    fresh: bool  # the request was not seen before among the remembered steps
    untried: bool  # it never succeeded before among them
    improved: bool  # fewer failures than the last time it was asked
    new_terms: int  # how many of a message's terms no message before had
    verbatim: Verbatim  # the turn's own words, for rules that read the raw text; else empty
    refusals: int = 0  # how often what was handed in was refused in these words
    runs: bool = field(init=False)  # it runs a command or code, told in its arguments
    failed: bool = field(init=False)  # it is known to have failed
    failure: str | None = field(init=False)  # what failed, where something is known to have
    template: str | None = field(init=False)  # that without names: what is common to its sort
    outcome_key: Hashable = field(init=False)  # the identity of what came back, None: unknown
    told: frozenset[str] = field(init=False)  # the terms of what came back, none where unknown
    outcome_known: bool = field(init=False)  # a message is its own outcome
    is_answered: bool = field(init=False)  # a call, more than a thought, whose outcome is known
    acted: bool = field(init=False)  # it changed something: new, not failed, not only asking
    progressed: bool = field(init=False)  # new information, a new action, or fewer failures
    tells_something: bool = field(init=False)  # it has more than a few terms none before had
    looks_around: bool = field(init=False)  # it only asks and is answered, as who begins does
    # It failed, or what it looked for is not there; an act that is silent did its work.
    is_in_vain: bool = field(init=False)
    stays_patient: bool = field(init=False)  # the same answer for a while is how it is used

    def __post_init__(self) -> None:
        # Laid out once: later turns look at each step hundreds of times.
        outcome = self.outcome
        self.runs = bool(self.command)
        self.failed = outcome is not None and outcome.failed
        self.failure = outcome.failure if outcome else None
        self.template = outcome.template if outcome else None
        self.outcome_key = outcome.key if outcome else None
        self.told = outcome.terms if outcome else frozenset()
        self.outcome_known = outcome is not None or not self.is_call
        self.is_answered = outcome is not None and self.is_call and not self.thinks
        is_told = outcome is None or not outcome.refers_back
        is_effective = (
            self.is_call and not self.proposed and not self.failed and self.untried and is_told
        )
        self.acted = is_effective and (not self.asks if outcome else self.edits)
        self.progressed = self.news >= NEWS or self.acted or self.improved
        self.tells_something = self.new_terms > FEW_TERMS
        self.looks_around = self.asks and not self.failed
        self.is_in_vain = self.failed
        if outcome and outcome.key == NOTHING_FOUND.key:
            self.is_in_vain = self.asks or bool(outcome.terms)
        self.stays_patient = self.patient or (self.moves and not (outcome and outcome.is_long))

    @property
    def names(self) -> frozenset[str]:
        """The names and numbers in its arguments: what the call is about."""
        return self.arguments.names

    def answers_as(self, other: Step) -> bool:
        """What came back is the same: the same answer, or the same failure again."""
        one, two = self.outcome, other.outcome
        if one is None or two is None or one.key == two.key:
            return True
        if one.refers_back or two.refers_back:
            return True
        if self.improved or one.is_long or one.failure is None:
            return False
        return one.failure == two.failure

    def nearness(self, other: Step) -> float:
        """How near two requests are, in [0, 1]: 1 is the same request."""
        if self.request == other.request:
            return 1.0
        if self.verb != other.verb or not self.is_call:
            return 0.0
        return nearness(self.arguments, other.arguments, acts=not self.asks)


_read_off = attrgetter(*[one.name for one in fields(Action)])


def read_step(
    turn: Turn,
    *,
    seq: int,
    outcome: Outcome | None,
    news: float,
    before: Sequence[Step],
    action: Action | None = None,
    nature: ToolNature | None = None,
    nudged: bool = False,
    keep_verbatim: bool = True,
    refusals: int = 0,
) -> Step:
    """Read a turn into a step, beside the steps before it.

    `action` is what it asks for, where that was read before. `nature` is what is said
    of the tool: which arguments tell its calls apart, what of its result is
    progress, what asking again means. Without `keep_verbatim` the turn's own words are
    not kept.
    """
    action, ts = action or read_action(turn), turn.ts
    is_tool = turn.role is Role.TOOL and turn.tool is None
    if nature or (turn.tool is not None and not turn.args):  # else its wording tells all
        action = _ask_anew(turn, action, outcome, nature)
    request, terms = action.request, action.terms
    earlier = [step for step in before if step.request == request and step.is_call]
    outcome, news, improved = _weigh(turn, outcome, nature, news, earlier, before)
    return Step(
        *_read_off(action),
        seq=seq,
        key=turn.key,
        at=(ts.replace(tzinfo=ts.tzinfo or UTC) - _EPOCH).total_seconds() if ts else None,
        # Tools and models of a run without names are one each.
        agent=turn.agent if turn.agent is not None else TOOL if is_tool else "",
        proposed=turn.is_proposed,
        outcome=outcome,
        news=news,
        patient=_is_patient(action, outcome, nature),
        nudged=nudged,
        fresh=not earlier,
        untried=not earlier or all(step.failed for step in earlier),
        improved=improved,
        new_terms=len(terms.difference(*[step.terms for step in before])) if terms else 0,
        verbatim=verbatim_of(turn) if keep_verbatim else UNSAID,
        refusals=refusals,
    )


def _ask_anew(
    turn: Turn, action: Action, outcome: Outcome | None, nature: ToolNature | None
) -> Action:
    """Give what this turn asks for, where that is not as its wording has it."""
    anew: dict[str, Any] = {}
    request = action.request
    if nature and nature.retry is Retry.NONE:
        anew["moves"] = False
    if nature and nature.loop_key is not None and turn.tool is not None:
        args = meant_args(pick_args(turn.args, nature.loop_key))
        request = mask_request(turn.tool, args, write_call(turn.tool, args))
        anew["arguments"] = read_arguments(args)
    # A call without arguments that is merely acknowledged (`step()`, "ok") asks for what the
    # agent says beside it.
    is_bare = turn.tool is not None and not turn.args and bool(turn.content)
    if is_bare and outcome and not outcome.failed and "\n" not in outcome.text.strip():
        request = f"{request} {one_line(turn.content or '')}"
    if request is not action.request:
        anew |= {"request": request, "meaning": request, "words": words_in(request)}
        if action.hands_over or action.thinks:
            anew["terms"] = terms_of(request)
    return replace(action, **anew) if anew else action


def _weigh(
    turn: Turn,
    outcome: Outcome | None,
    nature: ToolNature | None,
    news: float,
    earlier: Sequence[Step],
    before: Sequence[Step],
) -> tuple[Outcome | None, float, bool]:
    """Give the outcome as it counts, what of it is news, and whether it is better."""
    if outcome is None:
        return None, news, False
    last = next((step.outcome for step in reversed(earlier) if step.outcome), None)
    had = last.failures if last else None
    improved = had is not None and outcome.failures is not None and outcome.failures < had
    is_known = outcome.failure and outcome.failure in [step.failure for step in before]
    if is_known or outcome.refers_back:
        news = 0.0  # a failure that is known tells nothing, whatever it quotes
    paths = nature.progress_key if nature and not outcome.failed else ()  # a failure is itself
    told = progress_in(turn.result or "", paths) if paths else None
    if not told:
        return outcome, news, improved
    moved = last is None or told != last.key
    return outcome._replace(key=told), float(moved), moved and last is not None


def _is_patient(action: Action, outcome: Outcome | None, nature: ToolNature | None) -> bool:
    failed = outcome is not None and outcome.failed
    if nature and nature.retry:
        return nature.retry is Retry.POLL or (nature.retry is Retry.RETRY and failed)
    if action.waits or outcome is None:
        return action.waits
    if not failed:
        return says_to_wait(outcome.text)
    # A service that is late is waited for; a command of one's own hangs. And "the
    # service is not running" is a failure, not something to wait for.
    return (not action.command and LATE.stands_in(outcome.text)) or is_transient(outcome.text)
