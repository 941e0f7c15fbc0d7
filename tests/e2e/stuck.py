"""Runs that go in circles before the browser's eyes, and who speaks for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from playwright.sync_api import Locator, Page, expect

from tests.contract.conversation import Caller, a_turn, an_agent_of, the_person_of
from tests.installations import Installation, wait_for

expect.set_options(timeout=60_000)

ERROR = "FileNotFoundError: No such file: tokens.py"


@dataclass(frozen=True, kw_only=True, slots=True)
class StuckRun:
    """A held run with its card, seen by its agent and by a person."""

    id: str
    name: str
    directive: dict[str, Any]
    card: dict[str, Any]
    agent: Caller
    person: Caller

    @classmethod
    def begin(
        cls, agent: Caller, person: Caller, name: str, *, error: str = ERROR, mark: str = ""
    ) -> StuckRun:
        """Open a run that goes in circles, and wait for its card."""
        named = f"{name} {mark or uuid4().hex[:6]}"
        run = agent.open_run(name=named)
        go_in_circles(agent, run, error=error)
        card = wait_for(lambda: _judged(person.card_of(run)))
        return cls(
            id=run,
            name=named,
            # Asked for now: a busy server may have answered the turn before it was looked at.
            directive=agent.get(f"/api/v1/runs/{run}/directive/"),
            card=card,
            agent=agent,
            person=person,
        )

    def on(self, page: Page) -> Locator:
        """Return this run's card on a page."""
        return page.get_by_role("article", name=self.name)

    def next_directive(self) -> dict[str, Any]:
        """Wait, as the agent does, for what comes after the hold."""
        response = self.agent.poll(self.id, self.directive["version"])
        assert response.status == 200
        return dict(response.json)

    def answer(self, action: str) -> None:
        """Answer the card as another person would: over the wire."""
        fields = {"decision": self.card["id"], "version": self.card["version"]}
        assert self.person.tap(self.id, action, **fields).status == 201


def go_in_circles(agent: Caller, run: str, *, error: str = ERROR) -> None:
    """Fail twice at the same call, for a quarter each, and propose it again."""
    for _ in range(2):
        agent.post_turns(run, a_turn(error=error, cost_usd="0.25"))
    agent.post_turns(run, a_turn(phase="proposed"))


def answer_all(person: Caller) -> None:
    """End every run that waits for an answer."""
    for card in person.get("/api/v1/decisions/?status=open&limit=500")["results"]:
        person.tap(card["run"], "terminate")


@contextmanager
def several_stuck(installation: Installation, name: str, *, count: int) -> Iterator[StuckRun]:
    """Let so many held runs of one name stand on the board, and no other; gives the first."""
    agent, person = an_agent_of(installation), the_person_of(installation)
    answer_all(person)
    first, *_ = [StuckRun.begin(agent, person, name) for _ in range(count)]
    try:
        yield first
    finally:
        answer_all(person)


def _judged(card: Any) -> Any:
    return card if card and card["verdict"] else None
