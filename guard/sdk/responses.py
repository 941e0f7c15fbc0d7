"""Read the server's responses: directives, refusals, and when to ask again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from guard.errors import NotTheServer, ServerAway, ServerRefused
from guard.sdk.flow import Response
from guard.wire import CallAction, Directive, DirectiveAction, Escalation, Message

SUCCESSES = range(200, 300)

TOO_MANY = 429
MIN_RETRY_S = 0.25
# How long in all a caller waits for a server that is there and says when to ask again.
MAX_RETRY_WAIT_S = 6.0
# The longest `Retry-After` that is followed.
MAX_RETRY_AFTER_S = 300.0
SERVER_ERROR = 500
NO_CONTENT = 204
TOO_LARGE = 413


def is_temporary(status: int) -> bool:
    """Whether a proxy or a starting server sends this status; it says nothing about the run."""
    return status >= SERVER_ERROR or status == TOO_MANY


def is_from_proxy(response: Response) -> bool:
    """Whether a program in between answered: each refusal of the server itself has a code."""
    # What is too large for a proxy will be too large later: that is a refusal.
    if response.status in {NO_CONTENT, TOO_LARGE}:
        return False
    if not isinstance(response.body, Mapping):
        return True
    return response.status not in SUCCESSES and "code" not in response.body


def checked_response(response: Response) -> Response:
    """Return an answer if it says something about the run.

    Raises:
        ServerAway: It is what a proxy or a starting server sends.
    """
    if is_temporary(response.status) or is_from_proxy(response):
        raise away_error(response)
    return response


def away_error(response: Response) -> ServerAway:
    """Return who answered in place of the server, as an error."""
    if not is_from_proxy(response):
        return ServerAway(f"it answered {response.status}", retry_after_s=response.retry_after_s)
    # A proxy without its server also answers like another program; but the address is right.
    kind = ServerAway if is_temporary(response.status) else NotTheServer
    said = f"another program answered {response.status} in its place"
    return kind(said, retry_after_s=response.retry_after_s)


def retry_delay(response: Response, *, left_s: float) -> float | None:
    """Return how long to wait before asking again; None: do not, or not within `left_s`."""
    if not is_temporary(response.status) or response.retry_after_s is None:
        return None
    pause_s = _with_jitter(max(response.retry_after_s, MIN_RETRY_S))
    return pause_s if pause_s <= left_s else None


def backoff(base_s: float, retry_after_s: float | None = None) -> float:
    """Return how long to wait before asking again: at most `base_s`, or the server's if longer.

    Half of our own pause is random, because a restart cuts off a whole fleet at the same moment.
    """
    base_s *= random.uniform(0.5, 1.0)  # noqa: S311 - no secret
    return max(base_s, _with_jitter(min(retry_after_s or 0.0, MAX_RETRY_AFTER_S)))


def _with_jitter(seconds: float) -> float:
    """Return up to a quarter more than this: clients must not all come back at once."""
    return seconds * random.uniform(1.0, 1.25)  # noqa: S311 - no secret


def body_of(response: Response) -> Mapping[str, Any]:
    """Return the object in a good answer.

    Raises:
        ServerRefused: The server refused, or the body is not an object.
    """
    body = response.body if isinstance(response.body, Mapping) else {}
    if response.status not in SUCCESSES:
        detail = body.get("detail") or body.get("title") or body.get("code") or "no reason given"
        raise ServerRefused(response.status, str(detail))
    if not body:
        raise ServerRefused(response.status, "no JSON object")
    return body


def directive_of(body: Any) -> Directive:
    """Read a directive; fields we do not know are ignored.

    Raises:
        ServerRefused: It is not a directive.
    """
    try:
        version, action = int(body["version"]), DirectiveAction(body["action"])
        call = CallAction(body.get("call") or CallAction.RUN)
        messages = []
        for row in body.get("messages") or ():
            message_id, text, escalation = str(row["id"]), str(row["text"]), None
            if isinstance(reported := row.get("escalation"), Mapping):
                escalation = Escalation(
                    reason=str(reported.get("reason") or ""),
                    detector=str(reported.get("detector") or ""),
                    kind=str(reported.get("kind") or ""),
                    repeats=int(reported.get("repeats") or 0),
                    first_error=reported.get("first_error"),
                )
            message = Message(
                id=message_id, text=text, agent=row.get("agent"), escalation=escalation
            )
            messages.append(message)
        return Directive(
            version=version,
            action=action,
            call=call,
            reason=body.get("reason"),
            decision=body.get("decision"),
            messages=tuple(messages),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ServerRefused(200, f"no directive: {error!r}") from error
