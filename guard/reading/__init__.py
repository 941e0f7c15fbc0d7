"""What a turn says, whatever form its log has: turns become attempts, attempts become steps.

`attempts` puts together what belongs together, `classify` and `normalize` read
what is asked for, `outcome` what came back; `step` holds both beside the steps before it. The
rest compares texts by their `terms`, without what is `volatile`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)
"""The words and phrases by which turns are read: data, so that a tool is added without code."""


def read_words(table: str) -> dict[str, frozenset[str]]:
    """Give the lists of words in a table of `words.toml`, by name.

    >>> "sudo" in read_words("commands")["leaders"]
    True
    """
    lists = TABLES[table].items()
    return {
        name: frozenset(words.split() if isinstance(words, str) else words) for name, words in lists
    }


def any_of(name: str) -> str:
    r"""Write a regular expression for any of the phrases under this name.

    >>> any_of("late")
    '(?:timed out|time-?out\\b)'
    """
    return f"(?:{'|'.join(TABLES['phrases'][name].splitlines())})"
