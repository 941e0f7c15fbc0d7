"""A phone that trusts this machine's authority: paired by a typed code, its first push comes."""

import os
import re
import shutil
import subprocess

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.contract.conversation import the_person_of
from tests.e2e.chromium import FLAGS, chromium, why_not
from tests.e2e.conftest import PHONE
from tests.e2e.pocket import Pocket
from tests.installations import an_installation, wait_for
from tests.push_service import a_push_service

pytestmark = pytest.mark.https


@pytest.fixture
def service():
    with a_push_service() as running:
        yield running


@pytest.fixture
def house(service, tmp_path):
    host = service.url.removeprefix("http://")
    options = ("--port", "0", "--https", "--https-port", "0")
    with an_installation(tmp_path / "data", *options, MISSIONCONTROL_NOTIFY_HOSTS=host) as running:
        yield running


@pytest.fixture
def trusting_phone(house, service, tmp_path):
    """A browser of its own home, whose store of authorities holds ours as trusted."""
    if chromium(whole=True) is None:
        pytest.skip(why_not())
    if shutil.which("certutil") is None:
        pytest.skip("no certutil on this machine")
    trust(tmp_path / "home", house.data / "https" / "ca.crt")
    env = {**os.environ, "HOME": str(tmp_path / "home")}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(whole=True), args=list(FLAGS), env=env
        )
        context = browser.new_context(
            viewport=PHONE, has_touch=True, is_mobile=True, service_workers="allow"
        )
        context.grant_permissions(["notifications"], origin=house.line["https_url"])
        page = context.new_page()
        page.set_default_timeout(60_000)
        yield Pocket(page, house, service)
        browser.close()


def trust(home, authority):
    """Trust an authority in the store that Chromium reads in a home."""
    store = home / ".pki" / "nssdb"
    store.mkdir(parents=True)
    subprocess.run(["certutil", "-N", "-d", f"sql:{store}", "--empty-password"], check=True)
    added = ["-t", "C,,", "-n", "Mission Control", "-i", authority]
    subprocess.run(["certutil", "-A", "-d", f"sql:{store}", *added], check=True)


def test_a_phone_that_trusts_it_is_paired_by_a_code_and_takes_its_first_push(
    trusting_phone, house, service
):
    page = trusting_phone.page
    offer = the_person_of(house).ask("POST", "/api/v1/pairings/", {}).json

    page.goto(offer["code_url"])
    page.get_by_role("textbox").fill(offer["code"].lower())
    page.get_by_role("button", name="Sign in").tap()
    expect(page).to_have_url(re.compile("/settings/devices$"), timeout=60_000)
    page.get_by_role("button", name="Allow notifications").tap()
    page.get_by_role("button", name="Send a test").first.tap()
    wait_for(lambda: service.taken)

    shown = trusting_phone.subscription.decrypt(service.taken[0].body)
    assert shown["title"] == "A test from Mission Control"
    assert page.evaluate("isSecureContext && !!navigator.serviceWorker.controller")
    assert service.refused == []
