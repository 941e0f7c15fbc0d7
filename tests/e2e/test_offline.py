"""The installed app without a connection: what it shows, keeps and sends when back."""

import pytest
from playwright.sync_api import expect

from tests.e2e.connection import Relay
from tests.installations import wait_for

READY = "navigator.serviceWorker.ready.then(() => !!navigator.serviceWorker.controller)"
KEPT = """async () => {
  const opened = indexedDB.open("missioncontrol", 1);
  await new Promise((done) => (opened.onsuccess = done));
  const store = opened.result.transaction("kept").objectStore("kept");
  const keys = store.getAllKeys();
  await new Promise((done) => (keys.onsuccess = done));
  opened.result.close();
  return keys.result;
}"""


@pytest.fixture
def relay(installation):
    relay = Relay(installation.url)
    yield relay
    relay.close()


@pytest.fixture
def installed(open_page, relay):
    """Open a phone's page whose service worker is in charge and whose state is kept."""

    def open_one(path="/"):
        page = open_page(path, phone=True, service_workers="allow", url=relay.url)
        wait_for(lambda: page.evaluate(READY))
        return page

    return open_one


def hide(page):
    """Put the app away, as a thumb does: what it knows is written down."""
    page.evaluate("""() => {
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
      delete document.hidden;
    }""")
    wait_for(lambda: any(key.startswith("board:") for key in page.evaluate(KEPT)))


def test_the_app_can_be_installed(open_page, installation):
    page = open_page(phone=True, service_workers="allow")
    address = page.locator("link[rel=manifest]").get_attribute("href")

    response = page.request.get(installation.url + address)
    manifest = response.json()

    assert response.headers["content-type"].startswith("application/manifest+json")
    assert (manifest["display"], manifest["start_url"]) == ("standalone", "/")
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable", "monochrome"}
    for icon in manifest["icons"]:
        shown = page.request.get(installation.url + icon["src"])
        assert (shown.status, shown.headers["content-type"]) == (200, "image/png")
    report = page.context.new_cdp_session(page).send("Page.getInstallabilityErrors")
    # Playwright's windows may be private ones, where nothing is installed: no other fault.
    assert {fault["errorId"] for fault in report["installabilityErrors"]} <= {"in-incognito"}


def test_the_worker_is_always_revalidated_and_has_a_strict_policy(page_headers):
    headers = page_headers("/sw.js")

    assert headers["cache-control"] == "no-cache"
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["content-type"].startswith("text/javascript")


@pytest.fixture
def page_headers(open_page, installation):
    page = open_page(signed_in=False)
    return lambda path: page.request.get(installation.url + path).headers


def test_starting_offline_shows_the_last_known_state_as_such(relay, installed, stuck):
    run = stuck()
    page = installed()
    expect(run.on(page)).to_be_visible()
    hide(page)

    relay.cut()
    page.reload()

    expect(run.on(page)).to_be_visible()
    expect(page.get_by_text("Offline", exact=True)).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Last known state.")).to_be_visible()


def test_a_tap_made_offline_is_sent_once_by_the_next_visit(relay, installed, stuck):
    run = stuck()
    page = installed(f"/decisions/{run.card['id']}")
    expect(run.on(page)).to_be_visible()
    hide(page)
    relay.cut()
    page.reload()

    run.on(page).get_by_role("button", name="Inject fix").tap()
    expect(page.get_by_text("Your answer is saved.")).to_be_visible()
    page.goto("about:blank")
    relay.mend()
    page.goto(relay.url)

    directive = run.next_directive()
    assert [m["text"] for m in directive["messages"]] == [run.card["verdict"]["fix"]]
    wait_for(lambda: not [key for key in page.evaluate(KEPT) if key.startswith("tap:")])
    taps = [(tap["action"], tap["version"]) for tap in relay.posted("/interventions/")]
    assert taps == [("inject", run.card["version"])]


def test_a_stored_tap_is_dropped_with_a_notice_if_the_card_changed(relay, installed, stuck):
    run = stuck()
    page = installed(f"/decisions/{run.card['id']}")
    expect(run.on(page)).to_be_visible()
    hide(page)
    relay.cut()
    page.reload()
    run.on(page).get_by_role("button", name="Inject fix").tap()
    expect(page.get_by_text("Your answer is saved.")).to_be_visible()
    page.goto("about:blank")

    run.answer("continue")
    relay.mend()
    page.goto(relay.url)

    notice = page.get_by_role("alert").filter(has_text="This card has changed.")
    expect(notice).to_contain_text("Your answer was not sent.")
    assert run.next_directive()["messages"] == []
    assert [key for key in page.evaluate(KEPT) if key.startswith("tap:")] == []


def test_nothing_is_kept_after_the_session_has_ended(installed, stuck):
    run = stuck()
    page = installed()
    expect(run.on(page)).to_be_visible()
    hide(page)

    page.context.clear_cookies()
    page.reload()

    expect(page.get_by_role("heading", name="sign-in link")).to_be_visible()
    wait_for(lambda: page.evaluate(KEPT) == [])
