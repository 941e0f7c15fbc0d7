"""Chats, mail and ntfy: a notice as plain words, carried by apprise.

Texts an agent had a hand in are literal there: no mention, no markup, no hidden link. A letter
with a page beside its text is written here: apprise makes a text of a page by itself, and a table
read as one line says nothing. Server, sign-in and encryption are those of the channel's address.
"""

from __future__ import annotations

import re
import smtplib
from datetime import datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Any

from django.conf import settings

from missioncontrol import outbound
from missioncontrol.notify import addresses, content, wording
from missioncontrol.notify.models import Delivery
from missioncontrol.notify.texts import Texts, texts_in
from missioncontrol.outbound import SENT, Outcome, of_status
from missioncontrol.sealing import unseal

# Less than a lease: nobody else takes a delivery that is still on its way.
LONGEST_CALL_S = 40.0
UNSEEN = "\u200b"
# Every server takes it: what is not ASCII is encoded.
PLAIN = policy.SMTP.clone(cte_type="7bit")
DISCORD_MARKS = re.compile(r"([\\*_~`|>\[\]()#<-])")
REFUSED = Outcome(failure="it could not be reached, or refused the message")
# A status reaches us in apprise's log alone: its results only tell that a call failed.
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
        # A server of one's own choosing is looked up here too: a proxy may be in between.
        if addresses.CHATS[channel.kind].has_own_host:
            host, port, _ = addresses.destination(channel.kind, service)
            outbound.check_host(host, port, private_hosts=settings.NOTIFY_HOSTS)
    except outbound.Unsendable as refused:
        return Outcome(failure=str(refused))
    # Apprise opens its connections by itself: they are watched, not made by us.
    with outbound.only_public(private_hosts=settings.NOTIFY_HOSTS) as watch:
        text = body_of(channel.kind, words, t, where)
        # Apprise would make a text of its own of the page.
        if channel.kind == "email" and isinstance(message, content.Announcement) and message.html:
            return _send_letter(service, subject=words.title, text=text, html=message.html)
        carrier = Apprise()
        carrier.add(service)
        result = carrier.notify(
            body=text,
            title=literal(channel.kind, words.title),
            body_format=NotifyFormat.TEXT,
            timeout=LONGEST_CALL_S,
        )
    # Whatever apprise says of it: it only knows that a connection failed.
    if watch.refused:
        return Outcome(failure=watch.refused)
    return _outcome(result)


def body_of(kind: str, words: wording.Words, t: Texts, where: str | None) -> str:
    """Return what is read under the title; our own link stands as it is."""
    lines = [literal(kind, words.detail or words.body)]
    if where:
        lines.append(t.answer_here.format(link=where) if words.needs_answer else where)
    elif words.needs_answer:
        lines.append(t.answer_there)
    return "\n\n".join(lines)


def literal(kind: str, text: str) -> str:
    r"""Return a text that a chat shows as it is, that calls nobody and leads nowhere.

    Only our own link can be tapped there: an address in a run's name is no more than text.

    >>> literal("discord", "[free](evil.example) *now*")
    '\\[free\\]\\(evil.example\\) \\*now\\*'
    """
    # Chats make a link of whatever looks like one; a sign of no width keeps it from that.
    text = text.replace("://", f":/{UNSEEN}/")
    if kind == "discord":
        text = DISCORD_MARKS.sub(r"\\\1", text)
    # Elsewhere an @ calls whoever is named behind it; in a letter it is part of an address.
    return text if kind in {"email", "ntfy"} else text.replace("@", f"@{UNSEEN}")


def _outcome(result: Any) -> Outcome:
    """Read what apprise says; of its log only the status, for it may name addresses."""
    from apprise import AppriseResultStatus

    if result.status == AppriseResultStatus.SUCCESS:
        return SENT
    if result.status == AppriseResultStatus.TIMEOUT:
        return Outcome(failure=f"it took longer than {LONGEST_CALL_S:g} s")
    log = " ".join(str(line) for line in result.logs())
    if found := STATUS.search(log):
        return of_status(int(found[1]))
    return REFUSED


def _send_letter(service: Any, *, subject: str, text: str, html: str) -> Outcome:
    """Send each of a channel's recipients the same letter."""
    from apprise.plugins.email.smtp import AppriseSMTPController

    everybody = [address for _, address in service.targets]
    letter = _letter(service, everybody, subject=subject, text=text, html=html)
    try:
        with AppriseSMTPController(
            host=service.smtp_host,
            port=service.port,
            secure_mode=service.secure_mode,
            user=service.user,
            password=service.password,
            verify_certificate=service.verify_certificate,
            socket_connect_timeout=service.socket_connect_timeout,
        ) as server:
            taken = server.sendmail(
                service.from_addr[1], [*everybody, *service.cc], letter.as_string()
            )
    except (OSError, smtplib.SMTPException, RuntimeError):
        taken = False  # what it says may hold the address
    return SENT if taken else REFUSED


def _letter(
    service: Any, everybody: list[str], *, subject: str, text: str, html: str
) -> EmailMessage:
    """Write the letter: the text first, then the page."""
    name, sender = service.from_addr
    letter = EmailMessage(policy=PLAIN)
    # A line break would begin another header.
    letter["Subject"] = " ".join(subject.split())
    letter["From"] = Address(display_name=name or "Mission Control", addr_spec=sender)
    letter["To"] = ", ".join(everybody)
    if service.cc:
        # Sorted: apprise keeps a set, and two letters of one channel would differ.
        letter["Cc"] = ", ".join(sorted(service.cc))
    letter["Date"] = formatdate()
    # Of the sender's own domain: an id of another is a mark of spam.
    letter["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    letter.set_content(text)
    letter.add_alternative(html, subtype="html")
    return letter
