"""The same deed, on the same files, in the same state, with the same error."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

from guard.detectors.base import Detector, View, once_each, turns_of
from guard.policy import Policy
from guard.policy.sections import FingerprintRule
from guard.signals import Evidence, Kind, Rung, Signal
from guard.step import Step
from guard.turn import ActionClass
from guard.volatile import mask_failure, mask_volatile

RING = 32
"""How many actions the rule remembers."""
EXPLORING = frozenset({ActionClass.SEARCH, "explore", "exploration"})
FIXES = frozenset({"fix", "fix_attempt", "bug_fix", "repair"})
_UNTELLING = frozenset({ActionClass.READ, ActionClass.SEARCH, ActionClass.FILE_EDIT, *FIXES})
_SHORT = 12
# Before times and addresses are masked: a file under /tmp keeps its name too.
_DIRECTORIES = re.compile(r"(?<![\w./:\\])(?:[A-Za-z]:)?[/\\](?:[\w.@+-]+[/\\])+([\w.@+-]+)")


class Fingerprint(Detector):
    """Escalate at the 3rd action with one fingerprint in a row, halt at the 5th.

    The fingerprint is what an action is under any wording: its class, the files it
    touches, the caller's hash of the state and the error without line numbers,
    addresses, times and directories. A genuine change of any of them starts anew.

    Searches repeat by nature (7 and 8). A class of known retries (`api_retry`,
    any `…_retry`) has a ring of its own: it neither adds to the streak of other
    work nor breaks it. A second ring holds fixes alone, so that write, test, run,
    fix, test, run, fix is a streak of fixes: an edit is a fix when the last check
    failed, and then carries the failure it answers.

    Preset `fingerprint`; no judge is asked. Source: KARIMO's safeguards and the
    fingerprint they describe. It is meant for whole attempts: where every small
    call is a turn and no files are told, it escalates early.
    """

    name: ClassVar[str] = "fingerprint"
    kind: ClassVar[Kind] = Kind.EXACT_REPEAT
    reads_verbatim: ClassVar[bool] = True

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.fingerprint

    def examine(self, view: View) -> Signal | None:
        """Look at each ring the newest action belongs to."""
        newest = view.trail.last
        steps = [step for step in view.trail.steps if not step.proposed][-RING:]
        if newest.proposed or not _is_action(newest):
            return None
        streaks = [_streak(ring) for ring in _rings(steps)]
        found = max(streaks, key=len)
        return self._signal(found) if len(found) > 1 else None

    def _signal(self, streak: Sequence[Step]) -> Signal:
        escalate, halt = _limits(self._rule, streak[-1])
        count = len(streak)
        ends = count >= halt
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=min(1.0, count / escalate),
            rung=Rung.STOP if ends else Rung.ESCALATE,
            turns=turns_of(streak),
            evidence=Evidence(
                summary=_summarise(streak),
                calls=once_each(streak),
                repeats=count,
                limit=halt if ends else escalate,
                similarity=1.0,
                threshold=1.0,
            ),
        )


def fingerprint(*, action: str, files: Sequence[str], state: str, error: str) -> str:
    """Give the short id of a deed, equal under any wording of it.

    >>> one = fingerprint(action="file_edit", files=["b.py", "a.py"], state="c0ffee",
    ...                   error="/home/me/app/a.py:12: KeyError at 0x7f01aa")
    >>> two = fingerprint(action="file_edit", files=["a.py", "b.py"], state="c0ffee",
    ...                   error="/srv/build/a.py:48: KeyError at 0x55e1b0")
    >>> one == two, len(one)
    (True, 12)
    """
    return _digest(action, tuple(sorted(files)), state, error)


@functools.lru_cache(maxsize=4096)
def _digest(action: str, files: tuple[str, ...], state: str, error: str) -> str:
    parts = (action, *files, "", state, normalise_error(error))
    return sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_SHORT]


def normalise_error(text: str) -> str:
    """Take line numbers, addresses, times and directories out of an error."""
    named = _DIRECTORIES.sub(r"\1", text) if "/" in text or "\\" in text else text
    return " ".join(mask_failure(mask_volatile(named)).split())


@dataclass(frozen=True, slots=True)
class _Mark:
    """An action and the fingerprint it has in one ring."""

    step: Step
    print: str


def _rings(steps: Sequence[Step]) -> Iterator[list[_Mark]]:
    """Give every ring the newest action stands in, oldest action first."""
    newest = steps[-1]
    of_kind: Callable[[Step], bool] = _is_retry if _is_retry(newest) else _is_work
    yield [_Mark(step, _print_of(step)) for step in steps if of_kind(step)]
    fixes = list(_fixes(steps))
    if fixes and fixes[-1].step is newest:
        yield fixes


def _fixes(steps: Sequence[Step]) -> Iterator[_Mark]:
    """Give the fixes among these, each with the failure it answers."""
    failure = ""
    for step in steps:
        if step.action in FIXES or (step.action == ActionClass.FILE_EDIT and failure):
            yield _Mark(step, _print_of(step, error=_error_of(step) or failure))
        elif step.is_call and step.outcome is not None and step.action not in _UNTELLING:
            failure = _error_of(step)


def _streak(ring: Sequence[_Mark]) -> list[Step]:
    """Give the newest actions that share one fingerprint, oldest first."""
    count = 0
    for mark in reversed(ring):
        if mark.print != ring[-1].print:
            break
        count += 1
    return [mark.step for mark in ring[len(ring) - count :]]


def _print_of(step: Step, *, error: str | None = None) -> str:
    known = step.action if step.action != ActionClass.OTHER else f"other:{step.verb}"
    return fingerprint(
        action=known,
        files=step.said.files,
        state=step.said.state,
        error=_error_of(step) if error is None else error,
    )


def _error_of(step: Step) -> str:
    """Give what failed, by its own field or by what came back."""
    return step.said.error or (step.said.result if step.failed else "")


def _is_action(step: Step) -> bool:
    """Tell a deed from mere talk: a message counts where it names what it did."""
    said = step.said
    return step.is_call or step.action != ActionClass.MESSAGE or bool(said.files or said.error)


def _is_retry(step: Step) -> bool:
    return step.action == "retry" or step.action.endswith("_retry")


def _is_work(step: Step) -> bool:
    return _is_action(step) and not _is_retry(step)


def _limits(rule: FingerprintRule, step: Step) -> tuple[int, int]:
    if step.action in EXPLORING or _is_retry(step):
        return rule.exploring_escalate, rule.exploring_halt
    return rule.escalate, rule.halt


def _summarise(streak: Sequence[Step]) -> str:
    newest = streak[-1]
    deed = newest.action.replace("_", " ")[:60]
    files = newest.said.files
    where = f" on {files[0][:60]}" if len(files) == 1 else f" on {len(files)} files"
    met = " and met the same error" if _error_of(newest) else " and nothing changed"
    return f"It did the same ({deed}{where if files else ''}) {len(streak)} times{met}."
