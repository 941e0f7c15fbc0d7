"""Turns and directives as JSON: what a session writes and reads."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from guard.errors import NotTheServer, ServerAway, ServerRefused
from guard.sdk.exchange import Answer
from guard.turn import Turn
from guard.wire import CallAction, Directive, DirectiveAction, Escalation, Message

logger = logging.getLogger("guard")

SUCCESSES = range(200, 300)

TOO_MANY = 429
SHORTEST_PAUSE_S = 0.25
# How long in all a caller waits for a server that is there and says when to ask again.
AGAIN_WITHIN_S = 6.0
# The longest `Retry-After` that is followed.
LONGEST_RETRY_S = 300.0
SERVER_ERROR = 500
NO_CONTENT = 204
TOO_LARGE = 413

# Of one text; a request may have 8 MB in all.
MOST_CHARS = 200_000


# The server numbers the turns.
_NAMES = tuple(field.name for field in fields(Turn) if field.name != "seq")


def turn_json(turn: Turn) -> dict[str, Any]:
    """Write a turn; absent fields are left out."""
    written = {name: getattr(turn, name) for name in _NAMES}
    for name in ("content", "result", "error"):
        written[name] = cut(written[name])
    if turn.usage is not None:
        written["usage"] = asdict(turn.usage)
    if turn.nature is not None:
        written["nature"] = asdict(turn.nature)
    if turn.ts is not None:
        written["ts"] = turn.ts.isoformat()
    # An empty text stays: an empty answer differs from no answer yet.
    return {name: value for name, value in written.items() if value not in (None, ())}


def cut(text: str | None, most: int = MOST_CHARS) -> str | None:
    """Cut the middle out of a text that nobody reads to the end."""
    if text is None or len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters cut]\n{text[-half:]}"


def text_of(value: object) -> str:
    """Return a value as text; if its own code fails at that, the name of its type."""
    try:
        return str(value)
    except Exception:
        logger.debug("a value that cannot be told as text", exc_info=True)
        return f"<{type(value).__qualname__}>"


def is_passing(status: int) -> bool:
    """Whether a proxy or a starting server sends this status; it says nothing about the run."""
    return status >= SERVER_ERROR or status == TOO_MANY


def is_page(answer: Answer) -> bool:
    """Whether a program in between answered: each refusal of the server itself has a code."""
    # What is too large for a proxy will be too large later: that is a refusal.
    if answer.status in {NO_CONTENT, TOO_LARGE}:
        return False
    if not isinstance(answer.body, Mapping):
        return True
    return answer.status not in SUCCESSES and "code" not in answer.body


def speaking(answer: Answer) -> Answer:
    """Return an answer if it says something about the run.

    Raises:
        ServerAway: It is what a proxy or a starting server sends.
    """
    if is_passing(answer.status) or is_page(answer):
        raise not_now(answer)
    return answer


def not_now(answer: Answer) -> ServerAway:
    """Return who answered in place of the server, as an error."""
    if not is_page(answer):
        return ServerAway(f"it answered {answer.status}", retry_after_s=answer.retry_after_s)
    # A proxy without its server also answers like another program; but the address is right.
    kind = ServerAway if is_passing(answer.status) else NotTheServer
    said = f"another program answered {answer.status} in its place"
    return kind(said, retry_after_s=answer.retry_after_s)


def comes_again_in(answer: Answer, *, left_s: float) -> float | None:
    """Return how long to wait before asking again; None: do not, or not within `left_s`."""
    if not is_passing(answer.status) or answer.retry_after_s is None:
        return None
    pause_s = _spread(max(answer.retry_after_s, SHORTEST_PAUSE_S))
    return pause_s if pause_s <= left_s else None


def pause_of(own_s: float, retry_after_s: float | None = None) -> float:
    """Return how long to wait before asking again: at most `own_s`, or the server's if longer.

    Half of our own pause is random, because a restart cuts off a whole fleet at the same moment.
    """
    own_s *= random.uniform(0.5, 1.0)  # noqa: S311 - no secret
    return max(own_s, _spread(min(retry_after_s or 0.0, LONGEST_RETRY_S)))


def _spread(seconds: float) -> float:
    """Return up to a quarter more than this: clients must not all come back at once."""
    return seconds * random.uniform(1.0, 1.25)  # noqa: S311 - no secret


def body_of(answer: Answer) -> Mapping[str, Any]:
    """Return the object in a good answer.

    Raises:
        ServerRefused: The server refused, or the body is not an object.
    """
    body = answer.body if isinstance(answer.body, Mapping) else {}
    if answer.status not in SUCCESSES:
        detail = body.get("detail") or body.get("title") or body.get("code") or "no reason given"
        raise ServerRefused(answer.status, str(detail))
    if not body:
        raise ServerRefused(answer.status, "no JSON object")
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
            if isinstance(asked := row.get("escalation"), Mapping):
                escalation = Escalation(
                    reason=str(asked.get("reason") or ""),
                    detector=str(asked.get("detector") or ""),
                    kind=str(asked.get("kind") or ""),
                    repeats=int(asked.get("repeats") or 0),
                    first_error=asked.get("first_error"),
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
