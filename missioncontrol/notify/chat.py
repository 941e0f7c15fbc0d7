"""Chats, mail and ntfy: notices as plain text, sent by apprise; letters by `mail`.

Texts that an agent may have influenced are shown literally: no mention, markup or hidden link.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django.conf import settings

from missioncontrol import outbound
from missioncontrol.notify import addresses, content, mail
from missioncontrol.notify.models import Delivery
from missioncontrol.notify.texts import Texts, texts_in
from missioncontrol.outbound import ATTEMPT_TIMEOUT_S, SENT, Outcome, outcome_of_status
from missioncontrol.sealing import unseal

ZERO_WIDTH_SPACE = "\u200b"
DISCORD_MARKUP = re.compile(r"([\\*_~`|>\[\]()#<-])")
REFUSED = Outcome(failure="it could not be reached, or refused the message")
# Apprise gives a status only in its log: its results only tell that a call failed.
LOGGED_STATUS = re.compile(r"error=(\d{3})\b")


def send(delivery: Delivery, at: datetime) -> Outcome:
    """Send a delivery to its channel."""
    from apprise import Apprise, NotifyFormat

    channel: Any = delivery.channel
    message = content.load(delivery.notice.content, language=channel.language)
    t = texts_in(channel.language)
    rendered = content.render_notice(message, t, step_minutes=delivery.step_minutes, at=at)
    url = content.full_url(rendered.path)
    service = addresses.apprise_service_of(channel.kind, unseal(channel.address), link=url)
    if service is None:
        return Outcome(failure="its address cannot be read: enter it again", is_final=True)
    try:
        # A host chosen by people is also looked up here, because a proxy may be in between.
        if addresses.CHAT_SERVICES[channel.kind].has_own_host:
            host, port, _ = addresses.destination(channel.kind, service)
            outbound.check_host(host, port, private_hosts=settings.NOTIFY_HOSTS)
    except outbound.RequestFailed as refused:
        return Outcome(failure=str(refused))
    # Apprise opens its connections itself, so they are watched instead of made here.
    with outbound.only_public(private_hosts=settings.NOTIFY_HOSTS) as connection_guard:
        text = message_body(channel.kind, rendered, t, url)
        title = escape_markup(channel.kind, rendered.title)
        if channel.kind == "email":
            page = message.html if isinstance(message, content.Announcement) else ""
            email = mail.build_email(service, delivery.id, subject=title, text=text, html=page)
            outcome = mail.send(service, email)
        else:
            sender = Apprise()
            sender.add(service)
            outcome = _outcome(
                sender.notify(
                    body=text, title=title, body_format=NotifyFormat.TEXT, timeout=ATTEMPT_TIMEOUT_S
                )
            )
    # This reason wins: apprise and the mail client only know that a connection failed.
    return Outcome(failure=connection_guard.refused) if connection_guard.refused else outcome


def message_body(kind: str, rendered: content.RenderedNotice, t: Texts, url: str | None) -> str:
    """Return the text under the title; our own link is not changed."""
    lines = [escape_markup(kind, rendered.detail or rendered.body)]
    if url:
        lines.append(t.answer_here.format(link=url) if rendered.needs_answer else url)
    elif rendered.needs_answer:
        lines.append(t.answer_there)
    return "\n\n".join(lines)


def escape_markup(kind: str, text: str) -> str:
    r"""Return a text that a chat shows as it is, and that mentions nobody and links nowhere.

    Only our own link can be tapped there: an address in a run's name stays plain text.

    >>> escape_markup("discord", "[free](evil.example) *now*")
    '\\[free\\]\\(evil.example\\) \\*now\\*'
    """
    # Chats make a link of anything that looks like one; a zero-width character prevents that.
    text = text.replace("://", f":/{ZERO_WIDTH_SPACE}/")
    if kind == "discord":
        text = DISCORD_MARKUP.sub(r"\\\1", text)
    # In chats an @ mentions whoever is named after it; in a letter it is part of an address.
    return text if kind in {"email", "ntfy"} else text.replace("@", f"@{ZERO_WIDTH_SPACE}")


def _outcome(result: Any) -> Outcome:
    """Return the outcome; of apprise's log read only a status, because it may name addresses."""
    from apprise import AppriseResultStatus

    if result.status == AppriseResultStatus.SUCCESS:
        return SENT
    if result.status == AppriseResultStatus.TIMEOUT:
        return Outcome(failure=f"it took longer than {ATTEMPT_TIMEOUT_S:g} s")
    log = " ".join(str(line) for line in result.logs())
    if found := LOGGED_STATUS.search(log):
        return outcome_of_status(int(found[1]))
    return REFUSED
