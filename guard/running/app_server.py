"""`codex app-server` over its standard streams: JSON-RPC, one message a line."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guard.adapters.codex.adapter import SETTINGS
from guard.adapters.codex.rpc import AppServerClient, AppServerFailed
from guard.adapters.parsing import mapping
from guard.json_depth import limit_depth, read_json
from guard.running.processes import GRACE_S, end_tree

ANSWER_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification of the app-server; an empty method: it has gone."""

    method: str
    params: Mapping[str, Any]


class AppServer(AppServerClient):
    """One app-server and our conversation with it.

    Notifications are put into `inbox` as they come. The app-server's own requests are declined:
    there is nobody at a screen.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        inbox: queue.SimpleQueue[Any],
        quiet: bool = False,
    ) -> None:
        super().__init__()
        self._inbox = inbox
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        process = self._process = subprocess.Popen(
            command,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            text=True,
            encoding="utf-8",
            # Ctrl-C is handled by us: we interrupt its turn, and it ends in order.
            process_group=0,
        )
        if process.stdin is None or process.stdout is None:
            raise AppServerFailed("codex app-server has no streams")
        self._stdin, self._stdout = process.stdin, process.stdout
        # Two threads write: the one that asks, and the reader, which declines requests.
        self._write_lock = threading.Lock()
        self._reader = threading.Thread(target=self._read_messages, daemon=True)
        self._reader.start()

    def our_hooks(self, folder: str) -> list[dict[str, Any]]:
        """Ask which of our hooks Codex knows in a folder, and whether it trusts them."""
        rows = self.request("hooks/list", cwds=[folder]).get("data") or []
        listed = (mapping(hook) for row in rows for hook in mapping(row).get("hooks") or [])
        return [hook for hook in listed if SETTINGS.is_ours(hook)]

    def close(self) -> int:
        """Let it end its session, and make sure that it ends; return its exit status."""
        with contextlib.suppress(OSError):
            # At the end of its input it ends the session in order.
            self._stdin.close()
        try:
            status = self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            end_tree(self._process.pid)
            status = self._process.wait()
        self._reader.join(GRACE_S)
        if not self._reader.is_alive():
            self._stdout.close()
        return status

    def _exchange(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        number = message["id"]
        # Before it is sent: the reader may have the answer before we wait for it.
        answered = self._answers[number] = queue.Queue(1)
        self._send(message)
        try:
            # Bounded: an app-server of another version may never answer what it does not know.
            return answered.get(timeout=ANSWER_TIMEOUT_S)
        except queue.Empty:
            method = message["method"]
            raise AppServerFailed(f"codex app-server did not answer {method}") from None
        finally:
            del self._answers[number]

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            with self._write_lock:
                self._stdin.write(json.dumps(message) + "\n")
                self._stdin.flush()
        except (OSError, ValueError) as error:
            raise AppServerFailed(f"codex app-server has gone: {error}") from error

    def _read_messages(self) -> None:
        for line in self._stdout:
            with contextlib.suppress(ValueError, AppServerFailed):
                # Limited in depth: handling a call recurses into it, as parsing does.
                message = read_json(limit_depth(line.encode("utf-8", "replace")))
                if not isinstance(message, dict):
                    continue
                if "method" not in message:
                    if answered := self._answers.get(message.get("id", 0)):
                        answered.put(message)
                elif "id" not in message:
                    self._inbox.put(Notification(message["method"], message.get("params") or {}))
                # A request to a person at a screen: there is none. An approval is answered by a no;
                # anything else by JSON-RPC's code for an unknown method.
                elif message["method"].endswith("/requestApproval"):
                    self._send({"id": message["id"], "result": {"decision": "decline"}})
                else:
                    unknown = {"code": -32601, "message": "nobody is at a screen here"}
                    self._send({"id": message["id"], "error": unknown})
        # Those who still wait are told now, not at their time-out.
        gone = {"error": {"message": "it has gone"}}
        for answered in list(self._answers.values()):
            with contextlib.suppress(queue.Full):
                answered.put_nowait(gone)
        self._inbox.put(Notification("", {}))
