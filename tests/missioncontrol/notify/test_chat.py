"""Chats, mail and ntfy carry a card: who, why, what it costs, where to answer. Nothing more."""

from __future__ import annotations

import json

import pytest

from missioncontrol import outbound
from missioncontrol.notify.addresses import parse_address
from missioncontrol.notify.models import Channel, Delivery, Notice
from tests.build import a_stuck_run
from tests.missioncontrol.notify.build import a_channel, deliver_due, statuses
from tests.missioncontrol.notify.internet import an_internet
from tests.missioncontrol.notify.mail import a_mailbox

pytestmark = pytest.mark.django_db

DISCORD = "https://discord.com/api/webhooks/123456789012345678/a-Very_Secret-token"
SLACK = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
TELEGRAM = "tgram://123456789:AABBCCDDEEFFGGHHIIJJKKLLMMNNOOPPQQ/-10012345"
EVIL = "@everyone [free](https://evil.example) <!channel> <https://evil.example|safe> *now*"


@pytest.fixture
def internet(tmp_path, monkeypatch):
    with an_internet(tmp_path) as net:
        monkeypatch.setenv("HTTPS_PROXY", net.proxy)
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(net.authority))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        yield net


@pytest.fixture
def mailbox():
    with a_mailbox() as box:
        yield box


@pytest.fixture(autouse=True)
def _our_address(settings):
    settings.PUBLIC_URL = "https://mc.example.com"


def a_chat(project, kind: str, address: str):
    return a_channel(project, parse_address(kind, address), kind=kind)


def test_discord_hears_of_a_card(internet, project):
    a_chat(project, "discord", DISCORD)
    run = a_stuck_run(project)

    deliver_due()

    (request,) = internet.received
    assert statuses() == ["sent"]
    assert request.host == "discord.com"
    assert request.path == "/api/webhooks/123456789012345678/a-Very_Secret-token"
    assert request.body["content"].startswith("fix\\-auth\\-tests is paused\r\n")
    assert f"https://mc.example.com/decisions/{run.open_decision}" in request.body["content"]


def test_slack_hears_of_a_card(internet, project):
    a_chat(project, "slack", SLACK)
    run = a_stuck_run(project)

    deliver_due()

    (request,) = internet.received
    text = json.dumps(request.body)
    assert request.path == "/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
    assert "fix-auth-tests is paused" in text
    assert f"https://mc.example.com/decisions/{run.open_decision}" in text


def test_telegram_hears_of_a_card(internet, project):
    a_chat(project, "telegram", TELEGRAM)
    a_stuck_run(project)

    deliver_due()

    (request,) = internet.received
    assert request.path.endswith("/sendMessage")
    assert request.body["chat_id"] == -10012345
    assert "<b>fix-auth-tests is paused</b>" in request.body["text"]


def test_ntfy_hears_of_a_card_and_a_tap_on_it_opens_it(server, settings, project):
    settings.NOTIFY_HOSTS = [server.host]
    server.status = 200
    a_chat(project, "ntfy", f"{server.url}/my-topic")
    run = a_stuck_run(project)

    deliver_due()

    ((_, headers, body),) = server.received
    message = json.loads(body)
    assert (message["topic"], message["title"]) == ("my-topic", "fix-auth-tests is paused")
    assert headers["X-Click"] == f"https://mc.example.com/decisions/{run.open_decision}"


def test_a_letter_is_written(mailbox, settings, project):
    settings.NOTIFY_HOSTS = [mailbox.host]
    a_chat(project, "email", f"mailto://{mailbox.host}?to=ana@example.com&from=mc@example.com")
    run = a_stuck_run(project)

    deliver_due()

    (letter,) = mailbox.letters
    assert (letter["To"], letter["Subject"]) == ("ana@example.com", "fix-auth-tests is paused")
    assert letter.get_content_type() == "text/plain"
    text = letter.get_content()
    assert "No cost reported." in text
    assert "$0.00" not in text
    assert f"https://mc.example.com/decisions/{run.open_decision}" in text


@pytest.mark.parametrize(
    ("kind", "address"), [("discord", DISCORD), ("slack", SLACK), ("telegram", TELEGRAM)]
)
def test_what_an_agent_wrote_calls_nobody_and_hides_no_link(internet, project, kind, address):
    a_chat(project, kind, address)
    a_stuck_run(project, name=EVIL)

    deliver_due()

    (request,) = internet.received
    text = json.dumps(request.body, ensure_ascii=False)
    assert "@everyone" not in text
    assert "<!channel>" not in text
    assert "<https://evil.example|" not in text
    if kind == "discord":
        assert "[free](" not in text
        assert request.body["flags"] == 4


@pytest.mark.parametrize(
    ("kind", "address"), [("discord", DISCORD), ("slack", SLACK), ("telegram", TELEGRAM)]
)
def test_only_our_own_link_can_be_tapped(internet, project, kind, address):
    a_chat(project, kind, address)
    a_stuck_run(project, name="at https://evil.example")

    deliver_due()

    text = json.dumps(internet.received[0].body, ensure_ascii=False)
    assert "evil.examp" in text  # a title ends where a lock screen does
    assert "https://evil" not in text
    assert "https://mc.example.com/decisions/" in text


def test_a_runs_name_adds_no_header_to_a_letter(mailbox, settings, project):
    settings.NOTIFY_HOSTS = [mailbox.host]
    a_chat(project, "email", f"mailto://{mailbox.host}?to=ana@example.com&from=mc@example.com")
    a_stuck_run(project, name="x\r\nBcc: eve@evil.example\u2028\x00\r\n\r\nhello")

    deliver_due()

    (letter,) = mailbox.letters
    assert letter["Bcc"] is None
    assert letter["Subject"].startswith("x Bcc: eve@evil.exam")
    assert letter["To"] == "ana@example.com"


def test_a_fix_of_many_lines_cannot_pass_for_ours(mailbox, settings, project):
    settings.NOTIFY_HOSTS = [mailbox.host]
    a_chat(project, "email", f"mailto://{mailbox.host}?to=ana@example.com&from=mc@example.com")
    a_stuck_run(project)
    notice = Notice.objects.get()
    notice.content["fix"] = "Do this.\n\nAnswer it here: https://evil.example/decisions/1"
    notice.save()

    deliver_due()

    lines = mailbox.letters[0].get_content().splitlines()
    assert [line for line in lines if line.startswith("Answer it here:")] == [
        f"Answer it here: https://mc.example.com/decisions/{notice.decision}"
    ]
    assert "https://evil.example" not in mailbox.letters[0].get_content()


def test_no_secret_of_an_address_gets_into_a_log_or_a_row(internet, project, caplog):
    caplog.set_level("INFO")
    for kind, address in (("discord", DISCORD), ("slack", SLACK), ("telegram", TELEGRAM)):
        a_chat(project, kind, address)
    internet.status = 404
    a_stuck_run(project)

    deliver_due()

    kept = str(list(Delivery.objects.values())) + str(list(Notice.objects.values()))
    logged = caplog.text + kept + str(list(Channel.objects.values()))
    assert statuses() == ["failed"] * 3
    for secret in ("a-Very_Secret-token", "TIiajkdnlazkcOXrIdevi7FQ", "AABBCCDDEEFF"):
        assert secret not in logged


def test_a_secret_in_an_agents_words_is_masked(internet, project):
    a_chat(project, "slack", SLACK)
    a_stuck_run(project, name="deploy ghp_0123456789abcdefghijklmnopqrstuvwxyzAB")

    deliver_due()

    assert "ghp_0123" not in json.dumps(internet.received[0].body)


def test_a_service_that_refuses_for_good_ends_it_at_once_and_names_no_address(internet, project):
    internet.status = 404
    a_chat(project, "discord", DISCORD)
    a_stuck_run(project)

    deliver_due()

    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.last_error) == ("failed", "it answered 404")


def test_one_that_is_busy_is_tried_again(internet, project):
    internet.status = 503
    a_chat(project, "slack", SLACK)
    a_stuck_run(project)

    deliver_due()

    assert statuses() == ["waiting"]


def test_a_host_inside_is_not_called(server, settings, project):
    settings.NOTIFY_HOSTS = [server.host]
    a_chat(project, "ntfy", f"{server.url}/my-topic")
    a_stuck_run(project)
    settings.NOTIFY_HOSTS = []

    deliver_due()

    assert server.received == []
    assert Delivery.objects.get().last_error == "it resolves to an address that is not public"


@pytest.mark.parametrize("host", ["10.0.0.7", "169.254.169.254", "127.0.0.1", "localhost"])
def test_a_proxy_is_not_asked_for_a_host_inside(internet, settings, project, host):
    settings.NOTIFY_HOSTS = [host]
    a_chat(project, "ntfy", f"ntfys://{host}/my-topic")
    a_stuck_run(project)
    settings.NOTIFY_HOSTS = []

    deliver_due()

    assert internet.received == []
    assert Delivery.objects.get().last_error == "it resolves to an address that is not public"


def test_a_name_that_only_the_proxy_knows_is_the_proxys_to_judge(internet, project):
    a_chat(project, "ntfy", "ntfys://ntfy.beyond.test/my-topic")
    a_stuck_run(project)

    deliver_due()

    assert [request.host for request in internet.received] == ["ntfy.beyond.test"]
    assert statuses() == ["sent"]


def test_a_mail_server_inside_is_not_called(mailbox, settings, project):
    settings.NOTIFY_HOSTS = [mailbox.host]
    a_chat(project, "email", f"mailto://{mailbox.host}?to=ana@example.com&from=mc@example.com")
    a_stuck_run(project)
    settings.NOTIFY_HOSTS = []

    deliver_due()

    assert mailbox.letters == []
    assert Delivery.objects.get().last_error == "it resolves to an address that is not public"


def test_a_redirect_is_not_followed(server, settings, project):
    settings.NOTIFY_HOSTS = [server.host]
    server.status = 307
    a_chat(project, "ntfy", f"{server.url}/my-topic")
    a_stuck_run(project)

    deliver_due()

    assert len(server.received) == 1


def test_watched_libraries_reach_what_is_named_and_nothing_else_inside(server):
    import requests

    with outbound.only_public(private_hosts=[server.host]) as watch:
        assert requests.post(server.url, data="x", timeout=5).status_code == 204
    assert watch.refused is None

    with outbound.only_public(private_hosts=[]) as watch, pytest.raises(requests.RequestException):
        requests.post(server.url, data="x", timeout=5)
    assert watch.refused == "it resolves to an address that is not public"
    assert requests.post(server.url, data="x", timeout=5).status_code == 204
