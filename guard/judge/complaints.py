"""How failures say what is wrong, and which existing file or tool was meant.

The regular expressions are in `complaints.toml`, equivalent files in `paths.toml`.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from guard.judge.texts import read_texts
from guard.quoting import is_name

_MAX_QUOTE_LENGTH = 160
# A failure first says what is missing, and patterns over a long log cost time.
_MAX_READ_LENGTH = 4_000

_WORD = re.compile(r"[\w.:-]{2,80}")
logger = logging.getLogger(__name__)

_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MIN_PATH_SIMILARITY = 0.62
_MIN_NAME_SIMILARITY = 0.5
# Limits the cost of one question in a monorepo.
_MAX_PATHS = 20_000


class MissingName(NamedTuple):
    """A missing thing: what it is, its name, and the remedy."""

    what: str
    name: str
    remedy: str


def find_name(what: str, text: str) -> str | None:
    """Return the name in a failure: the tool, module or file that does not exist.

    >>> find_name("unknown_tool", "Error: unknown tool 'read_files'")
    'read_files'
    """
    match = next(_find_matches(what, text), None)
    return match.group(1).rstrip(".:") if match else None


def matches_complaint(what: str, text: str) -> bool:
    """Return whether a failure says that a file is missing, or that nothing matched."""
    return any(_find_matches(what, text))


def offered_tools(text: str) -> list[str]:
    """Return the tools that a refusal offers instead."""
    return _WORD.findall(find_name("tools_offered", text) or "")


def missing_name(text: str) -> MissingName | None:
    """Return the column, table, command, option or key that does not exist.

    >>> missing_name('column "usr" does not exist').name
    'usr'
    """
    # Limited, because the output of a failing command may be of any length.
    head = text[:_MAX_READ_LENGTH]
    for sort in read_texts("complaints.toml")["missing_name"]:
        if match := _compile(sort["pattern"]).search(head):
            name = next(group for group in match.groups() if group)
            suggested = (find_name("suggested", head) or "").strip()
            # The text comes from the agent's environment, so only a name is passed on.
            use = f"The error suggests {suggested}: use that." if is_name(suggested) else None
            return MissingName(sort["what"], name, use or sort["remedy"])
    return None


def failed_tests(text: str) -> frozenset[str]:
    """Return the tests that a test run reports as failed.

    >>> sorted(failed_tests("FAILED tests/test_a.py::test_b - assert 1 == 2"))
    ['tests/test_a.py::test_b']
    """
    names = [match.group(1) for match in _find_matches("failed_test", text)]
    return frozenset(name.strip().rstrip(" -")[:_MAX_QUOTE_LENGTH] for name in names)


def cause_of(text: str) -> str:
    """Return the first line of a test run that says what is wrong."""
    lines = [line.strip() for line in text.splitlines()]
    # pytest marks the lines that say what is wrong with an E.
    telling = [line for line in lines if re.match(r"E  |\w*(?:Error|Exception)\b", line)]
    return shorten(telling[0].removeprefix("E").strip()) if telling else first_line(text)


def first_line(text: str) -> str:
    """Return the first line that says what is wrong, shortened for a sentence."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"(?i)error|exception|failed|fatal", line)]
    return shorten((errors or lines or ["nothing"])[0])


def last_line(text: str) -> str:
    """Return the last line, shortened for a sentence."""
    lines = [line.strip(" =") for line in text.splitlines() if line.strip(" =")]
    return shorten((lines or ["nothing"])[-1])


def shorten(line: str, max_length: int = _MAX_QUOTE_LENGTH) -> str:
    """Shorten a line for a sentence."""
    return line[:max_length].rstrip(" .")


def _find_matches(name: str, text: str) -> Iterator[re.Match[str]]:
    """Yield every match of the patterns of this name, pattern by pattern."""
    for pattern in read_texts("complaints.toml")[name]:
        yield from _compile(pattern).finditer(text)


# `re` caches only 512 patterns for the whole process, and the host's could displace ours.
_compile = functools.cache(re.compile)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMatch:
    """An existing file, and how likely it was meant, in [0, 1]."""

    path: str
    similarity: float


def closest_path(wanted: str, workspace: Iterable[str]) -> PathMatch | None:
    """Return the existing file that was most likely meant.

    An equivalent of a well-known file comes first, then the most similar one by file
    name, words and directories. None: nothing is similar, or the file exists.

    >>> closest_path("app/auth/tokens.py", ["app/auth/token.py", "app/users.py"]).path
    'app/auth/token.py'
    >>> closest_path("package.json", ["src/x.py", "pyproject.toml"]).path
    'pyproject.toml'
    """
    paths = [_normalise_path(path) for path in list(workspace)[:_MAX_PATHS]]
    target = _normalise_path(wanted)
    if not target or target in paths:
        return None
    # Among equals the shorter path: it is nearer to the root, and so more often the project's own.
    scored = [
        PathMatch(path=path, similarity=_path_similarity(target, path)) for path in paths if path
    ]
    best = max(scored, key=lambda match: (match.similarity, -len(match.path)), default=None)
    # A file with exactly this name elsewhere comes before its equivalents.
    if best and PurePosixPath(best.path).name == PurePosixPath(target).name:
        return best
    # A file for the same job in another ecosystem may have a completely different name.
    name = PurePosixPath(target).name.lower()
    for group in read_texts("paths.toml")["equivalents"]:
        if name not in {PurePosixPath(member).name.lower() for member in group}:
            continue
        for member in group:
            end = f"/{member.lower()}"
            if found := [path for path in paths if f"/{path.lower()}".endswith(end)]:
                # The project's own file is nearest to the root; those of packages are deeper.
                nearest = min(found, key=lambda path: (path.count("/"), len(path), path))
                return PathMatch(path=nearest, similarity=0.9)
    return best if best and best.similarity >= _MIN_PATH_SIMILARITY else None


def closest_name(wanted: str, names: Iterable[str]) -> str | None:
    """Return the name that was most likely meant, such as a tool's. None: none is similar.

    >>> closest_name("web_search", ["read_file", "search_web"])
    'search_web'
    >>> closest_name("fly_to_moon", ["read_file"]) is None
    True
    """
    # Letters reveal typing errors, words a different order: search_web for web_search.
    ratio = _ratio_function()
    scored = [
        (max(ratio(wanted.lower(), name.lower()), _shared_words(wanted, name)), name)
        for name in names
    ]
    similarity, name = max(scored, default=(0.0, ""))
    return name if similarity >= _MIN_NAME_SIMILARITY else None


def is_listed(wanted: str, workspace: Iterable[str]) -> bool:
    """Return whether exactly this path exists.

    >>> is_listed("./app/x.py", ["app/x.py"])
    True
    """
    target = _normalise_path(wanted)
    return any(_normalise_path(path) == target for path in workspace)


def _path_similarity(target: str, path: str) -> float:
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
    """Return the share of common directories; a longer absolute prefix does not matter."""
    one, other = wanted.parts[:-1], existing.parts[:-1]
    if not one and not other:
        return 1.0
    if other and one[-len(other) :] == other:
        return 1.0
    shared = len(set(one) & set(other))
    return shared / max(len(set(other)), len(set(one)), 1)


def _shared_words(one: str, other: str) -> float:
    first = {word.lower() for word in _NAME_PART.findall(one)}
    second = {word.lower() for word in _NAME_PART.findall(other)}
    if not first or not second:
        return 0.0
    return len(first & second) / len(first | second)


def _normalise_path(path: str) -> str:
    cleaned = path.strip().strip("\"'`").replace("\\", "/")
    while cleaned.startswith("./"):
        cleaned = cleaned[2:]
    return cleaned.rstrip("/")


# Cached: a failed import is tried again each time, and this is called for 20,000 paths.
@functools.cache
def _ratio_function() -> Callable[[str, str], float]:
    try:
        from rapidfuzz.fuzz import ratio
    except ImportError:
        logger.debug("rapidfuzz is not installed: near file names are found by words only")
        return lambda one, other: 1.0 if one == other else 0.0
    return lambda one, other: ratio(one, other) / 100
