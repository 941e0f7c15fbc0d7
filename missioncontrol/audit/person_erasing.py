"""Erase a person: their account, what they own alone, and what the audit log says about them.

What stays is the name under which they decided something: it is in the hash of the row that
says so, and who stopped whose agent is what the log is for.
"""

from __future__ import annotations

import json
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from missioncontrol import broadcast
from missioncontrol.accounts import sessions
from missioncontrol.accounts.models import Browser, Membership
from missioncontrol.accounts.services import LOCAL_OWNER
from missioncontrol.audit.amendments import amend
from missioncontrol.audit.erasing import check_reason
from missioncontrol.errors import InvalidRequest
from missioncontrol.notify import devices
from missioncontrol.notify.models import Device
from missioncontrol.projects import members
from missioncontrol.proof import ACCESS
from missioncontrol.runs import journal
from missioncontrol.runs.models import JournalRow


@transaction.atomic
def erase_person(user: User, *, by: str, reason: str, at: datetime) -> None:
    """Erase an account with its tokens, browsers, sessions, views and memberships.

    Rows of the audit log that name the person or a browser of theirs lose their words, and
    each project's chain says, signed, which rows, who allowed it and why.

    Raises:
        InvalidRequest: nobody, or no reason, is named, or the account is the machine's own.
        LastOwner: a project would have no owner.
    """
    check_reason(by, reason)
    if user.username == LOCAL_OWNER:
        raise InvalidRequest("This account starts Mission Control: it cannot be erased.")
    # Rows speak of people and of their browsers by name, in quotes, as JSON escapes it.
    own = Browser.objects.filter(user=user).values_list("name", flat=True)
    named = Q()
    for name in sorted({user.username, user.get_full_name(), *own} - {""}):
        named |= Q(payload__contains=f"“{json.dumps(name, ensure_ascii=False)[1:-1]}”")
    # Projects that they have left speak of them too.
    found = JournalRow.objects.filter(named, run=None, type=ACCESS)
    mine = Membership.objects.filter(user=user).values_list("project_id", flat=True)
    for project_id in sorted({*mine, *found.values_list("project_id", flat=True)}):
        # Always in the order of ids: two who erase at once must not wait for each other.
        with journal.holding_project(project_id):
            members.let_go(project_id, user.pk, at=at)
            rows = JournalRow.objects.filter(named, project=project_id, run=None, type=ACCESS)
            seqs = tuple(rows.order_by("seq").values_list("seq", flat=True))
            amend(project_id, "person_erased", by=by, reason=reason, at=at, rows=seqs)
            JournalRow.objects.filter(project=project_id, run=None, seq__in=seqs).update(
                payload=None, salt=None
            )
    # While the account is there: afterwards nothing says which phones were theirs.
    devices.let_go(Device.objects.filter(user=user), at=at)
    sessions.end_others(user, kept=None, at=at)
    # Deleting takes the key off the object, and the sockets are checked after the commit.
    person = user.pk
    user.delete()
    transaction.on_commit(lambda: broadcast.check_access(person))
