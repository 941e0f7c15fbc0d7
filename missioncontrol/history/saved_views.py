"""Lines of search that a person keeps."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from missioncontrol.errors import InvalidRequest, NotFound
from missioncontrol.history.language import read_query
from missioncontrol.history.models import SavedView
from missioncontrol.wire.history import SavedViewRow

MOST_VIEWS = 50
LONGEST_NAME = 60


def views_of(user: User, *, projects: list[UUID]) -> QuerySet[SavedView]:
    """Find a person's own views, oldest first."""
    return SavedView.objects.filter(user=user, project_id__in=projects).order_by("id")


def save_view(*, user: User, project: UUID, name: str, q: str, at: datetime) -> SavedView:
    """Keep a line of search under a name; the same name again replaces it.

    Raises:
        InvalidRequest: the name is empty or long, the line cannot be read, or there
            are too many.
    """
    name = " ".join(name.replace("\0", "").split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise InvalidRequest(f"name: expected 1 to {LONGEST_NAME} characters.", field="name")
    read_query(q, at=at)
    mine = SavedView.objects.filter(user=user, project_id=project)
    if mine.exclude(name=name).count() >= MOST_VIEWS:
        raise InvalidRequest(f"At most {MOST_VIEWS} views; remove one first.", field="name")
    try:
        with transaction.atomic():
            return _kept(mine, user, project, name, q.replace("\0", ""), at)
    except IntegrityError:  # the same name from two windows at once
        return mine.get(name=name)


def _kept(
    mine: QuerySet[SavedView], user: User, project: UUID, name: str, q: str, at: datetime
) -> SavedView:
    view, _ = mine.update_or_create(
        user=user, project_id=project, name=name, defaults={"q": q},
        create_defaults={"q": q, "created_at": at},
    )  # fmt: skip
    return view


def remove_view(view_id: UUID, *, user: User) -> None:
    """Forget a view.

    Raises:
        NotFound: this person has no such view.
    """
    if not SavedView.objects.filter(pk=view_id, user=user).delete()[0]:
        raise NotFound("The view")


def view_row(view: SavedView) -> SavedViewRow:
    """Show a view."""
    return SavedViewRow(
        id=view.id, project=view.project_id, name=view.name, q=view.q, created_at=view.created_at
    )
