"""A channel that is a program: a signed POST of what happened.

The receiver can check that it is from this installation, and when it was made.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from missioncontrol import outbound
from missioncontrol.notify import content
from missioncontrol.notify.models import Delivery
from missioncontrol.notify.texts import texts_in
from missioncontrol.outbound import Outcome, outcome_of_reply
from missioncontrol.sealing import unseal

# Fields that a program does not need.
OMITTED = frozenset({"html", "others"})
# Not followed: only the address that a person entered has been checked.
REDIRECTS = frozenset({301, 302, 303, 307, 308})


def send(delivery: Delivery, at: datetime) -> Outcome:
    """Post a delivery to its channel, signed with the project's secret."""
    channel: Any = delivery.channel
    return post(
        unseal(channel.address),
        payload(delivery, at=at),
        project=delivery.project_id,
        delivery=delivery.id,
        at=at,
        private_hosts=settings.NOTIFY_HOSTS,
    )


def post(
    url: str,
    payload: Mapping[str, Any],
    *,
    project: UUID,
    delivery: UUID,
    at: datetime,
    private_hosts: Collection[str],
) -> Outcome:
    """Post what happened, signed; a repeat has the same delivery id."""
    # Money as text: a float would round it.
    body = json.dumps(payload, ensure_ascii=False, default=str).encode()
    # Signed with the body, so that a receiver can recognise a replayed request.
    timestamp = str(int(at.timestamp()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "MissionControl",
        "X-MissionControl-Event": str(payload["event"]),
        "X-MissionControl-Delivery": str(delivery),
        "X-MissionControl-Timestamp": timestamp,
        "X-MissionControl-Signature": signature(secret_of(project), timestamp, body),
    }
    try:
        reply = outbound.call(url, body, headers, private_hosts=private_hosts)
    except outbound.RequestFailed as refused:
        return Outcome(failure=str(refused))
    # Final, because it would redirect again.
    if reply.status in REDIRECTS:
        moved = f"it redirects ({reply.status}): enter the address that it leads to"
        return Outcome(failure=moved, is_final=True)
    return outcome_of_reply(reply)


def payload(delivery: Delivery, *, at: datetime) -> dict[str, Any]:
    """Return the JSON body of a delivery."""
    notice = delivery.notice
    message = content.load(notice.content, language=delivery.language)
    t = texts_in(delivery.language)
    words = content.render_notice(message, t, step_minutes=delivery.step_minutes, at=at)
    return {
        "event": f"notice.{delivery.what}",
        # Delivery is at least once: this lets a receiver recognise a repeat.
        "delivery": str(delivery.id),
        "project": str(delivery.project_id),
        "run": str(notice.run_id) if notice.run_id else None,
        "decision": str(notice.decision) if notice.decision else None,
        "title": words.title,
        "text": words.body,
        "url": content.full_url(words.path),
        "at": at.isoformat(),
        "about": {name: value for name, value in asdict(message).items() if name not in OMITTED},
    }


def secret_of(project_id: UUID) -> str:
    """Return the secret that signs a project's web hooks; derived from SECRET_KEY."""
    # With a prefix of its own, so that no other signature of ours passes for a web hook's.
    meant = b"controller webhook " + project_id.bytes
    return hmac.new(settings.SECRET_KEY.encode(), meant, hashlib.sha256).hexdigest()


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Sign a body together with its time: `v1=` and a hex HMAC-SHA256."""
    # `v1` names the scheme, so that another can be added beside it.
    signed = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1={signed.hexdigest()}"
