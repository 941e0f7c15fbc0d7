"""Recorded runs through the engine, no server: what would have been flagged?

It plays mode `pause` with the local judge, where nobody answers and the agent goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from guard import deciding
from guard.contrib.embedding import check_installed
from guard.deciding import Action, Card, Control, Effect, RunState, TurnFacts
from guard.engine import Engine
from guard.errors import GuardError, PolicyInvalid
from guard.formats import Recording, read_recording
from guard.judge import Judge, Verdict
from guard.judge.run_judge import RunJudge
from guard.policy import DEFAULT_POLICY, PRESETS, Policy, parse
from guard.pricing import price_turns
from guard.printing import table
from guard.signals import Assessment, Signal
from guard.turn import Turn
from guard.wire import Mode

# The server's variable, so that the server's judge can be tried here.
KEY_VARIABLE = "MISSIONCONTROL_JUDGE_KEY"

# The states given to `decide`: a run without a card, and one whose card nobody answers.
FREE = RunState(mode=Mode.PAUSE, has_judge=True)
HELD = RunState(mode=Mode.PAUSE, control=Control.HELD, card=Card.ASKS)

COLUMNS = ("run", "turns", "alarm at", "detector", "let go", "cost $", "wasted $", "us/turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A card that would open.

    Attributes:
        index: Position of the turn.
        signal: What opens it.
        until: Position of the turn at which the agent got on by itself; None: never.
    """

    index: int
    signal: Signal
    until: int | None = None

    def as_row(self) -> dict[str, Any]:
        """Return the fields of one alarm, as `--json` prints them."""
        signal = self.signal
        return {"index": self.index, "detector": signal.detector, "kind": signal.kind.value}


@dataclass(slots=True, kw_only=True)
class ReplayedTurn:
    """A replay just after one turn; the engine's memory changes with the next one.

    Attributes:
        position: Where the turn stands in the file.
        us: CPU microseconds that the engine took for it.
        was_open: A card was open before it.
        opens: The signal that opens a card now.
        dismissed: The trip at which the judge let the agent go.
        verdict: What the judge said of the trip, where it was asked.
        stops: The policy would end the run here.
        closes: The agent got on by itself, so the open card closes.
    """

    position: int
    turn: Turn
    assessment: Assessment
    us: float
    was_open: bool
    opens: Signal | None = None
    dismissed: Signal | None = None
    verdict: Verdict | None = None
    stops: bool = False
    closes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What the engine would have done with one run.

    Attributes:
        run: Its name.
        moments: Each turn that could be read, and what followed.
        alarms: Every alarm. The next card opens only after the agent has brought something
            new, as if a person had let it go on then.
        cost_usd: What the run cost; None: unpriced.
        wasted_usd: What it cost from the first turn of the alarm's evidence
            until the agent next brought something new, or to the end; 0 without
            an alarm, None where the cost is not known.
        judge_calls: How often a model was asked, if one judges.
        judge_cost_usd: What that cost; None: a call has no price.
        fallback_rulings: How often the local judge ruled in the model's place.
    """

    run: str
    moments: tuple[ReplayedTurn, ...]
    alarms: tuple[Alarm, ...]
    cost_usd: Decimal | None
    wasted_usd: Decimal | None
    judge_calls: int = 0
    judge_cost_usd: Decimal | None = None
    fallback_rulings: int = 0

    @property
    def turns(self) -> int:
        """How many turns could be read."""
        return len(self.moments)

    @property
    def us(self) -> tuple[float, ...]:
        """CPU microseconds that the engine took, turn by turn."""
        return tuple(moment.us for moment in self.moments)

    @property
    def us_per_turn(self) -> float:
        """CPU microseconds per turn, on average."""
        return sum(self.us) / max(1, self.turns)

    @property
    def first_alarm(self) -> int | None:
        """Position of the first turn at which a card would open."""
        return self.alarms[0].index if self.alarms else None

    @property
    def alarm(self) -> Signal | None:
        """The signal that opens that card."""
        return self.alarms[0].signal if self.alarms else None

    @property
    def detector(self) -> str | None:
        """The rule that gave that signal."""
        return self.alarm.detector if self.alarm else None

    @property
    def kind(self) -> str | None:
        """The kind of loop that the signal names."""
        return self.alarm.kind.value if self.alarm else None

    @property
    def first_stop(self) -> int | None:
        """Position of the first turn answered with `stop`.

        None unless the policy stops runs by itself.
        """
        return next((moment.position for moment in self.moments if moment.stops), None)

    @property
    def dismissed(self) -> list[dict[str, Any]]:
        """Every trip that the judge dismissed, so that no card opened, and why."""
        return [
            {
                "index": moment.position,
                "detector": moment.dismissed.detector,
                "judge": moment.verdict.judge,
                "reason": moment.verdict.reason,
            }
            for moment in self.moments
            if moment.dismissed and moment.verdict
        ]

    def as_cells(self) -> tuple[str, ...]:
        """Return the row of one run, as the table shows it under `COLUMNS`."""
        return (
            self.run,
            str(self.turns),
            "-" if self.first_alarm is None else str(self.first_alarm),
            self.detector or "-",
            # Trips that the judge dismissed: `--json` says why, `guard explain --turn` shows each.
            str(len(self.dismissed)),
            dollars_text(self.cost_usd) or "-",
            dollars_text(self.wasted_usd) or "-",
            f"{self.us_per_turn:.0f}",
        )

    def as_row(self) -> dict[str, Any]:
        """Return the row of one run, as `--json` prints it."""
        cost = dollars_text(self.judge_cost_usd)
        judged = {"judge_calls": self.judge_calls, "judge_cost_usd": cost}
        return {
            "run": self.run,
            "turns": self.turns,
            "first_alarm": self.first_alarm,
            "first_stop": self.first_stop,
            "detector": self.detector,
            "kind": self.kind,
            "cost_usd": dollars_text(self.cost_usd),
            "wasted_usd": dollars_text(self.wasted_usd),
            "us_per_turn": round(self.us_per_turn, 1),
            "alarms": [alarm.as_row() for alarm in self.alarms],
            # Only if there are any, so that a row without them stays as it is.
            **({"dismissed": self.dismissed} if self.dismissed else {}),
            **(judged if self.judge_calls else {}),
        }


def made_progress(turn: Turn, assessment: Assessment) -> bool:
    """Return whether the agent got on by itself: an unanswered card stays open until then."""
    # A message is only talk, and a call without its answer has brought nothing yet.
    is_news = assessment.changed and assessment.trip is None
    return is_news and turn.tool is not None and not turn.is_proposed


def replay_turns(
    recording: Recording,
    engine: Engine,
    judge: RunJudge,
    *,
    closes: Callable[[Turn, Assessment], bool] = made_progress,
) -> Iterator[ReplayedTurn]:
    """Play a run's turns as on a server where nobody answers the cards.

    `closes` decides when an open card closes. It is then as if a person had let the agent go
    on: the next card opens on later turns.
    """
    seen, is_open = dict[int, Turn](), False
    for position, turn in enumerate(recording.turns):
        if turn is None:
            continue
        # CPU time of this thread: other work on the machine is not the engine's cost.
        started = time.thread_time_ns()
        assessment = engine.observe(turn)
        us = (time.thread_time_ns() - started) / 1000
        # By `seq`, so that a judge finds the turns that a signal names.
        seen[assessment.seq] = turn
        moment = ReplayedTurn(
            position=position, turn=turn, assessment=assessment, us=us, was_open=is_open
        )
        if is_open and closes(turn, assessment):
            moment.closes = True
        else:
            _apply_signals(moment, judge, seen)
        yield moment
        is_open = not moment.closes and (is_open or moment.opens is not None)
        # After a dismissal too: without a fresh start the next turn would trip again.
        if moment.closes or moment.dismissed:
            engine.reset()


def _apply_signals(moment: ReplayedTurn, judge: RunJudge, seen: Mapping[int, Turn]) -> None:
    """Apply what a turn's signals lead to in mode `pause`, with or without an open card."""
    judged = TurnFacts(assessment=moment.assessment)
    for effect in deciding.judge(HELD if moment.was_open else FREE, judged):
        if not isinstance(effect, Effect) or effect.action.is_quiet:
            continue
        action, signal = effect
        if action is Action.QUESTION:
            if judge.confirms_suspicion(signal, seen, at=moment.position):
                moment.opens = signal
            continue
        if not moment.was_open:
            moment.verdict = judge.rule_on(signal, seen)
            if moment.verdict is not None and not moment.verdict.loop:
                moment.dismissed = signal
                continue
            moment.opens = signal
        moment.stops = action is Action.STOP


def replay(
    recording: Recording, policy: Policy = DEFAULT_POLICY, judge: Judge | None = None
) -> Replayed:
    """Run a recording through a fresh engine and a judge; None: the local one."""
    run_judge = RunJudge(policy, judge, workspace=recording.workspace, goal=recording.goal)
    engine = Engine(policy, suspects=run_judge.has_model)
    moments = tuple(replay_turns(recording, engine, run_judge))
    alarms: list[Alarm] = []
    for moment in moments:
        if moment.opens is not None:
            alarms.append(Alarm(index=moment.position, signal=moment.opens))
        elif moment.closes:
            alarms[-1] = replace(alarms[-1], until=moment.position)
    prices = price_turns(recording.turns)
    # A single turn without a price counts as 0; if no turn has one, the cost is unknown.
    is_priced = any(price is not None for price in prices)
    costs = [price or Decimal(0) for price in prices] if is_priced else None
    wasted = None if costs is None else Decimal(0)
    if costs is not None and alarms:
        # From where the repeats began: the alarm comes later, and the turns before it were wasted
        # too.
        start = min(alarms[0].signal.turns, default=alarms[0].index)
        wasted = sum(costs[start : alarms[0].until], Decimal(0))
    return Replayed(
        run=recording.run,
        moments=moments,
        alarms=tuple(alarms),
        cost_usd=None if costs is None else sum(costs, Decimal(0)),
        wasted_usd=wasted,
        judge_calls=len(run_judge.calls),
        # The local judge is free, which is not the same as $0 spent on a model.
        judge_cost_usd=run_judge.cost_usd if judge else None,
        fallback_rulings=run_judge.fallback_rulings,
    )


def dollars_text(amount: Decimal | None) -> str | None:
    """Return dollars as a decimal string; None: not known."""
    return None if amount is None else f"{amount:f}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    add_policy_arguments(parser)
    say = parser.add_argument
    say("--task-type", metavar="T", help="read the policy as for runs of this type")
    say("--json", action="store_true", help="one JSON line a run")
    add_judge_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Replay each file; 2 for a wrong policy, 1 if a file could not be read."""
    try:
        policy = choose_policy(args.preset, args.policy).for_run(args.task_type)
        judge = choose_judge(args.judge, args.judge_model)
    except GuardError as error:
        sys.stderr.write(f"guard replay: {error}\n")
        return 2
    status, rows = 0, []
    for path in args.files:
        try:
            recording = read_recording(path)
        # One unreadable file must not keep the others from being replayed.
        except GuardError as error:
            sys.stderr.write(f"guard replay: {error}\n")
            status = 1
            continue
        # Reported, but replayed: a transcript that breaks off within a line is still a run.
        if recording.malformed:
            sys.stderr.write(f"guard replay: {path}: {recording.malformed} unreadable lines\n")
        replayed = replay(recording, policy, judge)
        if args.json:
            sys.stdout.write(json.dumps(replayed.as_row()) + "\n")
        rows.append(replayed)
    if not args.json:
        sys.stdout.write(table(COLUMNS, [row.as_cells() for row in rows]))
    if judge is not None:
        # On standard error, so that a pipe gets only the rows.
        calls = sum(row.judge_calls for row in rows)
        costs = [row.judge_cost_usd for row in rows if row.judge_calls]
        known = [cost for cost in costs if cost is not None]
        total = f"${sum(known, Decimal(0)):f}" if len(known) == len(costs) else "unpriced"
        fallback_rulings = sum(row.fallback_rulings for row in rows)
        sys.stderr.write(
            f"guard replay: the judge was asked {calls} times, {total}; "
            f"the local one stood in {fallback_rulings} times\n"
        )
    return status


def add_policy_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that `choose_policy` reads."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--preset", metavar="NAME", help=f"one of: {', '.join(PRESETS)}")
    which.add_argument("--policy", type=Path, metavar="FILE", help="a policy, JSON or TOML")


def add_judge_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the judge's options; the key is none of them, since other users could read it."""
    say = parser.add_argument
    say("--judge", metavar="URL", help=f"an OpenAI-compatible endpoint; its key in {KEY_VARIABLE}")
    say("--judge-model", metavar="M", help="the model's name there")


def choose_judge(url: str | None, model: str | None) -> Judge | None:
    """Return the model that the command line names; None: the local judge.

    Raises:
        PolicyInvalid: a URL without a model, a model without a URL, or no http(s) address.
    """
    if url is None and model is None:
        return None
    # With only one of the two, the local judge would silently be used instead.
    if not url or not model:
        raise PolicyInvalid("judge", "--judge URL together with --judge-model M", model or "")
    # The client is loaded only when a model is named.
    from guard.judge.llm import JudgeModel, LLMJudge

    try:
        return LLMJudge(JudgeModel(url=url, model=model, key=os.environ.get(KEY_VARIABLE, "")))
    except ValueError as error:
        raise PolicyInvalid("judge", "an http(s) address without a key in it", model) from error


def choose_policy(preset: str | None, path: Path | None) -> Policy:
    """Return the policy that the command line names: a preset, a file, or the default.

    Raises:
        PolicyInvalid: there is no such preset, or the file is wrong.
    """
    return Policy.from_mapping({"preset": preset}) if path is None else read_policy(path)


def read_policy(path: Path) -> Policy:
    """Read a policy from a JSON or TOML file.

    Raises:
        PolicyInvalid: the file cannot be read, or a field is wrong.
    """
    try:
        values = parse(path.read_text())
    except (OSError, UnicodeError) as error:
        raise PolicyInvalid("policy", "a readable file", str(path)) from error
    policy = Policy.from_mapping(values)
    # Check now: at the first turn, hashing would replace a missing embedding with only a warning.
    check_installed(values)
    return policy
