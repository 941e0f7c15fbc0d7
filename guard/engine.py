"""The engine: turns in, assessments out. Pure and deterministic."""

from __future__ import annotations

from guard.answer import mask_places
from guard.budget import Spent
from guard.detectors import View
from guard.events import Emit, Emitter, Reset, events_of
from guard.heard import Heard
from guard.judge.suspicion import Suspicion
from guard.news import LineMemory, texts_in
from guard.open_calls import OpenCalls
from guard.panel import Panel
from guard.policy import DEFAULT_POLICY, Policy
from guard.react import as_call, is_report
from guard.signals import Assessment
from guard.step import NEWS, Step, read_step
from guard.tally import Tally, Told
from guard.tape import Tape
from guard.trail import Trail
from guard.turn import Role, Turn

_SPAN = 40
_NEWS_SPAN = 88


class Engine:
    """Watches one run.

    Feed it every turn in order of observation; it answers each with an
    Assessment. What it says follows from the last `WINDOW` turns and the resets
    among them alone (a budget's meter apart, which the caller may pass), so an
    engine can be rebuilt by feeding it those and resetting where it was reset.

    >>> from guard.turn import Role, Turn
    >>> engine = Engine()
    >>> read = Turn(role=Role.ASSISTANT, tool="Read", args={"path": "a.py"}, error="not found")
    >>> [engine.observe(read).trip is not None for _ in range(3)]
    [False, False, True]
    """

    WINDOW: int = _SPAN + _NEWS_SPAN

    def __init__(
        self,
        policy: Policy = DEFAULT_POLICY,
        *,
        emit: Emit | None = None,
        suspects: bool = False,
        span: int = _SPAN,
    ) -> None:
        """Start afresh, with the detectors this policy names.

        Args:
            policy: What counts as a loop, and what follows.
            emit: Called with every event (`guard.events`), in the caller's thread;
                an error of it is logged once and breaks nothing.
            suspects: Look for what is worth a question to a judge who can read;
                for nothing where there is none.
            span: How many turns detectors look back on, 8 to 1000; `WINDOW` is for the
                default. More where several runs share an engine.
        """
        self._panel = Panel(policy)
        self._suspicion = Suspicion(policy) if suspects else None
        self._emit = Emitter(emit)
        self._trail = Trail(span)
        self._open = OpenCalls()
        self._lines = LineMemory(_NEWS_SPAN)
        self._tally = Tally(policy.budget)
        self._tape = Tape()
        self._turns = 0
        self._since = 0
        self._heard = Heard(_NEWS_SPAN)
        self._nudged = False

    def observe(self, turn: Turn, *, spent: Spent | None = None) -> Assessment:
        """Take the next turn, or the completion of a proposed one.

        Args:
            turn: The turn as observed now.
            spent: What the run has used, this turn included; None: the engine
                counts by itself.
        """
        turn = as_call(turn)
        place = None if turn.is_proposed else self._trail.find_proposal(turn)
        if place is None:
            self._turns += 1
        if (turn.role is Role.USER and not is_report(turn)) or turn.role is Role.SYSTEM:
            return self._told(turn, self._hear(turn))
        seq, place, shown = self._place(turn, place)
        step, changed = self._read(shown, place)
        similarity = self._tape.likeness(step)
        step = self._remember(step, place)
        self._tally.take(turn, failed=step.failed if step.outcome else None)
        meter = Told(spent) if spent else self._tally
        view = View(seq=step.seq, trail=self._trail, meter=meter)
        signals = tuple(self._panel.examine(view, turn))
        assessment = Assessment(
            seq=seq,
            similarity=similarity,
            changed=changed,
            signals=signals,
            suspicion=self._suspicion.examine(view, signals) if self._suspicion else None,
        )
        return self._told(turn, assessment)

    def _place(self, turn: Turn, place: int | None) -> tuple[int, int | None, Turn]:
        """Give the turn's number, which step it completes, and how it is read.

        A tool's turn that answers an open call is read as that call's result.
        """
        if place is not None:
            return self._trail.steps[place].seq, place, turn
        seq = self._number(turn)
        call = self._open.answered_by(turn)
        if call is not None and (answered := self._trail.place_of(call.seq)) is not None:
            return seq, answered, call
        self._open.note(turn, seq)
        return seq, None, turn

    def reset(self) -> None:
        """Start all streaks afresh: a person stepped in, or it was no loop."""
        self._forget()
        self._emit(Reset(why="host"))

    def _told(self, turn: Turn, assessment: Assessment) -> Assessment:
        """Tell the host what was seen, if it listens."""
        if self._emit:
            for event in events_of(turn, assessment):
                self._emit(event)
        return assessment

    def _forget(self) -> None:
        self._panel.forget()
        self._trail.clear()
        self._open.clear()
        self._tally.forgive_failures()
        self._since = self._turns + 1

    def _hear(self, turn: Turn) -> Assessment:
        """Take what a person or the system says; a person resets all streaks."""
        seq = self._number(turn)
        self._tally.take(turn, failed=None)
        if turn.role is Role.USER:
            self._nudged = self._heard.is_nudge(turn.content or "", at=self._turns)
            if not self._nudged:
                self._forget()
                self._emit(Reset(why="user"))
        self._lines.note(turn.content or "", self._turns)
        return Assessment(seq=seq, similarity=0.0, changed=True)

    def _number(self, turn: Turn) -> int:
        return turn.seq if turn.seq is not None else self._turns - 1

    def _read(self, turn: Turn, place: int | None) -> tuple[Step, bool]:
        steps = self._trail.steps
        before = steps if place is None else steps[:place]
        # What the agent wrote itself is entered first: its echo is no news.
        if written := _written(turn):
            self._lines.note("\n".join(written), self._turns)
        news, ever_new = self._lines.weigh(_came_back(turn), self._turns, since=self._since)
        nature = self._panel.nature_of(turn)
        nudged, self._nudged = self._nudged, False
        step = read_step(
            turn,
            seq=self._number(turn),
            news=news,
            before=before,
            nature=nature,
            nudged=nudged,
            verbatim=self._panel.reads_verbatim,
        )
        if step.is_call:
            self._heard.saw_deed()
        if nature and nature.progress_key:
            ever_new = min(ever_new, step.news)
        changed = step.fresh if step.proposed else ever_new >= NEWS or step.acted or step.improved
        return step, changed

    def _remember(self, step: Step, place: int | None) -> Step:
        if place is None:
            self._trail.add(step)
            self._tape.take(step)
            return step
        step.seq = self._trail.steps[place].seq
        self._trail.put(place, step)
        self._tape.put(step)
        return step


def _written(turn: Turn) -> list[str]:
    """Give the texts of several lines that a call holds: files, patches, scripts."""
    texts = texts_in(turn.args) if turn.args else []
    if turn.content and turn.tool is not None:
        texts.append(turn.content)
    return [text for text in texts if "\n" in text]


def _came_back(turn: Turn) -> str:
    if turn.is_proposed:
        return ""
    if turn.tool is None:
        return turn.content or ""
    error, result = turn.error, turn.result
    came = f"{error}\n{result}" if error and result else error or result or ""
    return mask_places(came, turn.args)
