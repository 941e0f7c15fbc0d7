"""Agents under load before a real server, and a person who frees those that loop.

Each agent posts its turns one after the other, as an SDK does: it waits for the
verdict, posts the same key again when the answer does not come, and polls while it
is held.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tests.contract.conversation import Answer, Caller
from tests.installations import PATIENCE_S, wait_for

T = TypeVar("T")

NO_ANSWER = (OSError, http.client.HTTPException)
PRICE = "0.01"
TOPICS = (
    "ledger invoice tax rounding",
    "socket retry timeout backoff",
    "avatar upload resize crop",
    "locale plural grammar french",
    "cron calendar holiday shift",
    "cache eviction memory shard",
    "checkout coupon basket total",
    "login password session cookie",
    "search index stemming rank",
    "webhook signature replay nonce",
    "map tile zoom projection",
    "email bounce domain header",
)


def a_step(key: str, command: str, **fields: Any) -> dict[str, Any]:
    return {
        "key": key,
        "role": "assistant",
        "tool": "Bash",
        "args": {"command": command},
        "cost_usd": PRICE,
        **fields,
    }


def a_healthy_script(name: str, turns: int) -> list[dict[str, Any]]:
    """Work that goes on: another file and another finding each time."""
    steps = []
    for number in range(turns):
        one, two, three, four = TOPICS[number % len(TOPICS)].split()
        steps.append(
            a_step(f"{name}:{number}", f"{one} --{two} {number}", result=f"{three} {number} {four}")
        )
    return steps


def a_looping_script(name: str, loops: int) -> list[dict[str, Any]]:
    """The same failing call three times, then another such loop."""
    return [turn for loop in range(loops) for turn in _a_loop(f"{name}:{loop}", f"tests/{loop}.py")]


def _a_loop(key: str, path: str) -> list[dict[str, Any]]:
    command, missing = f"pytest {path}", f"file not found: {path}"
    return [
        a_step(f"{key}.a", command, error=missing),
        a_step(f"{key}.b", command, error=missing),
        a_step(f"{key}.c", command, phase="proposed"),
        a_step(f"{key}.c", command, result=f"4 passed in {path}"),
    ]


def keep_trying(action: Callable[[], T]) -> T:
    """Repeat a request until it is answered; the server may be on its way back."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return action()
        except NO_ANSWER:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


class Agent(threading.Thread):
    """One run that works through its script."""

    def __init__(
        self, caller: Caller, name: str, script: Sequence[dict[str, Any]], under: str | None = None
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.caller, self.script = caller, script
        self.loops = sum(turn.get("phase") == "proposed" for turn in script)
        self.run_id = caller.open_run(name=name, agent=name, mode="pause", parent=under)
        self.acknowledged: list[str] = []
        self.held_at: int | None = None
        self.fault: BaseException | None = None

    def run(self) -> None:
        try:
            for turn in self.script:
                self._take(turn)
        except BaseException as fault:  # noqa: BLE001 - told by the test that joins
            self.fault = fault

    def _take(self, turn: dict[str, Any]) -> None:
        response = keep_trying(lambda: self.caller.post_turns(self.run_id, turn, wait=20))
        assert response.status == 200, (response.status, response.json)
        self.acknowledged.append(turn["key"])
        directive = response.json["directive"]
        while directive["action"] == "hold":
            self.held_at = directive["version"]
            directive = self._poll(directive)
        self.held_at = None
        assert directive["action"] == "proceed", directive

    def _poll(self, directive: dict[str, Any]) -> dict[str, Any]:
        after = directive["version"]
        response = keep_trying(lambda: self.caller.poll(self.run_id, after, wait=20))
        assert response.status in (200, 204), (response.status, response.json)
        return directive if response.status == 204 else response.json


class Person(threading.Thread):
    """Taps *continue* on every card of these runs, once each."""

    def __init__(self, caller: Caller, runs: set[str]) -> None:
        super().__init__(name="person", daemon=True)
        self.caller, self.runs = caller, runs
        self.has_left = threading.Event()
        self.tapped: list[str] = []
        self.fault: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.has_left.wait(0.2):
                for card in keep_trying(self._cards):
                    self._tap(card)
        except BaseException as fault:  # noqa: BLE001 - told by the test that joins
            self.fault = fault

    def _cards(self) -> list[dict[str, Any]]:
        listed = self.caller.get("/api/v1/decisions/?status=open&limit=500")["results"]
        return [card for card in listed if card["run"] in self.runs]

    def _tap(self, card: dict[str, Any]) -> None:
        fields = {"key": f"tap-{card['id']}", "action": "continue", "decision": card["id"]}
        response: Answer = keep_trying(
            lambda: self.caller.ask(
                "POST",
                f"/api/v1/runs/{card['run']}/interventions/",
                {**fields, "version": card["version"]},
            )
        )
        assert response.status in (200, 201, 409), (response.status, response.json)
        if response.status == 201:
            self.tapped.append(card["id"])


class Fleet:
    """Some agents that loop, some that do not, and the person who watches them."""

    def __init__(
        self,
        agent: Caller,
        person: Caller,
        *,
        name: str,
        looping: int,
        healthy: int,
        loops: int,
        turns: int,
        under: str | None = None,
    ) -> None:
        self.caller = person
        stuck = [(f"{name}-loop{n}", a_looping_script(f"loop{n}", loops)) for n in range(looping)]
        fine = [(f"{name}-ok{n}", a_healthy_script(f"ok{n}", turns)) for n in range(healthy)]
        self.agents = [Agent(agent, *scripted, under) for scripted in (*stuck, *fine)]
        self.person = Person(person, {one.run_id for one in self.agents})

    def start(self) -> Fleet:
        for one in self.agents:
            one.start()
        return self

    def acknowledged(self) -> int:
        return sum(len(one.acknowledged) for one in self.agents)

    def held(self) -> list[Agent]:
        return [one for one in self.agents if one.held_at is not None]

    def finish(self) -> None:
        """Wait until every agent has worked through its script."""
        try:
            wait_for(lambda: not any(one.is_alive() for one in self.agents))
        finally:
            self.person.has_left.set()
        workers: list[Agent | Person] = [*self.agents, self.person]
        faults = [one.fault for one in workers if one.fault]
        assert not faults, faults
