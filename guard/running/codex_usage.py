"""Which turn pays for which model call, as the app-server tells them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from guard.adapters.reading import mapping, text, whole
from guard.formats.codex import PROVIDER, usage_of
from guard.turn import Role, Turn, Usage

WITHOUT_TURN = "Codex asked its model, and nothing came of it that it tells."


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What one model call used; `call_id` names it."""

    call_id: str
    usage: Usage
    model: str | None = None

    def on(self, turn: Turn) -> Turn:
        """Have a turn carry it."""
        return replace(
            turn, call_id=self.call_id, usage=self.usage, model=self.model, provider=PROVIDER
        )


def read_usage_update(params: Mapping[str, Any]) -> Used:
    """Read what the last model call used, of `thread/tokenUsage/updated`.

    It has no id: what its thread had used after it names it, for that only grows.

    >>> counts = {"totalTokens": 1542, "inputTokens": 1500, "cachedInputTokens": 1000}
    >>> used = read_usage_update({"turnId": "t", "tokenUsage": {"last": counts, "total": counts}})
    >>> used.call_id, used.usage.input, used.usage.cache_read
    ('t:1542', 500, 1000)
    """
    use = mapping(params.get("tokenUsage"))
    last, total = mapping(use.get("last")), mapping(use.get("total"))
    counts = {
        "input_tokens": last.get("inputTokens"),
        "cached_input_tokens": last.get("cachedInputTokens"),
        "cache_write_input_tokens": last.get("cacheWriteInputTokens"),
        "output_tokens": last.get("outputTokens"),
        "reasoning_output_tokens": last.get("reasoningOutputTokens"),
    }
    name = f"{text(params, 'turnId')}:{whole(total.get('totalTokens')) or 0}"
    return Used(call_id=name, usage=usage_of(counts))


class Ledger:
    """Joins turns with the model calls behind them.

    A call's use is told just after what came of it, so the agent's last turns wait
    for it; each call answers the turns that are complete.
    """

    def __init__(self) -> None:
        self._waiting: list[Turn] = []
        # What was used before any turn waited for it.
        self._unpaid: list[Used] = []

    def turn(self, turn: Turn | None) -> list[Turn]:
        """Take a turn, if it is one."""
        if turn is None:
            return []
        # A person's words cost nothing, and what waits stands before them.
        if turn.role is Role.USER:
            return [*self._flush(), turn]
        self._waiting.append(turn)
        return self.used(self._unpaid.pop(0)) if self._unpaid else []

    def used(self, used: Used) -> list[Turn]:
        """Take what a model call used."""
        if not self._waiting:
            self._unpaid.append(used)
            return []
        # On the first: one model call may have led to several, and is counted once.
        self._waiting[0] = used.on(self._waiting[0])
        return self._flush()

    def rest(self) -> list[Turn]:
        """Give what still waits; use that no turn carried is told apart."""
        unpaid, self._unpaid = self._unpaid, []
        alone = (
            used.on(Turn(role=Role.ASSISTANT, key=f"use:{used.call_id}", content=WITHOUT_TURN))
            for used in unpaid
        )
        return [*self._flush(), *alone]

    def _flush(self) -> list[Turn]:
        waiting, self._waiting = self._waiting, []
        return waiting
