"""`guard bench`: every policy over labelled runs, in one run of the command."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guard.bench.cases import Ruling, count_agreement, read_cases, rule_on
from guard.bench.choose import GRID, PENALTY, LeftOut, grid_points, leave_one_out, policy_at
from guard.bench.labels import Corpus, read_corpus
from guard.bench.recombine import try_points
from guard.bench.scores import (
    SLACK,
    Outcome,
    Score,
    Trial,
    macro_average,
    score,
    score_by,
)
from guard.bench.trials import TURN_COUNTS, count_turns, try_policies
from guard.errors import GuardError
from guard.policy import Policy
from guard.presets import PRESETS
from guard.progress import progress
from guard.replay import choose_policy
from guard.tables import printable, table

_FIGURES = (
    "stuck", "found", "early", "missed", "healthy", "false", "FA/1k", "delay", "p90", "us/turn",
    "p99",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Benched:
    """All that was measured; `name` is the policy that is looked at closely."""

    corpus: Corpus
    slack: int
    name: str
    trials: Mapping[str, Sequence[Trial]]
    left_out: Sequence[LeftOut] | None

    @property
    def own(self) -> Sequence[Trial]:
        """The trials of the policy that is looked at closely."""
        return self.trials[self.name]

    def scores(self) -> dict[str, Score]:
        """Score every policy, then the rules that only count turns."""
        rules = {name: score(trials, slack=self.slack) for name, trials in self.trials.items()}
        counted = {
            f"turn {at}": score(count_turns(self.own, at), slack=self.slack) for at in TURN_COUNTS
        }
        return {**rules, **counted}

    def by_source(self) -> dict[str, Score]:
        """Score the looked-at policy source by source."""
        return score_by(self.own, lambda labelled: labelled.source, slack=self.slack)

    def by_kind(self) -> dict[str, Score]:
        """Score the looked-at policy by the kind of loop that was labelled."""
        return score_by(self.own, lambda labelled: labelled.kind, slack=self.slack)

    def wrong(self) -> list[Trial]:
        """Give the runs that were missed, alarmed early or falsely."""
        fine = {Outcome.FOUND, Outcome.QUIET}
        return [trial for trial in self.own if trial.outcome(self.slack) not in fine]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument(
        "path", nargs="?", type=Path, metavar="PATH",
        help="a folder with index.jsonl and runs/, or one of labelled turn files",
    )  # fmt: skip
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--preset", metavar="NAME", help="what is looked at closely")
    which.add_argument("--policy", type=Path, metavar="FILE", help="the same, JSON or TOML")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--runs", action="store_true", help="list what went wrong")
    parser.add_argument(
        "--slack", type=int, default=SLACK, metavar="N",
        help=f"turns by which labelled starts may be off (default {SLACK})",
    )  # fmt: skip
    parser.add_argument(
        "--leave-one-out", action="store_true",
        help="choose thresholds without each source in turn, score them on it",
    )  # fmt: skip
    parser.add_argument(
        "--cases", type=Path, metavar="DIR", help="also count agreement with other projects' cases"
    )


def run(args: argparse.Namespace) -> int:
    """Measure and print; 2 where there is nothing to measure."""
    # Some rules log every loop they see: that would drown the tables.
    logging.getLogger("guard").addHandler(logging.NullHandler())
    try:
        benched = _bench(args) if args.path else None
        rulings = _rule(args.cases, _choose(args)[1]) if args.cases else None
    except GuardError as error:
        sys.stderr.write(f"guard bench: {printable(str(error), longest=400)}\n")
        return 2
    if benched is None and rulings is None:
        sys.stderr.write("guard bench: nothing to measure: give PATH, --cases or both\n")
        return 2
    if args.json:
        found = {**(_as_json(benched, runs=args.runs) if benched else {})}
        found |= _cases_as_json(rulings) if rulings else {}
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
    else:
        sys.stdout.write(_as_text(benched, runs=args.runs) if benched else "")
        sys.stdout.write(_cases_as_text(rulings) if rulings else "")
    return 0


def _bench(args: argparse.Namespace) -> Benched:
    chosen, base = _choose(args)
    corpus = read_corpus(args.path)
    # Two names for one policy would be measured twice.
    rest = {name: policy for name, policy in PRESETS.items() if policy != base}
    trials = try_policies(corpus.runs, {chosen: base, **rest})
    left_out = None
    if args.leave_one_out:
        points = {point: policy_at(base, point) for point in grid_points(base)}
        left_out = leave_one_out(try_points(corpus.runs, points), slack=args.slack)
    return Benched(corpus=corpus, slack=args.slack, name=chosen, trials=trials, left_out=left_out)


def _choose(args: argparse.Namespace) -> tuple[str, Policy]:
    """Give the policy that is looked at closely, and what to call it."""
    name = str(args.policy) if args.policy else args.preset or "default"
    return name, choose_policy(args.preset, args.policy)


def _rule(folder: Path, policy: Policy) -> list[Ruling]:
    cases = read_cases(folder)
    return [rule_on(case, policy) for case in progress(cases, total=len(cases), what="cases")]


# --- as JSON -----------------------------------------------------------------


def _as_json(benched: Benched, *, runs: bool) -> dict[str, Any]:
    by_source = benched.by_source()
    found: dict[str, Any] = {
        "policy": benched.name,
        "slack": benched.slack,
        "undecided": benched.corpus.undecided,
        "policies": _rows(benched.scores()),
        "by_source": _rows(by_source),
        "by_kind": _rows(benched.by_kind()),
        "macro_average": macro_average(by_source.values()).as_row(),
    }
    if benched.left_out is not None:
        found["leave_one_out"] = _left_out_as_json(benched.left_out, benched.slack)
    if runs:
        found["wrong"] = [_trial_as_json(trial, benched.slack) for trial in benched.wrong()]
    return found


def _rows(scores: Mapping[str, Score]) -> dict[str, Any]:
    return {name: one.as_row() for name, one in scores.items()}


def _left_out_as_json(left_out: Sequence[LeftOut], slack: int) -> dict[str, Any]:
    return {
        "objective": f"found - {PENALTY} * (false + early), on the other sources",
        "grid": {name: list(values) for name, values in GRID.items()},
        "by_source": {one.source: {"chosen": one.chosen, **one.score.as_row()} for one in left_out},
        "all": _together(left_out, slack).as_row(),
        "macro_average": macro_average(one.score for one in left_out).as_row(),
    }


def _together(left_out: Sequence[LeftOut], slack: int) -> Score:
    return score((trial for one in left_out for trial in one.trials), slack=slack)


def _trial_as_json(trial: Trial, slack: int) -> dict[str, Any]:
    return {
        "run": trial.labelled.run,
        "outcome": trial.outcome(slack).value,
        "loop_start": trial.labelled.loop_start,
        "alarm": trial.alarm,
        "detector": trial.detector,
        "summary": trial.summary,
        "label": trial.labelled.rationale,
    }


def _cases_as_json(rulings: Sequence[Ruling]) -> dict[str, Any]:
    return {
        "cases": count_agreement(rulings),
        "disagreements": [str(ruling) for ruling in rulings if not ruling.agrees],
    }


# --- as text -----------------------------------------------------------------


def _as_text(benched: Benched, *, runs: bool) -> str:
    by_source = benched.by_source()
    macro = macro_average(by_source.values())
    share = "-" if macro.found_share is None else f"{macro.found_share:.0%}"
    parts = [
        _headline(benched),
        _scores("policy", benched.scores()),
        f"{benched.name}, by source (macro average: {share} found, \
{macro.fa_per_1000:.2f} false alarms per 1,000 healthy turns)\n",
        _scores("source", by_source),
        f"{benched.name}, by kind of loop\n",
        _scores("kind", benched.by_kind()),
    ]
    if benched.left_out is not None:
        parts.append(_left_out_as_text(benched.left_out, benched.slack))
    if runs:
        parts.append(_wrong_as_text(benched))
    return "\n".join(parts)


def _headline(benched: Benched) -> str:
    total = score(benched.own, slack=benched.slack)
    return (
        f"{total.stuck + total.healthy} runs of {len(benched.corpus.sources)} sources: "
        f"{total.stuck} stuck, {total.healthy} healthy ({total.healthy_turns} healthy turns); "
        f"{benched.corpus.undecided} undecided left out; slack {benched.slack} turns\n"
    )


def _scores(head: str, scores: Mapping[str, Score]) -> str:
    return table((head, *_FIGURES), [(name, *_cells(one)) for name, one in scores.items()])


def _cells(one: Score) -> tuple[str, ...]:
    share = "" if one.found_share is None else f" {one.found_share:.0%}"
    return (
        str(one.stuck),
        f"{one.found}{share}",
        str(one.early),
        str(one.missed),
        str(one.healthy),
        str(one.false),
        f"{one.fa_per_1000:.2f}",
        _figure(one.delay_median, "g"),
        _figure(one.delay_p90, "g"),
        _figure(one.us_median, ".0f"),
        _figure(one.us_p99, ".0f"),
    )


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _left_out_as_text(left_out: Sequence[LeftOut], slack: int) -> str:
    heads = ("left out", *_FIGURES[:9], *(name.partition(".")[2] for name in GRID))
    rows = [
        (one.source, *_cells(one.score)[:9], *(f"{value:g}" for value in one.chosen.values()))
        for one in left_out
    ]
    together = ("all", *_cells(_together(left_out, slack))[:9], *("" for _ in GRID))
    return (
        f"leave one source out: thresholds chosen on the others by found - {PENALTY} x "
        "(false + early)\n\n" + table(heads, [*rows, together])
    )


def _wrong_as_text(benched: Benched) -> str:
    lines = [
        f"{trial.outcome(benched.slack).value} {printable(trial.labelled.run)}: "
        f"start {trial.labelled.loop_start}, alarm {trial.alarm} {trial.detector or ''} "
        f"{printable(trial.summary)}\n    {printable(trial.labelled.rationale)}\n"
        for trial in benched.wrong()
    ]
    return "what went wrong\n\n" + "".join(lines)


def _cases_as_text(rulings: Sequence[Ruling]) -> str:
    rows = [
        (name, f"{row['stuck_agree']} of {row['stuck']}", f"{row['quiet_agree']} of {row['quiet']}")
        for name, row in count_agreement(rulings).items()
    ]
    others = "".join(f"  {printable(str(ruling))}\n" for ruling in rulings if not ruling.agrees)
    return f"\nother projects' cases\n\n{table(('portability', 'stuck', 'quiet'), rows)}\n{others}"
