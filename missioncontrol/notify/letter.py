"""A letter with a page beside its text, by the mail server of an e-mail channel.

apprise makes a text of a page by itself, and a table read as one line says nothing: the
text is ours. Server, sign-in and encryption are those of the channel's own address.
"""

from __future__ import annotations

import smtplib
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Any

from missioncontrol.notify.tries import SENT, Outcome

# Every server takes it: what is not ASCII is encoded.
PLAIN = policy.SMTP.clone(cte_type="7bit")


def send(service: Any, *, subject: str, text: str, html: str) -> Outcome:
    """Send each of a channel's recipients the same letter."""
    from apprise.plugins.email.smtp import AppriseSMTPController

    everybody = [address for _, address in service.targets]
    letter = written(service, everybody, subject=subject, text=text, html=html)
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
    return SENT if taken else Outcome(failure="it could not be reached, or refused the message")


def written(
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
