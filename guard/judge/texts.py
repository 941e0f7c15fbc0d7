"""The judge's texts: tables next to the code, read on first use."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Any


@functools.cache
def read_texts(name: str) -> dict[str, Any]:
    """Return a table of this package, such as "prompt.toml"; do not change it."""
    # Through the package, which may be installed as a zip file.
    return tomllib.loads(resources.files("guard.judge").joinpath(name).read_text("utf-8"))
