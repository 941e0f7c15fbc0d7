"""Lines of search that a person saves."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from missioncontrol.accounts.people import clean_name
from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.history.language import parse_query
from missioncontrol.history.models import SavedView
from missioncontrol.runs import journal

MAX_VIEWS = 50
MAX_NAME_LENGTH = 60


def views_of(user: User, *, projects: list[UUID]) -> QuerySet[SavedView]:
    """Return a person's own views, oldest first."""
    return SavedView.objects.filter(user=user, project_id__in=projects).order_by("id")


def save_view(*, user: User, project: UUID, name: str, q: str, by: str, at: datetime) -> SavedView:
    """Save a line of search under a name, replacing one of the same name; this is recorded.

    Raises:
        InvalidRequest: the name is empty, too long or has invisible characters, the line is
            invalid, or there are too many.
    """
    name = clean_name(name, max_length=MAX_NAME_LENGTH)
    # PostgreSQL stores no NUL in a text.
    q = q.replace("\0", "")
    # Only to find errors: an invalid view would fail whenever it is opened.
    parse_query(q, at=at)
    mine = SavedView.objects.filter(user=user, project_id=project)
    # A view that replaces another adds none.
    if mine.exclude(name=name).count() >= MAX_VIEWS:
        raise InvalidRequest(f"At most {MAX_VIEWS} views; remove one first.", field="name")
    try:
        with transaction.atomic():
            old = mine.filter(name=name).values_list("q", flat=True).first()
            view, _ = mine.update_or_create(
                user=user,
                project_id=project,
                name=name,
                defaults={"q": q},
                create_defaults={"q": q, "created_at": at},
            )
            if old != q:
                before = None if old is None else {"q": old}
                journal.record_change(project, _view_label(view), before, {"q": q}, by=by, at=at)
            return view
    except IntegrityError:  # the same name from two windows at once
        return mine.get(name=name)


@transaction.atomic
def remove_view(view_id: UUID, *, user: User, by: str, at: datetime) -> None:
    """Delete a view; this is recorded.

    Raises:
        NotFound: this person has no such view.
    """
    view = SavedView.objects.filter(pk=view_id, user=user).first()
    # The count tells whether this call or another tab's removed it, so that it is recorded once.
    if view is None or not SavedView.objects.filter(pk=view.pk).delete()[0]:
        raise NotFound("The view")
    journal.record_change(view.project_id, _view_label(view), {"q": view.q}, None, by=by, at=at)


def _view_label(view: SavedView) -> str:
    return f"the saved view “{view.name}”"
