"""What a socket says first, for who does not wait until one stands."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol.api import auth
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.decisions import selectors
from missioncontrol.runs.selectors import find_run
from missioncontrol.wire.frames import Board, Snapshot

# Of more projects the sockets bring theirs: each board may hold a thousand runs.
MOST_BOARDS = 8


class Boards(APIView):
    @described("boards")
    def get(self, request: Request) -> list[Board]:
        """Show the boards of your first eight projects, as `/ws/projects/ID/` would begin."""
        projects, at = auth.projects_of(request, even_archived=False)[:MOST_BOARDS], now()
        return [Board(project=one, snapshot=selectors.board(one, at=at)) for one in projects]


class RunSnapshot(APIView):
    @described("runs_snapshot")
    def get(self, request: Request, run_id: UUID) -> Snapshot:
        """Show a run with its cards and answers, as `/ws/runs/ID/` would begin."""
        run = find_run(run_id, projects=auth.projects_of(request))
        return selectors.page(run, at=now())
