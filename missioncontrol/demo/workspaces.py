"""The directories the demo agents work in: real files, made anew for each run."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from guard.runtime import Workspace

PYTHON_PROJECT = {
    "pyproject.toml": (
        '[project]\nname = "tidepool"\nversion = "2.4.1"\n'
        'description = "Tide tables for people who swim"\nrequires-python = ">=3.11"\n'
    ),
    "README.md": "# tidepool\n\nWhen is the water deep enough? Ask tidepool.\n",
    "src/tidepool/__init__.py": '"""Tide tables for people who swim."""\n',
    "src/tidepool/tables.py": (
        '"""Heights by the hour."""\n\n\ndef height(hour: int) -> float:\n'
        "    return 2.0 + abs(12 - hour % 24) / 6\n"
    ),
    "tests/test_tables.py": "from tidepool.tables import height\n",
}

RELEASE = {
    # Two ways of writing a date: that is what the two agents cannot settle.
    "CHANGES.txt": "2.4.1  03/04/2026  Fewer wrong tides\n2.4.0  2026-03-01  Tides by the hour\n",
    "README.md": "# tidepool\n\nThe writer writes the release notes, the reviewer checks them.\n",
}

# Modules of Python's own library: some fifty real files that differ.
LIBRARY = """
    abc bisect calendar cmd code codeop colorsys configparser contextlib copy csv dataclasses
    difflib enum filecmp fileinput fnmatch fractions functools getpass gettext glob graphlib gzip
    heapq hmac inspect ipaddress linecache mimetypes netrc numbers pprint queue random sched
    secrets selectors shlex shutil statistics string tempfile textwrap timeit uuid wave zipapp
"""


def python_project(root: Path) -> Workspace:
    """A small Python repository, whose version stands in pyproject.toml."""
    return _made(root, PYTHON_PROJECT)


def release_desk(root: Path) -> Workspace:
    """What two agents need to write release notes."""
    return _made(root, RELEASE)


def library(root: Path) -> Workspace:
    """A copy of some modules of this Python."""
    sources: dict[str, str] = {}
    for name in LIBRARY.split():
        # Another Python may lack one, or have it in C.
        spec = importlib.util.find_spec(name)
        if spec and spec.origin and spec.origin.endswith(".py"):
            sources[f"lib/{name}.py"] = Path(spec.origin).read_text("utf-8")
    return _made(root, sources)


def _made(root: Path, files: dict[str, str]) -> Workspace:
    # From nothing: what an earlier performance left would be read as the project's own.
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    workspace = Workspace(root)
    for path, text in files.items():
        workspace.write_file(path, text)
    return workspace
