"""What a turn says, whatever form its log has: turns become attempts, attempts become steps.

`attempts` puts together what belongs together, `classify` and `normalize` read
what is asked for, `outcome` what came back; `step` holds both beside the steps before it. The
rest compares texts by their `terms`, without what is `volatile`.
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path


@functools.cache
def read_words(table: str) -> dict[str, frozenset[str]]:
    """Give the lists of words in a table of `words.toml`, by name.

    >>> "sudo" in read_words("commands")["leaders"]
    True
    """
    tables = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
    lists = tables[table].items()
    return {
        name: frozenset(words.split() if isinstance(words, str) else words) for name, words in lists
    }
