"""Many runs at once before the browser's eyes, and names nobody would choose."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.contract.conversation import Caller, a_turn

HOSTILE = {
    "script": '<script>window.owned=1</script><img src=x onerror="window.owned=1">',
    "right-to-left": "invoice\u202egpj.exe\u2066 \u202e\u202d end",
    "long": "x" * 10_000,
    "zero-width": "a\u200bb\u200cc\u200dd\ufeff" * 40,
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈" * 60,
    "zalgo": "h\u0351\u0352\u0353e\u0310\u0311l\u0334\u0335p\u0336" * 60,
    "lines": "one\ntwo\r\nthree\u2028four\ttab",
}


@dataclass(frozen=True)
class Crowd:
    """Runs that were opened together, and who speaks for them."""

    agent: Caller
    ids: list[str]

    @classmethod
    def of(cls, agent: Caller, count: int, *, name: str = "crowd") -> Crowd:
        """Open so many runs, four at a time."""
        names = [f"{name} {number:04}" for number in range(count)]
        with ThreadPoolExecutor(4) as pool:
            return cls(agent, list(pool.map(lambda one: agent.open_run(name=one), names)))

    def work(self, turns: int = 1) -> None:
        """Have every run tell some turns that cost something; nobody waits for verdicts."""

        def tell(pair: tuple[int, str]) -> None:
            number, run = pair
            batch = [a_turn(f"cat {number}-{n}", cost_usd="0.01") for n in range(turns)]
            self.agent.post_turns(run, *batch, wait=None)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(tell, enumerate(self.ids)))

    def end(self) -> None:
        """Have all of them completed."""

        def close(run: str) -> None:
            self.agent.ask("PATCH", f"/api/v1/runs/{run}/", {"status": "completed"})

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(close, self.ids))
