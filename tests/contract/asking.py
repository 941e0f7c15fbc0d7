"""A Claude Code that asks its person's permission, as the server sees it: over HTTP."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from concurrent.futures import Executor, Future
from itertools import count
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from tests.contract.conversation import Caller
from tests.installations import wait_for

WIRED = "via=http; fail=open; timeout=3900; entry=cli; answer=3900"
COMMAND = "touch it-ran"


class AskingSession:
    """A Claude Code as the server sees it, with as many requests open as it likes."""

    def __init__(self, agent: Caller, person: Caller, pool: Executor) -> None:
        self.agent, self.person, self._pool = agent, person, pool
        self.id, self._calls = str(uuid4()), count(1)

    def body(self, event: str, **fields: Any) -> dict[str, Any]:
        return {"hook_event_name": event, "session_id": self.id, "cwd": "/tidepool"} | fields

    def hook(self, event: str, *, wired: str = WIRED, **fields: Any) -> Any:
        headers = {"X-MissionControl-Hook": wired}
        response = self.agent.ask(
            "POST", "/api/v1/hooks/claude-code/", self.body(event, **fields), **headers
        )
        assert response.status == 200, response.json
        return response.json

    def ask(self, *, wired: str = WIRED, command: str = COMMAND, **fields: Any) -> Future[Any]:
        """Ask its person, as it does after the hook before a tool let the call through."""
        call = {"tool_name": "Bash", "tool_input": {"command": command}} | fields
        self.call = call | {"tool_use_id": f"toolu_{next(self._calls)}"}
        assert self.hook("PreToolUse", **self.call) == {}
        return self._pool.submit(self.hook, "PermissionRequest", wired=wired, **call)

    def hang_up_on_it(self) -> Callable[[], None]:
        """Ask as `ask` does, and return what cuts the request."""
        call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": COMMAND}}
        assert self.hook("PreToolUse", **call, tool_use_id="toolu_cut") == {}
        where = urlsplit(self.agent.url)
        line = http.client.HTTPConnection(str(where.hostname), where.port)
        headers = {**self.agent.headers, "X-MissionControl-Hook": WIRED}
        body = json.dumps(self.body("PermissionRequest", **call))
        line.request("POST", "/api/v1/hooks/claude-code/", body, headers)
        return line.close

    def run(self) -> Any:
        """Return its run, which is among the newest."""
        rows = self.person.get("/api/v1/runs/?limit=20")["results"]
        return next(row for row in rows if row["key"] == f"claude-code:{self.id}")

    def cards(self, status: str = "") -> list[Any]:
        """Return its cards, oldest first; tests before this one may have left hundreds."""
        mine = self.run()["id"]
        rows = self.person.each(f"/api/v1/decisions/?status={status}&limit=500")
        return [row for row in rows if row["run"] == mine]

    def card(self) -> Any:
        """Wait for its oldest open card."""
        return wait_for(lambda: next(iter(self.cards("open")), None))

    def tap(self, action: str, **fields: Any) -> Any:
        card = self.card()
        body = {"decision": card["id"], "version": card["version"]} | fields
        response = self.person.tap(self.run()["id"], action, **body)
        assert response.status == 201, response.json
        return response.json

    def closed(self) -> Any:
        """Wait until the last card is closed; how."""
        return wait_for(lambda: self.cards()[-1]["resolution"])
