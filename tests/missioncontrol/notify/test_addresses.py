"""An address is one of the listed kinds, or is refused in words that say what one looks like."""

from __future__ import annotations

import pytest

from missioncontrol.errors import InvalidRequest
from missioncontrol.notify.addresses import CHAT_SERVICES, parse_address, shown_part

DISCORD = "discord://123456789012345678/a-Very_Secret-token"
SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
TELEGRAM = "tgram://123456789:AABBCCDDEEFFGGHHIIJJKKLLMMNNOOPPQQ/-10012345"


@pytest.mark.parametrize(
    ("kind", "pasted", "kept"),
    [
        (
            "discord",
            "https://discord.com/api/webhooks/123456789012345678/a-Very_Secret-token",
            DISCORD,
        ),
        (
            "slack",
            "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
            SLACK,
        ),
        ("telegram", TELEGRAM, TELEGRAM),
        ("ntfy", "https://ntfy.example.com/deploys", "ntfys://ntfy.example.com/deploys"),
        ("ntfy", "https://ntfy.sh/deploys", "ntfys://ntfy.sh/deploys"),
        ("webhook", "https://hooks.example.com/x?k=1", "https://hooks.example.com/x?k=1"),
    ],
)
def test_what_a_service_shows_can_be_pasted(kind, pasted, kept):
    assert parse_address(kind, f"  {pasted} ") == kept


@pytest.mark.parametrize(
    ("kind", "address", "seen"),
    [
        ("discord", DISCORD, "discord.com"),
        ("slack", SLACK, "hooks.slack.com"),
        ("telegram", TELEGRAM, "chat -10012345"),
        ("email", "mailtos://me:pw@gmail.com?to=ana@example.com", "ana@example.com"),
        (
            "email",
            "mailtos://me:pw@gmail.com?to=ana@example.com,olu@example.com",
            "ana@example.com and 1 more",
        ),
        ("ntfy", "ntfys://tk_secret@ntfy.example.com/deploys", "ntfy.example.com/deploys"),
        ("ntfy", "ntfys://ntfy.sh/deploys", "ntfy.sh/deploys"),
        ("webhook", "https://hooks.example.com/secret?k=1", "hooks.example.com"),
    ],
)
def test_nothing_secret_of_it_is_shown(kind, address, seen):
    assert shown_part(kind, parse_address(kind, address)) == seen


@pytest.mark.parametrize("kind", CHAT_SERVICES)
@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "json://example.com",
        "config://x",
        "https://evil.example.com/x/y/z",
        "python://x",
        "",
        "x" * 501,
        "slack://a b",
        "mailto://host/\r\nX: y",
        "discord://",
        "tgram://123456789:AABBCCDDEEFFGGHHIIJJKKLLMMNNOOPPQQ",
        "ntfys://",
        "mailtos://",
    ],
)
def test_what_is_none_is_refused(kind, address):
    with pytest.raises(InvalidRequest, match="address: expected"):
        parse_address(kind, address)


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("discord", f"{DISCORD}?template=file:///etc/passwd"),
        ("discord", f"{DISCORD}?ping=@everyone"),
        ("discord", f"{DISCORD}?avatar_url=http://10.0.0.1/"),
        ("slack", f"{SLACK}?verify=no"),
        ("ntfy", "ntfys://ntfy.example.com/deploys?attach=http://10.0.0.1/"),
        ("ntfy", "ntfys://ntfy.example.com/deploys?redirect=yes"),
        ("email", "mailtos://me:pw@gmail.com?to=a@example.com&pgpprv=/etc/passwd"),
        ("email", "mailtos://me:pw@gmail.com?to=a@example.com&+X-Header=y"),
        ("telegram", f"{TELEGRAM}?%69mage=yes"),
    ],
)
def test_parameters_that_are_not_listed_are_refused(kind, address):
    with pytest.raises(InvalidRequest, match="is not supported"):
        parse_address(kind, address)


@pytest.mark.parametrize(
    ("kind", "address", "host"),
    [
        ("ntfy", "http://ntfy.example.com/deploys", "ntfy.example.com"),
        ("email", "mailto://me:pw@mail.example.com?to=a@example.com", "mail.example.com"),
        ("email", "mailtos://me:pw@x.org?to=a@b.org&smtp=m.x.org&mode=insecure", "m.x.org"),
    ],
)
def test_the_clear_is_for_hosts_of_the_house_only(kind, address, host, settings):
    with pytest.raises(InvalidRequest, match=f"{host} would be reached without encryption"):
        parse_address(kind, address)

    settings.NOTIFY_HOSTS = [host]
    assert parse_address(kind, address)


@pytest.mark.parametrize(
    "address",
    [
        "mailto://me:pw@x.org?to=a@b.org&smtp=127.0.0.1:25025",
        "mailtos://me:pw@x.org?to=a@b.org&smtp=mail.example.com:587",
        "mailtos://me:pw@x.org?to=a@b.org&smtp=[2001:db8::1]:587",
    ],
)
def test_the_port_of_a_mail_server_stands_behind_the_first_host(address, settings):
    settings.NOTIFY_HOSTS = ["127.0.0.1", "127.0.0.1:25025"]
    with pytest.raises(InvalidRequest, match="smtp: expected a host without a port"):
        parse_address("email", address)


def test_a_mail_server_may_have_a_port_or_be_named_by_an_ipv6_address():
    for address in ["x.org:587?to=a@b.org&smtp=m.x.org", "x.org?to=a@b.org&smtp=2606:4700::1111"]:
        assert parse_address("email", f"mailtos://me:pw@{address}")


@pytest.mark.parametrize("address", ["http://hooks.example.com/x", "https://me:pw@example.com/"])
def test_a_web_hook_is_what_outbound_takes(address):
    with pytest.raises(InvalidRequest, match="address: must"):
        parse_address("webhook", address)


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("webhook", "https://127.0.0.1/x"),
        ("ntfy", "ntfys://10.0.0.7/deploys"),
        ("email", "mailtos://me:pw@x.org?to=a@b.org&smtp=127.0.0.1"),
    ],
)
def test_an_address_inside_is_refused_at_once_and_not_when_it_is_used(kind, address, settings):
    with pytest.raises(InvalidRequest, match="resolves to an address that is not public"):
        parse_address(kind, address)

    settings.NOTIFY_HOSTS = ["127.0.0.1", "10.0.0.7"]
    assert parse_address(kind, address)


def test_a_kind_that_is_none_is_refused():
    with pytest.raises(InvalidRequest, match="kind: expected one of discord"):
        parse_address("pager", "https://example.com")
