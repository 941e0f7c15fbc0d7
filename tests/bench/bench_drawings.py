"""Measure the engine on drawn runs: `uv run python -m tests.bench.bench_drawings`.

Prints a table and a JSON object for the open drawings and the sealed ones apart.
Terms as in `guard bench`. `--runs` lists what went wrong among the open
drawings; of the sealed ones only counts are told, so that nobody tunes to them.
`--perturbed` gives found and false alarms after changes of form, for the drawings and,
where it is there, the corpus ($MISSIONCONTROL_SHARED or ../shared).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from guard.formats import Recording, read_recording
from guard.replay import Replayed, replay
from guard.turn import Turn
from tests.guard.drawings.drawing import Drawing
from tests.guard.drawings.gallery import open_drawings, sealed_drawings
from tests.guard.drawings.perturbed import PERTURBATIONS, chained, results_apart
from tests.installations import SHARED

SLACK = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A drawing and what the engine said of it."""

    drawing: Drawing
    replayed: Replayed

    @property
    def verdict(self) -> str:
        """found, early, missed, false or quiet."""
        alarm, start = self.replayed.first_alarm, self.drawing.start
        if start is None:
            return "quiet" if alarm is None else "false"
        if alarm is None:
            return "missed"
        return "found" if alarm >= start - SLACK else "early"

    @property
    def healthy_turns(self) -> int:
        """Turns before which no alarm is due."""
        start = self.drawing.start
        return len(self.drawing.turns) if start is None else start

    @property
    def delay(self) -> int:
        """Turns from the start of the stretch to the alarm."""
        return (self.replayed.first_alarm or 0) - (self.drawing.start or 0)


def main() -> int:
    """Score and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", action="store_true", help="list what went wrong")
    parser.add_argument("--variants", type=int, default=1, help="how often to draw each story")
    parser.add_argument("--perturbed", action="store_true", help="change the form of the runs")
    args = parser.parse_args()
    if args.perturbed:
        print(json.dumps(tell_perturbed(), indent=1))
        return 0
    report: dict[str, object] = {}
    for title, draw in (("open", open_drawings), ("sealed", sealed_drawings)):
        scored = score(one for variant in range(args.variants) for one in draw(variant))
        report[title] = tell(title, scored)
        if args.runs:
            list_errors(scored, by_name=title == "open")
    print(json.dumps(report, indent=1))
    return 0


def score(drawings: Iterable[Drawing]) -> list[Scored]:
    """Replay each drawing through a fresh engine and the local judge."""
    return [
        Scored(drawing=drawing, replayed=replay(Recording(run=drawing.name, turns=drawing.turns)))
        for drawing in drawings
    ]


def tell(title: str, scored: list[Scored]) -> dict[str, object]:
    """Print the tables and give their figures."""
    print(f"{title:<46}{'found':>10}{'early':>7}{'missed':>8}{'false':>9}{'FA/1k':>8}{'delay':>7}")
    total = figures(scored)
    _row("all", total)
    tables: dict[str, object] = {"all": total}
    for grouping in (lambda s: s.drawing.kind, lambda s: s.drawing.shape):
        for name, group in sorted(_grouped(scored, grouping).items()):
            tables[name] = of = figures(group)
            _row(name, of)
        print()
    return tables


def figures(scored: Iterable[Scored]) -> dict[str, object]:
    """Count the verdicts."""
    runs = list(scored)
    count = {name: sum(s.verdict == name for s in runs) for name in _VERDICTS}
    turns = sum(s.healthy_turns for s in runs)
    delays = [s.delay for s in runs if s.verdict == "found"]
    return {
        "stuck": count["found"] + count["early"] + count["missed"],
        **count,
        "healthy": count["quiet"] + count["false"],
        "healthy_turns": turns,
        "false_alarms_per_1000": round(1000 * (count["early"] + count["false"]) / max(1, turns), 2),
        "delay_median": statistics.median(delays) if delays else None,
    }


def list_errors(scored: Iterable[Scored], *, by_name: bool) -> None:
    """Print what went wrong: each run, or only how many of a kind."""
    counts: dict[str, int] = defaultdict(int)
    for one in scored:
        if one.verdict in {"found", "quiet"}:
            continue
        counts[f"{one.verdict} {one.drawing.kind}"] += 1
        if by_name:
            _print_error(one)
    if not by_name:
        for name, count in sorted(counts.items()):
            print(f"  {name}: {count}")
    print()


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A run of any source: its turns and where it gets stuck, if it does."""

    turns: tuple[Turn | None, ...]
    start: int | None

    def verdict(self, turns: Sequence[Turn | None]) -> str:
        """Judge these turns, another form of its own, by its label."""
        alarm = replay(Recording(run="", turns=tuple(turns))).first_alarm
        if self.start is None:
            return "quiet" if alarm is None else "false"
        if alarm is None:
            return "missed"
        return "found" if alarm >= self.start - SLACK else "early"

    def with_results_apart(self) -> Labelled:
        """Give the run with each result as a turn of its own; the start moves along."""
        turns = results_apart(self.turns)
        start = None if self.start is None else len(results_apart(self.turns[: self.start]))
        return Labelled(turns=turns, start=start)


def tell_perturbed() -> dict[str, dict[str, dict[str, float]]]:
    """Print found and false alarms of each source under each change of form."""
    report: dict[str, dict[str, dict[str, float]]] = {}
    for title, runs in _sources().items():
        print(f"{title:<34}{'found':>10}{'early':>7}{'false':>9}{'FA/1k':>8}")
        report[title] = {}
        for name, change in PERTURBATIONS.items():
            verdicts = [(run, run.verdict(change(run.turns))) for run in runs]
            report[title][name] = _tell_change(name, verdicts)
        apart = [run.with_results_apart() for run in runs]
        verdicts = [(run, run.verdict(run.turns)) for run in apart]
        report[title]["results apart"] = _tell_change("results as turns of their own", verdicts)
        healthy = chained(run.turns for run in runs if run.start is None)
        chains = [Labelled(turns=chain, start=None) for chain in healthy]
        verdicts = [(run, run.verdict(run.turns)) for run in chains]
        report[title]["chained"] = _tell_change(f"healthy chained, {len(chains)} runs", verdicts)
        print()
    return report


def _sources() -> dict[str, list[Labelled]]:
    sources = {
        "open": [Labelled(turns=d.turns, start=d.start) for d in open_drawings()],
        "sealed": [Labelled(turns=d.turns, start=d.start) for d in sealed_drawings()],
    }
    corpus = SHARED / "corpus"
    if corpus.is_dir():
        sources["corpus"] = list(_corpus(corpus))
    return sources


def _corpus(corpus: Path) -> Iterable[Labelled]:
    for line in (corpus / "index.jsonl").read_text().splitlines():
        header = json.loads(line)
        label = header["label"]
        if label["looping"] is not None:
            turns = read_recording(corpus / "runs" / f"{header['run']}.jsonl").turns
            yield Labelled(turns=turns, start=label["loop_start"] if label["looping"] else None)


def _tell_change(name: str, verdicts: list[tuple[Labelled, str]]) -> dict[str, float]:
    stuck = sum(run.start is not None for run, _ in verdicts)
    count = {word: sum(verdict == word for _, verdict in verdicts) for word in _VERDICTS}
    turns = sum(len(run.turns) if run.start is None else run.start for run, _ in verdicts)
    rate = round(1000 * (count["early"] + count["false"]) / max(1, turns), 2)
    found, quiet = f"{count['found']}/{stuck}", f"{count['false']}/{len(verdicts) - stuck}"
    print(f"  {name:<32}{found:>10}{count['early']:>7}{quiet:>9}{rate:>8}")
    return {**count, "healthy_turns": turns, "false_alarms_per_1000": rate}


_VERDICTS = ("found", "early", "missed", "quiet", "false")


def _print_error(one: Scored) -> None:
    drawing, replayed = one.drawing, one.replayed
    print(
        f"  {one.verdict:<7}{drawing.name} [{drawing.shape}] {len(drawing.turns)} turns, expected "
        f"{drawing.start}, got {replayed.first_alarm} {replayed.detector or ''}"
    )
    if replayed.alarm is not None:
        print(f"         engine: {replayed.alarm.evidence.summary}")
    print(f"         label:  {drawing.why}")


def _grouped(scored: Iterable[Scored], by: Callable[[Scored], str]) -> dict[str, list[Scored]]:
    groups: dict[str, list[Scored]] = defaultdict(list)
    for one in scored:
        groups[by(one)].append(one)
    return groups


def _row(name: str, of: dict[str, object]) -> None:
    found, quiet = f"{of['found']}/{of['stuck']}", f"{of['false']}/{of['healthy']}"
    delay = "" if of["delay_median"] is None else of["delay_median"]
    print(
        f"  {name:<44}{found:>10}{of['early']:>7}{of['missed']:>8}{quiet:>9}"
        f"{of['false_alarms_per_1000']:>8}{delay:>7}"
    )


if __name__ == "__main__":
    sys.exit(main())
