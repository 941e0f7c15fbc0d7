"""People, projects and what they are called: the audit log names people, so no two share a name."""

from __future__ import annotations

import contextlib
import itertools
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from uuid import UUID

from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction
from django.db.models import Q

from missioncontrol.accounts.models import Project
from missioncontrol.accounts.services import LOCAL_OWNER, ensure_local_owner
from missioncontrol.errors import InvalidRequest

# It makes one picture of two: 👩 and 💻 are a woman at work. Between letters nobody sees it.
JOINER = "\u200d"
_JOINING = re.compile(
    rf"(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]){JOINER}(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)

LONGEST_NAME = 60
# Who else acts in the audit log.
NOT_PEOPLE = frozenset({"agent", "auto", "guard", "judge", "policy", "project", "terminal"})


def checked_name(name: str, *, longest: int = 100, field: str = "name") -> str:
    """Return a name as it is kept.

    Raises:
        InvalidRequest: it is empty, too long, or hides signs.
    """
    # One line, whatever was pasted: names stand in sentences of the audit log.
    name = " ".join(name.split())
    if not 0 < len(name) <= longest or not _JOINING.sub("", name).isprintable():
        raise InvalidRequest(f"{field}: expected 1 to {longest} visible characters.", field=field)
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
        raise CommandError(f"Several projects are named {wanted!r}: give the id of one: {ids}.")
    return first


def name_of(user: User) -> str:
    """Return a person's name as the journal writes it."""
    return user.get_full_name() or user.get_username()


def find(name: str) -> User | None:
    """Return who is called so, however it is capitalised; None: nobody is."""
    return next(_called(name), None)


def chosen(name: str | None) -> User:
    """Return whom a command names; of nobody: the person who started this installation.

    Raises:
        CommandError: nobody is called so.
    """
    found = find(name) if name else ensure_local_owner()
    if found is None:
        raise CommandError(f"No person is named {name!r}; see `users list`.")
    return found


def make_person(name: str) -> User:
    """Make an account without a password for who was let in.

    Raises:
        InvalidRequest: the name cannot be had.
    """
    name = _untaken_name(name)
    try:
        with transaction.atomic():
            user = User(username=name)
            user.set_unusable_password()
            user.save()
    except IntegrityError:  # somebody took it meanwhile
        raise _taken(name) from None
    return user


def rename(user: User, name: str) -> None:
    """Call a person something else from now on; what stands in the journal stays.

    Raises:
        InvalidRequest: the name cannot be had.
    """
    with transaction.atomic():
        # Of two who take one name at once, the second sees the first's.
        list(User.objects.select_for_update().order_by("pk"))
        user.first_name = _untaken_name(name, of=user)
        user.save(update_fields=["first_name"])


def _untaken_name(name: str, *, of: User | None = None) -> str:
    """Return a name as it is kept.

    Raises:
        InvalidRequest: it is empty, too long, hides signs, or is somebody else's.
    """
    # One writing of what is one text (full-width letters, ligatures): the audit log has no two.
    name = checked_name(unicodedata.normalize("NFKC", name), longest=LONGEST_NAME)
    is_taken = any(other != of for other in _called(name))
    if is_taken or name.casefold() in NOT_PEOPLE | {LOCAL_OWNER}:
        raise _taken(name)
    return name


def free_name(wanted: str) -> str:
    """Return a name that can be had, as close to `wanted` as there is one."""
    # An e-mail address would be shown to everybody in the project: its domain goes.
    plain = "".join(sign for sign in wanted.partition("@")[0] if sign.isprintable())
    # Room for a number behind it.
    plain = " ".join(plain.split())[: LONGEST_NAME - 6].strip() or "Member"
    for number in itertools.count(1):
        with suppress(InvalidRequest):
            return _untaken_name(plain if number == 1 else f"{plain} {number}")
    raise AssertionError  # the numbers do not end


def _called(name: str) -> Iterator[User]:
    """Give who is or was called so. SQLite compares capitals of ASCII alone: so not there."""
    wanted = _compared(name)
    for user in User.objects.order_by("pk"):
        if wanted in {_compared(user.username), _compared(user.first_name)}:
            yield user


def _compared(name: str) -> str:
    """Return what look-alikes share: of some emoji nobody sees that they are joined."""
    return name.replace(JOINER, "").casefold()


def _taken(name: str) -> InvalidRequest:
    return InvalidRequest(f"name: “{name}” is taken here; choose another.", field="name")
