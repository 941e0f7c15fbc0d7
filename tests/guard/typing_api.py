"""The public API as a user's type checker sees it; read by mypy, never run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar, assert_type

import guard
from guard import (
    DEFAULT_POLICY,
    Assessment,
    AsyncSession,
    Budget,
    Engine,
    Kind,
    Phase,
    Policy,
    Role,
    Session,
    Signal,
    Spent,
    ToolNature,
    Turn,
    Usage,
)
from guard.budget import Crossing, nearest
from guard.deciding import AllowPattern, Effect, RunState, decide, is_allowed
from guard.describe import action_class, headline
from guard.detectors import DETECTORS
from guard.detectors.base import Detector
from guard.events import Event, Tripped
from guard.formats import Recording
from guard.judge import Case, Verdict
from guard.judge.heuristics import rule
from guard.judge.nudge import nudge_text
from guard.pricing import price
from guard.reading.normalize import call_text
from guard.redact import redact, redact_json
from guard.replay import Replayed, replay
from guard.wire import Mode

R = TypeVar("R")


def watch_a_run(turn: Turn) -> Signal | None:
    engine = Engine()
    engine = Engine(DEFAULT_POLICY)
    assessment = engine.observe(turn)
    assessment = engine.observe(turn, spent=Spent(usd=Decimal(1), calls=2))
    engine.reset()
    assert_type(Engine.WINDOW, int)
    assert_type(assessment, Assessment)
    assert_type(assessment.score, float)
    assert_type(assessment.changed, bool)
    assert_type(assessment.signals, tuple[Signal, ...])
    return assessment.trip


def build_a_turn() -> Turn:
    usage = Usage(input=1, output=2)
    return Turn(
        role=Role.ASSISTANT,
        tool="Bash",
        args={"command": "ls"},
        usage=usage,
        phase=Phase.PROPOSED,
        files=("a.py",),
        cost_usd=Decimal("0.1"),
    )


def answer(assessment: Assessment) -> tuple[Effect, ...]:
    return decide(RunState(mode=Mode.PAUSE, fix_failed=True), assessment)


def allow(signal: Signal) -> bool:
    assert_type(signal.kind, Kind)
    return is_allowed(signal, [AllowPattern(pattern="Bash *", match="glob")])


def read_a_policy(mapping: Mapping[str, Any]) -> Policy:
    policy = Policy.from_mapping(mapping)
    assert_type(policy.budget, Budget | None)
    assert_type(policy.as_mapping(), dict[str, Any])
    assert_type(nearest(policy.budget, Spent()), Crossing | None)
    return policy


def listen(event: Event) -> str | None:
    return event.signal.detector if isinstance(event, Tripped) else None


def say_what_a_repeat_means(policy: Policy) -> Engine:
    assert_type(policy.nature_of("Bash"), ToolNature | None)
    assert_type(policy.for_run("research").for_step(tool="Bash", agent=None), Policy)
    return Engine(Policy.from_text('extends = "watchful"'), emit=listen)


def nudge(signal: Signal, turns: Sequence[Turn]) -> str:
    return nudge_text(signal, turns)


def judge(case: Case) -> Verdict:
    assert_type(rule(case).fix, str | None)
    return rule(case)


def describe(turn: Turn) -> tuple[str, str, str]:
    return call_text(turn), action_class(turn), headline(turn)


def count_money(usage: Usage, at: datetime) -> Decimal | None:
    return price(usage, model="claude-sonnet-4-5", provider=None, at=at)


def keep_secrets(text: str) -> str:
    assert_type(redact_json({"a": text}), Any)
    return redact(text)


def look_back(recording: Recording) -> Replayed:
    return replay(recording, DEFAULT_POLICY)


@guard.watch
def read_file(path: str, *, most: int = 10) -> bytes:
    return path.encode()[:most]


@guard.watch(tool="Bash", args=["command"], append=True)
async def run_command(command: str) -> str:
    return command


@guard.watch("fix-auth", goal="Make the tests pass", outbox=False)
def loop(steps: int) -> Iterator[bytes]:
    yield from (read_file(str(step), most=steps) for step in range(steps))


def pass_on(tool: Callable[[str], R]) -> Callable[[str], R]:
    return tool


async def watch_by_name() -> None:
    assert_type(read_file("a.py", most=3), bytes)
    assert_type(await run_command("ls"), str)
    assert_type(loop(3), Iterator[bytes])
    with guard.watch("fix-auth", agent="coder") as session:
        assert_type(session, Session)
    async with guard.watch("fix-auth") as waiting:
        assert_type(waiting, AsyncSession)
    assert_type(pass_on(run_command), Callable[[str], Coroutine[Any, Any, str]])


assert_type(DETECTORS, dict[str, type[Detector]])
