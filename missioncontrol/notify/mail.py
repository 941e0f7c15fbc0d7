"""E-mail: one letter to all recipients of a channel, sent through the mail server of its address.

Not by apprise, which writes to each recipient separately and reports a failure of all when one
is refused: the others would get the same letter at each try.
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
from missioncontrol.outbound import ATTEMPT_TIMEOUT_S, SENT, Outcome

# How long the server may be silent.
TIMEOUT_S = 15.0
# Every server accepts it: non-ASCII text is encoded.
SEVEN_BIT = policy.SMTP.clone(cte_type="7bit")
# RFC 5321, 4.2.1: with a status from here on, the same letter would be refused again.
PERMANENT_FAILURE = 500


def build_email(
    service: Any, delivery: UUID, *, subject: str, text: str, html: str
) -> EmailMessage:
    """Return a delivery's letter: the text first, then the page, if there is one."""
    name, sender = service.from_addr
    message = EmailMessage(policy=SEVEN_BIT)
    # A line break would begin another header.
    message["Subject"] = " ".join(subject.split())
    message["From"] = Address(display_name=name or "Mission Control", addr_spec=sender)
    message["To"] = ", ".join(address for _, address in service.targets)
    if service.cc:
        # Sorted: apprise stores a set, and letters of one channel would differ.
        message["Cc"] = ", ".join(sorted(service.cc))
    message["Date"] = formatdate()
    # The same at each try: after a lost answer nobody knows whether the letter was accepted, and
    # mailboxes show a repeat only once. The sender's own domain: another is a sign of spam.
    message["Message-ID"] = f"<{delivery}@{sender.rpartition('@')[2]}>"
    # Nobody reads replies: no out-of-office reply (RFC 3834; the second header is Exchange's).
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    return message


def send(service: Any, message: EmailMessage) -> Outcome:
    """Send a letter through a channel's mail server.

    Only the status of the server's answer is reported: the text may contain the address.
    """
    recipients = [*(address for _, address in service.targets), *sorted(service.cc)]
    deadline = time.monotonic() + ATTEMPT_TIMEOUT_S
    try:
        refused = _submit_email(service, recipients, message, deadline)
    except (OSError, UnicodeError, smtplib.SMTPException) as error:
        # After the deadline, whatever the cut connection raised means that time ran out.
        if time.monotonic() >= deadline:
            return Outcome(failure=f"it took longer than {ATTEMPT_TIMEOUT_S:g} s")
        return _outcome_of_error(error, recipients)
    return _recipients_refused(refused, recipients, is_accepted=True) if refused else SENT


def _outcome_of_error(error: Exception, recipients: Sequence[str]) -> Outcome:
    match error:
        case smtplib.SMTPRecipientsRefused():
            return _recipients_refused(error.recipients, recipients, is_accepted=False)
        case smtplib.SMTPResponseException(smtp_code=status):
            is_sign_in = isinstance(error, smtplib.SMTPAuthenticationError)
            what = "sign-in" if is_sign_in else "letter"
            return Outcome(
                failure=f"it refused the {what} ({status})", is_final=status >= PERMANENT_FAILURE
            )
        case smtplib.SMTPNotSupportedError():
            return Outcome(failure="it offers no STARTTLS, or no sign-in", is_final=True)
        case ssl.SSLCertVerificationError():
            return Outcome(failure="its certificate is not trusted")
        case _:
            return Outcome(failure="it could not be reached, or hung up")


class _Client(smtplib.SMTP):
    """A client on an existing connection."""

    def __init__(self, connection: socket.socket, host: str) -> None:
        self._connection = connection
        # The host's name: STARTTLS checks the certificate for it.
        super().__init__(host, timeout=TIMEOUT_S)

    def _get_socket(self, *_: object) -> socket.socket:
        return self._connection


def _submit_email(
    service: Any, recipients: Sequence[str], message: EmailMessage, deadline: float
) -> Mapping[str, tuple[int, bytes]]:
    """Sign in and send a letter; return which recipients were refused, and how."""
    host, context = service.smtp_host, ssl.create_default_context()
    connection = socket.create_connection((host, service.port), TIMEOUT_S)
    # Its time-out starts again with each byte: a slow server would outlast our lease.
    with connection, outbound.close_at_deadline(connection, deadline):
        if service.secure_mode == "ssl":
            connection = context.wrap_socket(connection, server_hostname=host)
        with connection, closing(_Client(connection, host)) as client:
            if service.secure_mode == "starttls":
                client.starttls(context=context)
            if service.user and service.password:
                client.login(service.user, service.password)
            refused = client.sendmail(service.from_addr[1], recipients, message.as_string())
            # The server has the letter: no later answer undoes that.
            with suppress(OSError, smtplib.SMTPException):
                client.quit()
            return refused


def _recipients_refused(
    refused: Mapping[str, tuple[int, bytes]], recipients: Sequence[str], *, is_accepted: bool
) -> Outcome:
    """Return an outcome that names the refused recipients by their place in the address."""
    statuses = {code for code, _ in refused.values()}
    which = ", ".join(str(n) for n, one in enumerate(recipients, 1) if one in refused)
    whom = f"recipient {which} of {len(recipients)} ({', '.join(map(str, sorted(statuses)))})"
    if is_accepted:
        # No further try: the others would get the letter again.
        return Outcome(failure=f"it took the letter, but not for {whom}", is_final=True)
    return Outcome(failure=f"it refused {whom}", is_final=min(statuses) >= PERMANENT_FAILURE)
