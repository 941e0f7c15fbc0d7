"""A turn, read once: what every detector needs of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from guard.actions import asks, hands_over, moves, thinks, verb_of, waits
from guard.chant import find_chant
from guard.nature import Retry, ToolNature, pick_args, progress_in
from guard.nearness import Arguments, nearness, read_arguments
from guard.normalize import (
    action_class,
    call_text,
    command_of,
    mask_request,
    meant_args,
    one_line,
    write_call,
)
from guard.outcome import Outcome, has_timed_out, is_transient, outcome_of
from guard.similarity import Vector, vectorise, word_set
from guard.talk import shows_work, terms_of
from guard.turn import Role, Turn
from guard.verbatim import UNSAID, Verbatim, verbatim_of

# Below this share of never-seen lines an answer brings nothing new.
NEWS = 0.2
# So many new terms are found in any rewording.
FEW_TERMS = 3
_HEAD, _TAIL = 3000, 1000


class Step(NamedTuple):
    """One turn, read once: what every detector needs of it.

    Attributes:
        seq: The turn's number.
        key: The client's id of the turn, by which a completion finds it.
        agent: Who acted; "" where unnamed.
        verb: What is done, without to what: the tool and the command's name.
        arguments: To what: the arguments, ready to be compared.
        action: What kind of deed it is (`guard.normalize.action_class`).
        is_call: A tool call; else a message.
        proposed: The call has not run yet: no outcome.
        call: Canonical text for people and allowlists.
        request: What is compared: equal requests ask for the same.
        outcome: What came back; None: unknown.
        news: Share of lines never seen before, in [0, 1]; 0 where unknown.
        asks: The call only asks; else it acts.
        patient: It waits for something, or failed for a reason that may pass.
        moves: It moves by one step: repeating it is how it is used.
        nudged: It answers a message that was sent again, by a machine or out of patience.
        shows: A message that holds a deed or what came of one, not talk alone.
        edits: It changes files.
        thinks: It only thinks aloud.
        runs: It runs a command or code, told in its arguments.
        fresh: The request was not seen before among the remembered steps.
        untried: It never succeeded before among them.
        improved: Fewer failures than the last time it was asked.
        meaning: The text whose likeness counts: the request, or the message.
        words: The words of `meaning`.
        terms: What a message tells (`guard.talk.terms_of`); a call's only where it
            hands over.
        new_terms: How many of them no message before had.
        hands_over: It passes the matter to another agent.
        chant: What a message says over and over within itself, or None.
        said: The turn's own words, for rules that read the raw text; else empty.
    """

    seq: int
    key: str | None
    agent: str
    verb: str
    arguments: Arguments
    action: str
    is_call: bool
    proposed: bool
    call: str
    request: str
    outcome: Outcome | None
    news: float
    asks: bool
    patient: bool
    moves: bool
    shows: bool
    nudged: bool
    edits: bool
    thinks: bool
    runs: bool
    fresh: bool
    untried: bool
    improved: bool
    meaning: str
    words: frozenset[str]
    terms: frozenset[str]
    new_terms: int
    hands_over: bool
    chant: str | None
    said: Verbatim

    @property
    def tells_something(self) -> bool:
        """A message with more than a few terms that none before it had."""
        return self.new_terms > FEW_TERMS

    @property
    def is_first(self) -> bool:
        """A call not made before: it repeats nothing."""
        return self.is_call and self.fresh

    @property
    def names(self) -> frozenset[str]:
        """The names and numbers in its arguments: what the call is about."""
        return self.arguments.names

    @property
    def vector(self) -> Vector:
        """The meaning as a unit vector, worked out when first asked for."""
        return vectorise(self.meaning)

    @property
    def failed(self) -> bool:
        """It is known to have failed."""
        return self.outcome is not None and self.outcome.failed

    @property
    def outcome_known(self) -> bool:
        """What came back is known; a message is its own outcome."""
        return not self.is_call or self.outcome is not None

    @property
    def outcome_key(self) -> str | None:
        """The identity of what came back, None where unknown."""
        return self.outcome.key if self.outcome else None

    @property
    def is_answered(self) -> bool:
        """A call, more than a thought, of which is known what came back."""
        return self.is_call and self.outcome is not None and not self.thinks

    @property
    def failure(self) -> str | None:
        """What failed, None where nothing is known to have."""
        return self.outcome.failure if self.outcome else None

    @property
    def template(self) -> str | None:
        """What failed, without names: what failures of one sort have in common."""
        return self.outcome.template if self.outcome else None

    @property
    def stays_patient(self) -> bool:
        """The same answer for a while is how it is used."""
        return self.patient or (self.moves and not (self.outcome and self.outcome.is_long))

    def answers_as(self, other: Step) -> bool:
        """What came back is the same: the same answer, or the same failure again."""
        if self.outcome is None or other.outcome is None:
            return True
        if self.outcome.key == other.outcome.key:
            return True
        if self.improved or self.outcome.is_long or self.failure is None:
            return False
        return self.failure == other.failure

    def nearness(self, other: Step) -> float:
        """How near two requests are, in [0, 1]: 1 is the same request."""
        if self.request == other.request:
            return 1.0
        if self.verb != other.verb or not self.is_call:
            return 0.0
        return nearness(self.arguments, other.arguments, acts=not self.asks)

    @property
    def acted(self) -> bool:
        """A deed that changed something: new, not failed, not only asking."""
        if not self.is_call or self.proposed or self.failed or not self.untried:
            return False
        return not self.asks if self.outcome else self.edits

    @property
    def progressed(self) -> bool:
        """Something came of it: new information, a new deed, fewer failures."""
        return self.news >= NEWS or self.acted or self.improved


def read_step(
    turn: Turn,
    *,
    seq: int,
    news: float,
    before: Sequence[Step],
    nature: ToolNature | None = None,
    nudged: bool = False,
    verbatim: bool = True,
) -> Step:
    """Read a turn into a step, beside the steps before it.

    `nature` is what is said of the tool: which arguments tell its calls apart,
    what of its result is progress, what asking again means. Without `verbatim`
    the turn's own words are not kept.
    """
    command, outcome, args = command_of(turn), outcome_of(turn), meant_args(turn.args)
    call = call_text(turn) if turn.tool is None else write_call(turn.tool, args)
    args, request = _ask(turn, call, args, outcome, nature)
    earlier = [step for step in before if step.request == request and step.is_call]
    outcome, news, improved = _weigh(turn, outcome, nature, news, earlier, before)
    action = action_class(turn)
    meaning = request if turn.tool is not None else _bounded(turn.content or "")
    terms = _terms(turn, meaning)
    return Step(
        seq=seq,
        key=turn.key,
        agent=speaker(turn),
        verb=verb_of(turn.tool, command) if turn.tool else "",
        arguments=read_arguments(args) if turn.tool else Arguments(),
        action=action,
        is_call=turn.tool is not None,
        proposed=turn.is_proposed,
        call=call,
        request=request,
        outcome=outcome,
        news=news,
        asks=asks(action, turn.tool, command),
        patient=_is_patient(turn, command, outcome, nature),
        moves=moves(turn.tool, turn.args) and not (nature and nature.retry is Retry.NONE),
        nudged=nudged,
        shows=turn.tool is None and shows_work(turn.content or ""),
        edits=action == "file_edit",
        thinks=thinks(turn.tool),
        runs=bool(command),
        fresh=not earlier,
        untried=all(step.failed for step in earlier),
        improved=improved,
        meaning=meaning,
        words=word_set(meaning),
        terms=terms,
        new_terms=_count_new(terms, before),
        hands_over=hands_over(turn.tool),
        chant=find_chant(turn.content) if turn.content and turn.tool is None else None,
        said=verbatim_of(turn) if verbatim else UNSAID,
    )


def _bounded(text: str) -> str:
    """Give a message's head and tail: it is held for as long as the step is."""
    if len(text) <= _HEAD + _TAIL:
        return text
    return f"{text[:_HEAD]} {text[-_TAIL:]}"


def _ask(
    turn: Turn,
    call: str,
    args: Mapping[str, Any],
    outcome: Outcome | None,
    nature: ToolNature | None,
) -> tuple[Mapping[str, Any], str]:
    """Give what is compared of a turn: its meant arguments, and the request as text."""
    if nature and nature.loop_key is not None and turn.tool is not None:
        args = meant_args(pick_args(turn.args, nature.loop_key))
        call = write_call(turn.tool, args)
    request = mask_request(turn, call, args)
    if _is_told_by_its_text(turn, outcome):
        request = f"{request} {one_line(turn.content or '')}"
    return args, request


def _weigh(
    turn: Turn,
    outcome: Outcome | None,
    nature: ToolNature | None,
    news: float,
    earlier: Sequence[Step],
    before: Sequence[Step],
) -> tuple[Outcome | None, float, bool]:
    """Give the outcome as it counts, what of it is news, and whether it is better."""
    improved = _has_improved(outcome, earlier)
    if outcome is None:
        return None, news, improved
    if outcome.failure and any(step.failure == outcome.failure for step in before):
        news = 0.0  # a failure that is known tells nothing, whatever it quotes
    if nature and (told := _progress_told(turn, outcome, nature)):
        last = next((step.outcome_key for step in reversed(earlier) if step.outcome_key), None)
        return outcome._replace(key=told), float(told != last), last is not None and told != last
    return outcome, news, improved


def _terms(turn: Turn, meaning: str) -> frozenset[str]:
    if turn.tool is None or hands_over(turn.tool) or thinks(turn.tool):
        return terms_of(meaning)
    return frozenset()


def _count_new(terms: frozenset[str], before: Sequence[Step]) -> int:
    for step in reversed(before):
        if not terms:
            break
        terms -= step.terms
    return len(terms)


def _is_told_by_its_text(turn: Turn, outcome: Outcome | None) -> bool:
    """A call without arguments that is merely acknowledged: `step()`, "ok".

    What the agent says beside it is then what it asks for (FINDINGS 3).
    """
    if turn.tool is None or turn.args or not turn.content or outcome is None:
        return False
    return not outcome.failed and "\n" not in outcome.text.strip()


def speaker(turn: Turn) -> str:
    """Name who acts: the agent; tools and models of a run without names are one."""
    if turn.agent is not None:
        return turn.agent
    return "tool" if turn.role is Role.TOOL and turn.tool is None else ""


def _progress_told(turn: Turn, outcome: Outcome, nature: ToolNature) -> str | None:
    """Give what stands at the tool's own progress key; failures have their identity."""
    if outcome.failed or not nature.progress_key:
        return None
    return progress_in(turn.result or "", nature.progress_key)


def _is_patient(
    turn: Turn, command: str, outcome: Outcome | None, nature: ToolNature | None
) -> bool:
    failed = outcome is not None and outcome.failed
    if nature and nature.retry:
        return nature.retry is Retry.POLL or (nature.retry is Retry.RETRY and failed)
    if outcome and outcome.failed and is_transient(outcome.text):
        return True
    if outcome and outcome.failed and not command and has_timed_out(outcome.text):
        return True  # a service is late; a command of one's own hangs
    # "the service is not running" is a failure, not something to wait for.
    answer = outcome.text if outcome and not outcome.failed else ""
    return waits(turn.tool, command, answer, turn.args)


def _has_improved(outcome: Outcome | None, earlier: Sequence[Step]) -> bool:
    if outcome is None or outcome.failures is None:
        return False
    last = next((step.outcome for step in reversed(earlier) if step.outcome), None)
    return last is not None and last.failures is not None and outcome.failures < last.failures
