"""A key that has leaked: where it was used is shown, and another takes its place."""

import os
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import Caller
from tests.e2e.people import agent_of, an_owner
from tests.e2e.screens import FITS

PICTURES = os.environ.get("KEYS_PICTURES")
"""A folder in which the story's screens are kept, to be looked at."""


def picture(page, name):
    for scheme in ("dark", "light") if PICTURES else ():
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=Path(PICTURES) / f"{name}-{scheme}.png", full_page=True)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_leaked_key_is_investigated_and_rotated(open_page, installation, phone):
    name, run = f"night {uuid4().hex[:6]}", f"a run {uuid4().hex[:6]}"
    page = open_page("/settings/keys", phone=phone)
    keys = page.get_by_role("region", name="Agent keys").first
    keys.get_by_label("Name of the key").fill(name)
    keys.get_by_role("radiogroup", name="Control").get_by_text("report only").click()
    keys.get_by_role("radiogroup", name="Valid for").get_by_text("30 days").click()
    keys.get_by_role("button", name="Create key").click()
    secret = keys.get_by_role("status").locator("code").inner_text()
    headers = {"Authorization": f"Bearer {secret}", "User-Agent": "curl/8.5.0"}
    Caller(installation.url, headers).open_run(name=run)

    keys.get_by_role("button", name="Done").click()
    page.reload()
    row = keys.get_by_role("listitem").filter(has_text=name)
    expect(row).to_contain_text("its own runs, report only")
    expect(row).to_contain_text("from 127.0.0.1")
    keys.get_by_role("button", name=f"Uses of {name}").click()

    expect(keys.get_by_text("curl/8.5.0")).to_be_visible()
    expect(keys.get_by_role("link", name=run)).to_be_visible()
    assert page.evaluate(FITS)
    picture(page, f"uses-{phone}")

    keys.get_by_role("button", name=f"Rotate {name}").click()
    keys.get_by_role("radiogroup", name="The old key").get_by_text("ends now").click()
    picture(page, f"rotate-{phone}")
    keys.get_by_role("button", name="Create the new key").click()

    new = keys.get_by_role("status").locator("code").inner_text()
    assert new != secret
    refused = Caller(installation.url, headers).ask("POST", "/api/v1/runs/", {"name": "again"})
    assert refused.status == 401
    Caller(installation.url, {"Authorization": f"Bearer {new}"}).open_run(name=run)
    picture(page, f"made-{phone}")


def test_a_key_older_than_a_hundred_others_is_found_and_revoked(open_page, installation):
    name = f"Wanda {uuid4().hex[:6]}"
    page = open_page("/login/", signed_in=False)
    cookies = an_owner(installation, name).items()
    page.context.add_cookies([{"name": n, "value": v, "url": installation.url} for n, v in cookies])
    page.goto(f"{installation.url}/settings/keys")
    keys = page.get_by_role("region", name="Agent keys").first
    expect(keys.get_by_text("No keys")).to_be_visible()  # its answers brought the CSRF cookie
    place, agent, owner = agent_of(page, installation, name)
    for number in range(100):
        made = owner.ask("POST", f"/api/v1/projects/{place}/keys/", {"name": f"later {number}"})
        owner.ask("DELETE", f"/api/v1/keys/{made.json['id']}/", {})
    page.reload()

    keys.get_by_role("button", name="More", exact=True).click()
    keys.get_by_role("button", name="Revoke k", exact=True).click()
    keys.get_by_role("button", name="Revoke k now", exact=True).click()

    expect(keys.get_by_role("button", name="Revoke k now", exact=True)).to_have_count(0)
    assert agent.ask("POST", "/api/v1/runs/", {"name": "again"}).status == 401
