"""What can really be done to an agent: the same words for adapters, server and screen.

An adapter reports its capabilities when it opens a run, and again when it learns more. An absent
one counts as a yes: an agent that does not mention `terminate` gets the button. Meaning and shapes:
docs/protocol.md, *Capabilities*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from guard.formats.fields import read_enum


class InjectAt(StrEnum):
    """When a text reaches the model, soonest first."""

    NOW = "now"
    AT_NEXT_TOOL = "at_next_tool"
    AT_STOP = "at_stop"
    WHEN_IDLE = "when_idle"


class EndBy(StrEnum):
    """What ends the agent: its own hook's answer, a signal, our SDK's exception, or nothing."""

    HOOK = "hook"
    SIGNAL = "signal"
    SDK = "sdk"
    NOT = "not"


class WhenAway(StrEnum):
    """What becomes of a held call when the server goes away: it waits, runs or is blocked."""

    WAITS = "waits"
    RUNS = "runs"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What one agent can do, as far as its adapter reported it.

    Attributes:
        hold: It can be made to wait before a tool runs.
        inject: When a text reaches its model, soonest first; None: not reported, (): never.
        terminate: What ends it; None: not reported.
        cost: Where its token counts come from: "otlp", "turns", "transcript", "events",
            "not"; None: not reported.
        away: What becomes of a held call when the server goes away; None: not reported.
        patience_s: How many seconds at most it waits for an answer; None: without a limit.
        why: Capability -> a sentence for people on why it is missing.
    """

    # The default is yes: an SDK that reports nothing asks before each call.
    hold: bool = True
    inject: tuple[InjectAt, ...] | None = None
    terminate: EndBy | None = None
    cost: str | None = None
    away: WhenAway | None = None
    patience_s: float | None = None
    why: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, report: Mapping[str, Any]) -> Capabilities:
        """Read an adapter's report; unknown words count as not reported.

        >>> Capabilities.read({"hold": False, "inject": ["at_stop", "now"], "terminate": "not"})
        ... # doctest: +ELLIPSIS
        Capabilities(hold=False, inject=(<InjectAt.NOW: 'now'>, <InjectAt.AT_STOP...
        >>> Capabilities.read({"inject": False, "terminate": None}).unavailable("codex")
        ... # doctest: +ELLIPSIS
        {'terminate': 'codex cannot be ended from here.', 'inject': 'codex takes no text...
        """
        why, cost = report.get("why"), report.get("cost")
        # An absent field reads as True, which is not one of the words: not reported, not a no.
        end = report.get("terminate", True)
        patience: Any = report.get("patience_s")
        # "No" has two forms: a word of ours, or JSON's false.
        terminate = EndBy.NOT if end in (False, None) else read_enum(end, EndBy)
        inject = report.get("inject", True)
        inject = () if inject in (False, None) else [inject] if isinstance(inject, str) else inject
        known: tuple[InjectAt, ...] | None = None
        if isinstance(inject, list | tuple):
            known = tuple(moment for moment in InjectAt if moment.value in inject)
            # If all words are unknown, nothing is reported; an empty list means never.
            known = known if known or not inject else None
        # In Python a bool is an int, but it is not a number of seconds.
        is_number = isinstance(patience, int | float) and not isinstance(patience, bool)
        return cls(
            hold=report.get("hold", True) is not False,
            inject=known,
            terminate=terminate,
            cost=cost if isinstance(cost, str) else None,
            away=read_enum(report.get("away"), WhenAway),
            patience_s=float(patience) if is_number and patience > 0 else None,
            why={str(k): str(v) for k, v in why.items()} if isinstance(why, Mapping) else {},
        )

    def as_mapping(self) -> dict[str, Any]:
        """Return what was reported, in the form of `POST runs/`."""
        report: dict[str, Any] = {"hold": self.hold}
        if self.inject is not None:
            report["inject"] = [moment.value for moment in self.inject]
        words = {"terminate": self.terminate, "cost": self.cost, "away": self.away}
        report |= {name: str(word) for name, word in words.items() if word is not None}
        if self.patience_s is not None:
            report["patience_s"] = self.patience_s
        return report | ({"why": dict(self.why)} if self.why else {})

    @property
    def takes_text(self) -> bool:
        """Whether a text can reach the model at all."""
        return self.inject is None or bool(self.inject)

    @property
    def can_end(self) -> bool:
        """Whether the agent can be ended from here."""
        return self.terminate is not EndBy.NOT

    def unavailable(self, agent: str) -> dict[str, str]:
        """Return the actions that are impossible for this agent, each with the reason."""
        who, refused = agent or "This agent", {}
        if not self.can_end:
            refused["terminate"] = self._reason("terminate", f"{who} cannot be ended from here.")
        if not self.takes_text:
            reason = self._reason("inject", f"{who} takes no text from here.")
            # "Finish" is also sent as a text.
            refused["inject"] = refused["finish"] = reason
        if not self.hold:
            refused["pause"] = self._reason("hold", f"{who} cannot be held.")
        return refused

    def _reason(self, capability: str, otherwise: str) -> str:
        return self.why.get(capability) or otherwise
