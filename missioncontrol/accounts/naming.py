"""Names that people give, and how commands name projects."""

from __future__ import annotations

import contextlib
import re
from uuid import UUID

from django.core.management.base import CommandError
from django.db.models import Q

from missioncontrol.accounts.models import Project
from missioncontrol.errors import InvalidRequest

# It makes one picture of two: 👩 and 💻 are a woman at work. Between letters nobody sees it.
JOINER = "\u200d"
_JOINING = re.compile(
    rf"(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]){JOINER}(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)


def checked_name(name: str, *, longest: int = 100, field: str = "name") -> str:
    """Return a name as it is kept.

    Raises:
        InvalidRequest: it is empty, too long, or hides signs.
    """
    # One line, whatever was pasted: names stand in sentences of the audit log.
    name = " ".join(name.split())
    if not 0 < len(name) <= longest or not _JOINING.sub("", name).isprintable():
        raise InvalidRequest(
            f"{field}: expected 1 to {longest} characters that can be seen.", field=field
        )
    return name


def chosen_projects(wanted: str | None) -> list[Project]:
    """Return the projects of this id or name; None: all.

    Raises:
        CommandError: there is none.
    """
    found = Project.objects.order_by("id")
    if wanted is not None:
        named = Q(name=wanted)
        with contextlib.suppress(ValueError):  # what is no id is a name
            named |= Q(pk=UUID(wanted))
        found = found.filter(named)
    if not found:
        raise CommandError(
            "There is no project." if wanted is None else f"There is no project {wanted!r}."
        )
    return list(found)


def chosen_project(wanted: str) -> Project:
    """Return the one project of this id or name.

    Raises:
        CommandError: there is none, or more than one.
    """
    first, *others = chosen_projects(wanted)
    if others:
        ids = ", ".join(str(one.id) for one in (first, *others))
        raise CommandError(f"Several projects are called {wanted!r}: give the id of one: {ids}.")
    return first
