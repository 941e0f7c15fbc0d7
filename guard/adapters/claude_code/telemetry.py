"""Claude Code's own telemetry: the settings that send us its log, for the money. Pure.

It tells what each model call cost, by its own figure. Claude Code (2.1.330) obeys
these in the person's settings only: what a project's settings say of them is ignored,
so that no repository can send a person's telemetry elsewhere.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from guard.adapters.hook_settings import Settings, Wiring

ENDPOINT, HEADERS = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_HEADERS"
PATH = "/v1/logs"
SWITCH = "CLAUDE_CODE_ENABLE_TELEMETRY"
# Claude Code's own is 5 s: a budget should hear of money before the next tool.
EXPORT_EVERY_MS = 1000


def put_in(settings: Settings, wiring: Wiring) -> Settings:
    """Return settings that send us its log; as they are, where it goes elsewhere."""
    ours, env = _variables(wiring.url, wiring.key), _env(settings)
    # Its log goes somewhere already: a collector of theirs is not taken from them.
    if any(name in env for name in ours if name != SWITCH):
        return settings
    return {**settings, "env": {**env, **ours}}


def taken_out(settings: Settings) -> Settings:
    """Return settings without what we put in."""
    if not is_on(settings):
        return settings
    written = copy.deepcopy(settings)
    # For the names alone: whatever server they lead to, they are ours.
    ours = _variables("", "")
    written["env"] = {name: one for name, one in _env(settings).items() if name not in ours}
    if not written["env"]:
        del written["env"]
    return written


def is_on(settings: Settings) -> bool:
    """Whether its log comes to a Mission Control: our path, and an agent key of ours."""
    env = _env(settings)
    endpoint, headers = str(env.get(ENDPOINT, "")), str(env.get(HEADERS, ""))
    return endpoint.endswith(PATH) and headers.startswith("Authorization=Bearer mc_")


def _variables(url: str, key: str) -> dict[str, str]:
    return {
        SWITCH: "1",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/json",
        ENDPOINT: url.rstrip("/") + PATH,
        HEADERS: f"Authorization=Bearer {key}",
        "OTEL_LOGS_EXPORT_INTERVAL": str(EXPORT_EVERY_MS),
    }


def _env(settings: Settings) -> Mapping[str, Any]:
    env = settings.get("env")
    return env if isinstance(env, dict) else {}
