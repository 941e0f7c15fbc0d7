"""The judge's words: tables beside the code, read when they are first needed."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Any


@functools.cache
def read_texts(name: str) -> dict[str, Any]:
    """Read a table of this package, "prompt.toml"; to be read, not changed."""
    # Through the package: it may be installed as a zip file.
    return tomllib.loads(resources.files("guard.judge").joinpath(name).read_text("utf-8"))
