"""The versions of programs that the machine may have."""

from __future__ import annotations

import contextlib
import re
import subprocess

# Node prints "v20.19.0", Valkey and Redis "Valkey server v=8.1.0 sha=…" and the like.
_VERSION = re.compile(r"\bv=?(\d+)\.(\d+)")


def version_of(program: str, *, timeout_s: float) -> tuple[int, int] | None:
    """Return a program's version, major and minor; None if it does not run or prints none."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        output = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=timeout_s, check=True
        ).stdout
        if found := _VERSION.search(output):
            return int(found[1]), int(found[2])
    return None
