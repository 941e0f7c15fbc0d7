"""Addresses of channels: which kinds exist, how each is written, and which part may be shown.

An address holds secrets. Addresses of chats, mail and ntfy are apprise's URLs, limited to the
schemes and parameters listed here: no attachments, no files, no templates, no plugins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from django.conf import settings

from missioncontrol import outbound
from missioncontrol.errors import InvalidRequest

MAX_ADDRESS_LENGTH = 500
# A name or an IPv4 address; or an IPv6 address, which has at least two colons and no brackets.
_HOST = re.compile(r"[\w.-]+|[\da-fA-F.]*:[\da-fA-F.]*:[\da-fA-F.:]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatService:
    """One kind of channel that apprise delivers to."""

    plugin: str
    """Apprise's module and class."""
    schemes: frozenset[str]
    expected: str
    """How an address is written, in words."""
    parameters: frozenset[str] = frozenset()
    pasted: tuple[tuple[str, str], ...] = ()
    """Patterns of addresses that people copy from the service -> apprise's form."""
    has_own_host: bool = False
    """The address names a server, whose encryption and host are checked."""


CHAT_SERVICES: dict[str, ChatService] = {
    "discord": ChatService(
        plugin="discord:NotifyDiscord",
        schemes=frozenset({"discord"}),
        expected="discord://ID/TOKEN, or paste the web hook's address "
        "(https://discord.com/api/webhooks/…)",
        pasted=(
            (
                # The latter was Discord's host until 2020, and old web hooks still have it.
                r"https://(?:discord|discordapp)\.com/api/webhooks/(\d+)/([\w-]+)/?",
                r"discord://\1/\2",
            ),
        ),
    ),
    "slack": ChatService(
        plugin="slack:NotifySlack",
        schemes=frozenset({"slack"}),
        expected="slack://A/B/C, or paste the web hook's address "
        "(https://hooks.slack.com/services/…)",
        pasted=((r"https://hooks\.slack\.com/services/(\w+)/(\w+)/(\w+)/?", r"slack://\1/\2/\3"),),
    ),
    "telegram": ChatService(
        plugin="telegram:NotifyTelegram",
        schemes=frozenset({"tgram"}),
        expected="tgram://BOT_TOKEN/CHAT_ID (the token is @BotFather's; write to the bot first)",
        parameters=frozenset({"topic"}),
    ),
    "email": ChatService(
        plugin="email:NotifyEmail",
        schemes=frozenset({"mailto", "mailtos"}),
        expected="mailtos://USER:PASSWORD@mail.example.com?to=ana@example.com",
        parameters=frozenset({"to", "cc", "from", "name", "smtp", "mode", "user", "pass"}),
        has_own_host=True,
    ),
    "ntfy": ChatService(
        plugin="ntfy:NotifyNtfy",
        schemes=frozenset({"ntfy", "ntfys"}),
        expected="ntfys://ntfy.example.com/TOPIC, or paste the topic's https address",
        parameters=frozenset({"token", "auth", "priority", "tags"}),
        pasted=((r"http(s?)://([^/?#]+)/([\w-]{1,64})/?", r"ntfy\1://\2/\3"),),
        has_own_host=True,
    ),
}
CHANNEL_KINDS = (*CHAT_SERVICES, "webhook")
# The rest of these addresses is one secret: only the host may be shown.
SHOWN_HOSTS = {"discord": "discord.com", "slack": "hooks.slack.com"}
FIXED_PARAMETERS = {
    "discord": "flags=4",  # no preview of whatever a text links to
    "telegram": "detect=no",  # never ask who wrote to the bot
    "email": "format=text",
}


def parse_address(kind: str, text: str) -> str:
    """Validate what a person entered; return it as it is stored.

    Raises:
        InvalidRequest: it is no address of this kind; the error says how one is written.
    """
    address = text.strip()
    # Invisible characters would be stored with the address and fail at each try.
    if not address.isprintable() or not address.isascii() or " " in address or not address:
        raise _invalid_address(
            "expected at most 500 printable ASCII characters, no spaces; write others as %20, %40"
        )
    if len(address) > MAX_ADDRESS_LENGTH:
        raise _invalid_address(f"expected at most {MAX_ADDRESS_LENGTH} characters")
    if kind == "webhook":
        with outbound.as_invalid_request("address"):
            outbound.check_url(address, private_hosts=settings.NOTIFY_HOSTS)
        return address
    if kind not in CHAT_SERVICES:
        raise InvalidRequest(
            f"kind: expected one of {', '.join(CHANNEL_KINDS)}, got {kind!r}.", field="kind"
        )
    return _parse_chat_address(kind, CHAT_SERVICES[kind], address)


def apprise_service_of(kind: str, address: str, *, link: str | None = None) -> Any:
    """Return apprise's service for a stored address, or None if there is none.

    `link`: what tapping a notice opens, if the kind supports it.
    """
    extra = FIXED_PARAMETERS.get(kind, "")
    if kind == "ntfy" and link:
        extra = f"click={quote(link, safe='')}"
    joint = "&" if "?" in address else "?"
    # Import only this class of apprise; a hundred others are never loaded.
    module, name = CHAT_SERVICES[kind].plugin.split(":")
    plugin = getattr(import_module(f"apprise.plugins.{module}"), name)
    read = plugin.parse_url(f"{address}{joint}{extra}" if extra else address)
    # Not at the top: it loads much that most processes never need.
    from apprise import AppriseAsset

    # No file on disk, no pictures of apprise's, no redirects: one could lead to a private host.
    asset = AppriseAsset(
        app_id="Mission Control",
        app_desc="Mission Control",
        app_url=settings.PUBLIC_URL or "https://localhost",
        http_redirects=False,
        image_url_mask="",
        image_url_logo="",
        storage_mode="memory",
        pgp_autogen=False,
        interpret_emojis=False,
    )
    try:
        return plugin(asset=asset, **read) if read else None
    except (TypeError, ValueError):  # apprise: its own refusals are TypeErrors
        return None


def shown_part(kind: str, address: str) -> str:
    """Return the part of an address that may be shown: no token, no password."""
    if kind in SHOWN_HOSTS:
        return SHOWN_HOSTS[kind]
    if kind == "webhook":
        return urlsplit(address).netloc
    service = apprise_service_of(kind, address)
    if kind == "email":
        return _first_and_count([full for _, full in service.targets])
    if kind == "telegram":
        # Without the bot's token, a chat's number is of no use.
        return f"chat {_first_and_count([str(chat) for chat, *_ in service.targets])}"
    return f"{destination(kind, service)[0]}/{_first_and_count(service.topics)}"


def _parse_chat_address(name: str, kind: ChatService, pasted: str) -> str:
    # People paste the address of the service's page or web hook, with its query.
    url, (address, mark, query) = pasted, pasted.partition("?")
    for pattern, written in kind.pasted:
        if found := re.fullmatch(pattern, address, re.IGNORECASE):
            url = found.expand(written) + mark + query
            break
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in kind.schemes or not rest:
        raise _invalid_address(f"expected {kind.expected}")
    # By a list of names: templates, attachments and key files are parameters too.
    for parameter, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True):
        if parameter not in kind.parameters:
            taken = ", ".join(sorted(kind.parameters)) or "none"
            raise _invalid_address(
                f"{parameter[:30]!r} is not supported; these parameters are: {taken}"
            )
    service = apprise_service_of(name, url)
    # A complete address may still name no recipient at its service.
    whom = {"telegram": "targets", "email": "targets", "ntfy": "topics"}.get(name)
    if service is None or (whom and not getattr(service, whom)):
        raise _invalid_address(f"expected {kind.expected}")
    if kind.has_own_host:
        _check_server(name, service)
    return url


def _check_server(name: str, service: Any) -> None:
    host, port, is_clear = destination(name, service)
    # Such a host would be looked up at each mail, and never found.
    if name == "email" and not _HOST.fullmatch(host):
        raise InvalidRequest(
            "address: smtp: expected a host without a port, which stands behind the first "
            "host: mailtos://USER:PASSWORD@example.com:587?smtp=mail.example.com&…",
            field="address",
        )
    # Passwords and messages go unencrypted to the operator's own hosts only.
    is_ours = outbound.is_listed(host, port, settings.NOTIFY_HOSTS)
    if is_clear and not is_ours:
        secure = "mailtos://" if name == "email" else "ntfys://"
        raise _invalid_address(
            f"{host} would be reached without encryption; use {secure}… "
            "(MISSIONCONTROL_NOTIFY_HOSTS names hosts that may be)"
        )
    if not is_ours:
        with outbound.as_invalid_request("address"):
            outbound.check_written_host(host)


def destination(name: str, service: Any) -> tuple[str, int | None, bool]:
    """Return the host and port that a service calls, and whether the connection is unencrypted."""
    if name == "email":
        return service.smtp_host or service.host, service.port, service.secure_mode == "insecure"
    # Apprise's word for an address with a topic and no host.
    if service.mode == "cloud":
        return "ntfy.sh", 443, False
    return service.host, service.port, not service.secure


def _invalid_address(why: str) -> InvalidRequest:
    return InvalidRequest(f"address: {why}.", field="address")


def _first_and_count(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}" if names else ""
