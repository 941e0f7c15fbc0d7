"""`up --https`: a phone comes in over TLS, is paired, and takes pushes."""

import http.client
import json
import ssl
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import DESKTOP, PHONE, sign_in
from tests.installations import an_installation

pytestmark = pytest.mark.https
PIXEL = (
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/142.0.0.0 Mobile Safari/537.36"
)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    data = tmp_path_factory.mktemp("https")
    with an_installation(data, "--port", "0", "--https", "--https-port", "0") as running:
        yield running


@pytest.fixture
def trusting(house):
    """Ask over TLS, as a phone does that trusts this machine's authority alone."""
    context = ssl.create_default_context(cafile=house.data / "https" / "ca.crt")
    where = urlsplit(house.line["https_url"])

    def ask(method, path, headers=None, body=None):
        wire = http.client.HTTPSConnection(where.hostname, where.port, context=context, timeout=30)
        wire.request(method, path, body, headers or {})
        answer = wire.getresponse()
        body = answer.read()
        wire.close()
        return answer, body

    return ask


def test_a_client_that_trusts_the_authority_sees_no_warning(trusting):
    response, _ = trusting("GET", "/healthz")

    assert response.status == 200
    assert response.getheader("Strict-Transport-Security") is None


def test_a_client_that_does_not_trust_it_is_warned(house):
    where = urlsplit(house.line["https_url"])
    wire = http.client.HTTPSConnection(where.hostname, where.port, timeout=30)

    with pytest.raises(ssl.SSLCertVerificationError):
        wire.request("GET", "/healthz")


def test_cookies_set_over_https_are_sent_over_https_only(house, trusting):
    path = urlsplit(house.login_link()).path

    response, _ = trusting("POST", path)

    cookies = response.headers.get_all("Set-Cookie")
    assert any(cookie.startswith("__Host-mc_session=") for cookie in cookies)
    assert all("Secure" in cookie for cookie in cookies)


def test_agents_on_this_machine_go_on_as_before(house):
    status, run = house.ask("POST", "/api/v1/runs/", {"name": "over loopback"})

    assert (status, run["name"]) == (201, "over loopback")


def test_an_agent_elsewhere_is_answered_over_https(house, trusting):
    _, run = house.ask("POST", "/api/v1/runs/", {"name": "over TLS"})
    turns = json.dumps({"turns": [{"role": "user", "content": "hello"}]})
    headers = {"Authorization": f"Bearer {house.agent_key}", "Prefer": "wait=30"}

    response, body = trusting("POST", f"/api/v1/runs/{run['id']}/turns/", headers, turns)

    assert (response.status, json.loads(body)["judged"]) == (200, True)


@pytest.fixture
def desk(browser, house):
    window = browser.new_context(viewport=DESKTOP, service_workers="block")
    sign_in(window, house)
    yield window
    window.close()


def test_a_code_that_another_tab_replaced_is_not_shown_on(desk, house):
    first, second = desk.new_page(), desk.new_page()
    for page in (first, second):
        page.goto(house.url + "/settings/devices")
        code = page.get_by_alt_text("a link that signs in once")
        shown = page.get_by_role("button", name="Show the code").or_(code)
        shown.wait_for()
        if not code.is_visible():
            shown.click()
        expect(code).to_be_visible()

    expect(first.get_by_text("This code is no longer valid.")).to_be_visible()
    expect(first.get_by_alt_text("a link that signs in once")).to_have_count(0)


def test_a_phone_is_paired_by_the_code_on_the_desk(browser, house, desk):
    page = desk.new_page()
    page.goto(house.url + "/settings/devices")
    expect(page.get_by_alt_text("a link that signs in once")).to_be_visible()
    devices = page.get_by_role("listitem").filter(has=page.get_by_role("button", name="More about"))
    before = devices.count()
    with page.expect_response("**/api/v1/pairings/") as offered:
        page.get_by_role("button", name="New code").click()
    link = offered.value.json()["url"]
    assert link.startswith(house.line["https_url"])

    hand = browser.new_context(
        viewport=PHONE, has_touch=True, is_mobile=True, ignore_https_errors=True, user_agent=PIXEL
    )
    phone = hand.new_page()
    phone.goto(link)
    phone.get_by_role("button", name="Sign in").tap()

    expect(phone).to_have_url(f"{house.line['https_url']}/settings/devices")
    # Who goes past the warning has not trusted it: test_trusted.py is about who has.
    expect(phone.get_by_text("does not trust the certificate of this address yet")).to_be_visible()
    expect(page.get_by_role("heading", name="is paired.")).to_be_visible()
    expect(devices).to_have_count(before + 1)
    expect(phone.get_by_text("uses a certificate made by this machine.")).to_be_visible()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    expect(devices).to_have_count(before + 1)
    expect(page.get_by_alt_text("a link that signs in once")).to_have_count(0)
    assert [url for url in asked if url.endswith("/pairings/")] == []
    page.get_by_role("button", name="Show the code").click()
    expect(page.get_by_alt_text("a link that signs in once")).to_be_visible()
    hand.close()


def test_the_certificate_is_for_who_is_signed_in(house, trusting):
    response, _ = trusting("GET", "/api/v1/devices/certificate/")

    assert response.status in {401, 403}
    reach = house.get("/api/v1/devices/reach/")
    assert (reach["is_secure"], reach["certificate"].count(":")) == (True, 31)
