"""Whether Gemini CLI runs hooks in a folder at all: trusted folders, and its own switches.

After `packages/core/src/utils/trust.ts` and the settings' schema of 0.61.0: in a folder
that is not trusted no hook runs, the person's own neither.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from guard.adapters.base import Finding
from guard.adapters.gemini import settings
from guard.adapters.reading import mapping


def examine(folder: Path) -> tuple[Finding, ...]:
    """Look at what the person and the folder have set."""
    return (_trust(folder.resolve()), _switches(folder))


def _trust(folder: Path) -> Finding:
    trusted = is_trusted(folder)
    told = "is trusted" if trusted else "is not trusted, so no hook runs: start gemini there once"
    return Finding(what="trust", works=trusted, because=f"{folder} {told}")


def is_trusted(folder: Path) -> bool:
    """Say whether Gemini CLI trusts a folder: the longest rule that covers it decides."""
    said = os.environ.get("GEMINI_CLI_TRUST_WORKSPACE")
    if said in {"true", "false"}:
        return said == "true"
    own = _read(settings.path(None))
    if mapping(mapping(own.get("security")).get("folderTrust")).get("enabled") is False:
        return True
    rules = _read(settings.path(None).with_name("trustedFolders.json"))
    covering = [path for path, level in rules.items() if _covers(path, level, folder)]
    return bool(covering) and rules[max(covering, key=len)] in ("TRUST_FOLDER", "TRUST_PARENT")


def _covers(path: str, level: Any, folder: Path) -> bool:
    trusted = Path(path).parent if level == "TRUST_PARENT" else Path(path)
    return folder.is_relative_to(trusted.resolve())


def _switches(folder: Path) -> Finding:
    """Hooks can be switched off, all or by name; whichever file says so counts."""
    for file in (settings.path(None), settings.path(folder)):
        config = mapping(_read(file).get("hooksConfig"))
        disabled = config.get("disabled")
        off = isinstance(disabled, list) and settings.NAME in disabled
        if config.get("enabled") is False or off:
            return Finding(what="switch", works=False, because=f"hooks are disabled in {file}")
    return Finding(what="switch", works=True, because="hooks are not disabled")


def _read(file: Path) -> dict[str, Any]:
    try:
        return mapping(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError):
        return {}
