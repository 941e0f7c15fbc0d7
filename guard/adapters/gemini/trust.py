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
from guard.adapters.gemini.settings import NAME, SETTINGS
from guard.adapters.reading import mapping


def examine(folder: Path) -> tuple[Finding, ...]:
    """Look at what the person and the folder have set."""
    trusted = is_trusted(folder.resolve())
    state = "is trusted" if trusted else "is not trusted, so no hook runs: start gemini there once"
    trust = Finding("trust", trusted, f"{folder.resolve()} {state}")
    # Hooks can be switched off, all or by name; whichever file says so counts.
    for file in (SETTINGS.path(None), SETTINGS.path(folder)):
        config = mapping(_read(file).get("hooksConfig"))
        disabled = config.get("disabled")
        off = isinstance(disabled, list) and NAME in disabled
        if config.get("enabled") is False or off:
            because = f"hooks are disabled in {file}"
            return (trust, Finding("switch", False, because))
    return (trust, Finding("switch", True, "hooks are not disabled"))


def is_trusted(folder: Path) -> bool:
    """Say whether Gemini CLI trusts a folder: the longest rule that covers it decides."""
    # The environment has the first word, whatever the files say.
    forced = os.environ.get("GEMINI_CLI_TRUST_WORKSPACE")
    if forced in {"true", "false"}:
        return forced == "true"
    own = _read(SETTINGS.path(None))
    if mapping(mapping(own.get("security")).get("folderTrust")).get("enabled") is False:
        return True
    rules = _read(SETTINGS.path(None).with_name("trustedFolders.json"))
    covering = []
    for path, level in rules.items():
        covered = Path(path).parent if level == "TRUST_PARENT" else Path(path)
        if folder.is_relative_to(covered.resolve()):
            covering.append(path)
    return bool(covering) and rules[max(covering, key=len)] in ("TRUST_FOLDER", "TRUST_PARENT")


def _read(file: Path) -> dict[str, Any]:
    try:
        return mapping(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError):
        return {}
