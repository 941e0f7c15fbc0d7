"""A channel is added in the browser, tested, and what failed is tried again."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import an_agent_of, the_person_of
from tests.e2e.screens import FITS
from tests.e2e.stuck import StuckRun
from tests.receiver import a_receiver


@pytest.fixture
def receiver():
    """A web hook outside."""
    with a_receiver() as running:
        yield running


def messages_at(receiver):
    return [json.loads(body) for _, _, body in receiver.received]


@pytest.fixture(autouse=True)
def _no_channels(installation):
    yield
    person = the_person_of(installation)
    for channel in person.get("/api/v1/channels/")["results"]:
        person.ask("DELETE", f"/api/v1/channels/{channel['id']}/")


def add_channel(page, receiver, *, name: str, minutes: str = "0") -> None:
    page.get_by_role("button", name="Add a channel").click()
    page.get_by_role("radiogroup", name="Type").get_by_text("Webhook").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Address").fill(f"{receiver.url}/told?key=very-secret")
    page.get_by_label("Delay").fill(minutes)
    page.get_by_role("button", name="Add channel").click()
    expect(page.get_by_role("listitem").filter(has_text=name).last).to_be_visible()


def test_a_channel_is_added_and_its_test_arrives(open_page, receiver):
    page = open_page("/settings/channels")
    add_channel(page, receiver, name="ops")

    page.get_by_role("button", name="Send a test to ops").click()

    expect(page.get_by_text("The test was delivered at")).to_be_visible()
    assert [message["title"] for message in messages_at(receiver)] == [
        "A test from Mission Control"
    ]
    assert "very-secret" not in page.content()


def test_a_test_that_fails_says_why_and_is_tried_again_not_too_often(
    open_page, installation, receiver
):
    receiver.status = 404
    page = open_page("/settings/channels")
    add_channel(page, receiver, name="duty")
    page.get_by_role("button", name="Send a test to duty").click()
    expect(page.get_by_text("The test was not delivered: it answered 404.")).to_be_visible()

    receiver.status = 204
    page.get_by_role("link", name="Deliveries").click()
    page.get_by_role("button", name="Failed").click()
    row = page.get_by_role("row").filter(has_text="duty")
    expect(row).to_contain_text("it answered 404")
    row.get_by_role("button", name="Retry").click()

    page.get_by_role("button", name="Sent").click()
    expect(page.get_by_role("row").filter(has_text="duty")).to_contain_text("delivered")
    assert len(receiver.received) == 2

    # Not a test of its own: whoever comes after it within a minute could try nothing again.
    receiver.status = 404
    page.get_by_role("link", name="Channels").click()
    page.get_by_role("button", name="Send a test to duty").click()
    expect(page.get_by_text("The test was not delivered: it answered 404.")).to_be_visible()
    refusal = ask_until_refused(the_person_of(installation))
    # The page is told what the server has just said: on a busy machine that minute may be over.
    page.route("**/retry/", lambda route: route.fulfill(status=429, json=refusal))
    page.get_by_role("link", name="Deliveries").click()
    page.get_by_role("button", name="Failed").click()
    page.get_by_role("row").filter(has_text="duty").get_by_role("button", name="Retry").click()
    expect(page.get_by_role("alert")).to_contain_text("Too many tries in one minute. Try again in")


def ask_until_refused(person):
    """Try the newest failed delivery again until it is too often; return what is said then."""
    failed = person.get("/api/v1/deliveries/?status=failed")["results"][0]["id"]
    asked = (person.ask("POST", f"/api/v1/deliveries/{failed}/retry/", {}) for _ in range(30))
    return next(response.json for response in asked if response.status == 429)


def test_a_card_is_notified_and_its_later_step_is_withdrawn_when_it_is_answered(
    open_page, installation, receiver
):
    page = open_page("/settings/channels")
    add_channel(page, receiver, name="first")
    add_channel(page, receiver, name="boss", minutes="30")
    expect(page.get_by_role("region", name="When a card opens")).to_contain_text("boss")
    run = StuckRun.begin(an_agent_of(installation), the_person_of(installation), "told")

    page.get_by_role("link", name="Deliveries").click()
    row = page.get_by_role("row").filter(has_text="boss")
    expect(row).to_contain_text("if nobody answers in 30 min")
    expect(page.get_by_role("row").filter(has_text="first")).to_contain_text("delivered")
    card = open_page(f"/decisions/{run.card['id']}")
    when = re.compile(r"If nobody answers: boss is notified in \d+ min\.")
    expect(card.get_by_text(when)).to_be_visible()
    run.answer("continue")
    expect(card.get_by_text("If nobody answers")).to_have_count(0)

    page.reload()
    expect(row).to_contain_text("answered before")
    assert [message["event"] for message in messages_at(receiver)] == ["notice.decision"]


@pytest.mark.screens
def test_an_address_that_is_none_is_refused_in_words_and_nothing_is_added(open_page):
    page = open_page("/settings/channels", phone=True)
    page.get_by_role("button", name="Add a channel").click()
    page.get_by_label("Name").fill("ops")
    page.get_by_label("Address").fill("file:///etc/passwd")
    page.get_by_role("button", name="Add channel").click()

    expect(page.get_by_text("address: expected slack://")).to_be_visible()
    assert page.evaluate(FITS)


@pytest.mark.screens
def test_a_channel_is_switched_off_changed_and_removed_by_a_second_tap(open_page, receiver):
    page = open_page("/settings/channels", phone=True)
    add_channel(page, receiver, name="ops")

    page.get_by_role("switch", name="Notify ops").click()
    expect(page.get_by_text("disabled")).to_be_visible()
    page.get_by_role("button", name="Edit ops").click()
    page.get_by_label("Delay").fill("7")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("After 7 min")).to_be_visible()
    page.get_by_role("button", name="Edit ops").click()
    page.get_by_role("button", name="Remove ops").click()
    page.get_by_role("button", name="Remove now").click()

    expect(page.get_by_text("No channel yet.")).to_be_visible()
