"""Calls that people allow to repeat."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from guard.signals import Kind, Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowPattern:
    """Calls a person allows to repeat: canonical call text, or a glob over it."""

    pattern: str
    match: Literal["exact", "glob"] = "exact"

    def covers(self, call: str) -> bool:
        """Tell whether this canonical call text is meant.

        >>> AllowPattern(pattern='Bash {"command":"pytest*', match="glob").covers(
        ...     'Bash {"command":"pytest -q"}')
        True
        """
        if self.match == "exact":
            return call == self.pattern
        return _compile_glob(self.pattern).match(call) is not None


@functools.lru_cache(maxsize=1024)
def _compile_glob(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))


def is_allowed(signal: Signal, patterns: Iterable[AllowPattern]) -> bool:
    """Tell whether people allowed every call this signal rests on.

    A budget is never allowed by a pattern: its card offers `allow_budget`.
    """
    calls = signal.evidence.calls
    if signal.kind is Kind.BUDGET or not calls:
        return False
    known = tuple(patterns)
    return all(any(pattern.covers(call) for pattern in known) for call in calls)
