"""How Codex's app-server is spoken to, whatever carries it: JSON-RPC, without its version."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Mapping
from typing import Any

from guard.adapters.reading import mapping
from guard.errors import GuardError

CLIENT = {"name": "missioncontrol", "title": "Mission Control", "version": "1"}


class AppServerFailed(GuardError):
    """Codex's app-server said no, or nothing."""

    code = "app_server_failed"


class AppServerClient(abc.ABC):
    """A conversation with an app-server; who inherits carries the messages."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def begin(self) -> None:
        """Say who we are."""
        self.ask("initialize", clientInfo=CLIENT)
        self._send({"method": "initialized"})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask, and wait for the answer.

        Raises:
            AppServerFailed: It said no, has gone, or does not answer.
        """
        message = {"id": next(self._numbers), "method": method, "params": params}
        answer = self._exchange(message)
        if "error" in answer:
            reason = mapping(answer["error"]).get("message", "no reason given")
            raise AppServerFailed(f"codex app-server refused {method}: {reason}")
        return dict(mapping(answer.get("result")))

    @abc.abstractmethod
    def _send(self, message: Mapping[str, Any]) -> None:
        """Send a message."""

    @abc.abstractmethod
    def _exchange(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a question, and return the message that answers it."""
