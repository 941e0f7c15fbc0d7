"""A person signed in to a real installation, without the browser."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any

from tests.installations import PATIENCE_S, wait_for


class Person:
    """What a person reads and taps, over the session the one-time link gave."""

    def __init__(self, installation: Any) -> None:
        self.url = installation.url
        self._cookies = installation.cookies()

    def get(self, path: str) -> Any:
        """Read from `/api/v1/`."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Write to `/api/v1/`, as the screen does."""
        return self._ask("POST", path, body)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        headers = {
            "Content-Type": "application/json",
            "Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items()),
            "X-CSRFToken": self._cookies.get("csrftoken", ""),
        }
        data = None if body is None else json.dumps(body).encode()
        address = f"{self.url}/api/v1/{path}"
        request = urllib.request.Request(address, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{method} {path}: {error.code} {error.read()!r}") from error

    def delete(self, path: str) -> Any:
        """Delete below `/api/v1/`."""
        return self._ask("DELETE", path, None)

    def run_of(self, key: str) -> dict[str, Any] | None:
        """Find a run by its key."""
        rows = self.get("runs/")["results"]
        return next((row for row in rows if row["key"] == key), None)

    def run_named(self, name: str) -> str | None:
        """Find the newest run of a name; its id, when it is there."""
        rows = self.get("runs/")["results"]
        return next((row["id"] for row in rows if row["name"] == name), None)

    def run(self, run_id: str) -> dict[str, Any]:
        return dict(self.get(f"runs/{run_id}/"))

    def turns(self, run_id: str) -> list[dict[str, Any]]:
        return list(self.get(f"runs/{run_id}/turns/?after_seq=-1&limit=500")["results"])

    def card(self, card_id: str) -> dict[str, Any] | None:
        """Find an open card, whoever waits."""
        rows = self.get("decisions/?status=open&limit=500")["results"]
        return next((row for row in rows if row["id"] == card_id), None)

    def say(self, run_id: str, text: str, **more: Any) -> None:
        """Tell the agent something while nothing holds it."""
        body = {"key": uuid.uuid4().hex, "action": "inject", "message": text, **more}
        self.post(f"runs/{run_id}/interventions/", body | {"version": self.run(run_id)["version"]})

    def any_card(self, card_id: str) -> dict[str, Any]:
        """Read one card, open or answered."""
        return next(row for row in self.cards() if row["id"] == card_id)

    def cards(self) -> Iterator[dict[str, Any]]:
        """Read every card, oldest first: a fleet before this test may have left hundreds."""
        path: str | None = "decisions/?limit=500"
        while path:
            page = self.get(path)
            yield from page["results"]
            path = page["next"] and page["next"].partition("/api/v1/")[2]

    def answer_to(self, card: dict[str, Any]) -> str | None:
        """Where the answer to a card is."""
        status = self.any_card(card["id"])["intervention"]
        return None if status is None else str(status)

    def open_card(self, run_id: str | None) -> dict[str, Any]:
        """Wait for a card on which the agent waits, the judge having ruled."""
        return dict(wait_for(lambda: self.waiting_on(run_id)))

    def waiting_on(self, run_id: str | None) -> dict[str, Any] | None:
        """Find the card on which a run's agent waits, when it is there."""
        rows = self.get("decisions/?status=open&limit=500")["results"]
        ours = (row for row in rows if row["run"] == run_id)
        return next((r for r in ours if r["agent_waiting"] and r["status"] == "open"), None)

    def tap(self, card: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
        """Answer a card as it was seen."""
        body = {
            "key": uuid.uuid4().hex,
            "action": action,
            "decision": card["id"],
            "version": card["version"],
        }
        return dict(self.post(f"runs/{card['run']}/interventions/", body | more))

    def act(self, run_id: str, action: str, **more: Any) -> dict[str, Any]:
        """Act on a run as it is now, with or without a card."""
        body = {"key": uuid.uuid4().hex, "action": action, "version": self.run(run_id)["version"]}
        return dict(self.post(f"runs/{run_id}/interventions/", body | more))

    def journal(self, run_id: str) -> list[str]:
        """The types of a run's events, in order."""
        rows = self.get(f"audit/?run={run_id}&limit=500")["results"]
        return [row["type"] for row in sorted(rows, key=lambda row: row["seq"])]
