"""Agents that share a budget and spend it as fast as they can, through the SDK.

Each works as real ones do: a model call, a proposed tool call that tells what it
cost, the tool, its result, again; until it is held. Then a person stops it.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

import guard
from guard.errors import Stopped
from tests.contract.conversation import Caller
from tests.installations import wait_for

PRICE = Decimal("0.10")
ONLY_BUDGETS = {"detectors": ["budget"]}


@dataclass(slots=True)
class Call:
    """One model call and the tool call it asked for, in seconds since 1970."""

    began: float
    answered: float | None = None
    ran: bool = False
    ended: float | None = None

    def was_open_at(self, moment: float) -> bool:
        """Its money was under way, or its tool was running."""
        return self.began <= moment and (self.ended is None or self.ended > moment)


class Spender(threading.Thread):
    """One agent with a session of its own."""

    def __init__(
        self, url: str, key: str, *, name: str, agent: str, pause_s: float, under: str | None
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.session = guard.Session(
            name, url=url, key=key, agent=agent, policy=ONLY_BUDGETS, parent=under
        )
        self.calls: list[Call] = []
        self._pause_s = pause_s
        self._dice = random.Random(name)  # noqa: S311 - it only paces the agent
        self.fault: BaseException | None = None

    def run(self) -> None:
        try:
            with self.session:
                while True:
                    self._work()
        except Stopped:
            return
        except BaseException as fault:  # noqa: BLE001 - told by whoever joins
            self.fault = fault

    @property
    def is_waiting(self) -> bool:
        """Its last call has been proposed and not answered."""
        return bool(self.calls) and self.calls[-1].answered is None

    def _work(self) -> None:
        call = Call(time.time())
        self.calls.append(call)
        self._think()
        go = self.session.before("Read", {"path": uuid4().hex}, cost_usd=PRICE, call_id=uuid4().hex)
        call.answered, call.ran = time.time(), go.run
        self._think()
        self.session.after(go, result=uuid4().hex)
        call.ended = time.time()

    def _think(self) -> None:
        time.sleep(self._dice.uniform(0.2, 1.0) * self._pause_s)


class Spree:
    """So many spenders at once, until every one of them is held."""

    def __init__(
        self,
        agent: Caller,
        person: Caller,
        *,
        agents: int,
        name: str,
        pause_s: float,
        under: str | None = None,
    ) -> None:
        key = agent.headers["Authorization"].removeprefix("Bearer ")
        self.person = person
        self.spenders = [
            Spender(agent.url, key, name=f"{name}-{n}", agent=name, pause_s=pause_s, under=under)
            for n in range(agents)
        ]

    def spend(self) -> None:
        """Work until the budget holds everybody."""
        for one in self.spenders:
            one.start()
        self.await_held()

    def await_held(self) -> None:
        """Wait until every one of them waits before a card."""
        wait_for(self._are_all_held)

    def stop(self) -> None:
        """Have a person end every run."""
        for one in self.spenders:
            response = self.person.tap(str(one.session.run_id), "terminate")
            assert response.status == 201, response.json
        for one in self.spenders:
            one.join(60)
        assert not [one.fault for one in self.spenders if one.fault]

    def measure(self, *, ceiling: Decimal) -> dict[str, Any]:
        """Tell what was spent beyond the ceiling, beside the calls in flight then."""
        moment = min(self._told_at(one) for one in self.spenders)
        calls = [call for one in self.spenders for call in one.calls]
        allowed = int(ceiling / PRICE)
        return {
            "agents": len(self.spenders),
            "calls_allowed": allowed,
            "calls_counted": len(calls),
            "overspent_calls": len(calls) - allowed,
            "in_flight_when_crossed": sum(call.was_open_at(moment) for call in calls),
            "tools_started_after": sum(
                call.ran and call.answered is not None and call.answered > moment for call in calls
            ),
        }

    def counted_usd(self) -> Decimal:
        """Return what the server counted for these agents."""
        rows = self.person.get("/api/v1/costs/?group_by=agent")["results"]
        name = self.spenders[0].session.agent
        return sum((Decimal(row["cost_usd"]) for row in rows if row["key"] == name), Decimal(0))

    def _are_all_held(self) -> bool:
        if not all(one.is_waiting for one in self.spenders):
            return False
        runs = {one.session.run_id for one in self.spenders}
        cards = self.person.get("/api/v1/decisions/?status=open&limit=500")["results"]
        return runs <= {card["run"] for card in cards}

    def _told_at(self, one: Spender) -> float:
        """When the server first knew, for this run, that the ceiling was reached."""
        path = f"/api/v1/audit/?run={one.session.run_id}&type=budget.crossed&limit=500"
        rows = self.person.get(path)["results"]
        reached = next(row for row in rows if row["payload"]["level"] == "reached")
        return datetime.fromisoformat(reached["at"]).timestamp()
