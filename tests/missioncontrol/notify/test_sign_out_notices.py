"""A device that is signed out from afar closes what it shows, and is forgotten after it."""

from __future__ import annotations

import pytest

from missioncontrol.accounts.models import Browser
from missioncontrol.notify import outbox, services, vapid
from missioncontrol.notify.models import Delivery, Device
from missioncontrol.projects import access
from tests.build import NOON, a_stuck_run, after
from tests.missioncontrol.notify.build import deliver_due
from tests.missioncontrol.notify.test_web_push import answer, service, subscribed

pytestmark = pytest.mark.django_db
__all__ = ["service", "subscribed"]


@pytest.fixture
def phone(subscribed, owner):
    """A signed-in phone that takes pushes: its subscription, and its browser."""
    mine, device = subscribed(language="de")
    browser = Browser.objects.create(user=owner, name="Pixel", created_at=NOON, seen_at=NOON)
    device.browser = browser
    device.save(update_fields=["browser"])
    return mine, browser


def sign_out(browser, *, seconds=2, **fields):
    access.sign_out_browser(browser, by="ana", at=after(seconds), **fields)


def kinds(service, mine):
    return [one["type"] for one in service.pushes_to(mine)]


def test_it_is_told_to_close_everything_and_then_forgotten(service, phone, project):
    mine, browser = phone
    a_stuck_run(project)
    deliver_due()

    sign_out(browser)
    assert not Browser.objects.exists()
    assert Device.objects.get().left_at == after(2)
    deliver_due(at=after(2))

    card, last = service.pushes_to(mine)
    assert (card["type"], last["type"], last["everything"], last["open"]) == (
        "card",
        "withdrawn",
        True,
        0,
    )
    assert last["title"] == "Abgemeldet"
    assert card["run_name"] not in str(last)
    assert service.taken[-1].headers["ttl"] == str(28 * 24 * 3600)
    assert not Device.objects.exists()


def test_one_that_was_never_told_anything_is_forgotten_at_once(service, phone):
    _, browser = phone

    sign_out(browser)

    assert not Device.objects.exists()
    assert not Delivery.objects.exists()


def test_one_that_signs_itself_out_clears_its_own_screen(service, phone, project):
    mine, browser = phone
    a_stuck_run(project)
    deliver_due()

    sign_out(browser, is_here=True)
    deliver_due(at=after(2))

    assert kinds(service, mine) == ["card"]
    assert not Device.objects.exists()


def test_signing_out_everywhere_else_parts_from_all_others(service, phone, project, owner):
    mine, _ = phone
    a_stuck_run(project)
    deliver_due()

    access.end_other_sessions(user=owner, current_key=None, by="ana", at=after(2))
    deliver_due(at=after(2))

    assert kinds(service, mine) == ["card", "withdrawn"]
    assert not Device.objects.exists()


def test_nothing_else_reaches_it_in_between(service, phone, project):
    mine, browser = phone
    first = a_stuck_run(project)
    deliver_due()
    service.answers = [503]
    sign_out(browser)
    deliver_due(at=after(2))

    a_stuck_run(project)
    answer(first)
    deliver_due(at=after(3))

    assert kinds(service, mine) == ["card"]
    deliver_due(at=after(10))
    assert kinds(service, mine) == ["card", "withdrawn"]
    assert service.pushes_to(mine)[-1]["everything"]


def test_a_card_that_is_on_its_way_is_not_overtaken(service, phone, project):
    mine, browser = phone
    a_stuck_run(project)
    (card,) = outbox.claim(at=NOON)
    underway = Delivery.objects.get(pk=card)
    sign_out(browser, seconds=1)

    deliver_due(at=after(1))
    assert kinds(service, mine) == []
    underway.tries += 1  # the other worker is past its look at the device
    underway.save(update_fields=["tries"])
    outbox.store_outcome(underway, outbox.SENDERS["push"](underway, after(1)), at=after(1))
    deliver_due(at=after(4))

    assert kinds(service, mine) == ["card", "withdrawn"]


def test_one_that_cannot_be_told_is_forgotten_all_the_same(service, phone, project):
    _, browser = phone
    a_stuck_run(project)
    deliver_due()
    sign_out(browser)

    service.answers = [403]
    deliver_due(at=after(2))

    assert not Device.objects.exists()
    delivery = Delivery.objects.get(what="sign_out")
    assert (delivery.status, delivery.last_error[:15]) == ("failed", "it answered 403")


def test_tries_to_tell_it_end(service, phone, project):
    _, browser = phone
    a_stuck_run(project)
    deliver_due()
    sign_out(browser)

    for minute in range(1, 18):
        service.answers = [503]
        deliver_due(at=after(60 * minute))

    assert not Device.objects.exists()


def test_who_comes_back_meanwhile_stays_signed_in(service, phone, project, as_person, owner):
    mine, browser = phone
    a_stuck_run(project)
    deliver_due()
    sign_out(browser)

    body = {"endpoint": mine.endpoint, "keys": mine.keys, "vapid_key": vapid.public_key()}
    as_person(owner).post("/api/v1/devices/this/push/", body, format="json")
    deliver_due(at=after(2))
    services.send_test(Device.objects.get(), project=project.id, by="ana", at=after(3))
    deliver_due(at=after(3))

    assert kinds(service, mine) == ["card", "announcement"]
    assert Device.objects.get().left_at is None


def test_a_person_reads_what_became_of_it(service, phone, project, as_person, owner):
    _, browser = phone
    a_stuck_run(project)
    deliver_due()
    sign_out(browser)
    deliver_due(at=after(2))

    row = as_person(owner).get("/api/v1/deliveries/").json()["results"][0]

    assert (row["what"], row["title"], row["target"], row["status"]) == (
        "sign_out",
        "Signed out",
        "Ana's Pixel",
        "sent",
    )
