"""A letter is handed over once, whatever the mail server does on the way."""

from __future__ import annotations

from email.headerregistry import Address

import pytest

from missioncontrol.notify import mail
from missioncontrol.notify.addresses import parse_address
from missioncontrol.notify.models import Delivery
from tests.build import NOON, a_stuck_run
from tests.missioncontrol.notify.build import a_channel, deliver_due
from tests.missioncontrol.notify.internet import an_authority
from tests.missioncontrol.notify.mail import a_mailbox

pytestmark = pytest.mark.django_db

LATER = NOON.replace(hour=13)
ANA, BO = "ana@example.com", "bo@example.com"


@pytest.fixture
def mailbox():
    with a_mailbox() as box:
        yield box


@pytest.fixture
def told(settings, project):
    """Have somebody told of a held run by this mailbox; return what came of it."""

    def tell(box, address: str = "mailto://{host}?to={to}&from=mc@example.com", to: str = ANA):
        settings.NOTIFY_HOSTS = [box.host, f"localhost:{box.server_address[1]}"]
        url = address.format(host=box.host, port=box.server_address[1], to=to)
        a_channel(project, parse_address("email", url), kind="email")
        a_stuck_run(project)
        deliver_due()
        return Delivery.objects.get()

    return tell


def test_it_says_that_a_program_wrote_it_and_which(mailbox, told):
    delivery = told(mailbox)

    (letter,) = mailbox.letters
    assert letter["Auto-Submitted"] == "auto-generated"
    assert letter["X-Auto-Response-Suppress"] == "All"
    assert letter["From"].addresses == (Address("Mission Control", addr_spec="mc@example.com"),)
    assert letter["Message-ID"] == f"<{delivery.id}@example.com>"


def test_all_recipients_get_one_letter(mailbox, told):
    told(mailbox, "mailto://{host}?to={to}&cc=cy@example.com&from=mc@example.com", f"{ANA},{BO}")

    (letter,) = mailbox.letters
    assert mailbox.recipients == [[ANA, BO, "cy@example.com"]]
    assert (letter["To"], letter["Cc"]) == (f"{ANA}, {BO}", "cy@example.com")


def test_who_took_it_does_not_get_it_again_because_another_is_refused(mailbox, told):
    mailbox.answers[f"RCPT TO:<{BO.upper()}>"] = "550 no such mailbox"

    delivery = told(mailbox, to=f"{ANA},{BO}")
    deliver_due(at=LATER)

    assert mailbox.recipients == [[ANA]]
    assert delivery.status == "failed"
    assert delivery.last_error == "it took the letter, but not for recipient 2 of 2 (550)"


@pytest.mark.parametrize(
    ("command", "answer", "error"),
    [
        ("RCPT", "550 no such mailbox", "it refused recipient 1 of 1 (550)"),
        ("MAIL", "553 not your address", "it refused the letter (553)"),
        ("DATA", "554 spam", "it refused the letter (554)"),
    ],
)
def test_what_is_refused_for_good_is_not_tried_again(mailbox, told, command, answer, error):
    mailbox.answers[command] = answer

    delivery = told(mailbox)

    assert (delivery.status, delivery.last_error) == ("failed", error)


@pytest.mark.parametrize("command", ["RCPT", "MAIL", "DATA"])
@pytest.mark.parametrize("answer", ["451 greylisted, come again", "421 busy", ""])
def test_what_may_pass_is_tried_again_and_taken_once(mailbox, told, command, answer):
    mailbox.answers[command] = answer
    assert told(mailbox).status == "waiting"
    mailbox.answers.clear()

    deliver_due(at=LATER)

    assert Delivery.objects.get().status == "sent"
    assert len(mailbox.letters) == 1


def test_a_letter_whose_answer_was_lost_is_the_same_letter_when_it_comes_again(mailbox, told):
    mailbox.hangs_up_after_a_letter = True
    assert told(mailbox).status == "waiting"
    mailbox.hangs_up_after_a_letter = False

    deliver_due(at=LATER)

    first, second = mailbox.letters
    assert first["Message-ID"] == second["Message-ID"]


def test_a_letter_that_was_taken_is_sent_whatever_follows(mailbox, told):
    mailbox.answers["QUIT"] = ""

    assert told(mailbox).status == "sent"


def test_a_slow_server_is_hung_up_on_before_another_worker_may_try(mailbox, told, monkeypatch):
    monkeypatch.setattr(mail, "ATTEMPT_TIMEOUT_S", 0.5)
    mailbox.drips = True

    delivery = told(mailbox)

    assert (delivery.status, delivery.last_error) == ("waiting", "it took longer than 0.5 s")
    assert mailbox.letters == []


@pytest.fixture
def encrypted(tmp_path, monkeypatch):
    issue = an_authority(tmp_path)
    with a_mailbox(issue("localhost")) as box:
        yield box


SIGNED_IN = "mailtos://bot:s3cret-word@localhost:{port}?to={to}&from=mc@example.com&mode=starttls"


def test_it_signs_in_only_once_the_line_is_encrypted(encrypted, told, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))

    assert told(encrypted, SIGNED_IN).status == "sent"

    verbs = [line.split()[0].upper() for line in encrypted.commands]
    assert verbs == ["EHLO", "STARTTLS", "EHLO", "AUTH", "MAIL", "RCPT", "DATA", "QUIT"]


def test_a_password_goes_to_no_server_whose_certificate_is_not_trusted(encrypted, told):
    delivery = told(encrypted, SIGNED_IN)

    assert delivery.last_error == "its certificate is not trusted"
    assert not [line for line in encrypted.commands if line.startswith("AUTH")]


def test_nor_to_one_that_offers_no_encryption(mailbox, told):
    delivery = told(mailbox, SIGNED_IN)

    assert delivery.status == "failed"
    assert delivery.last_error == "it offers no STARTTLS, or no sign-in"
    assert not [line for line in mailbox.commands if line.startswith("AUTH")]


def test_a_refused_password_is_said_and_neither_tried_again_nor_shown(
    encrypted, told, tmp_path, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    encrypted.answers["AUTH"] = "535 bot with s3cret-word: no"

    delivery = told(encrypted, SIGNED_IN)

    assert (delivery.status, delivery.last_error) == ("failed", "it refused the sign-in (535)")
