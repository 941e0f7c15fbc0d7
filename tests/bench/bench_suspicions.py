"""Measure what suspicions ask and could find: `python -m tests.bench.bench_suspicions`.

    python -m tests.bench.bench_suspicions [CORPUS]

CORPUS holds labelled runs (`guard bench`), by default ../shared/corpus or
$MISSIONCONTROL_SHARED/corpus; our own drawings are measured beside it. An oracle
that knows the labels stands where a model would judge, so that this measures the
questions and not a model: how many are asked per 1,000 healthy turns (what asking
costs), and how many stuck runs the rules miss get a question in time (what a
perfect judge would find on top). Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from guard.bench.labels import read_corpus
from guard.bench.scores import SLACK
from guard.formats import Recording, read_recording
from guard.judge import Case, Ruling, Verdict
from guard.judge.heuristics import rule
from guard.replay import replay
from tests.bench.bench_embeddings import shared_corpus
from tests.guard.drawings.gallery import open_drawings, sealed_drawings

Labelled = tuple[Recording, int | None]


@dataclass
class Oracle:
    """Answers a suspicion by the label, a trip as the local judge does."""

    start: int | None
    asked: list[bool] = field(default_factory=list)
    name: str = "oracle"

    def ask(self, case: Case) -> Ruling:
        """Say *loop* where the labelled stretch has begun."""
        if case.signal.trips:
            return Ruling(asked=self.name, verdict=rule(case))
        is_loop = self.start is not None and max(case.signal.turns) >= self.start - SLACK
        self.asked.append(is_loop)
        said = Verdict(judge=self.name, loop=is_loop, confidence=1.0, reason="the label")
        return Ruling(asked=self.name, verdict=said)


def main() -> int:
    """Measure the corpus and the drawings."""
    corpus = Path(sys.argv[1]) if len(sys.argv) > 1 else shared_corpus()
    recorded = ((read_recording(one.path), one.loop_start) for one in read_corpus(corpus).runs)
    found = {"corpus": measure(recorded), "drawings": measure(_drawn())}
    print(json.dumps(found, indent=1))
    return 0


def measure(runs: Iterable[Labelled]) -> dict[str, float]:
    """Replay each run with and without questions."""
    counts: Counter[str] = Counter()
    for recording, start in runs:
        oracle = Oracle(start)
        plain, judged = replay(recording), replay(recording, judge=oracle)
        counts["runs"] += 1
        counts["healthy_turns"] += len(recording.turns) if start is None else start
        counts["questions_without_a_loop"] += oracle.asked.count(False)
        if start is None:
            continue
        counts["stuck"] += 1
        counts["found_by_rules"] += _is_found(plain.first_alarm, start)
        counts["found_with_questions"] += _is_found(judged.first_alarm, start)
        counts["sooner"] += _is_sooner(plain.first_alarm, judged.first_alarm, start)
    rate = 1000 * counts["questions_without_a_loop"] / max(1, counts["healthy_turns"])
    return {**counts, "questions_per_1000_healthy_turns": round(rate, 1)}


def _is_found(alarm: int | None, start: int) -> bool:
    return alarm is not None and alarm >= start - SLACK


def _is_sooner(plain: int | None, judged: int | None, start: int) -> bool:
    return plain is not None and judged is not None and _is_found(plain, start) and judged < plain


def _drawn() -> Iterator[Labelled]:
    for drawing in (*open_drawings(), *sealed_drawings()):
        yield Recording(run=drawing.name, turns=tuple(drawing.turns)), drawing.start


if __name__ == "__main__":
    sys.exit(main())
