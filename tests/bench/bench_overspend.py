"""Over-spend of a project's budget by 64 agents at once, against a real `up`.

Run `uv run python -m tests.bench.bench_overspend`; prints JSON. `DATABASE_URL` chooses
PostgreSQL. Each agent is an SDK session in a thread of its own that makes a model call
of $0.10, proposes a tool call, runs it, again, until it is held. What counts is
`overspent_calls` beside `in_flight_when_crossed`.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.contract.conversation import an_agent_of, the_person_of
from tests.faults.spenders import PRICE, Spree
from tests.installations import ROOT, an_installation

AGENTS = int(os.environ.get("BENCH_AGENTS", "64"))
CALLS = int(os.environ.get("BENCH_CALLS", "640"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))


def one_round(place: Path, number: int) -> dict[str, Any]:
    """Spend one project's budget from nothing to the hold of every agent."""
    with an_installation(place / f"data{number}") as running:
        agent = an_agent_of(running)
        person = the_person_of(running)
        ceiling = CALLS * PRICE
        budgets = {"budgets": {"project": {"usd": str(ceiling)}}}
        assert person.ask("PATCH", f"/api/v1/projects/{running.project}/", budgets).status == 200
        spree = Spree(agent, person, agents=AGENTS, name="spender", pause_s=0.05)
        started = time.perf_counter()
        spree.spend()
        took = time.perf_counter() - started
        found = spree.measure(ceiling=ceiling)
        found["counted_usd"] = str(spree.counted_usd())
        spree.stop()
    return {**found, "seconds": round(took, 1), "calls_per_s": round(found["calls_counted"] / took)}


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        rounds = [one_round(Path(place), number) for number in range(ROUNDS)]
    for one in rounds:
        assert Decimal(one["counted_usd"]) == one["calls_counted"] * PRICE, one
        assert 0 <= one["overspent_calls"] <= one["in_flight_when_crossed"] <= AGENTS, one
    database = "postgresql" if os.environ.get("DATABASE_URL") else "sqlite"
    print(json.dumps({"bench": "overspend", "database": database, "rounds": rounds}, indent=1))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
