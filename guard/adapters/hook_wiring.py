"""How a hook is wired, told by its own request: one header, written by `guard connect`.

The server cannot see an agent's settings. What they say of waiting and of failing
travels with each request, so that cards never promise what the settings do not keep.
"""

from __future__ import annotations

from dataclasses import dataclass

HEADER = "X-MissionControl-Hook"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookWiring:
    """What one hook request says of its wiring; empty where it says nothing.

    Attributes:
        via: "http" (the agent asks by itself) or "command" (our forwarder asks).
        fail: "open" or "closed": what happens to a call while the server is away.
        timeout_s: Seconds after which the agent gives up on this hook.
        entry: How the agent was started, in its own word: "cli", "sdk-cli".
        defer_s: Seconds of holding after which a headless session is parked.
        answer_s: Seconds that the hook of a permission question waits for an answer; None:
            it only reports.
    """

    via: str = ""
    fail: str = ""
    timeout_s: float | None = None
    entry: str = ""
    defer_s: float | None = None
    answer_s: float | None = None

    @property
    def is_headless(self) -> bool:
        """No person sits at it: its process may end and be resumed."""
        # Claude Code's own word for `claude -p` and its SDKs.
        return self.entry == "sdk-cli"

    @classmethod
    def read(cls, header: str) -> HookWiring:
        """Read the header's text; what cannot be read is as if unsaid.

        >>> HookWiring.read("via=http; fail=closed; timeout=3900; entry=cli").timeout_s
        3900.0
        """
        # Names that are not known are passed over: a newer forwarder may say more.
        parts = (part.partition("=") for part in header.split(";"))
        fields = {name.strip(): value.strip() for name, _, value in parts}
        return cls(
            via=fields.get("via", ""),
            fail=fields.get("fail", ""),
            timeout_s=_seconds(fields.get("timeout")),
            entry=fields.get("entry", ""),
            defer_s=_seconds(fields.get("defer")),
            answer_s=_seconds(fields.get("answer")),
        )

    def headers(self) -> dict[str, str]:
        """Write it as a request's header."""
        return {HEADER: self.header()}

    def header(self) -> str:
        """Write it as the header's text.

        >>> HookWiring(via="command", fail="open", timeout_s=3900, entry="cli").header()
        'via=command; fail=open; timeout=3900; entry=cli'
        """
        fields = {
            "via": self.via,
            "fail": self.fail,
            "timeout": "" if self.timeout_s is None else f"{self.timeout_s:g}",
            "entry": self.entry,
            "defer": "" if self.defer_s is None else f"{self.defer_s:g}",
            "answer": "" if self.answer_s is None else f"{self.answer_s:g}",
        }
        return "; ".join(f"{name}={value}" for name, value in fields.items() if value)


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    # float() reads "inf" and "nan", too.
    return seconds if 0 < seconds < float("inf") else None
