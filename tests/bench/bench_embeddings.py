"""Measure what each embedding gains and costs: `python -m tests.bench.bench_embeddings`.

    python -m tests.bench.bench_embeddings CORPUS [--model2vec DIR]

CORPUS holds labelled runs (`guard bench`), by default ../shared/corpus or
$MISSIONCONTROL_SHARED/corpus. Each embedding is measured at several thresholds:
alone (`talk` the only rule) and within the default engine. An
embedding whose package is not installed is told on stderr and left out. Prints
one JSON object: found, early, false on the corpus and on our own drawings, the
microseconds (CPU) of a turn and of one comparison of two new texts, and the seconds
its first use takes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from guard.bench.labels import Labelled, read_corpus
from guard.bench.scores import SLACK, score
from guard.bench.trials import try_policies
from guard.contrib.embedding import load_similarity
from guard.errors import EmbeddingMissing
from guard.formats import Recording, read_recording
from guard.policy import DEFAULT_POLICY, Policy, Talk
from guard.reading.normalize import call_text
from guard.replay import replay
from tests.guard.drawings.gallery import open_drawings, sealed_drawings
from tests.installations import SHARED

MOST_TEXTS = 3_000


def main() -> int:
    """Measure every embedding that is installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="?", type=Path, default=shared_corpus())
    parser.add_argument("--model2vec", type=Path, metavar="DIR", help="a saved model")
    args = parser.parse_args()
    names = ["hashing", "wordllama"]
    names += [f"model2vec:{args.model2vec}"] if args.model2vec else []
    corpus = read_corpus(args.corpus)
    print(json.dumps({name: measure(name, corpus.runs) for name in names}, indent=1))
    return 0


def measure(name: str, runs: tuple[Labelled, ...]) -> dict[str, Any] | None:
    """Measure one embedding; None: it is not installed."""
    started = time.perf_counter()
    try:
        load_similarity(name)("a first", "and a second text")
    except EmbeddingMissing as missing:
        sys.stderr.write(f"left out: {missing}\n")
        return None
    figures: dict[str, Any] = {"first_use_s": round(time.perf_counter() - started, 2)}
    figures["us_comparison"] = _comparison_us(name, runs)
    whole = replace(DEFAULT_POLICY, talk=Talk(embedding=name))
    for how, policy in {"whole": whole, "alone": replace(whole, detectors=("talk",))}.items():
        figures[how] = {**_figures(policy, runs), "drawings": _on_drawings(policy)}
    return figures


def _figures(policy: Policy, runs: tuple[Labelled, ...]) -> dict[str, Any]:
    trials = try_policies(runs, {"it": policy})["it"]
    figures = score(trials)
    return {
        "found": figures.found,
        "early": figures.early,
        "false": figures.false,
        "us_median": figures.us_median,
        "us_p99": figures.us_p99,
    }


def _comparison_us(name: str, runs: tuple[Labelled, ...]) -> float:
    """Time the comparison of neighbouring texts, each new to it: the median."""
    turns = [turn for one in runs for turn in read_recording(one.path).turns if turn]
    texts = list(dict.fromkeys(turn.content or call_text(turn) for turn in turns))[:MOST_TEXTS]
    likeness, took = load_similarity(name), []
    for one, other in pairwise(texts):
        began = time.thread_time_ns()
        likeness(one, other)
        took.append((time.thread_time_ns() - began) / 1000)
    return round(statistics.median(took), 1)


def _on_drawings(policy: Policy) -> dict[str, int]:
    """Count verdicts on every drawing, the sealed ones included: totals alone."""
    counts: Counter[str] = Counter()
    for drawing in (*open_drawings(), *sealed_drawings()):
        recording = Recording(run=drawing.name, turns=tuple(drawing.turns))
        alarm = replay(recording, policy).first_alarm
        if drawing.start is None:
            counts["quiet" if alarm is None else "false"] += 1
        elif alarm is None:
            counts["missed"] += 1
        else:
            counts["found" if alarm >= drawing.start - SLACK else "early"] += 1
    return dict(counts)


def shared_corpus() -> Path:
    """Return where the recorded runs lie beside the checkout."""
    return SHARED / "corpus"


if __name__ == "__main__":
    sys.exit(main())
