"""The engine: it takes turns and returns assessments. Pure and deterministic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from guard.budget import KnownUsage, Spent, UsageMeter
from guard.detectors import PolicyDetectors
from guard.detectors.base import IDENTICAL, History, View, signal_of
from guard.detectors.score import stuck_score
from guard.detectors.stall import Stall, Suspicion
from guard.events import Emit, Emitter, Reset, events_of
from guard.policy import DEFAULT_POLICY, Policy
from guard.reading.attempts import ReadTurn, TurnKind, TurnReader
from guard.reading.outcome import outcome_of
from guard.reading.step import Step, read_action
from guard.reading.terms import NEWS, TermMemory, texts_in, words_in
from guard.reading.text_calls import as_call
from guard.signals import Assessment, Signal
from guard.signals import Kind as SignalKind
from guard.turn import PROPOSED, Turn

_MAX_NEAR_SCORE = 0.99
_ANSWER, _NOISE, _NUDGE, _PERSON = map(TurnKind, ("answer", "noise", "nudge", "person"))
_NO_ATTEMPTS = (_PERSON, _NUDGE, _NOISE)
# How many attempts are remembered.
SPAN = 40
_NEWS_SPAN = 88
# What a routing line or a blank turn counts, in turns, for the age of terms.
_NOISE_AGE = 1 / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A call that was answered with a correction instead of being run."""

    call: Turn  # as it was proposed or done
    turns: tuple[int, ...] = ()  # `seq` of those it repeated, oldest first, itself included


class Engine:
    """Watches one run.

    Feed it every turn in order of observation; it answers each with an Assessment. An answer
    depends only on the last `WINDOW` turns and the resets among them, so an engine can be rebuilt
    by feeding it those turns and resetting it where it was reset. There are three exceptions: a
    budget's meter, which the caller may pass; older complaints, and agents that worked side by side
    then, which a rebuilt engine does not know; and how new the oldest steps were, if answers are
    turns of their own or more than a third of the turns say nothing (blanks, routing lines).
    """

    WINDOW: int = SPAN + _NEWS_SPAN

    def __init__(
        self,
        policy: Policy = DEFAULT_POLICY,
        *,
        emit: Emit | None = None,
        suspects: bool = False,
        span: int = SPAN,
    ) -> None:
        """Start afresh, with the detectors that this policy names.

        Args:
            policy: What counts as a loop, and what follows.
            emit: Called with every event (`guard.events`), in the caller's thread;
                an error in it is logged once and breaks nothing.
            suspects: Look for suspicions worth a question to a judge that can read;
                useless without one.
            span: How many turns detectors look back, 8 to 1000; `WINDOW` is for the
                default. Use more if several runs share an engine.
        """
        self._detectors = PolicyDetectors(policy)
        self._corrected: dict[tuple[str, str], Correction] = {}
        is_asked = suspects and policy.judged and policy.judge.suspicions
        self._suspicion = Suspicion(policy) if is_asked else None
        self._emit = Emitter(emit)
        self.history = History(span)  # to be read by others, not changed
        self._reader = TurnReader()
        self._terms = TermMemory(_NEWS_SPAN)
        self._meter = UsageMeter(policy.budget)
        self._stall = Stall(policy)
        self._turns = 0
        self._clock = 0.0  # turns, where noise counts less: the terms' clock
        self._was_nudged = False
        self._session: str | None = None

    def observe(self, turn: Turn, *, spent: Spent | None = None) -> Assessment:
        """Take the next turn, or the completion of a proposed one.

        Args:
            turn: The turn as observed now.
            spent: What the run has used, including this turn; None: the engine
                counts it.
        """
        if turn.session is not None and turn.session != self._session:
            if self._session is not None:
                self._reset_streaks("session")
            self._session = turn.session
        assessment = self._assess(turn, spent)
        if self._emit.has_listeners:
            for event in events_of(turn, assessment):
                self._emit(event)
        return assessment

    def reset(self, *, corrected: Iterable[Correction] = ()) -> None:
        """Start all streaks afresh: a person stepped in, or there was no loop.

        Args:
            corrected: Calls that were answered with a correction: the same request by
                the same agent trips the first time it comes back, until something new is
                done, a person speaks or the next reset.
        """
        self._reset_streaks("host")
        for one in corrected:  # identified by its request alone, not by its outcome
            call, nature = as_call(one.call), self._detectors.nature_of(one.call)
            step = Step(call, seq=0, outcome=outcome_of(call), nature=nature)
            self._corrected[step.agent, step.request] = one

    @property
    def is_correcting(self) -> bool:
        """A correction is in force."""
        return bool(self._corrected)

    def _reset_streaks(self, why: Literal["user", "session", "host"]) -> None:
        # A person's earlier words are kept: the same words sent again are a nudge.
        self._reader.clear(messages=why != "user")
        self._detectors.reset()
        self.history.clear()
        self._terms.start_segment()
        self._meter.reset_failures()
        self._corrected.clear()
        self._emit(Reset(why=why))

    def _assess(self, turn: Turn, spent: Spent | None) -> Assessment:
        place = None
        if turn.phase is not PROPOSED:  # it may complete a proposed call
            place = self.history.find(turn.seq, turn.key, proposed=True)
        if place is None:
            self._turns += 1
            seq = turn.seq if turn.seq is not None else self._turns - 1
            read = self._reader.read(turn, seq)
            self._clock += _NOISE_AGE if read.kind is _NOISE else 1
            if read.earlier:  # attempts that had been read as messages
                self.history.clear()
                for attempt in read.earlier:
                    self._record(attempt, seq, None, 0)
            if read.kind in _NO_ATTEMPTS:
                return self._assess_words(read, seq)
            if read.kind is _ANSWER:
                place = self.history.find(read.call, proposed=False)
        else:
            old = self.history.steps[place]  # the completion takes the proposal's agent
            named = turn if old.agent in {None, "", turn.agent} else replace(turn, agent=old.agent)
            seq, read = old.seq, ReadTurn(TurnKind.ACTION, as_call(named))
        step, changed = self._record(read.turn, seq, place, read.refusals)
        self._meter.take(turn, failed=step.failed if step.outcome else None)
        agent = step.agent if turn.agent is None else turn.agent  # its own name, not a shared one
        view = View(step.seq, self.history, KnownUsage(spent) if spent else self._meter, agent)
        signals = tuple(self._detectors.examine(view, turn))
        if self._corrected and (again := self._find_corrected(step, agent)):
            signals = (again, *signals)
            # What is counted began afresh, but the request was made before.
            changed = changed and not step.proposed
        evidence = self._stall.evidence_of(self.history)
        score = stuck = 0.0
        if signals or evidence:  # usually neither
            # How near a card is; a sure signal that asks nobody stays below 1.
            own = [signal.score for signal in signals if signal.kind is not SignalKind.BUDGET]
            near = round(min(_MAX_NEAR_SCORE, max([evidence / self._stall.limit, *own])), 3)
            score = 1.0 if any(signal.trips for signal in signals) else near
            stuck = round(stuck_score(evidence), 3)
        return Assessment(
            seq=seq,
            score=score,
            changed=changed,
            stuck=stuck,
            signals=signals,
            suspicion=self._suspicion.examine(view, signals) if self._suspicion else None,
        )

    def _find_corrected(self, step: Step, agent: str) -> Signal | None:
        """Return a trip if a corrected request comes back; a change in between may be the cure."""
        if step.had_effect:
            self._corrected.clear()
        answered = self._corrected.get((agent, step.request))
        if answered is None:
            return None
        call, turns = answered.call, (*answered.turns, step.seq)
        if step.seq == call.seq or (step.key is not None and step.key == call.key):
            return None  # this only reports the corrected call as not run
        action = "is about to do the same again" if step.proposed else "did the same again"
        text, count = f"It was corrected and {action}.", len(turns)
        kind = SignalKind.EXACT_REPEAT
        trip = signal_of("repeat", kind, [step], text, limit=count, repeats=count, alike=IDENTICAL)
        return replace(trip, turns=turns)

    def _assess_words(self, read: ReadTurn, seq: int) -> Assessment:
        """Take a turn that is not an attempt; new words of a person reset all streaks."""
        is_person = read.kind is _PERSON
        self._meter.take(read.turn, failed=None)
        if read.kind is not _NOISE:
            self._was_nudged = read.kind is _NUDGE
        if is_person:
            self._reset_streaks("user")
        self._terms.add(words_in(read.turn.content or ""), self._clock)
        return Assessment(seq=seq, score=0.0, changed=is_person)

    def _record(self, turn: Turn, seq: int, place: int | None, refusals: int) -> tuple[Step, bool]:
        """Read and remember a turn; return its step and whether it changed something."""
        steps, is_call = self.history.steps, turn.tool is not None
        # Multi-line texts that the agent wrote are noted first: an echo of them is no news.
        texts = [*texts_in(turn.args), turn.content or ""] if is_call else texts_in(turn.args)
        if written := [text for text in texts if "\n" in text]:
            self._terms.add(words_in("\n".join(written)), self._clock)
        action = read_action(turn)
        if is_call:
            self._terms.add(action.words, self._clock)
        outcome = outcome_of(turn)
        came = outcome.terms if outcome else frozenset() if is_call else action.words
        news, ever_new = self._terms.measure_news(came, self._clock)
        nature = self._detectors.nature_of(turn)
        nudged, self._was_nudged = self._was_nudged, False
        step = Step(
            turn,
            seq=steps[place].seq if place is not None else seq if turn.seq is None else turn.seq,
            outcome=outcome,
            news=news,
            before=steps[:place],
            action=action,
            nature=nature,
            nudged=nudged,
            keep_raw=self._detectors.reads_raw,
            refusals=refusals,
        )
        self.history.add(step, place)
        if nature and nature.progress_key:
            ever_new = min(ever_new, step.news)
        is_change = ever_new >= NEWS or step.had_effect or step.improved
        return step, step.is_new if step.proposed else is_change
