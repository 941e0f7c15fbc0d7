"""Tie runs' chains into their project's, and keep each checkpoint in a file too.

A checkpoint (a `chain.anchored` row on the project's chain) names `seq` and hash of each
head that moved since the last one, the project's own head, the previous checkpoint and its own
number, signed with a key outside the database.

The file of heads has every checkpoint a second time, outside the database: one file per project,
with one signed line per checkpoint, oldest first. A copy of the database that is older than the
file, or a history that was rewritten, differs from it.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import F, OuterRef, Subquery

from missioncontrol import outbound
from missioncontrol.accounts.models import Project
from missioncontrol.audit import signing
from missioncontrol.proof import ANCHOR_EVENT, anchor_statement, canonical, head_statement
from missioncontrol.runs import journal
from missioncontrol.runs.models import JournalRow, RunMeters
from missioncontrol.runs.statements import update_columns
from missioncontrol.wire.events import ChainAnchored

logger = logging.getLogger(__name__)

Heads = dict[str, tuple[int, str]]

# Per checkpoint, so that nobody waits long for the project's lock, or for SQLite's.
RUN_BATCH = 500
# Bytes; longer than any line of the file.
TAIL_BYTES = 4096
SEND_BATCH = 500


def anchor_heads(*, at: datetime, since: datetime | None = None) -> list[UUID]:
    """Write the heads that moved into each project's chain; return the projects that moved.

    A project of which only its own chain moved is anchored too. `since`: look only at runs with
    events since then, as all others were anchored; None: at every run.
    """
    last = JournalRow.objects.filter(project=OuterRef("pk"), run=None).order_by("-seq")
    projects = Project.objects.filter(event_seq__gte=0).annotate(
        last_type=Subquery(last.values("type")[:1]), last_text=Subquery(last.values("payload")[:1])
    )
    # Checkpoints of earlier versions have no number: a current one must follow them.
    going_on = projects.exclude(last_type=ANCHOR_EVENT, last_text__contains='"number":').order_by(
        "pk"
    )
    moved: dict[UUID, list[RunMeters]] = {pk: [] for pk in going_on.values_list("pk", flat=True)}
    unanchored = RunMeters.objects.filter(event_seq__gt=F("anchored_seq")).order_by("pk")
    unanchored = unanchored.annotate(project_id=F("run__project_id"))
    if since is not None:
        # The heads that move have no index, which every turn would write: the events have one.
        events = JournalRow.objects.filter(project__in=Project.objects.all(), at__gte=since)
        unanchored = unanchored.filter(pk__in=events.values("run"))
    for run in unanchored.only("event_seq", "head"):  # in the order in which they are locked
        moved.setdefault(run.project_id, []).append(run)
    for project_id, runs in moved.items():
        # At least once: a project of which only its own chain moved has no runs here.
        for first in range(0, len(runs) or 1, RUN_BATCH):
            _write_checkpoint(project_id, runs[first : first + RUN_BATCH], at=at)
        try:
            append_heads(project_id)
        except (OSError, ValueError):  # a full disk must not keep the next project waiting
            logger.exception("project %s: its head was not filed", project_id)
    return list(moved)


def _write_checkpoint(project_id: UUID, runs: Collection[RunMeters], *, at: datetime) -> None:
    tied: Heads = {str(run.pk): (run.event_seq, run.head) for run in runs}
    with journal.lock_project(project_id) as project:
        # Under the lock, because two beats at once must not give one number twice.
        anchors = JournalRow.objects.filter(project=project, run=None, type=ANCHOR_EVENT)
        last = anchors.order_by("-seq").first()
        known = json.loads(last.payload or "{}") if last else {}
        # Older checkpoints have no number: count them.
        number = known.get("number") or anchors.count()
        fields = {
            "heads": {run: list(head) for run, head in tied.items()},
            "key": signing.public_key(),
            "head": project.head,
            "head_seq": project.event_seq,
            "predecessor": last.hash if last else "",
            "number": number + 1,
        }
        signature = signing.sign(anchor_statement(str(project_id), at.isoformat(), fields))
        journal.record_for_project(
            project_id,
            ChainAnchored,
            by="policy",
            at=at,
            **{**fields, "heads": tied},
            signature=signature,
        )
        for run in runs:
            run.anchored_seq = run.event_seq
        update_columns(RunMeters, ("anchored_seq",), runs)


def heads_path(project_id: UUID) -> Path:
    """Return where a project's heads are stored."""
    directory: Path = settings.AUDIT_HEADS
    return directory / f"{project_id}.jsonl"


def filed_projects() -> list[UUID]:
    """Return the projects that have a file of heads."""
    directory: Path = settings.AUDIT_HEADS
    found = []
    for path in sorted(directory.glob("*.jsonl")):
        # A file that somebody else put there, or that was put aside, is no project's.
        with suppress(ValueError):
            if str(project_id := UUID(path.stem)) == path.stem:
                found.append(project_id)
    return found


def append_heads(project_id: UUID) -> None:
    """Append the checkpoints that the file lacks; call it after their commit.

    They are read from the database under the file's lock: what a crash left out follows later. A
    file that does not exist begins with the newest.
    """
    with _locked(heads_path(project_id)) as file:
        last = _last_line(file)
        anchors = JournalRow.objects.filter(
            project_id=project_id, run=None, type="chain.anchored", payload__isnull=False
        )
        if last is None:
            new = list(anchors.order_by("-seq")[:1])
        else:
            new = list(anchors.filter(seq__gt=last["seq"]).order_by("seq"))
            known = JournalRow.objects.filter(project_id=project_id, run=None, seq=last["seq"])
            if known.values_list("hash", flat=True).first() != last["hash"]:
                # Logged each minute, as verifying would find it, even if nobody verifies.
                logger.error(
                    "project %s: the database does not have checkpoint %s of %s, which the file of"
                    " heads knows: was an older copy put back? See docs/audit.md.",
                    project_id,
                    last["number"],
                    last["at"],
                )
        lines = []
        for anchor in new:
            line = {
                "project": str(project_id),
                "number": json.loads(anchor.payload or "{}").get("number"),
                "seq": anchor.seq,
                "hash": anchor.hash,
                "at": anchor.at.isoformat(),
                "key": signing.public_key(),
            }
            signature = signing.sign(head_statement(line))
            lines.append(canonical({**line, "signature": signature}) + "\n")
        # In one write: a crash leaves at most half a line, which the next reader removes.
        os.write(file, "".join(lines).encode())


def put_heads_aside(project_id: UUID, *, at: datetime) -> tuple[str, str]:
    """Begin a new file of heads; return the old one's name and its last checkpoint."""
    path = heads_path(project_id)
    with _locked(path) as file:
        last = _last_line(file) or {}
        aside = path.with_name(f"{path.stem}.until-{at:%Y%m%dT%H%M%SZ}.jsonl")
        path.rename(aside)
        # How far the old file was sent says nothing about the new one.
        path.with_suffix(".sent").unlink(missing_ok=True)
    return aside.name, f"{last.get('number')} of {last.get('at')}"


def append_imported_head(project_id: UUID, line: str) -> None:
    """Append a line that came with an imported project, with its own signature."""
    with _locked(heads_path(project_id)) as file:
        os.write(file, f"{line.strip()}\n".encode())


def read_heads(project_id: UUID) -> Iterator[str]:
    """Yield the lines there are now, without those appended meanwhile."""
    path = heads_path(project_id)
    if not path.is_file():
        return
    with path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size
        for line in file:
            left -= len(line)
            if left < 0:
                return
            yield line.decode("utf-8", "replace")


def send_heads(project_id: UUID) -> None:
    """Post the lines that were not sent yet to the configured address, oldest first.

    The position is stored beside the file: what was not accepted is sent again.
    """
    path = heads_path(project_id)
    mark = path.with_suffix(".sent")
    # In bytes: lines are only appended, and counting them would read the whole file each minute.
    begin = int(mark.read_text()) if mark.is_file() else 0
    with path.open("rb") as file:
        file.seek(begin)
        lines = [line for _, line in zip(range(SEND_BATCH), file, strict=False)]
    if not lines:
        return
    kind = {"Content-Type": "application/jsonl", "User-Agent": "MissionControl"}
    try:
        reply = outbound.call(
            settings.AUDIT_SEND_TO, b"".join(lines), kind, private_hosts=settings.NOTIFY_HOSTS
        )
    except outbound.RequestFailed as fault:
        logger.warning("heads of project %s were not sent: %s", project_id, fault)
        return
    # Stored after the answer: a crash in between sends them twice, but never loses them.
    if reply.is_success:
        mark.write_text(str(begin + sum(map(len, lines))))
    else:
        logger.warning("heads of project %s were refused: %s", project_id, reply.status)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Several processes may append heads of one project at once: each does so under this lock.
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def _last_line(file: int) -> dict[str, Any] | None:
    """Read the last complete line; remove half a line that a power failure left."""
    size = os.fstat(file).st_size
    tail = os.pread(file, TAIL_BYTES, max(0, size - TAIL_BYTES))
    whole = tail[: tail.rfind(b"\n") + 1]
    if len(whole) < len(tail):
        os.ftruncate(file, size - len(tail) + len(whole))
    lines = whole.splitlines()
    return json.loads(lines[-1]) if lines else None
