"""`guard bench`: measures every policy on labelled runs with one command."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from guard.bench.labels import Corpus, read_corpus
from guard.bench.oracle import ask_all, leave_one_source_out, read_all
from guard.bench.scores import SLACK, Outcome, Score, Trial, macro_average, score, score_by
from guard.bench.trials import (
    TURN_COUNTS,
    Ruling,
    count_agreement,
    count_turns,
    read_cases,
    rule_on,
    try_forms,
    try_policies,
)
from guard.errors import GuardError
from guard.policy import PRESETS, Policy
from guard.printing import printable, progress, table
from guard.replay import add_policy_arguments, choose_policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Benched:
    """All measurements; `name` is the policy that is examined in detail.

    Attributes:
        trials: The trials of every policy.
        forms: Those of the examined policy on the same runs in other forms.
        ablated: Those of this policy with each of its rules switched off in turn.
    """

    corpus: Corpus
    slack: int
    name: str
    trials: Mapping[str, Sequence[Trial]]
    forms: Mapping[str, Sequence[Trial]]
    ablated: Mapping[str, Sequence[Trial]]

    @property
    def own(self) -> Sequence[Trial]:
        """The trials of the examined policy."""
        return self.trials[self.name]

    def scored(self, trials: Mapping[str, Sequence[Trial]]) -> dict[str, Score]:
        """Score trials by name."""
        return {name: score(ones, slack=self.slack) for name, ones in trials.items()}

    def scores(self) -> dict[str, Score]:
        """Score every policy, then the rules that only count turns."""
        # Rules that only count turns are the baseline that every policy must beat.
        rules = self.scored(self.trials)
        counted = {
            f"turn {at}": score(count_turns(self.own, at), slack=self.slack) for at in TURN_COUNTS
        }
        return {**rules, **counted}

    def lost_without(self, name: str) -> list[str]:
        """Return the names of the runs whose loop this ablated policy no longer finds."""
        # By name, not by count: finding one run and losing another would look like no change.
        found, still = (
            # With the source, since runs of two sources may have the same name.
            {
                (trial.labelled.source, trial.labelled.run)
                for trial in trials
                if trial.outcome(self.slack) is Outcome.FOUND
            }
            for trials in (self.own, self.ablated[name])
        )
        return [run for _, run in sorted(found - still)]

    def by_source(self) -> dict[str, Score]:
        """Score the examined policy source by source."""
        return score_by(self.own, lambda labelled: labelled.source, slack=self.slack)

    def by_kind(self) -> dict[str, Score]:
        """Score the examined policy by the labelled kind of loop."""
        return score_by(self.own, lambda labelled: labelled.kind, slack=self.slack)

    def wrong(self) -> list[Trial]:
        """Return the trials of runs that were missed, or alarmed early or falsely."""
        # A found run is not wrong, whatever came before: false alarms are counted separately.
        fine = {Outcome.FOUND, Outcome.QUIET}
        return [trial for trial in self.own if trial.outcome(self.slack) not in fine]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument(
        "path",
        nargs="?",
        type=Path,
        metavar="PATH",
        help="a folder with index.jsonl and runs/, or one of labelled turn files",
    )
    # The policy to examine.
    add_policy_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--runs", action="store_true", help="list what went wrong")
    parser.add_argument(
        "--slack",
        type=int,
        default=SLACK,
        metavar="N",
        help=f"turns by which labelled starts may be off (default {SLACK})",
    )
    parser.add_argument(
        "--forms", action="store_true", help="also the same runs told in every other form"
    )
    parser.add_argument(
        "--oracle",
        action="store_true",
        help="only how often a judge is asked, with one that knows the labels in its place",
    )
    parser.add_argument(
        "--ablate", action="store_true", help="only the chosen policy, and it without each rule"
    )
    parser.add_argument(
        "--cases", type=Path, metavar="DIR", help="also count agreement with other projects' cases"
    )


def run(args: argparse.Namespace) -> int:
    """Measure and print; return 2 if there is nothing to measure."""
    # Some rules log every loop that they find, which would flood the tables.
    logging.getLogger("guard").addHandler(logging.NullHandler())
    # A file is named by its path: several may contain variants of the same preset.
    name = str(args.policy) if args.policy else args.preset or "default"
    benched, rulings = None, None
    try:
        policy = choose_policy(args.preset, args.policy)
        # A separate measurement: its figures rest on other alarms than the tables.
        if args.path and args.oracle:
            sys.stdout.write(_ask(args, policy))
            return 0
        if args.path:
            benched = _bench(args, name, policy)
        if args.cases:
            cases = read_cases(args.cases)
            shown = progress(cases, total=len(cases), what="cases")
            rulings = [rule_on(case, policy) for case in shown]
    except GuardError as error:
        sys.stderr.write(f"guard bench: {printable(str(error), max_length=400)}\n")
        return 2
    # An error, since an empty table would look as if nothing had been found.
    if benched is None and rulings is None:
        sys.stderr.write("guard bench: nothing to measure: give PATH, --cases or both\n")
        return 2
    tell(args, benched, rulings or [])
    return 0


def tell(args: argparse.Namespace, benched: Benched | None, rulings: Sequence[Ruling]) -> None:
    """Print what was measured."""
    if args.json:
        found = as_mapping(benched, runs=args.runs) if benched else {}
        # Disagreements are listed case by case, since other projects' verdicts may be wrong.
        if rulings:
            found["cases"] = count_agreement(rulings)
            found["disagreements"] = [str(ruling) for ruling in rulings if not ruling.agrees]
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
    else:
        sys.stdout.write(as_text(benched, runs=args.runs) if benched else "")
    if rulings and not args.json:
        rows = [
            (
                name,
                f"{row['stuck_agree']} of {row['stuck']}",
                f"{row['quiet_agree']} of {row['quiet']}",
            )
            for name, row in count_agreement(rulings).items()
        ]
        counted = table(("portability", "stuck", "quiet"), rows)
        others = "".join(f"  {printable(str(one))}\n" for one in rulings if not one.agrees)
        sys.stdout.write(f"\nother projects' cases\n\n{counted}\n{others}")


def _bench(args: argparse.Namespace, name: str, base: Policy) -> Benched:
    corpus = read_corpus(args.path)
    # A preset equal to the chosen policy would be measured twice.
    rest = {preset: policy for preset, policy in PRESETS.items() if policy != base}
    off = {
        f"without {rule}": replace(base, detectors=tuple(r for r in base.detectors if r != rule))
        for rule in base.detectors
    }
    # One pass over the corpus for all policies, so that all are measured on the same runs.
    trials = try_policies(corpus.runs, {name: base, **(off if args.ablate else rest)})
    ablated = {name: trials.pop(name) for name in off} if args.ablate else {}
    forms = try_forms(corpus.runs, base) if args.forms else {}
    return Benched(
        corpus=corpus, slack=args.slack, name=name, trials=trials, forms=forms, ablated=ablated
    )


def _ask(args: argparse.Namespace, policy: Policy) -> str:
    """Measure the questions with the oracle as the judge, and return the report."""
    runs = read_corpus(args.path).runs
    # Twice: one oracle confirms a loop at the first suspicion; the careful one, like a
    # careful judge, only once it is evident.
    reach, careful = ask_all(runs, policy), ask_all(runs, policy, careful=True)
    left_out = leave_one_source_out(read_all(runs, policy), policy)
    if args.json:
        sources = {name: one.as_row() for name, one in reach.by_source().items()}
        found = {**reach.as_row(), "by_source": sources, "careful": careful.as_row()}
        found["leave_one_source_out"] = left_out
        return json.dumps(found, indent=1) + "\n"
    named = {"all": reach, **reach.by_source()}
    rows = [(name, *_reach_cells(one.as_row())) for name, one in named.items()]
    rows += [
        ("chosen without the source", *_reach_cells(left_out)),
        ("all, sure once evident", *_reach_cells(careful.as_row())),
        ("chosen so, sure once evident", *_reach_cells(left_out["careful"])),
    ]
    heads = ("source", "asked/1k", "stretches", "reached", "stuck", "found", "macro")
    return (
        "A judge that knows the labels: questions per 1,000 healthy turns; stuck stretches asked\n"
        "about within two attempts of being evident; stuck runs found with its answers.\n\n"
        f"{table(heads, rows)}"
    )


def _reach_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    shares = {
        name: "-" if row[name] is None else f"{row[name]:.0%}"
        for name in ("reached_share", "macro")
    }
    return (
        f"{row['questions_per_1000']:.1f}",
        str(row["stretches"]),
        shares["reached_share"],
        str(row["stuck"]),
        str(row["found"]),
        shares["macro"],
    )


def as_mapping(benched: Benched, *, runs: bool) -> dict[str, Any]:
    """Return plain JSON values; `runs` adds the runs that went wrong."""
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
    if benched.forms:
        found["by_form"] = _rows(benched.scored(benched.forms))
    if benched.ablated:
        found["ablation"] = {
            name: {**one.as_row(), "lost": benched.lost_without(name)}
            for name, one in benched.scored(benched.ablated).items()
        }
    if runs:
        found["wrong"] = [
            {
                "run": trial.labelled.run,
                "outcome": trial.outcome(benched.slack).value,
                "loop_start": trial.labelled.loop_start,
                "alarm": trial.alarm,
                "false_alarms": trial.false_alarms(benched.slack),
                "detector": trial.detector,
                "summary": trial.summary,
                "label": trial.labelled.rationale,
            }
            for trial in benched.wrong()
        ]
    return found


def _rows(scores: Mapping[str, Score]) -> dict[str, Any]:
    return {name: one.as_row() for name, one in scores.items()}


def as_text(benched: Benched, *, runs: bool) -> str:
    """Return tables; `runs` adds the runs that went wrong."""
    by_source = benched.by_source()
    # Over sources: the source with the most runs would dominate an average over runs.
    macro = macro_average(by_source.values())
    share = "-" if macro.found_share is None else f"{macro.found_share:.0%}"
    total = score(benched.own, slack=benched.slack)
    parts = [
        (
            f"{total.stuck + total.healthy} runs of {len(benched.corpus.sources)} sources: "
            f"{total.stuck} stuck, {total.healthy} healthy ({total.healthy_turns} healthy turns); "
            f"{benched.corpus.undecided} undecided left out; slack {benched.slack} turns\n"
        ),
        _scores("policy", benched.scores()),
        f"{benched.name}, by source (macro average: {share} found, \
{macro.fa_per_1000:.2f} false alarms per 1,000 healthy turns)\n",
        _scores("source", by_source),
        f"{benched.name}, by kind of loop\n",
        _scores("kind", benched.by_kind()),
    ]
    if benched.forms:
        parts += [
            f"{benched.name}, in other forms\n",
            _scores("form", benched.scored(benched.forms)),
        ]
    if benched.ablated:
        parts += [
            f"{benched.name}, without each rule\n",
            _scores("rules", benched.scored(benched.ablated)),
        ]
        losses = ((name, benched.lost_without(name)) for name in benched.ablated)
        parts.append("".join(f"{name} it loses {len(lost)} runs\n" for name, lost in losses))
    if runs:
        lines = [
            f"{trial.outcome(benched.slack).value} {printable(trial.labelled.run)}: "
            f"start {trial.labelled.loop_start}, alarm {trial.alarm} {trial.detector or ''} "
            f"{printable(trial.summary)}\n    {printable(trial.labelled.rationale)}\n"
            for trial in benched.wrong()
        ]
        parts.append("what went wrong\n\n" + "".join(lines))
    return "\n".join(parts)


def _scores(head: str, scores: Mapping[str, Score]) -> str:
    rows = [(name, *(cell(one) for cell in _COLUMNS.values())) for name, one in scores.items()]
    return table((head, *_COLUMNS), rows)


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


_COLUMNS: dict[str, Callable[[Score], str]] = {
    "stuck": lambda one: str(one.stuck),
    "found": lambda one: (
        f"{one.found}" if one.found_share is None else f"{one.found} {one.found_share:.0%}"
    ),
    "early": lambda one: str(one.early),
    "missed": lambda one: str(one.missed),
    "healthy": lambda one: str(one.healthy),
    "false": lambda one: str(one.false),
    "FA/1k": lambda one: f"{one.fa_per_1000:.2f}",
    "delay": lambda one: _figure(one.delay_median, "g"),
    "p90": lambda one: _figure(one.delay_p90, "g"),
    "us/turn": lambda one: _figure(one.us_median, ".0f"),
    "p99": lambda one: _figure(one.us_p99, ".0f"),
}
