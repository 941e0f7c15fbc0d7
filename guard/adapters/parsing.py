"""Read what agents send and write: hook bodies, and records of their own.

Their form is not guaranteed: a field of another type is read as absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from guard.adapters.base import Body
from guard.adapters.hook import PROBE_EVENT, HookEvent, ModelCall
from guard.errors import UnreadableHook
from guard.formats.fields import read_time
from guard.json_depth import read_json
from guard.sdk.lineage import MAX_KEY_CHARS
from guard.turn import Role, Turn, Usage


def text(body: Body, name: str) -> str:
    """Return a text field; empty if it is not a text."""
    value = body.get(name)
    return value if isinstance(value, str) else ""


def text_list(listing: Any) -> tuple[str, ...]:
    """Return the texts of a list."""
    if not isinstance(listing, list):
        return ()
    return tuple(name for name in listing if isinstance(name, str))


def whole_number(value: Any) -> int | None:
    """Return a whole number of 0 or more; None if it is not one."""
    # In Python True is 1.
    counts = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if counts else None


def mapping(value: Any) -> dict[str, Any]:
    """Return an object; empty if it is not one."""
    return value if isinstance(value, dict) else {}


def read_arguments(written: str | None) -> dict[str, Any]:
    """Read a call's arguments as a model wrote them; keep them as text if they are no object."""
    try:
        read = read_json((written or "{}").encode("utf-8", "replace"))
    except ValueError:
        read = written
    return read if isinstance(read, dict) else {"arguments": read}


def max_session_chars(client: str) -> int:
    """Return the most characters of a session's id: with its client it is the run's key."""
    return MAX_KEY_CHARS - len(f"{client}:")


def read_event(body: Body, *, client: str, title: str, session: str = "session_id") -> HookEvent:
    """Read the fields that all agents' hooks share.

    Args:
        body: The JSON object that the agent writes, with what our forwarder added: the `workspace`
            (a list of file names) and `guard`.
        client: Which agent speaks.
        title: Its name for a person.
        session: The field that names the session.

    Raises:
        UnreadableHook: It has no `hook_event_name`, or no field `session`, or a longer one than
            the key of its run may be.
    """
    name = text(body, "hook_event_name")
    session_id = text(body, session) or text(body, "session_id")
    # `guard doctor` asks from outside any session.
    if not name or not (session_id or name == PROBE_EVENT):
        raise UnreadableHook(f"A {title} hook body has hook_event_name and {session}.")
    if len(session_id) > (limit := max_session_chars(client)):
        raise UnreadableHook(f"{session}: at most {limit} characters, got {len(session_id)}.")
    return HookEvent(
        client=client,
        name=name,
        session=session_id,
        cwd=text(body, "cwd"),
        prompt=text(body, "prompt") or None,
        workspace=text_list(body.get("workspace")),
        stop_hook_active=body.get("stop_hook_active") is True,
        forwarded=isinstance(body.get("guard"), dict),
    )


def read_call(body: Body, *, paths: Sequence[str] = (), **more: Any) -> Turn | None:
    """Read the tool call in a body, if there is one.

    Args:
        body: A hook body.
        paths: The arguments that name files, in this agent's words.
        more: The turn's other fields.
    """
    tool, args = text(body, "tool_name"), body.get("tool_input")
    if not tool:
        return None
    # Most send an object; a single text gets a name of ours, so that rules see equal arguments.
    given = args if isinstance(args, dict) else {"input": args}
    files = tuple(path for name in paths if (path := text(given, name)))
    return Turn(role=Role.ASSISTANT, tool=tool, args=given, files=files, **more)


def read_prompt(body: Body, *, id_field: str, role: Role = Role.USER) -> Turn | None:
    """Read the prompt in a body, if there is one; a field holds its id."""
    prompt, prompt_id = text(body, "prompt"), text(body, id_field)
    if not prompt:
        return None
    return Turn(role=role, key=f"prompt:{prompt_id}" if prompt_id else None, content=prompt)


def read_last_message(body: Body) -> Turn | None:
    """Read the agent's last text in a body, if there is one."""
    last = text(body, "last_assistant_message")
    # No key: the agent may say the same text twice.
    return Turn(role=Role.ASSISTANT, agent=subagent_name(body), content=last) if last else None


def forwarded_calls(
    body: Body,
    read_usage: Callable[[Any], Usage | None],
    *,
    provider: str,
    counts: str = "usage",
    model: str = "",
) -> tuple[ModelCall, ...] | None:
    """Return the model calls our forwarder found, oldest first; None: it had no transcript.

    Args:
        body: A hook body.
        read_usage: Reads the usage of a call, in this agent's form.
        provider: Who bills for it.
        counts: The field that contains the usage.
        model: Who answered, if the calls do not say it.
    """
    rows = mapping(body.get("guard")).get("model_calls")
    if not isinstance(rows, list):
        return None
    return tuple(
        ModelCall(
            call_id=name[:200],
            source="transcript",
            agent=text(row, "agent")[:100],
            turn_key=text(row, "tool")[:200] or None,
            model=(text(row, "model") or model)[:100] or None,
            provider=provider,
            usage=usage,
            made_at=read_time(row.get("timestamp")),
        )
        for row in map(mapping, rows)
        if (name := text(row, "id")) and (usage := read_usage(row.get(counts))) and usage.total
    )


def subagent_name(body: Body) -> str | None:
    """Return the speaker's name: a subagent has an id, and a type for people; else None."""
    agent_id, kind = text(body, "agent_id"), text(body, "agent_type")
    if not agent_id:
        return None
    return f"{kind}:{agent_id}" if kind else agent_id


def newest_files(folder: Path, pattern: str, *, limit: int) -> list[Path]:
    """Return the most recently changed files, oldest first."""

    def changed_at(path: Path) -> float:
        # A subagent's file may disappear meanwhile; a hook must not fail because of that.
        try:
            return path.stat().st_mtime
        except OSError:
            return 0.0

    return sorted(folder.glob(pattern), key=changed_at)[-limit:]


def last_rows(path: Path, *, max_bytes: int) -> Iterator[dict[str, Any]]:
    """Read the objects in the last bytes of a file; none if it is unreadable."""
    try:
        with path.open("rb") as file:
            # The agent waits for its hook: only the end of a long session is read.
            file.seek(max(0, path.stat().st_size - max_bytes))
            lines = file.read(max_bytes).splitlines()
    except OSError:
        lines = []
    for line in lines:
        try:
            row = read_json(line)
        except ValueError:  # the first one is cut off, the last may be incomplete
            continue
        if isinstance(row, dict):
            yield row
