"""`guard explain`: why a turn of a recorded run was or was not flagged."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from guard.errors import GuardError
from guard.explain.reasons import Explanation, Result, explain
from guard.formats import read_recording
from guard.policy import Policy
from guard.printing import printable, table
from guard.reading.step import Step
from guard.reading.terms import NEWS
from guard.replay import add_policy_arguments, choose_policy
from guard.signals import Severity, Signal

# To fit a terminal's page; `--json` has everything.
_SHOWN = 8
_RESULTS = {
    Result.ALARM: "flagged: a card opens",
    Result.OPEN: "flagged, while a card was open already",
    Result.DISMISSED: "tripped, and the judge let the agent go",
    Result.NUDGE: "not flagged: something stirs, not enough of it",
    Result.QUIET: "not flagged: nothing stirs",
    Result.SPOKEN_TO: "somebody spoke to the agent: nothing to judge",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument(
        "--turn",
        type=int,
        metavar="N",
        # Positions, not `seq`: the reader of a file numbers turns by position.
        help="position in the file, first turn 0 (default: the first alarm, or what came nearest)",
    )
    add_policy_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(args: argparse.Namespace) -> int:
    """Explain a turn; return 2 for a wrong policy, 1 if there is no such turn."""
    try:
        policy = choose_policy(args.preset, args.policy)
    except GuardError as error:
        return _complain(str(error), 2)
    # Not the status of a wrong policy, so that a script can tell a wrong command from a wrong file.
    try:
        found = explain(read_recording(args.file), args.turn, policy)
    except GuardError as error:
        return _complain(str(error), 1)
    if found is None:
        return _complain(f"{args.file}: no readable turn {args.turn}", 1)
    text = json.dumps(as_mapping(found), indent=1) if args.json else as_text(found, policy)
    sys.stdout.write(text + "\n")
    return 0


def _complain(sentence: str, status: int) -> int:
    # The message may quote the file, whose text must not control the terminal.
    sys.stderr.write(f"guard explain: {printable(sentence, max_length=400)}\n")
    return status


def as_mapping(found: Explanation) -> dict[str, Any]:
    """Return the explanation as plain JSON values."""
    newest = found.step
    return {
        "run": found.run,
        "turn": found.place,
        "result": found.result.value,
        "remembered_since": {"turn": found.since, "why": found.began},
        "score": found.assessment.score,
        "changed": found.assessment.changed,
        "step": {
            "agent": newest.agent,
            "call": newest.call,
            "action": newest.action_class,
            "proposed": newest.proposed,
            "outcome_known": newest.outcome_known,
            "failed": newest.failed,
            "failure": newest.failure,
            "news": round(newest.news, 3),
            "new_request": newest.is_new,
            "acted": newest.had_effect,
            "improved": newest.improved,
            "patient": newest.needs_time,
            "asks": newest.is_question,
        }
        if newest
        else None,
        "most_alike": {"turn": found.nearest.seq, "likeness": found.nearest.likeness}
        if found.nearest
        else None,
        "stuck": round(found.score, 3),
        "attempts": [
            {
                "turn": step.seq,
                "request": step.call or step.text,
                "answer": _came(step),
                "repeats": weight.repeats or None,
                "brings": weight.brings or None,
                "gain": weight.gain,
                "keep": weight.keep,
            }
            for step, weight in zip(found.steps, found.weights, strict=True)
        ],
        # Silent rules too: null says that a rule looked and found nothing.
        "detectors": [
            {"detector": one.detector, "signal": _signal_as_mapping(one.signal)}
            for one in found.findings
        ],
        "suspicion": _signal_as_mapping(found.assessment.suspicion),
        "judge": {
            "loop": found.verdict.loop,
            "confidence": found.verdict.confidence,
            "reason": found.verdict.reason,
            "fix": found.verdict.fix,
        }
        if found.verdict
        else None,
    }


def _signal_as_mapping(signal: Signal | None) -> dict[str, Any] | None:
    if signal is None:
        return None
    evidence = signal.evidence
    return {
        "score": round(signal.score, 3),
        # The key keeps its old name, because scripts read it.
        "rung": _severity(signal),
        "turns": list(signal.turns),
        "repeats": evidence.repeats,
        "limit": evidence.limit,
        "similarity": evidence.similarity,
        "threshold": evidence.threshold,
        "summary": evidence.summary,
    }


def as_text(found: Explanation, policy: Policy) -> str:
    """Return the explanation as a page of text."""
    head = f"turn {found.place} of {printable(found.run)}: {_RESULTS[found.result]}"
    if found.step is None:
        return "\n".join([head, *_conclusion(found, policy)])
    parts = [head, "", *_reading(found, found.step), "", _attempts(found)]
    for one in found.findings:
        if signal := one.signal:
            evidence = signal.evidence
            measure = f"score {signal.score:.2f}"
            if evidence.limit:
                measure += f", {evidence.repeats} of {evidence.limit}"
            if evidence.similarity is not None and evidence.threshold is not None:
                measure += f", likeness {evidence.similarity:.2f} against {evidence.threshold:.2f}"
            summary = printable(evidence.summary)
            level = _severity(signal)
            parts.append(f"{one.detector} ({signal.kind}): {measure}, severity {level}: {summary}")
    # Silent rules too: that they found nothing is half of why a turn was not flagged.
    if silent := [one.detector for one in found.findings if not one.signal]:
        parts.append(f"silent: {', '.join(silent)}")
    return "\n".join([*parts, "", *_conclusion(found, policy)])


def _reading(found: Explanation, step: Step) -> list[str]:
    # Names and texts come from the recording and must not control the terminal.
    who = printable(step.agent) or "the agent"
    action = "is about to" if step.proposed else "did"
    what = f"{action}: {printable(step.call)}" if step.is_call else f"said: {printable(step.text)}"
    remembered = f"remembered: {len(found.steps)} turns since turn {found.since}, {found.began}"
    lines = [f"{who} {what}"]
    if not step.outcome_known and not step.proposed:
        # Different from an empty answer: a log without results says nothing about progress.
        lines.append("came back: not known")
    elif not step.proposed:
        came = "of what it said: "
        if step.outcome is not None:
            how = "a failure" if step.failed else "an answer"
            came = f"came back: {how}, {printable(step.outcome.text, max_length=80)!r}, "
        enough = "news" if step.news >= NEWS else "no news"
        lines.append(f"{came}{step.news:.0%} of it new ({enough}; the line is {NEWS:.0%})")
    changed = "something changed" if found.assessment.changed else "nothing changed"
    alike = "nothing before it"
    if found.nearest:
        alike = f"turn {found.nearest.seq}, {found.nearest.likeness:g} of 1"
    return [*lines, f"most alike: {alike}; {changed}", remembered]


def _attempts(found: Explanation) -> str:
    """Return a table of the last attempts: request, answer, repeats, news and weight."""
    rows = []
    for step, weight in list(zip(found.steps, found.weights, strict=True))[-_SHOWN:]:
        brings = {
            weight.brings.replace("_", " "): bool(weight.brings),
            "an action": step.had_effect,
            "fewer failures": step.improved,
            "patience": step.needs_time,
        }
        cells = (
            str(step.seq),
            printable(step.call or step.text, max_length=50),
            _came(step),
            weight.repeats.replace("_", " ") or "-",
            ", ".join(name for name, holds in brings.items() if holds) or "-",
            f"x{weight.keep:g} +{weight.gain:g}",
        )
        rows.append(cells)
    return table(("turn", "request", "answer", "repeats", "brings", "score"), rows)


def _came(step: Step) -> str:
    if not step.is_call:
        return "-"
    if step.outcome is None:
        return "not known"
    # The end of the digest: a reader compares it to find equal answers.
    return f"{'failure' if step.failed else 'answer'} {step.outcome.digest[-6:]}"


def _severity(signal: Signal) -> str:
    """Return the severity in effect; a rule's own one applies only at a score of 1."""
    if signal.score >= 1.0:
        return signal.severity.name.lower()
    return "nudge" if signal.severity is Severity.NUDGE else "observe"


def _conclusion(found: Explanation, policy: Policy) -> list[str]:
    lines = []
    # Without the rule that reads the score, it opens no card and would mislead.
    if found.step and "stall" in policy.detectors:
        lines.append(f"stuck score: {found.score:.2f}, asks from {policy.sensitivity:g}")
    if suspicion := found.assessment.suspicion:
        lines.append(f"worth a question to a model: {printable(suspicion.evidence.summary)}")
    if trip := found.assessment.trip:
        lines.append(f"trips: {trip.detector}, severity {trip.severity.name.lower()}")
    if found.verdict:
        ruling = "a loop" if found.verdict.loop else "no loop"
        lines.append(f"judge: {ruling}. {printable(found.verdict.reason, max_length=400)}")
    if found.verdict and found.verdict.fix:
        lines.append(f"proposes: {printable(found.verdict.fix, max_length=400)}")
    return lines
