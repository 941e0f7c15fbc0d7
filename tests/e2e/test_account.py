"""A team's ways in, in a browser: password, passkey, app, identity provider, and the proof anew."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from missioncontrol.up.addresses import OWN_HOST
from tests.e2e import axe
from tests.installations import ROOT, an_installation
from tests.missioncontrol.accounts.ways import A_PASSWORD, code_of
from tests.provider import CLIENT, SECRET, a_provider

PICTURES = os.environ.get("ACCOUNT_PICTURES")
"""A folder in which the screens are kept, to be looked at."""
LET_PROOFS_BE_OVER = """
from missioncontrol.accounts.session_store import SessionStore
from django.contrib.sessions.models import Session
for row in Session.objects.all():
    told = row.get_decoded() | {"proved_at": 0}
    row.session_data = SessionStore().encode(told)
    row.save()
"""


@pytest.fixture(scope="module")
def provider():
    with a_provider() as running:
        yield running


@pytest.fixture(scope="module")
def installation(tmp_path_factory, provider):
    with an_installation(
        tmp_path_factory.mktemp("team"),
        MISSIONCONTROL_SIGN_IN="password,passkey,oidc",
        MISSIONCONTROL_OIDC_ISSUER=provider.issuer,
        MISSIONCONTROL_OIDC_CLIENT=CLIENT,
        MISSIONCONTROL_OIDC_SECRET=SECRET,
        MISSIONCONTROL_OIDC_NAME="Example",
    ) as running:
        yield running


def picture(page, name):
    if not PICTURES:
        return
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=Path(PICTURES) / f"{name}-{scheme}.png", full_page=True)


def faults(page):
    """Return what axe finds wrong with a page as it stands."""
    page.evaluate(Path(axe.SCRIPT).read_text())
    found = page.evaluate(f"async () => (await axe.run({{runOnly: {axe.TAGS}}})).violations")
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]


def in_python(installation, deed):
    """Do something to its database, as who has the machine can."""
    return subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", deed],
        cwd=ROOT,
        env=installation.own_environment(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.fixture
def ours(installation):
    """Our own name on this machine: passkeys are bound to names, and addresses are none."""
    return installation.url.replace("127.0.0.1", OWN_HOST)


@pytest.fixture
def come_in(open_page, installation, ours):
    """Open a page as somebody new, who comes by a link."""

    def open_one(name, path="/settings/account"):
        deed = f"""
from missioncontrol.accounts import people, services
from missioncontrol.accounts.models import Membership, Project
from missioncontrol.clock import now
user = people.find({name!r}) or people.make_person({name!r})
project = Project.objects.order_by("created_at").first()
Membership.objects.get_or_create(project=project, user=user, defaults={{"role": "owner"}})
print(services.mint_login_link(user=user, at=now()).secret)
"""
        secret = in_python(installation, deed).strip()
        page = open_page("/login/", signed_in=False)
        page.goto(f"{ours}/login/{secret}/")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{ours}/")
        page.goto(f"{ours}{path}")
        return page

    return open_one


def leave(page, ours):
    page.context.clear_cookies()
    page.goto(f"{ours}/login/")


def with_authenticator(page):
    """Give a page's browser an authenticator that makes passkeys and verifies its person."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def set_password(page):
    page.get_by_label("New password").fill(A_PASSWORD)
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_text("A password is set.")).to_be_visible()


def sign_in(page, name):
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(A_PASSWORD)
    page.get_by_role("button", name="Sign in", exact=False).first.click()


def test_a_password_is_set_and_signs_in(come_in, ours):
    page = come_in("Pia")
    set_password(page)
    leave(page, ours)
    picture(page, "sign-in")
    assert faults(page) == []

    sign_in(page, "Pia")

    page.wait_for_url(f"{ours}/")
    expect(page.get_by_role("main")).to_be_visible()


def test_a_passkey_is_made_and_signs_in(come_in, ours):
    page = come_in("Kim")
    with_authenticator(page)
    page.get_by_label("Name of the passkey").fill("Laptop")
    page.get_by_role("button", name="Add passkey").click()
    expect(page.get_by_text("They are shown only now.")).to_be_visible()
    picture(page, "account")
    assert faults(page) == []
    leave(page, ours)

    page.get_by_role("button", name="Sign in with a passkey").click()

    page.wait_for_url(f"{ours}/")
    page.goto(f"{ours}/settings/account")
    expect(page.get_by_text("last used")).to_be_visible()


def test_an_app_is_set_up_and_asked_for_after_the_password(come_in, ours):
    page = come_in("Ada")
    set_password(page)
    page.get_by_role("button", name="Set up an app").click()
    expect(page.get_by_alt_text("QR code for the authenticator app")).to_be_visible()
    picture(page, "app")
    secret = page.locator("code.well").first.inner_text()
    page.get_by_label("Code shown by the app").fill(code_of(secret))
    page.get_by_role("button", name="Confirm").click()
    recovery = page.locator("li code").first
    expect(recovery).to_be_visible()
    code = recovery.inner_text()
    leave(page, ours)
    sign_in(page, "Ada")
    page.get_by_label("Code").fill("000000")
    page.get_by_role("button", name="Sign in", exact=False).click()
    expect(page.get_by_text("This code is wrong, or was used already.")).to_be_visible()
    picture(page, "second")

    page.get_by_label("Code").fill(code)
    page.get_by_role("button", name="Sign in", exact=False).click()

    page.wait_for_url(f"{ours}/")


def test_who_signed_in_a_while_ago_is_asked_once_and_goes_on(come_in, installation):
    page = come_in("Eli", "/settings/account")
    set_password(page)
    page.goto(page.url.replace("account", "device"))
    in_python(installation, LET_PROOFS_BE_OVER)
    page.goto(page.url.replace("settings/device", "settings/members"))
    page.get_by_role("button", name="Create invitation link").click()
    sheet = page.get_by_role("dialog", name="Confirm that it is you")
    expect(sheet).to_be_visible()
    picture(page, "again")
    assert faults(page) == []

    sheet.get_by_label("Your password").fill(A_PASSWORD)
    sheet.get_by_role("button", name="Confirm").click()

    expect(page.get_by_text("/join#")).to_be_visible()


def test_who_comes_by_the_provider_joins_the_project_with_the_role(
    come_in, open_page, ours, provider
):
    provider.knows("zoe-1", name="Zoe", email="zoe@example.com", email_verified=True)
    owner = come_in("Oda", "/settings/members")
    owner.get_by_label("Domain or group").fill("example.com")
    owner.get_by_role("button", name="Add rule").click()
    expect(owner.get_by_text("E-mail domain · Viewer")).to_be_visible()
    picture(owner, "members")
    page = open_page("/login/", signed_in=False)
    page.goto(f"{ours}/login/")

    page.get_by_role("link", name="Sign in with Example").click()
    page.locator("input[name=sub]").fill("zoe-1")
    page.get_by_role("button", name="Authorize").click()

    page.wait_for_url(f"{ours}/")
    owner.reload()
    expect(owner.get_by_text("Zoe", exact=True)).to_be_visible()


def test_a_project_that_asks_for_a_second_factor_opens_once_there_is_one(come_in, ours):
    owner = come_in("Una")
    with_authenticator(owner)
    owner.get_by_label("Name of the passkey").fill("Key")
    owner.get_by_role("button", name="Add passkey").click()
    expect(owner.get_by_text("They are shown only now.")).to_be_visible()
    owner.goto(f"{ours}/settings/members")
    owner.get_by_role("switch", name="Require a second factor").click()
    expect(owner.get_by_role("switch", name="Require a second factor")).to_be_checked()

    other = come_in("Ben", "/")
    expect(other.get_by_text("a second factor is required")).to_be_visible()
    picture(other, "closed")
    other.get_by_role("link", name="Set up").click()
    with_authenticator(other)
    other.get_by_label("Name of the passkey").fill("Key")
    other.get_by_role("button", name="Add passkey").click()

    expect(other.get_by_text("They are shown only now.")).to_be_visible()
    expect(other.get_by_text("a second factor is required")).to_be_hidden()
    owner.get_by_role("switch", name="Require a second factor").click()
    expect(owner.get_by_role("switch", name="Require a second factor")).not_to_be_checked()
