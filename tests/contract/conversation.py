"""Speak HTTP to an installation as an agent or as a person; see every status."""

from __future__ import annotations

import itertools
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from tests.installations import Installation

_keys = itertools.count(1)


class Answer:
    """What came back: status, headers, parsed body."""

    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status, self.headers = status, headers
        self.json: Any = json.loads(body) if body else None


class Caller:
    """Somebody with a key or a session."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self.url, self.headers = url, headers

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        data = (
            body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        )
        request = urllib.request.Request(
            f"{self.url}{path}",
            data,
            {"Content-Type": "application/json", **self.headers, **headers},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=70) as response:
                return Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())

    def get(self, path: str) -> Any:
        response = self.ask("GET", path)
        assert response.status == 200, (response.status, response.json)
        return response.json

    def each(self, path: str) -> Iterator[Any]:
        """GET every row of a list, page by page."""
        page = self.get(path)
        yield from page["results"]
        while page["next"]:
            page = self.get("/api/v1/" + page["next"].partition("/api/v1/")[2])
            yield from page["results"]

    # --- an agent ------------------------------------------------------------------

    def open_run(self, **fields: Any) -> str:
        response = self.ask(
            "POST", "/api/v1/runs/", {"name": "contract", "agent": "coder", **fields}
        )
        assert response.status in (200, 201), response.json
        return str(response.json["id"])

    def post_turns(self, run: str, *turns: Any, wait: int | None = 20) -> Answer:
        prefer = {"Prefer": f"wait={wait}"} if wait is not None else {}
        return self.ask("POST", f"/api/v1/runs/{run}/turns/", {"turns": list(turns)}, **prefer)

    def get_stuck(self, run: str) -> dict[str, Any]:
        """Make the same failing call three times; return the third directive."""
        for _ in range(2):
            assert self.post_turns(run, a_turn(error="No such file: tokens.py")).status == 200
        reply = self.post_turns(run, a_turn(phase="proposed"))
        return dict(reply.json["directive"])

    def poll(self, run: str, after: int, wait: int = 20) -> Answer:
        return self.ask("GET", f"/api/v1/runs/{run}/directive/?wait={wait}&after={after}")

    # --- a person ------------------------------------------------------------------

    def card_of(self, run: str) -> Any:
        """Return a run's open card; None while it has none."""
        cards = self.each("/api/v1/decisions/?status=open&limit=500")
        return next((card for card in cards if card["run"] == run), None)

    def tap(self, run: str, action: str, **fields: Any) -> Answer:
        return self.ask(
            "POST",
            f"/api/v1/runs/{run}/interventions/",
            {"key": uuid4().hex, "action": action, **fields},
        )


def an_agent_of(installation: Installation) -> Caller:
    return Caller(installation.url, {"Authorization": f"Bearer {installation.agent_key}"})


def the_person_of(installation: Installation) -> Caller:
    cookies = installation.cookies()
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return Caller(
        installation.url,
        {"Cookie": cookie, "X-CSRFToken": cookies["csrftoken"], "Origin": installation.url},
    )


def a_turn(command: str = "pytest -q", **fields: Any) -> dict[str, Any]:
    return {
        "key": f"turn-{next(_keys)}-{uuid4().hex[:6]}",
        "role": "assistant",
        "agent": "coder",
        "tool": "Bash",
        "args": {"command": command},
        **fields,
    }
