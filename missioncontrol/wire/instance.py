"""This installation and its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """A part this instance needs, and how it is."""

    name: Literal["database", "broker", "worker"]
    ok: bool
    what: str
    """Kind and version."""
    place: str
    """A file or an address, never with a password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRow:
    version: str
    python: str
    parts: tuple[PartRow, ...]
    data_dir: str
    database_bytes: int | None
    disk_free_bytes: int
    disk_bytes: int
    public_url: str
    is_secure: bool
    """This request came over https, or the public address is https."""
    push_contact: str
    """Whom our pushes name to push services; "": nobody."""
    push_problem: Literal["none", "form", "local"] | None
    """Why some push services refuse that: there is none, it is no contact, or no one out there
    could use it."""
    runs: int
    turns: int
    events: int
    waiting: int
    """Observations stored and not judged yet."""
    keep_deliveries_days: int | None
    """How long it is kept what became of each delivery; None: for ever."""
    unindexed: int
    """Runs with words that cannot be found yet."""
