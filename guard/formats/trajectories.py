"""Trajectories that harnesses write: ATIF and SWE-agent documents, OpenHands' events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from guard.formats.fields import (
    read_args,
    read_content,
    read_count,
    read_mapping,
    read_rows,
    read_text,
    read_time,
    read_turn,
)
from guard.formats.recording import PairedTurns
from guard.pricing import read_dollars
from guard.turn import Role, Turn, Usage

Row = Mapping[str, Any]

_WORDS = frozenset({"message", "system", "think", "recall", "finish"})
_EVENTS = ("action", "observation")
_PASSED_OVER = frozenset({"change_agent_state", "null", "recall", "system"})


def recognises(rows: Sequence[Row]) -> bool:
    """Return whether an early row is a trajectory or one of its events."""
    return any(
        _is_atif(row)
        or _is_swe_agent(row)
        or ("source" in row and any(isinstance(row.get(name), str) for name in _EVENTS))
        for row in rows[:3]
    )


def _is_atif(row: Row) -> bool:
    return str(row.get("schema_version")).startswith("ATIF") and isinstance(row.get("steps"), list)


def _is_swe_agent(row: Row) -> bool:
    steps = read_rows(row.get("trajectory"))
    return bool(steps) and "action" in steps[0] and "observation" in steps[0]


class Reader(PairedTurns):
    """Reads the steps, actions or events of one trajectory."""

    def take(self, row: Row) -> None:
        if _is_atif(row):
            self.session = self.session or read_text(row.get("session_id"))
            for step in read_rows(row.get("steps")):
                self._take_step(step)
        elif _is_swe_agent(row):
            for step in read_rows(row.get("trajectory")):
                action = (read_text(step.get("action")) or "").strip()
                thought = read_text(step.get("thought")) or read_text(step.get("response"))
                observed = read_text(step.get("observation")) or ""
                turn = Turn(role=Role.ASSISTANT, content=thought)
                called = replace(turn, tool="bash", args={"command": action}, result=observed)
                self.add(called if action else turn)
        else:
            self._take_event(row)

    def _take_step(self, step: Row) -> None:
        """Take a step of an ATIF trajectory."""
        role = {"agent": "assistant"}.get(str(step.get("source")), step.get("source"))
        turn = read_turn({"role": role, "content": step.get("message")})
        if turn is None:
            return
        turn = replace(
            turn, model=read_text(step.get("model_name")), ts=read_time(step.get("timestamp"))
        )
        if isinstance(metrics := step.get("metrics"), dict):
            cached = read_count(metrics.get("cached_tokens"))
            # ATIF's input includes cached tokens, `Usage.input` does not.
            usage = Usage(
                input=max(0, read_count(metrics.get("prompt_tokens")) - cached),
                cache_read=cached,
                output=read_count(metrics.get("completion_tokens")),
            )
            turn = replace(turn, usage=usage, cost_usd=read_dollars(metrics.get("cost_usd")))
        calls = read_rows(step.get("tool_calls"))
        if not calls:
            self.add(turn)
        for number, call in enumerate(calls):
            # Text and usage of a model call belong to its first tool call only.
            base = turn if number == 0 else replace(turn, content=None, usage=None, cost_usd=None)
            tool = read_text(call.get("function_name")) or "unknown"
            args = read_args(call.get("arguments"))
            key = read_text(call.get("tool_call_id"))
            self.add(replace(base, key=key, tool=tool, args=args), call=key)
        for result in read_rows(read_mapping(step.get("observation")).get("results")):
            key = read_text(result.get("source_call_id"))
            # Some harnesses omit the id if there was only one call.
            self._put(key or (str(calls[0].get("tool_call_id")) if calls else None), result)

    def _take_event(self, event: Row) -> None:
        """Take an action or an observation of OpenHands."""
        action = read_text(event.get("action"))
        if action is None:
            self._put(str(event.get("cause")), event)
            return
        args = dict(read_mapping(event.get("args")))
        if action in _PASSED_OVER:
            return
        # Not an argument: a different thought does not make a different call.
        thought = read_text(args.pop("thought", None)) or None
        at = read_time(event.get("timestamp"))
        role = Role.USER if event.get("source") == "user" else Role.ASSISTANT
        if action in _WORDS:
            words = thought or read_text(args.get("content")) or read_text(event.get("message"))
            self.add(Turn(role=role, content=words or "", ts=at))
            return
        # OpenHands writes every option of an action; unset ones carry no information.
        given = {name: value for name, value in args.items() if value not in (None, "", False)}
        tool = "bash" if action == "run" else action
        turn = Turn(role=role, tool=tool, args=given, content=thought, ts=at)
        self.add(turn, call=str(event.get("id")))

    def _put(self, key: str | None, answer: Row) -> None:
        text = read_content(answer.get("content")) or ""
        # Depending on OpenHands' version, the exit code is in the extras or in their metadata.
        extras = read_mapping(answer.get("extras"))
        code = (read_mapping(extras.get("metadata")) or extras).get("exit_code")
        # -1: the command is still running.
        failed = answer.get("observation") == "error" or (isinstance(code, int) and code > 0)
        self.answer(key or "", text, failed=failed)
