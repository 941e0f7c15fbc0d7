"""A team's ways in, in a browser: each from its set-up to the sign-in by it."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from missioncontrol.up.addresses import OWN_HOST
from tests.e2e import axe
from tests.installations import an_installation
from tests.missioncontrol.accounts.credentials import A_PASSWORD, code_of
from tests.provider import CLIENT, SECRET, a_provider

PICTURES = os.environ.get("ACCOUNT_PICTURES")
"""A folder in which the screens are kept, to be looked at."""


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


@pytest.fixture
def ours(installation):
    """Our own name on this machine: passkeys are bound to names, and addresses are none."""
    return installation.url.replace("127.0.0.1", OWN_HOST)


@pytest.fixture
def come_in(open_page, installation, ours):
    """Open a page as somebody new, who comes by a link."""

    def open_one(name, path="/settings/account"):
        code = f"""
from missioncontrol.accounts import people, services
from missioncontrol.accounts.models import Membership, Project
from missioncontrol.clock import now
user = people.find_person({name!r}) or people.create_person({name!r})
project = Project.objects.order_by("created_at").first()
Membership.objects.get_or_create(project=project, user=user, defaults={{"role": "owner"}})
print(services.mint_login_link(user=user, at=now()).secret)
"""
        secret = installation.in_python(code).strip()
        page = open_page("/login/", signed_in=False)
        page.goto(f"{ours}/login/{secret}/")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{ours}/")
        page.goto(f"{ours}{path}")
        return page

    return open_one


def leave(page, ours):
    page.goto("about:blank")  # nothing asks on, and brings cookies back
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


def test_signing_in_again_by_password_returns_to_the_same_page(come_in, ours):
    page = come_in("Mia")
    set_password(page)
    page.goto("about:blank")
    page.context.clear_cookies()
    page.goto(f"{ours}/costs")
    page.wait_for_url(f"{ours}/login/")

    sign_in(page, "Mia")

    expect(page).to_have_url(f"{ours}/costs")


def test_a_passkey_is_created_and_signs_in(come_in, ours):
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


def test_the_remove_button_of_a_passkey_asks_for_a_second_tap(come_in):
    page = come_in("Noor")
    with_authenticator(page)
    page.get_by_label("Name of the passkey").fill("Laptop")
    page.get_by_role("button", name="Add passkey").click()

    page.get_by_role("button", name="Remove passkey Laptop", exact=True).click()
    page.get_by_role("button", name="Remove passkey Laptop now").click()

    expect(page.get_by_text("No passkeys yet.")).to_be_visible()


def set_up_app(page):
    """Set an authenticator app up by its first code; returns its secret and the recovery codes."""
    page.get_by_role("button", name="Set up an app").click()
    secret = page.locator("code.well").inner_text()
    page.get_by_label("Code shown by the app").fill(code_of(secret))
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("They are shown only now.")).to_be_visible()
    return secret, page.locator("ul.well code").all_inner_texts()


def show_code(page, code):
    page.get_by_label("Code").fill(code)
    page.get_by_role("button", name="Sign in", exact=False).first.click()


def test_an_app_is_set_up_and_its_code_or_a_recovery_code_signs_in(come_in, ours):
    page = come_in("Tim")
    set_password(page)
    secret, codes = set_up_app(page)
    assert len(codes) == 10
    leave(page, ours)

    sign_in(page, "Tim")
    expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
    assert faults(page) == []
    show_code(page, "000000")
    expect(page.get_by_role("alert")).to_have_text("This code is wrong, or was used already.")
    show_code(page, code_of(secret, step=1))
    page.wait_for_url(f"{ours}/")

    leave(page, ours)
    sign_in(page, "Tim")
    show_code(page, codes[0])
    page.wait_for_url(f"{ours}/")
    page.goto(f"{ours}/settings/account")
    expect(page.get_by_text("9 left")).to_be_visible()

    leave(page, ours)
    sign_in(page, "Tim")
    show_code(page, codes[0])
    expect(page.get_by_role("alert")).to_have_text("This code is wrong, or was used already.")


def test_a_project_that_requires_a_second_factor_opens_once_one_is_set_up(
    come_in, ours, installation
):
    page = come_in("Nia")
    code = """
from missioncontrol.accounts import people
from missioncontrol.accounts.services import create_project
from missioncontrol.clock import now
project = create_project(name="vault", owner=people.find_person("Nia"), at=now())
project.second_factor = True
project.save(update_fields=["second_factor"])
"""
    installation.in_python(code)
    page.reload()
    expect(page.get_by_text("vault: a second factor is required")).to_be_visible()
    expect(page.get_by_label("Project", exact=True)).to_have_count(0)

    set_up_app(page)

    expect(page.get_by_text("vault: a second factor is required")).to_have_count(0)
    expect(page.get_by_label("Project", exact=True).locator("option")).to_have_count(3)


def at_the_provider(page, subject):
    """Sign in there as somebody and agree."""
    page.get_by_placeholder("sub").fill(subject)
    page.get_by_role("button", name="Authorize").click()


def test_an_account_at_a_provider_is_connected_and_signs_in(come_in, ours, provider):
    provider.knows("ole-there", name="Ole", email="ole@example.org", email_verified=True)
    page = come_in("Ole")
    page.get_by_role("link", name="Connect").click()
    at_the_provider(page, "ole-there")
    expect(page.get_by_text("Connected as ole@example.org.")).to_be_visible()
    leave(page, ours)

    page.get_by_role("link", name="Sign in with Example").click()
    at_the_provider(page, "ole-there")

    page.wait_for_url(f"{ours}/")
    page.goto(f"{ours}/settings/account")
    expect(page.get_by_text("Connected as ole@example.org.")).to_be_visible()


def test_a_person_known_only_to_the_provider_is_told_to_ask_for_an_invitation(
    open_page, ours, provider
):
    provider.knows("una-there", name="Una", email="una@example.org", email_verified=True)
    page = open_page("/login/", signed_in=False)
    page.goto(f"{ours}/login/")
    page.get_by_role("link", name="Sign in with Example").click()
    at_the_provider(page, "una-there")

    expect(page.get_by_role("alert")).to_contain_text("no project here lets you in")
    assert page.evaluate("fetch('/api/v1/me/').then((answer) => answer.status)") == 401

    page.get_by_role("link", name="Sign in with Example").click()
    page.get_by_role("button", name="Deny").click()
    expect(page.get_by_role("alert")).to_contain_text("The answer of Example could not be used")
