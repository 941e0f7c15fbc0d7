"""Programs that the machine may have: which version of one is it?"""

from __future__ import annotations

import contextlib
import re
import subprocess

# "v20.19.0" says Node, "Valkey server v=8.1.0 sha=…" Valkey, and Redis alike.
_VERSION = re.compile(r"\bv=?(\d+)\.(\d+)")


def version_of(program: str, *, timeout_s: float) -> tuple[int, int] | None:
    """Ask a program for its version, major and minor; None: it does not run, or says none."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        output = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=timeout_s, check=True
        ).stdout
        if found := _VERSION.search(output):
            return int(found[1]), int(found[2])
    return None
