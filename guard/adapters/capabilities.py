"""What can truly be done to an agent: one vocabulary for adapters, server and screen.

An adapter reports it when it opens a run and again when it learns more. Silence means
it can: an agent that says nothing of `terminate` gets the button. Meaning and shapes:
docs/protocol.md, *Capabilities*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from guard.formats.fields import read_word


class InjectAt(StrEnum):
    """When a text reaches the model, soonest first."""

    NOW = "now"
    AT_NEXT_TOOL = "at_next_tool"
    AT_STOP = "at_stop"
    WHEN_IDLE = "when_idle"


class EndBy(StrEnum):
    """What ends the agent: its own hook's answer, a signal, our SDK's exception, nothing."""

    HOOK = "hook"
    SIGNAL = "signal"
    SDK = "sdk"
    NOT = "not"


class WhenAway(StrEnum):
    """What becomes of a held call when the server goes away: it waits on, runs, is blocked."""

    WAITS = "waits"
    RUNS = "runs"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What one agent can do, as far as its adapter said so.

    Attributes:
        hold: It can be made to wait before a tool runs.
        inject: When a text reaches its model, soonest first; None: unsaid, () : never.
        terminate: What ends it; None: unsaid.
        cost: Where its token counts come from: "otlp", "turns", "transcript", "events",
            "not"; None: unsaid.
        away: What becomes of a held call when the server goes away; None: unsaid.
        patience_s: Seconds it waits for an answer at most; None: as long as it takes.
        why: Capability -> a sentence for the person on why it is not there.
    """

    # Silence means yes: an SDK that says nothing of itself asks before each call.
    hold: bool = True
    inject: tuple[InjectAt, ...] | None = None
    terminate: EndBy | None = None
    cost: str | None = None
    away: WhenAway | None = None
    patience_s: float | None = None
    why: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, report: Mapping[str, Any]) -> Capabilities:
        """Read what an adapter told; a word we do not know is as if it were unsaid.

        >>> Capabilities.read({"hold": False, "inject": ["at_stop", "now"], "terminate": "not"})
        ... # doctest: +ELLIPSIS
        Capabilities(hold=False, inject=(<InjectAt.NOW: 'now'>, <InjectAt.AT_STOP...
        >>> Capabilities.read({"inject": False, "terminate": None}).unavailable("codex")
        ... # doctest: +ELLIPSIS
        {'terminate': 'codex cannot be ended from here.', 'inject': 'codex takes no text...
        """
        why, cost = report.get("why"), report.get("cost")
        # True is no word: so an absent one is unsaid, and not a no.
        end = report.get("terminate", True)
        patience: Any = report.get("patience_s")
        # "No" is said in two ways: by a word of ours, or as JSON says it.
        terminate = EndBy.NOT if end in (False, None) else read_word(end, EndBy)
        inject = report.get("inject", True)
        inject = () if inject in (False, None) else [inject] if isinstance(inject, str) else inject
        known: tuple[InjectAt, ...] | None = None
        if isinstance(inject, list | tuple):
            known = tuple(moment for moment in InjectAt if moment.value in inject)
            # Words that are all new to us are unsaid; to say none is to say never.
            known = known if known or not inject else None
        # A bool is an int for Python, and no number of seconds.
        is_number = isinstance(patience, int | float) and not isinstance(patience, bool)
        return cls(
            hold=report.get("hold", True) is not False,
            inject=known,
            terminate=terminate,
            cost=cost if isinstance(cost, str) else None,
            away=read_word(report.get("away"), WhenAway),
            patience_s=float(patience) if is_number and patience > 0 else None,
            why={str(k): str(v) for k, v in why.items()} if isinstance(why, Mapping) else {},
        )

    def as_mapping(self) -> dict[str, Any]:
        """Write what was said, in the form `POST runs/` takes."""
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
        """A text can reach the model at all."""
        return self.inject is None or bool(self.inject)

    @property
    def can_end(self) -> bool:
        """The agent can be ended from here."""
        return self.terminate is not EndBy.NOT

    def unavailable(self, agent: str) -> dict[str, str]:
        """Name the actions that cannot be done to this agent, each with the reason."""
        who, refused = agent or "This agent", {}
        if not self.can_end:
            refused["terminate"] = self._reason("terminate", f"{who} cannot be ended from here.")
        if not self.takes_text:
            reason = self._reason("inject", f"{who} takes no text from here.")
            # To finish is asked by a text as well.
            refused["inject"] = refused["finish"] = reason
        if not self.hold:
            refused["pause"] = self._reason("hold", f"{who} cannot be held.")
        return refused

    def _reason(self, capability: str, otherwise: str) -> str:
        return self.why.get(capability) or otherwise
