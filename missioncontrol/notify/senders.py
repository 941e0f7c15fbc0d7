"""Who carries a delivery, by the kind of its target: one function a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from missioncontrol.notify import chat, web_push, webhook
from missioncontrol.notify.addresses import CHATS
from missioncontrol.notify.models import Delivery
from missioncontrol.notify.outcome import Outcome

Sender = Callable[[Delivery, datetime], Outcome]
"""Sends one delivery (its notice, device, channel and project are loaded), outside every
lock, within `retries.LEASE`; says what came of it. It may be called twice for one delivery:
after a death nobody knows whether it was sent."""

SENDERS: Mapping[str, Sender] = {
    "push": web_push.send,
    "webhook": webhook.send,
    **dict.fromkeys(CHATS, chat.send),
}
