"""Errors as application/problem+json (RFC 9457), or for protobuf clients as a google.rpc.Status."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import DataError, InternalError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from pydantic_core import to_json
from rest_framework import exceptions

from guard.errors import PolicyInvalid
from missioncontrol.api.web_process import disk
from missioncontrol.detection.policies import problems_of
from missioncontrol.errors import (
    Forbidden,
    InvalidRequest,
    MissionControlError,
    NotFound,
    NotSignedIn,
    Unavailable,
    WrongMethod,
)

logger = logging.getLogger(__name__)

View = Callable[..., HttpResponse]

# PostgreSQL raises InternalError if this process was frozen within a transaction.
DATABASE_ERRORS = (OperationalError, InternalError)
# SQLite's error name and PostgreSQL's error code for it.
DISK_FULL_CODES = ("SQLITE_FULL", "53100")
# HTTP status -> google.rpc.Code.
RPC_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 413: 8, 415: 3, 503: 14}
RPC_UNKNOWN = 2
SEVEN_BITS = 0x7F


def handle_error(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Return the problem document of an error; None if it is not one of ours."""
    # In order: a subclass stands before its base class.
    for kind, to_problem in PROBLEM_OF_ERROR:
        if isinstance(error, kind):
            if kind is DATABASE_ERRORS:
                logger.warning("the database does not answer: %s", error)
            return problem_response(to_problem(error))
    return None


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request for an address that does not exist."""
    return problem_response(NotFound("That address"))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that Django itself refused, such as one for another Host."""
    return problem_response(InvalidRequest("The request could not be taken."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an internal error; the log says what it was."""
    # Raised outside the views, such as in the session look-up. Django calls this while it handles
    # the error.
    if isinstance(fault := sys.exception(), DATABASE_ERRORS):
        return problem_response(database_problem(fault))
    return problem_response(MissionControlError("The server failed; the log says how."))


def problem_response(error: MissionControlError) -> HttpResponse:
    """Return the problem document of an error of ours."""
    return HttpResponse(
        to_json(problem_document(error)),
        status=error.status,
        content_type="application/problem+json",
        headers=error.headers(),
    )


def allow_methods(*methods: str) -> Callable[[View], View]:
    """Decorate a view so that other methods get a problem document with status 405."""

    def decorate(view: View) -> View:
        checked = csrf_protect(view)

        # Otherwise the middleware would answer 403: it asks a wrong method for a token too.
        @csrf_exempt
        @wraps(view)
        def dispatch(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method in methods:
                return checked(request, *args, **kwargs)
            return problem_response(WrongMethod(str(request.method), allowed=", ".join(methods)))

        return dispatch

    return decorate


def problem_document(error: MissionControlError) -> dict[str, Any]:
    """Return the members of an error's problem document."""
    return {
        "type": "about:blank",
        "title": error.title,
        # In the body too, so that a log of the body alone contains it (RFC 9457).
        "status": error.status,
        "code": error.code,
        "detail": str(error),
        **error.extra(),
    }


def rpc_status(http_status: int, message: str) -> bytes:
    r"""Encode a google.rpc.Status: field 1 the code, field 2 the sentence.

    >>> rpc_status(400, "no")
    b'\x08\x03\x12\x02no'
    """
    # Half of a surrogate pair, which JSON may contain, has no UTF-8.
    text = message.encode("utf-8", "replace")
    # Protobuf's base 128: the low seven bits first, and the high bit set where more follow.
    length, left = bytearray(), len(text)
    while left > SEVEN_BITS:
        length.append(left & SEVEN_BITS | 0x80)
        left >>= 7
    length.append(left)
    code = RPC_CODES.get(http_status, RPC_UNKNOWN)
    # The tags of field 1 (a number) and field 2 (a length-prefixed text).
    return b"\x08" + bytes([code]) + b"\x12" + bytes(length) + text


def database_problem(fault: Exception) -> Unavailable:
    """Say what is wrong with the database: nothing was stored, and the request may be repeated."""
    cause = fault.__cause__
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    if code in DISK_FULL_CODES:
        disk.note_full()
        return Unavailable("The disk of the database is full.")
    return Unavailable("The database does not answer.")  # locked for long, or restarting


def _from_drf_error(error: exceptions.APIException) -> MissionControlError:
    """Keep the status of a 405, 406 or 415; turn a parse error into a bad request."""
    problem = InvalidRequest(str(error.detail))
    # Set on this one instance: the class is shared.
    problem.status = error.status_code  # type: ignore[misc]
    problem.code = str(error.default_code)  # type: ignore[misc]
    # The class's own title has a placeholder.
    problem.title = HTTPStatus(error.status_code).phrase  # type: ignore[misc]
    return problem


# What a view may raise -> what the caller reads; the first match counts.
PROBLEM_OF_ERROR: tuple[tuple[Any, Callable[[Any], MissionControlError]], ...] = (
    (MissionControlError, lambda error: error),
    (DATABASE_ERRORS, database_problem),
    # Only PostgreSQL checks lengths; for a number, SQLite's driver raises Python's own error.
    (
        (DataError, OverflowError),
        lambda _: InvalidRequest("A value is too long or too large to be stored."),
    ),
    # Every wrong field is reported, each with what was expected.
    (
        PolicyInvalid,
        lambda error: InvalidRequest(
            str(error),
            field=error.field,
            problems=[asdict(one) for one in problems_of(error)],
        ),
    ),
    (Http404, lambda _: NotFound()),
    # The same that the page at /login/ shows to anybody.
    (exceptions.NotAuthenticated, lambda _: NotSignedIn(methods=settings.SIGN_IN)),
    (exceptions.AuthenticationFailed, lambda _: NotSignedIn()),
    (exceptions.PermissionDenied, lambda error: Forbidden(str(error.detail))),
    (exceptions.APIException, _from_drf_error),
)
