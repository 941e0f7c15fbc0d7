"""`guard hook AGENT`: forward one hook body to Mission Control.

The agent calls it with the body on stdin and reads the answer from stdout. It must never stand in
the agent's way: if anything goes wrong, it says so on stderr and exits 0, unless this agent is
connected to fail closed and is about to act.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guard.adapters import ADAPTERS, adapter_of
from guard.adapters.base import Adapter
from guard.adapters.hook import HookWiring
from guard.adapters.parsing import mapping
from guard.errors import ServerAway, ServerRefused
from guard.hooks import watcher
from guard.hooks.forwarding import forward
from guard.hooks.watcher import exit_when_unread
from guard.json_depth import limit_depth
from guard.running.processes import end_process
from guard.running.session_notes import note_session
from guard.sdk.connections import FORWARDER_EARLY_S, REPORT_S, Connection, connection_for
from guard.sdk.lineage import body_with_parent, export_parent

# File names sent of a workspace: enough for any judge, small enough for any hook.
MAX_FILES = 2000

# Longer fields are cut: the server accepts 8 MB, and a two-byte character beyond ASCII is sent as
# six bytes. Each field is cut on its own: a call and its result are matched by their arguments.
MAX_FIELD_BYTES = 1_000_000

# The event's name in a body that is not readable as JSON.
EVENT_NAME = re.compile(rb'"hook_event_name"\s*:\s*"(\w+)"')

# The exit status with which a hook forbids a call.
BLOCK_STATUS = 2

# Without git, nothing tells built files from written ones: these are built nearly everywhere.
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    known = ", ".join(ADAPTERS)
    parser.add_argument("client", choices=ADAPTERS, metavar="AGENT", help=f"who calls: {known}")
    parser.add_argument(
        "--idle",
        action="store_true",
        help="wait beside a session at rest; end with 2 and the text once there is a message",
    )
    parser.add_argument("--usage", action="store_true", help="tell what was used, and nothing else")


def run(args: argparse.Namespace) -> int:
    """Forward the body on stdin; return the exit status."""
    adapter, raw = adapter_of(args.client), sys.stdin.buffer.read()
    body = read_body(raw)
    connection = connection_for(args.client, working_directory(body) or Path.cwd())
    if connection is None:
        _warn(f"no connection for this directory; run `guard connect {args.client}`")
        return 0
    if not body:
        _warn("what the hook was given cannot be read")
        may_block = any(name.decode() in adapter.holding_events for name in EVENT_NAME.findall(raw))
        return BLOCK_STATUS if may_block and connection.fail == "closed" else 0
    # How this hook is configured, and how its agent was started.
    wiring = HookWiring(
        via="command",
        fail=connection.fail,
        timeout_s=connection.hold_s,
        entry=os.environ.get(adapter.entrypoint_variable, "")
        if adapter.entrypoint_variable
        else "",
        defer_s=connection.defer_s,
    )
    if args.idle:
        return watcher.wait_while_idle(adapter, connection, body, wiring)
    if not args.usage:
        return forward_event(adapter, connection, body, wiring)
    # Imported here: other agents' hooks do not need it.
    from guard.adapters.claude_code.adapter import usage_body

    usage = usage_body(body)
    try:
        # Nobody waits for the answer, or reads it.
        forward(connection, usage | adapter.local_facts(usage), timeout_s=REPORT_S)
    except (ServerAway, ServerRefused, ValueError) as error:
        _warn(f"{connection.url} did not take the hook: {error}")
    return 0


def read_body(raw: bytes) -> dict[str, Any]:
    """Read a hook's body and cut what is too long for the server; empty if it is unreadable."""
    # UTF-8, as JSON requires: Python would decode standard input by Windows' own code page.
    # `limit_depth`: a model could hide a call in a body too deep for Python to read or write.
    try:
        body = mapping(json.loads(limit_depth(raw).decode("utf-8-sig", "replace")))
    except (ValueError, RecursionError):
        return {}
    if len(raw) <= MAX_FIELD_BYTES:
        return body
    # Imported here: few calls are so long, and a hook starts often.
    from guard.sdk.capture import MAX_RESULT_CHARS, plain_data

    def in_bounds(value: Any) -> Any:
        written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        is_short = len(written.encode("utf-8", "replace")) <= MAX_FIELD_BYTES
        return value if is_short else plain_data(value, MAX_RESULT_CHARS)

    return {name: in_bounds(value) for name, value in body.items()}


def forward_event(
    adapter: Adapter, connection: Connection, body: dict[str, Any], wiring: HookWiring
) -> int:
    """Forward an event and do what the answer asks; return the exit status."""
    event = body.get("hook_event_name")
    # Whether a session begins, and whether the agent is about to act and waits for our answer.
    begins, may_block = event in adapter.start_events, event in adapter.holding_events
    if begins:
        export_parent(adapter.client, body)
        body = body_with_parent(adapter.client, body)
    sent = with_workspace(adapter, body) | adapter.local_facts(body)
    timeout_s, answered = float(REPORT_S), threading.Event()
    if may_block:
        # Only here may an answer take an hour; if the agent is killed meanwhile, we must end too.
        timeout_s = connection.hold_s - FORWARDER_EARLY_S
        answered = exit_when_unread()
    try:
        answer = forward(connection, sent, timeout_s=timeout_s, headers=wiring.headers())
    except (ServerAway, ServerRefused, ValueError) as error:
        _warn(f"{connection.url} did not take the hook: {error}")
        return BLOCK_STATUS if may_block and connection.fail == "closed" else 0
    # The work from here on is not for the reader, and the watch must not end it.
    answered.set()
    if begins:
        watcher.start_watcher(adapter, connection, body)
    # Now that the server has the run: `guard run` opens it by the key in this note.
    note_session(adapter.client, str(body.get("session_id") or ""))
    # That part is for us; the agent gets only its own part.
    instructions = answer.pop("guard", None) if isinstance(answer, dict) else None
    if answer:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    if mapping(instructions).get("end"):
        end_session(adapter, connection, sent)
    return 0


def end_session(adapter: Adapter, connection: Connection, sent: dict[str, Any]) -> None:
    """End the agent's process and report it: the agent itself can no longer do so."""
    pid = mapping(sent.get("guard")).get("pid")
    if pid and end_process(pid):
        ended = sent | {"hook_event_name": "SessionEnd", "reason": "ended"}
        with contextlib.suppress(ServerAway, ServerRefused):
            forward(connection, ended | adapter.local_facts(ended))


def with_workspace(adapter: Adapter, body: dict[str, Any]) -> dict[str, Any]:
    """Add the names of existing files: at a session's start, and where a file is missed."""
    starts, folder = body.get("hook_event_name") in adapter.start_events, working_directory(body)
    if not folder or not (starts or adapter.reports_missing_path(body)):
        return body
    return {**body, "workspace": list_files(Path(folder))}


def working_directory(body: dict[str, Any]) -> str:
    """Return the directory a session works in; Cursor sends it as its workspace's roots."""
    roots = body.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return str(first or body.get("cwd") or "")


def list_files(root: Path) -> list[str]:
    """List a directory's files by name, those nearest its root first.

    What git would ignore is left out; without git, hidden and built files are.
    """
    # Separated by NUL: otherwise git quotes unusual names.
    listing = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others"]
    listing.append("--exclude-standard")
    try:
        listed = subprocess.run(listing, capture_output=True, timeout=5, check=True).stdout
        names = [name.decode("utf-8", "replace") for name in listed.split(b"\0") if name]
    except (OSError, subprocess.SubprocessError):
        names = list(_walk_files(root))
    return sorted(names, key=lambda name: (name.count("/"), name))[:MAX_FILES]


def _walk_files(root: Path) -> Iterator[str]:
    """Walk breadth first, so that a huge tree still yields its top."""
    left, folders = MAX_FILES, [root]
    while folders and left > 0:
        here, *folders = folders
        try:
            with os.scandir(here) as listed:
                entries = [e for e in listed if e.name[:1] != "." and e.name not in SKIPPED_FOLDERS]
        except OSError:
            # Not readable, or gone since: the judge knows fewer names, nothing fails.
            entries = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
            else:
                left -= 1
                yield Path(entry.path).relative_to(root).as_posix()


def _warn(sentence: str) -> None:
    sys.stderr.write(f"Mission Control: {sentence}\n")
