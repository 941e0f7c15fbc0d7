"""Which existing file, or tool, was meant by a name that does not exist?"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from guard.judge.texts import read_texts

logger = logging.getLogger(__name__)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CLOSE_ENOUGH = 0.62
_CLOSE_NAME = 0.5
# Bounds what one question costs in a monorepo.
_MOST_PATHS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """An existing file, and how sure it is the one, in [0, 1]."""

    path: str
    likeness: float


def closest_path(wanted: str, workspace: Iterable[str]) -> Match | None:
    """Find the existing file that was most likely meant.

    An equivalent of a well-known file comes first, then the most alike by file
    name, words and directories. None: nothing is close, or it exists.

    >>> closest_path("app/auth/tokens.py", ["app/auth/token.py", "app/users.py"]).path
    'app/auth/token.py'
    >>> closest_path("package.json", ["src/x.py", "pyproject.toml"]).path
    'pyproject.toml'
    """
    paths = [_clean(path) for path in list(workspace)[:_MOST_PATHS]]
    target = _clean(wanted)
    if not target or target in paths:
        return None
    # Of equals the shorter: what lies nearer to the root is the project's own more often.
    scored = [Match(path=path, likeness=_likeness(target, path)) for path in paths if path]
    best = max(scored, key=lambda match: (match.likeness, -len(match.path)), default=None)
    # A file of that very name elsewhere beats its equivalents.
    if best and PurePosixPath(best.path).name == PurePosixPath(target).name:
        return best
    # What does the same job in another ecosystem shares no letter with what was asked for.
    name = PurePosixPath(target).name.lower()
    for group in read_texts("paths.toml")["equivalents"]:
        if name not in {PurePosixPath(member).name.lower() for member in group}:
            continue
        for member in group:
            end = f"/{member.lower()}"
            if found := [path for path in paths if f"/{path.lower()}".endswith(end)]:
                # The project's own file lies nearest to its root; a package's copy lies below.
                nearest = min(found, key=lambda path: (path.count("/"), len(path), path))
                return Match(path=nearest, likeness=0.9)
    return best if best and best.likeness >= _CLOSE_ENOUGH else None


def closest_name(wanted: str, names: Iterable[str]) -> str | None:
    """Find the name that was most likely meant: a tool's, say. None: none is close.

    >>> closest_name("web_search", ["read_file", "search_web"])
    'search_web'
    >>> closest_name("fly_to_moon", ["read_file"]) is None
    True
    """
    # search_web for web_search: letters tell typing errors, words tell another order.
    ratio = _ratio_function()
    scored = [
        (max(ratio(wanted.lower(), name.lower()), _shared_words(wanted, name)), name)
        for name in names
    ]
    likeness, name = max(scored, default=(0.0, ""))
    return name if likeness >= _CLOSE_NAME else None


def is_listed(wanted: str, workspace: Iterable[str]) -> bool:
    """Tell whether this very path exists.

    >>> is_listed("./app/x.py", ["app/x.py"])
    True
    """
    target = _clean(wanted)
    return any(_clean(path) == target for path in workspace)


def _likeness(target: str, path: str) -> float:
    wanted, existing = PurePosixPath(target), PurePosixPath(path)
    if wanted.name == existing.name:
        return 0.9 + 0.1 * _shared_directories(wanted, existing)
    names = max(
        _ratio_function()(wanted.name.lower(), existing.name.lower()),
        # token_store.py was wanted, store/token.py exists.
        0.92
        * _shared_words(wanted.with_suffix("").as_posix(), existing.with_suffix("").as_posix()),
    )
    same_suffix = wanted.suffix == existing.suffix
    return (
        0.75 * names + 0.17 * _shared_directories(wanted, existing) + (0.08 if same_suffix else 0.0)
    )


def _shared_directories(wanted: PurePosixPath, existing: PurePosixPath) -> float:
    """Give the share of directories in common; a longer absolute head is fine."""
    one, other = wanted.parts[:-1], existing.parts[:-1]
    if not one and not other:
        return 1.0
    if other and one[-len(other) :] == other:
        return 1.0
    shared = len(set(one) & set(other))
    return shared / max(len(set(other)), len(set(one)), 1)


def _shared_words(one: str, other: str) -> float:
    first = {word.lower() for word in _WORD.findall(one)}
    second = {word.lower() for word in _WORD.findall(other)}
    if not first or not second:
        return 0.0
    return len(first & second) / len(first | second)


def _clean(path: str) -> str:
    cleaned = path.strip().strip("\"'`").replace("\\", "/")
    while cleaned.startswith("./"):
        cleaned = cleaned[2:]
    return cleaned.rstrip("/")


# Found once: a failed import is tried anew each time, and this is asked for 20,000 paths.
@functools.cache
def _ratio_function() -> Callable[[str, str], float]:
    try:
        from rapidfuzz.fuzz import ratio
    except ImportError:
        logger.debug("rapidfuzz is not installed: near file names are found by words only")
        return lambda one, other: 1.0 if one == other else 0.0
    return lambda one, other: ratio(one, other) / 100
