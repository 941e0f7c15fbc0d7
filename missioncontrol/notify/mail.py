"""E-mail: one letter to all recipients of a channel, handed to the mail server of its address.

Ours and not apprise's, which writes to each recipient alone and calls all of it failed when one
of them is refused: the others would get the same letter at each try.
"""

from __future__ import annotations

import smtplib
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate
from typing import Any
from uuid import UUID

from missioncontrol import outbound
from missioncontrol.outbound import LONGEST_TRY_S, SENT, Outcome

# How long the server may be silent.
TIMEOUT_S = 15.0
# Every server takes it: what is not ASCII is encoded.
PLAIN = policy.SMTP.clone(cte_type="7bit")
# RFC 5321, 4.2.1: from here on the same letter would be refused again.
PERMANENT = 500


def letter(service: Any, delivery: UUID, *, subject: str, text: str, html: str) -> EmailMessage:
    """Write a delivery's letter: the text first, then the page, where there is one."""
    name, sender = service.from_addr
    message = EmailMessage(policy=PLAIN)
    # A line break would begin another header.
    message["Subject"] = " ".join(subject.split())
    message["From"] = Address(display_name=name or "Mission Control", addr_spec=sender)
    message["To"] = ", ".join(address for _, address in service.targets)
    if service.cc:
        # Sorted: apprise keeps a set, and two letters of one channel would differ.
        message["Cc"] = ", ".join(sorted(service.cc))
    message["Date"] = formatdate()
    # The same at each try: after a lost answer nobody knows whether it was taken, and mailboxes
    # show what they have already once. The sender's own domain: another is a mark of spam.
    message["Message-ID"] = f"<{delivery}@{sender.rpartition('@')[2]}>"
    # Nobody reads what comes back: no out-of-office reply (RFC 3834; the second is Exchange's).
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    return message


def send(service: Any, message: EmailMessage) -> Outcome:
    """Hand a letter to a channel's mail server.

    Of what the server says its status alone is told: the rest may name the address.
    """
    recipients = [*(address for _, address in service.targets), *sorted(service.cc)]
    deadline = time.monotonic() + LONGEST_TRY_S
    try:
        refused = _hand_over(service, recipients, message, deadline)
    except (OSError, UnicodeError, smtplib.SMTPException) as error:
        # Whatever the cut connection raised is only how the deadline showed.
        if time.monotonic() >= deadline:
            return Outcome(failure=f"it took longer than {LONGEST_TRY_S:g} s")
        return _failed(error, recipients)
    return _not_for(refused, recipients, is_taken=True) if refused else SENT


def _failed(error: Exception, recipients: Sequence[str]) -> Outcome:
    match error:
        case smtplib.SMTPRecipientsRefused():
            return _not_for(error.recipients, recipients, is_taken=False)
        case smtplib.SMTPResponseException(smtp_code=status):
            is_sign_in = isinstance(error, smtplib.SMTPAuthenticationError)
            what = "sign-in" if is_sign_in else "letter"
            return Outcome(
                failure=f"it refused the {what} ({status})", is_final=status >= PERMANENT
            )
        case smtplib.SMTPNotSupportedError():
            return Outcome(failure="it offers no STARTTLS, or no sign-in", is_final=True)
        case ssl.SSLCertVerificationError():
            return Outcome(failure="its certificate is not trusted")
        case _:
            return Outcome(failure="it could not be reached, or hung up")


class _Client(smtplib.SMTP):
    """A client on a connection that was made for it."""

    def __init__(self, connection: socket.socket, host: str) -> None:
        self._connection = connection
        # The name: STARTTLS looks for it in the certificate.
        super().__init__(host, timeout=TIMEOUT_S)

    def _get_socket(self, *_: object) -> socket.socket:
        return self._connection


def _hand_over(
    service: Any, recipients: Sequence[str], message: EmailMessage, deadline: float
) -> Mapping[str, tuple[int, bytes]]:
    """Sign in and hand a letter over; return which recipients were refused, and how."""
    host, context = service.smtp_host, ssl.create_default_context()
    connection = socket.create_connection((host, service.port), TIMEOUT_S)
    # Its time-out starts anew with each byte: a slow server would outlast our lease.
    with connection, outbound.cut_off(connection, deadline):
        if service.secure_mode == "ssl":
            connection = context.wrap_socket(connection, server_hostname=host)
        with connection, closing(_Client(connection, host)) as client:
            if service.secure_mode == "starttls":
                client.starttls(context=context)
            if service.user and service.password:
                client.login(service.user, service.password)
            refused = client.sendmail(service.from_addr[1], recipients, message.as_string())
            # It has the letter: nothing that it says now makes that undone.
            with suppress(OSError, smtplib.SMTPException):
                client.quit()
            return refused


def _not_for(
    refused: Mapping[str, tuple[int, bytes]], recipients: Sequence[str], *, is_taken: bool
) -> Outcome:
    """Say which recipients a server refused, by their place in the channel's address."""
    statuses = {code for code, _ in refused.values()}
    which = ", ".join(str(n) for n, one in enumerate(recipients, 1) if one in refused)
    whom = f"recipient {which} of {len(recipients)} ({', '.join(map(str, sorted(statuses)))})"
    if is_taken:
        # No further try: the others would get the letter again.
        return Outcome(failure=f"it took the letter, but not for {whom}", is_final=True)
    return Outcome(failure=f"it refused {whom}", is_final=min(statuses) >= PERMANENT)
