"""Chats, mail and ntfy: notices as plain text, sent by apprise; letters by `mail`.

Texts that an agent may have influenced are shown literally: no mention, markup or hidden link.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django.conf import settings

from missioncontrol import outbound
from missioncontrol.notify import addresses, content, mail, wording
from missioncontrol.notify.models import Delivery
from missioncontrol.notify.texts import Texts, texts_in
from missioncontrol.outbound import ATTEMPT_TIMEOUT_S, SENT, Outcome, outcome_of_status
from missioncontrol.sealing import unseal

UNSEEN = "\u200b"
DISCORD_MARKS = re.compile(r"([\\*_~`|>\[\]()#<-])")
REFUSED = Outcome(failure="it could not be reached, or refused the message")
# Apprise gives a status only in its log: its results only tell that a call failed.
STATUS = re.compile(r"error=(\d{3})\b")


def send(delivery: Delivery, at: datetime) -> Outcome:
    """Send a delivery to its channel."""
    from apprise import Apprise, NotifyFormat

    channel: Any = delivery.channel
    message = content.read(delivery.notice.content, language=channel.language)
    t = texts_in(channel.language)
    words = wording.words_of(message, t, step_minutes=delivery.step_minutes, at=at)
    where = wording.link(words.path)
    service = addresses.service_of(channel.kind, unseal(channel.address), link=where)
    if service is None:
        return Outcome(failure="its address cannot be read: enter it again", is_final=True)
    try:
        # A host chosen by people is also looked up here, because a proxy may be in between.
        if addresses.CHATS[channel.kind].has_own_host:
            host, port, _ = addresses.destination(channel.kind, service)
            outbound.check_host(host, port, private_hosts=settings.NOTIFY_HOSTS)
    except outbound.RequestFailed as refused:
        return Outcome(failure=str(refused))
    # Apprise opens its connections itself, so they are watched instead of made here.
    with outbound.only_public(private_hosts=settings.NOTIFY_HOSTS) as connection_guard:
        text = body_of(channel.kind, words, t, where)
        title = literal(channel.kind, words.title)
        if channel.kind == "email":
            page = message.html if isinstance(message, content.Announcement) else ""
            letter = mail.letter(service, delivery.id, subject=title, text=text, html=page)
            outcome = mail.send(service, letter)
        else:
            carrier = Apprise()
            carrier.add(service)
            outcome = _outcome(
                carrier.notify(
                    body=text, title=title, body_format=NotifyFormat.TEXT, timeout=ATTEMPT_TIMEOUT_S
                )
            )
    # This reason wins: apprise and the mail client only know that a connection failed.
    return Outcome(failure=connection_guard.refused) if connection_guard.refused else outcome


def body_of(kind: str, words: wording.Words, t: Texts, where: str | None) -> str:
    """Return the text under the title; our own link is not changed."""
    lines = [literal(kind, words.detail or words.body)]
    if where:
        lines.append(t.answer_here.format(link=where) if words.needs_answer else where)
    elif words.needs_answer:
        lines.append(t.answer_there)
    return "\n\n".join(lines)


def literal(kind: str, text: str) -> str:
    r"""Return a text that a chat shows as it is, and that mentions nobody and links nowhere.

    Only our own link can be tapped there: an address in a run's name stays plain text.

    >>> literal("discord", "[free](evil.example) *now*")
    '\\[free\\]\\(evil.example\\) \\*now\\*'
    """
    # Chats make a link of anything that looks like one; a zero-width character prevents that.
    text = text.replace("://", f":/{UNSEEN}/")
    if kind == "discord":
        text = DISCORD_MARKS.sub(r"\\\1", text)
    # In chats an @ mentions whoever is named after it; in a letter it is part of an address.
    return text if kind in {"email", "ntfy"} else text.replace("@", f"@{UNSEEN}")


def _outcome(result: Any) -> Outcome:
    """Return the outcome; of apprise's log read only a status, because it may name addresses."""
    from apprise import AppriseResultStatus

    if result.status == AppriseResultStatus.SUCCESS:
        return SENT
    if result.status == AppriseResultStatus.TIMEOUT:
        return Outcome(failure=f"it took longer than {ATTEMPT_TIMEOUT_S:g} s")
    log = " ".join(str(line) for line in result.logs())
    if found := STATUS.search(log):
        return outcome_of_status(int(found[1]))
    return REFUSED
