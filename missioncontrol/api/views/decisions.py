"""Decisions, the allowlist, autofixes and the audit log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from pydantic_core import to_json
from rest_framework.request import Request

from missioncontrol.api import auth
from missioncontrol.api.auth import By, Projects, ReadableProjects
from missioncontrol.api.rest import Depends, Page, get_or_404, page_of, stream_file
from missioncontrol.api.routing import Router
from missioncontrol.audit import checking
from missioncontrol.clock import now
from missioncontrol.decisions import allowlist, rows
from missioncontrol.decisions.allowlist import NewAllowlistEntry
from missioncontrol.runs.models import JournalRow
from missioncontrol.runs.selectors import audit_row, list_journal
from missioncontrol.runs.statements import pages_of
from missioncontrol.wire.decisions import (
    AllowlistPreview,
    AllowlistRow,
    AutofixRow,
    DecisionRow,
    DecisionStatus,
)
from missioncontrol.wire.instance import AuditRow, Verification

api = Router()
MAX_NAME_CHARS = 150


@api.get("decisions/", query=("project",))
def decisions_list(request: Request, status: Literal["", DecisionStatus]) -> Page[DecisionRow]:
    """List cards, oldest first; `?status=open` is the inbox, without archived projects."""
    # Nobody can answer cards of an archived project, so they would stay in the inbox for ever.
    mine = auth.projects_of(request, even_archived=status != "open")
    found = rows.list_decisions(projects=mine, status=status)
    return page_of(request, found, rows.show_decision)


@api.get("autofixes/")
def autofixes_list(request: Request, projects: Projects) -> Page[AutofixRow]:
    """List corrections that were injected automatically, newest first."""
    return page_of(request, rows.list_autofixes(projects=projects), rows.autofix_row)


@api.get("allowlist/")
def allowlist_list(request: Request, projects: Projects) -> Page[AllowlistRow]:
    """List the allowlist, newest first."""
    found = rows.list_allowlist(projects=projects)
    return page_of(request, found, rows.allowlist_row)


@api.post("allowlist/", status=201)
def allowlist_add(request: Request, body: NewAllowlistEntry, by: By) -> AllowlistRow:
    """Add an entry."""
    project = auth.resolve_writable_project(request, body.project)
    return rows.allowlist_row(allowlist.add_entry(project, body, by=by, at=now()))


@api.post("allowlist/preview/")
def allowlist_preview(request: Request, body: NewAllowlistEntry) -> AllowlistPreview:
    """Preview what an entry would have matched; none is made. POST keeps calls out of URLs."""
    project = auth.resolve_writable_project(request, body.project)
    return allowlist.preview_entry(project, body, at=now())


@api.delete("allowlist/<uuid:entry_id>/")
def allowlist_remove(request: Request, entry_id: UUID, projects: ReadableProjects, by: By) -> None:
    """Remove an entry."""
    entry = get_or_404(rows.list_allowlist(projects=projects), entry_id, "The allowlist entry")
    auth.check_may_act(request, entry.project_id)
    allowlist.remove_entry(entry, by=by, at=now())


def _journal_filter(
    projects: Projects,
    run: UUID | None,
    type_: list[str],
    by: str,
    since: datetime | None,
    until: datetime | None,
) -> Callable[..., QuerySet[JournalRow]]:
    """Return the filter for both the list and the file: what is shown is what is exported."""
    return partial(
        list_journal,
        projects=projects,
        run=run,
        types=type_,
        # No stored name is longer.
        by=by[:MAX_NAME_CHARS],
        since=since,
        until=until,
    )


JournalFilter = Annotated[Callable[..., QuerySet[JournalRow]], Depends(_journal_filter)]


@api.get("audit/")
def audit_list(request: Request, journal: JournalFilter) -> Page[AuditRow]:
    """List the journal: a run's in order, otherwise newest first."""
    return page_of(request, journal(), audit_row)


@api.get("audit/verify/")
def audit_verify(projects: Projects) -> Verification:
    """Verify every chain."""
    # Verified anew each time: a stored result could itself have been tampered with.
    return checking.verify(projects=projects)


@api.get("audit/export/", files=("application/jsonl",))
def audit_export(request: Request, journal: JournalFilter) -> StreamingHttpResponse:
    """Export the journal as JSON Lines, oldest first; `missioncontrol/proof.py` verifies it."""
    # Oldest first, because a chain is verified from its beginning.
    pages = pages_of(journal(oldest_first=True))
    lines = (to_json(audit_row(row)) + b"\n" for page in pages for row in page)
    return stream_file(request, lines, kind="jsonl", name="audit")
