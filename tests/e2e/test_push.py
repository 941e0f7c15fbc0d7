"""A push from our server to a real service worker, and an answer from the lock screen."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from guard import Session
from tests.contract.conversation import a_turn, an_agent_of, the_person_of
from tests.e2e.conftest import PHONE
from tests.e2e.pocket import Pocket
from tests.e2e.stuck import StuckRun, answer_all
from tests.installations import wait_for
from tests.push_service import a_push_service

NEEDS_A_WINDOW = True
GERMAN = ("Benachrichtigungen erlauben", "Hier ausschalten")
HOSTILE = '"><img src=x onerror=alert(1)> {{7*7}}'


@pytest.fixture(scope="module")
def service():
    with a_push_service() as running:
        yield running


@pytest.fixture
def pocket(browser, installation, service):
    """A phone that allowed notifications."""
    with a_pocket(browser, installation, service) as mine:
        yield mine


@pytest.fixture
def german_pocket(browser, installation, service):
    with a_pocket(browser, installation, service, locale="de-DE") as mine:
        yield mine


@contextmanager
def a_pocket(browser, installation, service, **fields):
    context = browser.new_context(
        viewport=PHONE, has_touch=True, is_mobile=True, service_workers="allow", **fields
    )
    context.grant_permissions(["notifications"], origin=installation.url)
    context.add_cookies(
        [
            {"name": name, "value": value, "url": installation.url}
            for name, value in installation.cookies().items()
        ]
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    mine = Pocket(page, installation, service)
    mine.allow(*GERMAN if fields else ())
    answer_all(the_person_of(installation))
    yield mine
    answer_all(the_person_of(installation))
    the_person_of(installation).ask("DELETE", "/api/v1/devices/this/push/")
    context.close()
    assert complaints == []


@pytest.fixture
def waiting(installation):
    """A real agent that is held: its third same call waits in a thread."""
    person, pool = the_person_of(installation), ThreadPoolExecutor(1)
    where = {"url": installation.url, "key": installation.agent_key, "mode": "pause"}
    with Session("fix-auth", agent="coder", **where) as session:

        def fail_again():
            go = session.before("read_file", {"path": "setings.py"})
            if go.run:
                session.after(go, error="setings.py: no such file")
            return go

        def card():
            cards = person.get("/api/v1/decisions/?status=open")["results"]
            return next((one for one in cards if one["run"] == session.run_id), None)

        fail_again(), fail_again()
        call = pool.submit(fail_again)
        try:
            yield call, wait_for(card)
        finally:
            person.tap(session.run_id, "terminate")
            pool.shutdown(wait=False)


# --- a push is shown -------------------------------------------------------------------


def test_a_card_is_one_notification_that_says_why_and_what_it_costs(pocket, stuck):
    run = stuck()

    pocket.receive("card")

    shown = pocket.wait_for_shown(tag=run.card["id"])
    assert shown["title"].startswith("stuck")
    assert shown["title"].endswith("is paused")
    assert "$0.50 in the loop" in shown["body"]
    assert len(pocket.shown()) == 1
    assert pocket.service.refused == []


@pytest.mark.screens
def test_a_hostile_name_is_plain_text_in_a_notification(pocket, stuck):
    run = stuck(HOSTILE)

    pocket.receive("card")

    assert pocket.wait_for_shown(tag=run.card["id"])["title"].startswith('"><img src=x')


def test_a_german_phone_reads_german_on_its_lock_screen(german_pocket, stuck):
    run = stuck()
    german_pocket.put_away()

    german_pocket.receive("card")

    shown = german_pocket.wait_for_shown(tag=run.card["id"])
    assert (shown["lang"], shown["title"].endswith(" angehalten")) == ("de", True)
    assert "0,50\u00a0$ in der Schleife" in shown["body"]
    assert shown["actions"] == ["Korrektur lesen", "Weiter"]

    run.answer("terminate")
    german_pocket.click(run.card["id"], "1")
    push = german_pocket.wait_for_shown(tag=run.card["id"])
    assert push["body"] == "Die Karte ist inzwischen weiter. Die Antwort wurde nicht gesendet."

    german_pocket.receive("withdrawn")
    german_pocket.wait_for_shown(body="you hat ihn beendet.")


@pytest.mark.screens
def test_an_unreadable_push_still_shows_a_notification(pocket):
    pocket.deliver("not json")

    assert pocket.wait_for_shown(title="Mission Control")["data"]["path"] == "/"


LOOK_ON = """() => { const look = () => navigator.locks.request(
  "notifications", () => self.registration.getNotifications()).then(look);
  look(), look(), look(); }"""


def test_two_open_tabs_get_one_notification_for_a_card(pocket, stuck):
    others = [pocket.page.context.new_page() for _ in range(2)]
    for other in others:
        other.goto(pocket.installation.url)
        expect(other.get_by_text("Live", exact=True)).to_be_visible()
    run = stuck()

    pocket.receive("card")

    for other in others:
        expect(run.on(other)).to_be_visible()
    pocket.wait_for_shown(tag=run.card["id"])
    assert [one["tag"] for one in pocket.shown()] == [run.card["id"]]
    pushed = pocket.service.pushes_to(pocket.subscription)
    assert [push["type"] for push in pushed] == ["card"]


@pytest.mark.screens
def test_a_push_that_arrives_while_notifications_are_listed_is_not_lost(pocket):
    pocket.page.context.service_workers[0].evaluate(LOOK_ON)
    tags = [f"card-{number}" for number in range(10)]

    for tag in tags:
        pocket.deliver(json.dumps({"type": "card", "title": "stuck", "tag": tag}))

    for tag in tags:
        pocket.wait_for_shown(tag=tag)


@pytest.mark.screens
def test_a_test_notification_arrives(pocket):
    pocket.page.get_by_role("button", name="Send a test").first.tap()

    pocket.receive("announcement")

    pocket.wait_for_shown(title="A test from Mission Control")


# --- a tap on it -----------------------------------------------------------------------


def test_a_click_opens_the_card(pocket, stuck):
    run = stuck()
    pocket.receive("card")
    pocket.wait_for_shown(tag=run.card["id"])

    pocket.click(run.card["id"])

    expect(pocket.page).to_have_url(f"{pocket.installation.url}/decisions/{run.card['id']}")
    expect(run.on(pocket.page)).to_be_visible()
    assert pocket.shown() == []


def test_continue_on_the_lock_screen_releases_the_waiting_agent(pocket, waiting):
    call, card = waiting
    pushed = pocket.receive("card")
    shown = pocket.wait_for_shown(tag=card["id"])
    number = shown["actions"].index("Continue")

    pocket.click(card["id"], str(number))

    assert call.result(timeout=60).run
    assert pushed["version"] == card["version"]


@pytest.mark.screens
def test_a_fix_is_injected_word_for_word(pocket, stuck):
    run = stuck()
    pushed = pocket.service.next_push(pocket.subscription, "card")
    button = {"action": "inject", "title": "Inject fix", "message": "Use token.py."}
    pocket.deliver(json.dumps({**pushed, "actions": [button]}))
    pocket.wait_for_shown(tag=run.card["id"], actions=["Inject fix"])

    pocket.click(run.card["id"], "0")

    assert [message["text"] for message in run.next_directive()["messages"]] == ["Use token.py."]


@pytest.mark.screens
def test_a_long_fix_is_read_on_the_card_first(pocket, stuck):
    run = stuck()
    pocket.receive("card")
    shown = pocket.wait_for_shown(tag=run.card["id"])

    pocket.click(run.card["id"], str(shown["actions"].index("Read fix")))

    expect(run.on(pocket.page).get_by_role("button", name="Inject fix")).to_be_visible()


def test_a_tap_on_an_outdated_notification_says_so_and_sends_nothing(pocket, stuck):
    run = stuck()
    pocket.put_away()
    pocket.receive("card")
    shown = pocket.wait_for_shown(tag=run.card["id"])
    run.answer("terminate")

    pocket.click(run.card["id"], str(shown["actions"].index("Continue")))

    push = pocket.wait_for_shown(tag=run.card["id"])
    assert "Your answer was not sent." in push["body"]
    assert run.next_directive()["action"] == "stop"


# --- a budget ----------------------------------------------------------------------------


@pytest.fixture
def overspent(installation):
    """A run that has spent all of its budget of two dollars, and its card."""
    agent, person = an_agent_of(installation), the_person_of(installation)
    run = agent.open_run(name="costly", budget={"usd": "2.00"})
    reply = agent.post_turns(run, a_turn(cost_usd="2.10"))
    card = wait_for(lambda: person.card_of(run))
    return StuckRun(
        id=run,
        name="costly",
        directive=reply.json["directive"],
        card=card,
        agent=agent,
        person=person,
    )


def test_more_is_allowed_from_the_lock_screen(pocket, overspent):
    pocket.receive("card")
    shown = pocket.wait_for_shown(tag=overspent.card["id"])
    assert shown["actions"] == ["Allow $1 more", "Stop…"]

    pocket.click(overspent.card["id"], "0")

    assert overspent.next_directive()["action"] == "proceed"
    made = wait_for(lambda: taps_on(pocket, overspent))
    assert [one["payload"]["row"]["action"] for one in made] == ["allow_budget"]


def test_a_second_tap_on_the_lock_screen_ends_it(pocket, overspent):
    pocket.receive("card")
    pocket.wait_for_shown(tag=overspent.card["id"])

    pocket.click(overspent.card["id"], "1")
    asked = pocket.wait_for_shown(title="Stop costly?")
    assert asked["actions"] == ["Stop now", "Open card"]
    assert taps_on(pocket, overspent) == []
    pocket.click(overspent.card["id"], "0")

    assert overspent.next_directive()["action"] == "stop"


@pytest.mark.screens
def test_more_is_not_allowed_twice(pocket, overspent):
    pocket.put_away()
    pocket.receive("card")
    pocket.wait_for_shown(tag=overspent.card["id"])
    overspent.answer("finish")

    pocket.click(overspent.card["id"], "0")

    shown = pocket.wait_for_shown(title="costly: not sent")
    assert "Your answer was not sent." in shown["body"]
    assert [one["payload"]["row"]["action"] for one in taps_on(pocket, overspent)] == ["finish"]


def taps_on(pocket, run):
    """Return what people answered to a run, as its journal has it."""
    found = pocket.installation.get(f"/api/v1/audit/?run={run.id}&type=intervention.made")
    return [one for one in found["results"] if one["type"] == "intervention.made"]


# --- answered elsewhere ----------------------------------------------------------------


def test_an_answer_elsewhere_replaces_the_notification_silently(pocket, stuck):
    run = stuck()
    pocket.put_away()
    pocket.receive("card")
    pocket.wait_for_shown(tag=run.card["id"])

    run.answer("continue")
    pocket.receive("withdrawn")

    shown = pocket.wait_for_shown(tag=run.card["id"], silent=True)
    assert (shown["actions"], shown["body"]) == ([], "you continued it.")
    assert len(pocket.shown()) == 1


@pytest.mark.screens
def test_an_answer_elsewhere_removes_the_notification_while_the_app_is_visible(pocket, stuck):
    run = stuck()
    pocket.receive("card")
    pocket.wait_for_shown(tag=run.card["id"])

    run.answer("continue")
    pocket.receive("withdrawn")

    wait_for(lambda: pocket.shown() == [])


def test_signing_out_clears_the_lock_screen(pocket, stuck):
    page = pocket.page
    page.context.clear_cookies()
    page.goto(pocket.installation.login_link())
    page.get_by_role("button", name="Sign in").tap()
    page.wait_for_url(f"{pocket.installation.url}/")
    pocket.allow()
    run = stuck()
    pocket.receive("card")
    pocket.wait_for_shown(tag=run.card["id"])

    here = page.get_by_role("listitem").filter(has_text="this one")
    here.get_by_role("button", name="More about").tap()
    page.get_by_role("button", name="Sign out here").tap()

    wait_for(lambda: pocket.shown() == [])
    before = len(pocket.service.pushes_to(pocket.subscription))
    stuck()
    assert len(pocket.service.pushes_to(pocket.subscription)) == before


@pytest.fixture
def lost(browser, installation, service):
    """A phone of its own session, to be signed out from a desk."""
    with a_pocket(browser, installation, service) as mine:
        mine.page.context.clear_cookies()
        mine.page.goto(installation.login_link())
        mine.page.get_by_role("button", name="Sign in").tap()
        mine.page.wait_for_url(f"{installation.url}/")
        mine.allow()
        yield mine


def sign_out_the_other(desk):
    """Sign the newest other browser out, as its person does at a desk."""
    row = desk.get_by_role("listitem").filter(has=desk.get_by_role("switch", checked=True))
    row.filter(has_not_text="this one").first.get_by_role("button", name="More about").click()
    desk.get_by_role("button", name="Sign out ends its session").click()


@pytest.mark.screens
def test_a_remotely_signed_out_device_shows_nothing_of_its_runs(lost, stuck, open_page):
    runs = [stuck("first"), stuck("second")]
    lost.put_away()
    for run in runs:
        pushed = lost.service.next_push(lost.subscription, "card")
        lost.deliver(json.dumps({**pushed, "tag": run.card["id"]}))
        lost.wait_for_shown(tag=run.card["id"])

    sign_out_the_other(open_page("/settings/devices"))
    lost.receive("withdrawn")

    shown = lost.wait_for_shown(title="Signed out", silent=True)
    assert (len(lost.shown()), shown["actions"]) == (1, [])
    before = len(lost.service.pushes_to(lost.subscription))
    stuck("third")
    assert len(lost.service.pushes_to(lost.subscription)) == before


@pytest.mark.screens
def test_a_device_signed_out_while_the_app_is_visible_shows_nothing(lost, stuck, open_page):
    run = stuck()
    lost.receive("card")
    lost.wait_for_shown(tag=run.card["id"])

    sign_out_the_other(open_page("/settings/devices"))
    lost.receive("withdrawn")

    wait_for(lambda: lost.shown() == [])


@pytest.mark.screens
def test_the_icon_shows_the_number_of_open_cards(pocket, stuck, service):
    pocket.page.add_init_script("navigator.setAppBadge = async (n) => { window.onIcon = n; }")
    pocket.open("/")

    stuck(), stuck()

    wait_for(lambda: pocket.page.evaluate("window.onIcon") == 2)
    wait_for(lambda: 2 in [one["open"] for one in service.pushes_to(pocket.subscription)])
