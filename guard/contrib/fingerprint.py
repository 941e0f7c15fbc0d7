"""The same action, on the same files, in the same state, with the same error."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, ClassVar

from guard.contrib import check_order
from guard.detectors.base import IDENTICAL, Detector, View, signal_of
from guard.policy import Policy
from guard.policy.fields import Table, within
from guard.quoting import name_or_quote
from guard.reading.step import Step
from guard.reading.volatile import mask_failure, mask_volatile
from guard.signals import Kind, Severity, Signal
from guard.turn import ActionClass

# How many actions the rule remembers.
RING_SIZE = 32
SEARCH_CLASSES = frozenset({ActionClass.SEARCH, "explore", "exploration"})
FIX_CLASSES = frozenset({"fix", "fix_attempt", "bug_fix", "repair"})
_NO_CHECK = frozenset({ActionClass.READ, ActionClass.SEARCH, ActionClass.FILE_EDIT, *FIX_CLASSES})
_ID_LENGTH = 12
# Applied before times and addresses are masked, so that a file under /tmp keeps its name too.
_DIRECTORIES = re.compile(r"(?<![\w./:\\])(?:[A-Za-z]:)?[/\\](?:[\w.@+-]+[/\\])+([\w.@+-]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Table):
    """When the same action on the same files has the same error."""

    escalate: Annotated[int, within(2, 50), "at which action of a streak it escalates"] = 3
    halt: Annotated[int, within(2, 50), "and at which it ends the run"] = 5
    exploring_escalate: Annotated[int, within(2, 50), "the same for searches and retries"] = 7
    exploring_halt: Annotated[int, within(2, 50), "and at which these end the run"] = 8

    def __post_init__(self) -> None:
        Table.__post_init__(self)
        check_order(self, "escalate", "halt")
        check_order(self, "exploring_escalate", "exploring_halt")


class Fingerprint(Detector):
    """Escalate at the 3rd consecutive action with one fingerprint, halt at the 5th.

    The fingerprint identifies an action under any wording: its class, the files it
    touches, the caller's hash of the state and the error without line numbers,
    addresses, times and directories. A genuine change of any of these starts anew.

    Searches naturally repeat (limits 7 and 8). Known retries (class `api_retry`, any
    `…_retry`) have a separate ring: they neither extend nor end the streak of other
    work. Another ring holds only fixes, so that write, test, run, fix, test, run, fix
    is a streak of fixes: an edit is a fix if the last check failed, and is then
    counted with the failure that it answers.

    Preset `fingerprint`; no judge is asked. Source: KARIMO's safeguards and the
    fingerprint they describe. It is meant for whole attempts: if every small call is
    a turn and no files are reported, it escalates early.
    """

    name: ClassVar[str] = "fingerprint"
    kind: ClassVar[Kind] = Kind.EXACT_REPEAT
    reads_raw: ClassVar[bool] = True

    def __init__(self, policy: Policy) -> None:
        self._rule = Rule.read(policy.contrib.get("fingerprint", {}))

    def examine(self, view: View) -> Signal | None:
        """Examine each ring that the newest action belongs to."""
        newest = view.history.last
        steps = [step for step in view.history.steps if not step.proposed][-RING_SIZE:]
        if newest.proposed or not _is_action(newest):
            return None
        # Known retries neither extend nor end the streak of other work.
        is_retry = _is_retry(newest)
        alike = (one for one in steps if _is_action(one) and _is_retry(one) == is_retry)
        rings = [[_FingerprintedStep(step, _fingerprint_of(step)) for step in alike]]
        # Fixes also have a ring of their own, because tests and runs lie between them.
        fixes = list(_find_fixes(steps))
        if fixes and fixes[-1].step is newest:
            rings.append(fixes)
        streak: list[Step] = []
        for ring in rings:
            # The newest actions with one fingerprint; among streaks of equal length, the first.
            count = next(
                (
                    n
                    for n, mark in enumerate(reversed(ring))
                    if mark.fingerprint != ring[-1].fingerprint
                ),
                len(ring),
            )
            if count > len(streak):
                streak = [mark.step for mark in ring[len(ring) - count :]]
        count, rule = len(streak), self._rule
        if count <= 1:
            return None
        escalate, halt = rule.escalate, rule.halt
        # Searches and known retries naturally repeat.
        if newest.action_class in SEARCH_CLASSES or is_retry:
            escalate, halt = rule.exploring_escalate, rule.exploring_halt
        ends = count >= halt
        action, files = name_or_quote(newest.action_class[:60]).replace("_", " "), newest.raw.files
        where = (
            f" on {name_or_quote(files[0][:60])}" if len(files) == 1 else f" on {len(files)} files"
        )
        met = " and met the same error" if _error_of(newest) else " and nothing changed"
        return signal_of(
            self.name,
            self.kind,
            streak,
            f"It did the same ({action}{where if files else ''}) {count} times{met}.",
            limit=halt if ends else escalate,
            score=min(1.0, count / escalate),
            alike=IDENTICAL,
            severity=Severity.STOP if ends else Severity.ESCALATE,
        )


# Cached: the ring is read again at each turn, and masking an error costs more than the rest.
@functools.lru_cache(maxsize=4096)
def fingerprint(*, action: str, files: tuple[str, ...], state: str, error: str) -> str:
    """Return the short id of an action, the same under any wording of it.

    >>> one = fingerprint(action="file_edit", files=("b.py", "a.py"), state="c0ffee",
    ...                   error="/home/me/app/a.py:12: KeyError at 0x7f01aa")
    >>> two = fingerprint(action="file_edit", files=("a.py", "b.py"), state="c0ffee",
    ...                   error="/srv/build/a.py:48: KeyError at 0x55e1b0")
    >>> one == two, len(one)
    (True, 12)
    """
    parts = (action, *sorted(files), "", state, normalise_error(error))
    return sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_ID_LENGTH]


def normalise_error(text: str) -> str:
    """Remove line numbers, addresses, times and directories from an error."""
    without_folders = _DIRECTORIES.sub(r"\1", text) if "/" in text or "\\" in text else text
    return " ".join(mask_failure(mask_volatile(without_folders)).split())


@dataclass(frozen=True, slots=True)
class _FingerprintedStep:
    """An action and the fingerprint it has in one ring."""

    step: Step
    fingerprint: str


def _find_fixes(steps: Sequence[Step]) -> Iterator[_FingerprintedStep]:
    """Yield the fixes among these, each with the failure that it answers."""
    # The last failure, until a check passes: an edit after that is work, not a fix.
    failure = ""
    for step in steps:
        if step.action_class in FIX_CLASSES or (
            step.action_class == ActionClass.FILE_EDIT and failure
        ):
            yield _FingerprintedStep(step, _fingerprint_of(step, error=_error_of(step) or failure))
        elif step.is_call and step.outcome is not None and step.action_class not in _NO_CHECK:
            failure = _error_of(step)


def _fingerprint_of(step: Step, *, error: str | None = None) -> str:
    # "Other" does not say what was done, so such actions are distinguished by their verb.
    known = step.action_class if step.action_class != ActionClass.OTHER else f"other:{step.verb}"
    return fingerprint(
        action=known,
        files=step.raw.files,
        state=step.raw.state,
        error=_error_of(step) if error is None else error,
    )


def _error_of(step: Step) -> str:
    """Return what failed, from the error field or from what came back."""
    return step.raw.error or (step.raw.result if step.failed else "")


def _is_action(step: Step) -> bool:
    """Return whether a step is an action; a message is one only if it names what it did."""
    raw = step.raw
    names_action = bool(raw.files or raw.error)
    return step.is_call or step.action_class != ActionClass.MESSAGE or names_action


def _is_retry(step: Step) -> bool:
    return step.action_class == "retry" or step.action_class.endswith("_retry")


DETECTOR = Fingerprint
