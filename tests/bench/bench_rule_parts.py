"""What each part of a rule finds that nothing else finds: recorded runs with it switched off.

`guard bench --ablate` switches whole rules off; this looks inside them. A part that
costs no find in any form of the log is there for a promise, or for nothing.

    uv run python -m tests.bench.bench_rule_parts CORPUS [--forms] [PART …]
"""

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from guard.bench.forms import FORMS
from guard.bench.labels import read_corpus
from guard.bench.scores import Trial, score
from guard.detectors import DETECTORS, base
from guard.detectors import score as stuck
from guard.engine import Engine
from guard.formats import read_recording
from guard.policy import Policy

_NEVER = 50
# What is switched off: settings as far as they go, or something else in the place of a part.
PARTS: dict[str, Any] = {
    "nothing": {},
    **{
        f"{rule.name}: {check.__name__}": (rule, "checks", check)
        for rule in DETECTORS.values()
        for check in rule.checks
    },
    "errors: same failure": {"errors": {"same": _NEVER}},
    "errors: nearly the same request": {"errors": {"near": _NEVER}},
    "errors: same refusal": {"errors": {"refused": _NEVER}},
    "errors: variants of a command": {"errors": {"variants": _NEVER}},
    "errors, stagnation: own targets": (base, "have_own_targets", lambda *_, **__: True),
    "stagnation: near questions": {"stagnation": {"near": _NEVER}},
    "stagnation: same answer": {"stagnation": {"questions": _NEVER}},
    "stagnation: known answers": {"stagnation": {"known": _NEVER}},
    "score: checks its own edit": (stuck, "_checks_its_own_edit", lambda *_: False),
}


def alarms(rows, policy):
    engine, found = Engine(policy), []
    for origin, turn in rows:
        if engine.observe(turn).trip is not None:
            found.append(origin)
            engine.reset()
    return tuple(found)


def measure(runs, forms, policy):
    """Return found and false alarms per 1,000 healthy turns, by form."""
    rows = {}
    for form in forms:
        trials = [
            Trial(
                labelled=labelled,
                turns=len(turns),
                alarms=alarms(FORMS[form](turns), policy),
                detector="",
                summary="",
                us=(),
            )
            for labelled, turns in runs
        ]
        one = score(trials, slack=2)
        rows[form] = {"found": one.found, "fa_per_1000": round(one.fa_per_1000, 2)}
    return rows


def _merged(settings, more):
    return settings | {name: {**settings.get(name, {}), **table} for name, table in more.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("parts", nargs="*", help="only these; none: each by itself")
    parser.add_argument("--forms", action="store_true", help="in every form of the log")
    parser.add_argument("--together", action="store_true", help="the parts all at once")
    asked = parser.parse_args()
    forms = list(FORMS) if asked.forms else list(FORMS)[:1]
    runs = [(one, read_recording(one.path).turns) for one in read_corpus(asked.corpus).runs]
    names = asked.parts or list(PARTS)
    for group in [names] if asked.together else [[name] for name in names]:
        with ExitStack() as off:
            settings = {}
            for part in map(PARTS.get, group):
                if isinstance(part, tuple):
                    where, name, other = part
                    if name == "checks":  # of those that are left: several may be switched off
                        other = [check for check in where.checks if check is not other]
                    off.enter_context(patch.object(where, name, other))
                else:
                    settings = _merged(settings, part)
            row = measure(runs, forms, Policy.from_mapping(settings))
            print(json.dumps({"without": group, **row}), flush=True)


if __name__ == "__main__":
    main()
