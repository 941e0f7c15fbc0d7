"""Recordings: a recorded run comes in as a file, and is looked at like a live one."""

from __future__ import annotations

import hashlib
import io
import tempfile
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from rest_framework.request import Request

from guard.errors import UnreadableRecording
from guard.formats import read_stream
from guard.formats.recording import Recording as Recorded
from missioncontrol.accounts.models import Project
from missioncontrol.accounts.pace import Pace
from missioncontrol.api import auth
from missioncontrol.api.auth import By, Readable
from missioncontrol.api.otlp import recorded as otlp
from missioncontrol.api.reading import fault_of
from missioncontrol.api.routing import Router
from missioncontrol.clock import now
from missioncontrol.costs.ledger import Call
from missioncontrol.detection import recordings
from missioncontrol.errors import InvalidRequest
from missioncontrol.wire.recordings import RecordingRow, UnreadEntry

api = Router()

PIECE = 1 << 16
EXPECTED = (
    "expected a transcript of an agent, as JSON or as text, a turn file, chat messages,"
    " or OTLP JSON"
)
# Each is read and judged at once.
IMPORTS = Pace("recordings imported", most=20, in_all=60)


@api.post("recordings/", takes_file=True)
def recordings_import(
    request: Request, project: UUID | None, name: str | None, by: By
) -> tuple[RecordingRow, bool]:
    """Import a recorded run from the file in the body, called `name`; the same file again
    answers 200 with the run it is.
    """
    project_id = auth.writable_project(request, project)
    IMPORTS.check(str(request.user.pk), at=now())
    # The file's name alone: a browser may send the folders it lay in.
    name = Path(name or "recording").name
    hashed = hashlib.sha256()
    with tempfile.TemporaryFile() as file:
        # In pieces, and unparsed: a transcript may be larger than memory should hold.
        while piece := request._request.read(PIECE):  # noqa: SLF001
            hashed.update(piece)
            file.write(piece)
        file.seek(0)
        sha256 = hashed.hexdigest()
        # Before it is read: the same file again costs no more than its hash.
        if (known := recordings.known(project_id, sha256)) is not None:
            return recordings.recording_row(known), False
        recorded, calls = _read(file, name, project_id)
    recording, is_new = recordings.import_recording(
        Project.objects.get(pk=project_id),
        recorded,
        calls,
        projects=auth.acting_in(request),
        file=name,
        sha256=sha256,
        by=by,
        at=now(),
    )
    unread = tuple(UnreadEntry(entry=one.entry, why=one.why) for one in recorded.unread)
    row = replace(recordings.recording_row(recording, is_new=is_new), unread=unread)
    return row, is_new


@api.get("runs/<uuid:run_id>/recording/")
def recordings_read(run_id: UUID, projects: Readable) -> RecordingRow:
    """Show what an imported run was read from, and where a card would have opened."""
    return recordings.show_recording(run_id, projects=projects)


def _read(file: io.BufferedRandom, name: str, project: UUID) -> tuple[Recorded, list[Call]]:
    """Read a file of any known form; its model calls, where they are told apart from turns.

    Raises:
        InvalidRequest: it holds none, and says what was expected.
    """
    if otlp.is_otlp(file.peek(PIECE)):
        return otlp.read_recording(file.read(), name=Path(name).stem, project=project)
    try:
        recorded = read_stream(file, Path(name))
    except UnreadableRecording:
        # Back to the first line that holds anything: whoever sent it sees what it begins with.
        file.seek(0)
        lines = enumerate(iter(lambda: file.readline(PIECE), b""), 1)
        got = "an empty file"
        for number, line in lines:
            if words := line.decode("utf-8", "replace").strip():
                got = f"{words[:40]!r} in line {number}"
                break
        raise InvalidRequest(f"{name}: {EXPECTED}, got {got}.", field="file") from None
    # What an agent could not post is not stored from a file either.
    faulty = {place for place, turn in enumerate(recorded.turns) if turn and fault_of(turn)}
    turns = tuple(None if n in faulty else turn for n, turn in enumerate(recorded.turns))
    return replace(recorded, turns=turns, malformed=recorded.malformed + len(faulty)), []
