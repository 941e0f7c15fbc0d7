"""No page does what its own policy forbids: nothing inline, no call to another host.

Every page that `open_page` opens is watched for it, and each screen in `test_every_screen.py`.
"""

import pytest

from tests.e2e.conftest import complaints_of

pytestmark = pytest.mark.screens

STRAY = """() => {
  document.body.insertAdjacentHTML("beforeend", '<p style="color: red">inline</p>');
  const sheet = document.createElement("style");
  sheet.textContent = "p { color: red }";
  document.head.append(sheet);
  new WebSocket(`ws://elsewhere.test:${location.port}/ws/`);
  fetch("http://elsewhere.test/").catch(() => undefined);
}"""


@pytest.mark.parametrize("path", ["/login/", "/pair/", "/"])
def test_a_signed_out_page_violates_no_content_security_policy(open_page, path):
    page = open_page(path, signed_in=False)

    page.locator("h1").first.wait_for()


def test_a_policy_violation_is_detected(browser, installation):
    page = browser.new_page(service_workers="block")
    complaints = complaints_of(page)
    page.goto(installation.url)
    page.locator("h1").first.wait_for()
    page.evaluate(STRAY)

    while "http://elsewhere.test" not in " ".join(complaints):
        page.wait_for_event("console")
    assert " ".join(complaints).count("Applying inline style") == 2
    assert "ws://elsewhere.test" in " ".join(complaints)
    page.close()
