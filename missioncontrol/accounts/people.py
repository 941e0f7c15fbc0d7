"""Look people and projects up by name. Names are unique, because the audit log uses them."""

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

# It joins two emoji into one: 👩 and 💻 are a woman at work. Between letters it is invisible.
ZERO_WIDTH_JOINER = "\u200d"
_JOINED_EMOJI = re.compile(
    rf"(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]){ZERO_WIDTH_JOINER}(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
)

MAX_NAME_LENGTH = 60
# Names of other actors in the audit log.
RESERVED_NAMES = frozenset({"agent", "auto", "guard", "judge", "policy", "project", "terminal"})


def clean_name(name: str, *, max_length: int = 100, field: str = "name") -> str:
    """Return a name in the form that is stored.

    Raises:
        InvalidRequest: it is empty, too long, or has invisible characters.
    """
    # One line, whatever was pasted: names are part of sentences in the audit log.
    name = " ".join(name.split())
    if not 0 < len(name) <= max_length or not _JOINED_EMOJI.sub("", name).isprintable():
        raise InvalidRequest(
            f"{field}: expected 1 to {max_length} visible characters.", field=field
        )
    return name


def projects_named(wanted: str | None) -> list[Project]:
    """Return the projects with this id or name; None: all.

    Raises:
        CommandError: there is none.
    """
    found = Project.objects.order_by("id")
    if wanted is not None:
        named = Q(name=wanted)
        with contextlib.suppress(ValueError):  # a text that is no id is a name
            named |= Q(pk=UUID(wanted))
        found = found.filter(named)
    if not found:
        raise CommandError(
            "There is no project." if wanted is None else f"There is no project {wanted!r}."
        )
    return list(found)


def project_named(wanted: str) -> Project:
    """Return the one project with this id or name.

    Raises:
        CommandError: there is none, or more than one.
    """
    first, *others = projects_named(wanted)
    if others:
        ids = ", ".join(str(one.id) for one in (first, *others))
        raise CommandError(f"Several projects are named {wanted!r}: give the id of one: {ids}.")
    return first


def name_of(user: User) -> str:
    """Return a person's name as the journal writes it."""
    return user.get_full_name() or user.get_username()


def find_person(name: str) -> User | None:
    """Return the person with this name, in any capitalisation; None: there is none."""
    return next(_people_named(name), None)


def person_named(name: str | None) -> User:
    """Return the person that a command names; None: the person who started this installation.

    Raises:
        CommandError: nobody has this name.
    """
    found = find_person(name) if name else ensure_local_owner()
    if found is None:
        raise CommandError(f"No person is named {name!r}; see `users list`.")
    return found


def create_person(name: str) -> User:
    """Make an account without a password for a person who was let in.

    Raises:
        InvalidRequest: the name is invalid or taken.
    """
    name = _clean_free_name(name)
    try:
        with transaction.atomic():
            user = User(username=name)
            user.set_unusable_password()
            user.save()
    except IntegrityError:  # somebody else took it just now
        raise _name_taken(name) from None
    return user


def rename_person(user: User, name: str) -> None:
    """Change a person's name from now on; what is in the journal stays.

    Raises:
        InvalidRequest: the name is invalid or taken.
    """
    with transaction.atomic():
        # Locked: if two people take one name at once, the second sees that it is taken.
        list(User.objects.select_for_update().order_by("pk"))
        user.first_name = _clean_free_name(name, of=user)
        user.save(update_fields=["first_name"])


def _clean_free_name(name: str, *, of: User | None = None) -> str:
    """Return a name in the form that is stored.

    Raises:
        InvalidRequest: it is empty, too long, has invisible characters, or is somebody else's.
    """
    # Normalised, so that full-width letters and ligatures make no second form of one name.
    name = clean_name(unicodedata.normalize("NFKC", name), max_length=MAX_NAME_LENGTH)
    is_taken = any(other != of for other in _people_named(name))
    if is_taken or name.casefold() in RESERVED_NAMES | {LOCAL_OWNER}:
        raise _name_taken(name)
    return name


def find_free_name(wanted: str) -> str:
    """Return a free name that is as close to `wanted` as possible."""
    # Everybody in the project sees the name: an e-mail address loses its domain.
    plain = "".join(sign for sign in wanted.partition("@")[0] if sign.isprintable())
    # Leave room for a number after it.
    plain = " ".join(plain.split())[: MAX_NAME_LENGTH - 6].strip() or "Member"
    for number in itertools.count(1):
        with suppress(InvalidRequest):
            return _clean_free_name(plain if number == 1 else f"{plain} {number}")
    raise AssertionError  # numbers never run out


def _people_named(name: str) -> Iterator[User]:
    """Yield people with this name, or who had it. SQLite folds the case of ASCII only."""
    wanted = _comparable(name)
    for user in User.objects.order_by("pk"):
        if wanted in {_comparable(user.username), _comparable(user.first_name)}:
            yield user


def _comparable(name: str) -> str:
    """Return a name's form for comparison: joined emoji may look the same as separate ones."""
    return name.replace(ZERO_WIDTH_JOINER, "").casefold()


def _name_taken(name: str) -> InvalidRequest:
    return InvalidRequest(f"name: “{name}” is taken here; choose another.", field="name")
