"""What masking costs and what it hides: `uv run python -m tests.bench.bench_masking`; prints JSON.

Times of hostile texts as multiples of plain text's; and every place that is masked in
the recorded runs, which hold next to no secrets: what stands there is a false positive
until it was read. The runs lie outside the repository, at $MISSIONCONTROL_SHARED or
../shared, and are read, never copied.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guard.redact import MASK, RULES, redact
from tests.installations import SHARED
from tests.property.hostile import shapes

LENGTH = 100_000
PLAIN = "The quick brown fox, id 42, jumped over src/dogs.py and 12 lazy lines. "
AROUND = 40


def corpus() -> Path:
    """Return where the recorded runs lie; they may not be there."""
    return SHARED / "corpus"


def texts(value: Any) -> Iterator[str]:
    """Give every text of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def recorded_texts(folder: Path) -> Iterator[str]:
    """Give every text of the recorded runs."""
    for file in sorted((folder / "runs").glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            yield from texts(json.loads(line))


def places(text: str) -> Iterator[str]:
    """Give what stands before each mask of a text."""
    masked = redact(text)
    if masked != text:
        for before in masked.split(MASK)[:-1]:
            yield before[-AROUND:]


def hidden(folder: Path) -> dict[str, Any]:
    """Count what is masked in the recorded runs."""
    found: Counter[str] = Counter()
    count = characters = 0
    for text in recorded_texts(folder):
        count, characters = count + 1, characters + len(text)
        found.update(places(text))
    return {
        "texts": count,
        "characters": characters,
        "masked": found.total(),
        "places": dict(found),
    }


def times() -> dict[str, float]:
    """Give the worst shape of each rule, as a multiple of plain text's time."""
    plain = _cpu_s(PLAIN * (LENGTH // len(PLAIN)))
    return {
        f"{number} {rule.hint}": round(
            max(_cpu_s(f"{rule.hint} {one.text(LENGTH)}") for one in shapes(rule.pattern)) / plain,
            1,
        )
        for number, rule in enumerate(RULES)
    }


def _cpu_s(text: str) -> float:
    began = time.thread_time()
    redact(text)
    return time.thread_time() - began


if __name__ == "__main__":
    print(json.dumps({"times_plain": times(), "corpus": hidden(corpus())}, indent=2))
