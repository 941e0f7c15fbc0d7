"""Errors of REST views as application/problem+json (RFC 9457)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.db import DataError, InternalError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from pydantic_core import to_json
from rest_framework import exceptions

from guard.errors import PolicyInvalid
from missioncontrol.api.endpoint import database_away, document
from missioncontrol.errors import (
    Forbidden,
    InvalidRequest,
    MissionControlError,
    NotFound,
    NotSignedIn,
)

logger = logging.getLogger(__name__)


def handle_error(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Return the problem document of an error; None: not one of ours."""
    # In order: a subclass stands before what it is one of.
    for kind, mended in MENDED:
        if isinstance(error, kind):
            return problem_response(mended(error))
    return None


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an address that is not there."""
    return problem_response(NotFound("That address"))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request Django itself refused, such as one for another Host."""
    return problem_response(InvalidRequest("The request could not be taken."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a fault of ours; the log says what it was."""
    return problem_response(MissionControlError("The server failed; the log says how."))


def problem_response(error: MissionControlError) -> HttpResponse:
    """Return the problem document of an error of ours."""
    return HttpResponse(
        to_json(document(error)),
        status=error.status,
        content_type="application/problem+json",
        headers=error.headers(),
    )


def _of_framework(error: exceptions.APIException) -> MissionControlError:
    """A 405, 406 or 415 keeps its status; a parse error is a bad request."""
    known = InvalidRequest(str(error.detail))
    # On this one error: the class is everybody's.
    known.status = error.status_code  # type: ignore[misc]
    known.code = str(error.default_code)  # type: ignore[misc]
    # Its own words have a placeholder.
    known.title = HTTPStatus(error.status_code).phrase  # type: ignore[misc]
    return known


def _database_away(fault: Exception) -> MissionControlError:
    logger.warning("the database does not answer: %s", fault)
    return database_away(fault)


# What a view may raise -> what the caller reads; the first match counts.
MENDED: tuple[tuple[Any, Callable[[Any], MissionControlError]], ...] = (
    (MissionControlError, lambda error: error),
    ((OperationalError, InternalError), _database_away),
    # PostgreSQL alone counts characters; of a number SQLite's driver raises Python's own error.
    (
        (DataError, OverflowError),
        lambda _: InvalidRequest("A value is too long or too large to be stored."),
    ),
    # Every wrong field is told, each with what was expected.
    (
        PolicyInvalid,
        lambda error: InvalidRequest(
            str(error),
            field=error.field,
            problems=[
                # Cut: what was got may be megabytes, and comes back to who sent it.
                {"field": one.field, "expected": one.expected, "got": f"{one.got!r:.80}"}
                for one in error.problems
            ],
        ),
    ),
    (Http404, lambda _: NotFound()),
    (exceptions.NotAuthenticated, lambda _: NotSignedIn()),
    (exceptions.AuthenticationFailed, lambda _: NotSignedIn()),
    (exceptions.PermissionDenied, lambda error: Forbidden(str(error.detail))),
    (exceptions.APIException, _of_framework),
)
