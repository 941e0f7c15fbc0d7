"""Decisions, the allowlist, autofixes and the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from pydantic_core import to_json
from rest_framework.request import Request
from rest_framework.views import APIView

from guard.deciding import AllowPattern
from missioncontrol.api import auth
from missioncontrol.api.rest import Page, identity, moment, page_of, read_body, words
from missioncontrol.api.schema import described
from missioncontrol.api.streaming import pages_of, stream
from missioncontrol.audit import anchors
from missioncontrol.clock import now
from missioncontrol.decisions import allowlist, rows, selectors
from missioncontrol.decisions.allowlist_preview import Scope, preview
from missioncontrol.runs.models import JournalRow
from missioncontrol.runs.selectors import audit_row, list_journal
from missioncontrol.wire.allowlist import AllowlistPreview, AllowlistRow
from missioncontrol.wire.audit import AuditRow, Verification
from missioncontrol.wire.decisions import AutofixRow, DecisionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAllowlistEntry:
    """A call to allow; `project` where the person has several.

    Without a `scope` it is for the run or the agent that is named, else for the project.
    """

    pattern: str
    scope: Literal["run", "agent", "project"] | None = None
    match: Literal["exact", "glob"] = "exact"
    project: UUID | None = None
    run: UUID | None = None
    agent: str | None = None
    expires_at: datetime | None = None
    reason: str = ""


# The same for the list and the file: what is seen is what is exported.
AUDIT_FILTERS = ("project", "run", "type", "by", "since", "until")


class Decisions(APIView):
    @described("decisions_list", query=("status", "project"))
    def get(self, request: Request) -> Page[DecisionRow]:
        """List cards, oldest first; `?status=open` is the inbox, which archived projects leave."""
        status = request.query_params.get("status", "")
        # Nobody can answer there, so it would wait in the inbox for ever.
        mine = auth.projects_of(request, even_archived=status != "open")
        found = selectors.decisions(projects=mine, status=status)
        return page_of(request, found, selectors.show_decision)


class Autofixes(APIView):
    @described("autofixes_list", query=("project",))
    def get(self, request: Request) -> Page[AutofixRow]:
        """List what was injected without a tap, newest first."""
        found = selectors.autofixes(projects=auth.projects_of(request))
        return page_of(
            request,
            found,
            lambda fix: rows.autofix_row(fix, fix.run, delivered_at=fix.message.delivered_at),
        )


class Allowlist(APIView):
    @described("allowlist_list", query=("project",))
    def get(self, request: Request) -> Page[AllowlistRow]:
        """List what is never flagged, newest first."""
        found = selectors.allowlist(projects=auth.projects_of(request))
        return page_of(request, found, rows.allowlist_row)

    @described("allowlist_add", takes=NewAllowlistEntry, status=201)
    def post(self, request: Request) -> AllowlistRow:
        """Add an entry by hand."""
        asked = read_body(request, NewAllowlistEntry)
        project = auth.writable_project(request, asked.project)
        # As narrow as what was named: an entry for a project must be meant.
        named = "run" if asked.run else "agent" if asked.agent else "project"
        entry = allowlist.add_entry(
            project,
            scope=asked.scope or named,
            pattern=asked.pattern,
            match=asked.match,
            run=asked.run,
            agent=asked.agent,
            expires_at=asked.expires_at,
            reason=asked.reason,
            by=auth.name_of(request),
            at=now(),
        )
        return rows.allowlist_row(entry)


class AllowlistPreviews(APIView):
    @described("allowlist_preview", takes=NewAllowlistEntry)
    def post(self, request: Request) -> AllowlistPreview:
        """Say what an entry would have matched; none is made. A call is no text for an address."""
        asked = read_body(request, NewAllowlistEntry)
        project = auth.writable_project(request, asked.project)
        scope = Scope(project=project, run=asked.run, agent=asked.agent)
        # Read as the entry would be, so that what is refused there is refused here.
        pattern = AllowPattern(pattern=asked.pattern, match=asked.match)
        return preview(scope, pattern, at=now())


class OneAllowlistEntry(APIView):
    @described("allowlist_remove")
    def delete(self, request: Request, entry_id: UUID) -> None:
        """Remove an entry."""
        allowlist.remove_entry(
            entry_id,
            projects=auth.writable_projects_of(request),
            by=auth.name_of(request),
            at=now(),
        )


class Audit(APIView):
    @described("audit_list", query=AUDIT_FILTERS)
    def get(self, request: Request) -> Page[AuditRow]:
        """List the journal: a run's in order, otherwise newest first."""
        return page_of(request, _journal(request), audit_row)


class AuditVerify(APIView):
    @described("audit_verify", query=("project",))
    def get(self, request: Request) -> Verification:
        """Walk every chain and say whether it holds."""
        # Each time anew: a result that is kept could be what was tampered with.
        return anchors.verify(projects=auth.projects_of(request))


class AuditExport(APIView):
    @described("audit_export", files=("application/jsonl",), query=AUDIT_FILTERS)
    def get(self, request: Request) -> StreamingHttpResponse:
        """Export the journal as JSON Lines, oldest first; `missioncontrol/proof.py` verifies it."""
        # Oldest first: a chain is verified from its beginning.
        pages = pages_of(_journal(request, oldest_first=True))
        lines = (to_json(audit_row(row)) + b"\n" for page in pages for row in page)
        return stream(request, lines, kind="jsonl", name="audit")


def _journal(request: Request, *, oldest_first: bool = False) -> QuerySet[JournalRow]:
    return list_journal(
        projects=auth.projects_of(request),
        run=identity(request, "run"),
        types=words(request, "type"),
        # No name that was stored is longer, and PostgreSQL takes no NUL.
        by=request.query_params.get("by", "").replace("\0", "")[:150],
        since=moment(request, "since"),
        until=moment(request, "until"),
        oldest_first=oldest_first,
    )
