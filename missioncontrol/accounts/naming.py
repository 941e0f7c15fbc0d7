"""How commands name projects."""

from __future__ import annotations

import contextlib
from uuid import UUID

from django.core.management.base import CommandError
from django.db.models import Q

from missioncontrol.accounts.models import Project


def chosen_projects(wanted: str | None) -> list[Project]:
    """Return the projects of this id or name; of none: all.

    Raises:
        CommandError: there is none.
    """
    found = Project.objects.order_by("id")
    if wanted:
        named = Q(name=wanted)
        with contextlib.suppress(ValueError):  # what is no id is a name
            named |= Q(pk=UUID(wanted))
        found = found.filter(named)
    if not found:
        raise CommandError(f"There is no project {wanted!r}." if wanted else "There is no project.")
    return list(found)
