"""The changes that the audit log allows: erase a run's words, or a person; restore an older copy.

The words of old turns are erased automatically where a project keeps them for a number of days: a
run's, once it ended that long ago, with the telemetry they came from; its events, figures and cards
stay. Each slice is a transaction, after which the audit log verifies.

Erasing a person removes their account, what only they own, and what the audit log says about them.
The name under which they decided something stays: it is part of the hash of the row that says so,
and the log's purpose is to say who stopped whose agent.

All write an `audit.amended` event on the project's chain that says who, what and why,
signed with the key that is not in the database: without it, `verify` reports the blanks.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q

from missioncontrol import broadcast
from missioncontrol.accounts import sessions
from missioncontrol.accounts.models import Browser, Membership, Project
from missioncontrol.accounts.services import LOCAL_OWNER
from missioncontrol.audit import anchors
from missioncontrol.audit.signing import record_amendment
from missioncontrol.decisions.models import (
    AllowlistEntry,
    ControllerNote,
    Intervention,
    LetGo,
    Message,
)
from missioncontrol.detection.models import BacktestRun
from missioncontrol.detection.recordings import erase_texts
from missioncontrol.errors import InvalidRequest, NoSuchMove
from missioncontrol.notify import devices
from missioncontrol.notify.models import Device
from missioncontrol.projects import members
from missioncontrol.proof import ACCESS_EVENT, COST_EVENT
from missioncontrol.runs import journal
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import JournalRow, Run, TelemetryRecord, Turn
from missioncontrol.runs.selectors import find_run

logger = logging.getLogger(__name__)

# The name of an erased run.
ERASED = "erased"
# The columns of an erased turn.
BLANK_TURN: Mapping[str, Any] = {
    "args": None,
    "content": None,
    "result": None,
    "error": None,
    "files": [],
    "state": None,
    "digest": "",
}
# Per transaction, so that nobody waits long for SQLite's lock.
TURN_BATCH = 500
# Per project and beat; the next beat continues.
RUN_BATCH = 20
TELEMETRY_BATCH = 5_000


def erase_run(run_id: UUID, *, by: str, reason: str, at: datetime) -> None:
    """Erase every word of an ended run; who did what and when, and what it cost, stays.

    Takes the project's row lock, then the run's. Copies elsewhere (exports, backups,
    notices that were sent) cannot be reached.

    Raises:
        NotFound: there is no such run.
        InvalidRequest: nobody, or no reason, is named.
        NoSuchMove: the run has not ended.
    """
    check_reason(by, reason)
    project_id = Run.objects.filter(pk=run_id).values_list("project_id", flat=True).first()
    run = find_run(run_id, projects=[project_id] if project_id else [])
    # The event that allows it goes on the project's chain, whose end nothing else may move
    # meanwhile.
    with journal.lock_project(run.project_id), journal.lock_runs([run_id], at=at) as tx:
        run = tx.run(run_id)
        # An agent that goes on would write new words at once.
        if run.status not in ENDED:
            raise NoSuchMove(run.status, "be erased")
        record_amendment(
            run.project_id,
            "erased",
            by=by,
            reason=reason,
            at=at,
            of_run=run.id,
            through_seq=run.meters.event_seq,
            turns_through=run.meters.last_seq,
        )
        _erase_words(run)
        run.meters.erased_seq = run.meters.last_seq
        # Set its name again: the event that named it was erased with the rest.
        run.reason = ""
        run.name, run.goal = ERASED, ""
        Run.objects.filter(pk=run.pk).update(name=ERASED, goal="", metadata={}, workspace=[])
        tx.record_state(run, by=by, reason=ERASED, name=ERASED, goal="")


def erase_old_words(*, at: datetime) -> int:
    """Erase a slice of each run whose time is over, the oldest first; return the number of runs."""
    slices = 0
    for project in Project.objects.exclude(keep_words_days=0).order_by("pk"):
        days = project.keep_words_days
        before = at - timedelta(days=days)
        over = Run.objects.filter(project=project, ended_at__lt=before)
        over = over.exclude(recording__at__gte=before)  # it ended long before it was imported
        old = over.filter(meters__erased_seq__lt=F("meters__last_seq"))
        for run_id in old.order_by("ended_at").values_list("pk", flat=True)[:RUN_BATCH]:
            try:
                slices += _erase_slice(project.id, run_id, days=days, at=at)
            except Exception:  # one failing run must not keep the others' words
                logger.exception("the words of run %s could not be erased", run_id)
        # Records without turns, or that arrived after the turns were erased: the audit log has
        # none.
        done = over.filter(meters__erased_seq=F("meters__last_seq"))
        late = TelemetryRecord.objects.filter(run__in=done).values_list("pk", flat=True)
        TelemetryRecord.objects.filter(pk__in=list(late[:TELEMETRY_BATCH])).delete()
    return slices


def _erase_slice(project_id: UUID, run_id: UUID, *, days: int, at: datetime) -> bool:
    """Erase the next turns of a run, unless it came back meanwhile."""
    # The project's lock first, as everywhere; the run was read before it, and may have come back.
    with journal.lock_project(project_id), journal.lock_runs([run_id], at=at) as tx:
        run = tx.run(run_id)
        if run.ended_at is None or run.ended_at >= at - timedelta(days=days):
            return False
        first, last = (
            run.meters.erased_seq + 1,
            min(run.meters.erased_seq + TURN_BATCH, run.meters.last_seq),
        )
        record_amendment(
            project_id,
            "erased",
            by="policy",
            reason=f"kept for {days} days",
            at=at,
            of_run=run.id,
            # None of the run's rows: its figures and decisions stay.
            through_seq=-1,
            turns_through=last,
        )
        Turn.objects.filter(run=run, seq__gte=first, seq__lte=last).update(**BLANK_TURN)
        run.meters.erased_seq = last
        if last == run.meters.last_seq:
            _delete_related_texts(run)
    return True


def _delete_related_texts(run: Run) -> None:
    """Delete what was stored beside the turns, once all of them have lost their words."""
    TelemetryRecord.objects.filter(run=run).delete()
    erase_texts(run)
    # If the run comes back, no loop may include erased turns, which all look alike.
    run.meters.streak_obs, run.meters.corrected, run.meters.doing = run.meters.last_obs, [], ""
    if indexed := getattr(run, "indexed", None):
        indexed.delete()  # it is indexed again without the words


@transaction.atomic
def erase_person(user: User, *, by: str, reason: str, at: datetime) -> None:
    """Erase an account with its tokens, browsers, sessions, views and memberships.

    Rows of the audit log that name the person or one of their browsers lose their words, and
    each project's chain says, signed, which rows, who allowed it and why.

    Raises:
        InvalidRequest: nobody, or no reason, is named, or the account is the machine's own.
        LastOwner: a project would have no owner.
    """
    check_reason(by, reason)
    if user.username == LOCAL_OWNER:
        raise InvalidRequest("This account starts Mission Control and cannot be erased.")
    # Rows name people and their browsers in quotes, as JSON escapes them.
    own = Browser.objects.filter(user=user).values_list("name", flat=True)
    named = Q()
    for name in sorted({user.username, user.get_full_name(), *own} - {""}):
        named |= Q(payload__contains=f"“{json.dumps(name, ensure_ascii=False)[1:-1]}”")
    # Projects that they have left name them too.
    found = JournalRow.objects.filter(named, run=None, type=ACCESS_EVENT)
    mine = Membership.objects.filter(user=user).values_list("project_id", flat=True)
    for project_id in sorted({*mine, *found.values_list("project_id", flat=True)}):
        # Always in the order of ids: two erasures at once must not wait for each other.
        with journal.lock_project(project_id):
            members.remove_erased_person(project_id, user.pk, at=at)
            rows = JournalRow.objects.filter(named, project=project_id, run=None, type=ACCESS_EVENT)
            seqs = tuple(rows.order_by("seq").values_list("seq", flat=True))
            record_amendment(project_id, "person_erased", by=by, reason=reason, at=at, rows=seqs)
            JournalRow.objects.filter(project=project_id, run=None, seq__in=seqs).update(
                payload=None, salt=None
            )
    # Before the account is deleted: afterwards nothing says which phones were theirs.
    devices.sign_out_devices(Device.objects.filter(user=user), at=at)
    sessions.end_other_sessions(user, current_key=None, at=at)
    # Deleting clears the object's key, and sockets are checked after the commit.
    person = user.pk
    user.delete()
    broadcast.recheck_access(person)


def accept_restored_copy(project_id: UUID, *, by: str, reason: str, at: datetime) -> str:
    """Accept that an older copy of the database was restored; return the name of the file put
    aside.

    The file of heads that knows more is kept under another name, and a new one begins.

    Raises:
        InvalidRequest: nobody, or no reason, is named, or there is no file of heads.
    """
    check_reason(by, reason)
    if not anchors.heads_path(project_id).is_file():
        raise InvalidRequest("There is no heads file to compare with: nothing to accept.")
    # Put aside, not deleted: it is the only evidence of what the older copy lacks.
    aside, known = anchors.put_heads_aside(project_id, at=at)
    record_amendment(
        project_id, "restored", by=by, reason=reason, at=at, heads_file=aside, known=known
    )
    return aside


def check_reason(by: str, reason: str) -> None:
    """Refuse a change without the name of a person and a reason for the log.

    Raises:
        InvalidRequest: nobody, or no reason, is named.
    """
    if not by.strip() or not reason.strip():
        raise InvalidRequest("Give the person who allows it, and the reason.")


def _erase_words(run: Run) -> None:
    """Remove the words from everything stored about a run; the index follows by itself."""
    rows = JournalRow.objects.filter(run=run, seq__lte=run.meters.event_seq)
    # Costs are not words: the sums of run and project are checked against these rows.
    rows.exclude(type=COST_EVENT).update(payload=None, salt=None)
    Turn.objects.filter(run=run).update(**BLANK_TURN)
    # Rows whose existence says who did what stay; rows that contain only words are deleted.
    ControllerNote.objects.filter(run=run).update(text="", payload={})
    Intervention.objects.filter(run=run).exclude(message=None).update(message="")
    Intervention.objects.filter(run=run).update(body="{}")
    Message.objects.filter(run=run).update(text="", escalation=None)
    run.questions.all().delete()
    run.notices.all().delete()
    LetGo.objects.filter(decision__run=run).delete()
    AllowlistEntry.objects.filter(run=run).delete()
    _delete_related_texts(run)
    for result in BacktestRun.objects.filter(run=run):
        result.proposed = _without_words(result.proposed)
        result.today = _without_words(result.today)
        result.save(update_fields=["proposed", "today"])
    for decision in run.decisions.all():
        wordless: dict[str, Any] = {"summary": "", "calls": [], "changed": None}
        decision.evidence = {**decision.evidence, **wordless, "items": [], "offer_allowlist": None}
        # A signal contains its evidence again, as the detector gave it.
        evidence = {**(decision.signal.get("evidence") or {}), **wordless}
        decision.signal = {**decision.signal, "evidence": evidence}
        if asks := decision.evidence.get("asks"):
            decision.evidence["asks"] = {**asks, "text": "", "details": {}}
        if decision.verdict:
            decision.verdict = {**decision.verdict, "reason": "", "fix": None}
        decision.save(update_fields=["evidence", "signal", "verdict"])


def _without_words(flag: dict[str, Any] | None) -> dict[str, Any] | None:
    return flag and {**flag, "summary": ""}
