"""Empty what our engine remembers between runs, so that no pass lives on the one before."""

from __future__ import annotations

import functools
import sys

from guard.caching import RecentCache
from guard.reading import volatile


def empty_our_caches() -> None:
    """Forget every text, line, call and word read so far: agents seldom say all of it twice."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "guard":
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
                elif isinstance(value, RecentCache):
                    value.clear()
    volatile._plain_shapes.clear()
