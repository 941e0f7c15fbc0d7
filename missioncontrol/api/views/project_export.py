"""Everything of one project, for its owners."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from uuid import UUID

from django.http import StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol.api import auth
from missioncontrol.api.schema import described
from missioncontrol.api.streaming import stream
from missioncontrol.api.views.projects import find_project
from missioncontrol.audit.project_export import export_lines
from missioncontrol.clock import now
from missioncontrol.errors import Forbidden


class ProjectExport(APIView):
    permission_classes = [auth.IsPerson]

    @described("projects_export", files=("application/jsonl",))
    def get(self, request: Request, project_id: UUID) -> StreamingHttpResponse:
        """Export everything of a project as JSON Lines; `manage.py import_project` reads it."""
        if find_project(request, project_id).role != "owner":
            raise Forbidden("Only an owner exports a project.")

        def lines() -> Iterator[bytes]:
            # Into a file at once, then as fast as it is taken: its rows are of one moment, and a
            # slow reader would keep that moment, and its connection, open.
            with tempfile.TemporaryFile() as kept:
                kept.writelines(export_lines(project_id, at=now()))
                kept.seek(0)
                yield from kept

        return stream(request, lines(), kind="jsonl", name="project")
