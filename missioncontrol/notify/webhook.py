"""A channel that is a program: a signed POST of what happened."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.conf import settings

from missioncontrol import outbound
from missioncontrol.notify import content, signing, wording
from missioncontrol.notify.links import link
from missioncontrol.notify.models import Delivery
from missioncontrol.notify.texts import texts_in
from missioncontrol.notify.tries import Outcome, of_status
from missioncontrol.sealing import unseal

# What a program has no use for.
UNSAID = frozenset({"html", "others"})


def send(delivery: Delivery, at: datetime) -> Outcome:
    """Post a delivery to its channel, signed with the project's secret."""
    channel: Any = delivery.channel
    # Money as text: a float would round it.
    body = json.dumps(payload(delivery, at=at), ensure_ascii=False, default=str).encode()
    headers = signing.headers(
        body,
        project=delivery.project_id,
        event=f"notice.{delivery.what}",
        delivery=delivery.id,
        at=at,
    )
    try:
        reply = outbound.post(
            unseal(channel.address), body, headers, private_hosts=settings.NOTIFY_HOSTS
        )
    except outbound.Unsendable as refused:
        return Outcome(failure=str(refused))
    return of_status(reply.status)


def payload(delivery: Delivery, *, at: datetime) -> dict[str, Any]:
    """Return what a program reads of a delivery."""
    notice = delivery.notice
    message = content.read(notice.content, language=delivery.language)
    t = texts_in(delivery.language)
    words = wording.words_of(message, t, step_minutes=delivery.step_minutes, at=at)
    return {
        "event": f"notice.{delivery.what}",
        # At least once: by this a receiver knows a repeat.
        "delivery": str(delivery.id),
        "project": str(delivery.project_id),
        "run": str(notice.run_id) if notice.run_id else None,
        "decision": str(notice.decision) if notice.decision else None,
        "title": words.title,
        "text": words.body,
        "url": link(words.path),
        "at": at.isoformat(),
        "about": {name: value for name, value in asdict(message).items() if name not in UNSAID},
    }
