"""The rules of a run as the server last sent them, in memory and on disk."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from guard.deciding import AllowPattern
from guard.errors import PolicyInvalid
from guard.formats.fields import read_enum
from guard.policy import DEFAULT_POLICY, Policy
from guard.sdk.connections import write_private
from guard.wire import Mode

logger = logging.getLogger("guard")

FILE = "rules.json"
HOLD_LIMIT_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a run follows: `GET runs/{id}/rules/`.

    If no rules were ever seen, a person is asked about a trip at the terminal, and otherwise the
    run continues: nobody has said that this agent may be stopped.
    """

    policy: Policy = DEFAULT_POLICY
    mode: Mode = Mode.PAUSE
    unanswered: Literal["proceed", "stop"] = "proceed"
    hold_limit_s: float = HOLD_LIMIT_S
    allowed: tuple[AllowPattern, ...] = ()

    @classmethod
    def of_run(cls, body: Mapping[str, Any]) -> Self:
        """Read the server's rules for this run; unreadable fields get defaults."""
        mapping = body.get("policy")
        # An older guard may not know every field of a newer server's policy.
        try:
            policy = (
                Policy.from_mapping(mapping) if isinstance(mapping, Mapping) else DEFAULT_POLICY
            )
        except PolicyInvalid as error:
            logger.warning("the last policy cannot be read, the default stands in: %s", error)
            policy = DEFAULT_POLICY
        limit_s = body.get("hold_limit")
        return cls(
            policy=policy,
            mode=read_enum(body.get("mode"), Mode) or Mode.PAUSE,
            unanswered="stop" if body.get("unanswered") == "stop" else "proceed",
            hold_limit_s=float(limit_s)
            if isinstance(limit_s, int | float) and limit_s > 0
            else HOLD_LIMIT_S,
            allowed=tuple(
                AllowPattern(
                    pattern=str(row.get("pattern") or ""),
                    match="glob" if row.get("match") == "glob" else "exact",
                )
                for row in _allowlist_rows(body)
            ),
        )

    @classmethod
    def of_project(cls, seen: Mapping[str, Any], opening: Mapping[str, Any]) -> Self:
        """Return the rules for a run that the server does not know yet.

        Args:
            seen: The project's rules as last seen, from any run; may be empty.
            opening: What the run itself asks for.
        """
        policy = opening.get("policy") or seen.get("project_policy")
        # What one run is allowed does not apply to the next: only the rules of the project, and of
        # this agent in it.
        shared = [
            row
            for row in _allowlist_rows(seen)
            if row.get("scope") == "project"
            or (row.get("scope") == "agent" and row.get("agent") == opening.get("agent"))
        ]
        mine = {
            **seen,
            "mode": opening.get("mode") or seen.get("project_mode"),
            "allowlist": shared,
        }
        read = cls.of_run({**mine, "policy": policy})
        return replace(read, policy=read.policy.for_run(opening.get("task_type")))


def load_rules(folder: Path | None) -> Mapping[str, Any]:
    """Read the project's rules as last seen; empty if there are none."""
    if folder is None:
        return {}
    try:
        body = json.loads((folder / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}


def save_rules(folder: Path, body: Mapping[str, Any]) -> None:
    """Store rules for a process that starts while the server is away."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(folder / FILE, json.dumps(body).encode())
    except OSError as error:
        # Only a start without the server needs them; it falls back to the defaults.
        logger.debug("the rules cannot be kept: %s", error)


def _allowlist_rows(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = body.get("allowlist")
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
