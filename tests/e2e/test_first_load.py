"""What the first load of the board costs a browser: bytes and requests, never time.

Long tasks and the largest paint are measured beside it and written into the report; a test
on a busy machine can hold nobody to them.
"""

import gzip
import json
import os
import re
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect

from tests.e2e.stuck import several_stuck
from tests.installations import ROOT, an_installation

pytestmark = pytest.mark.screens

# Of the requests two are for the faces of the screens, two for the texts of one language.
MOST = {"script": 90_000, "style": 16_000, "requests": 34, "third_parties": 0}
OBSERVE = """
  window.seen = { tasks: 0, blocked: 0, largest: null };
  new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => {
    window.seen.tasks += 1; window.seen.blocked += duration - 50;
  })).observe({ type: "longtask", buffered: true });
  new PerformanceObserver((list) => list.getEntries().forEach(({ startTime, size }) => {
    window.seen.largest = { at: startTime, pixels: size };
  })).observe({ type: "largest-contentful-paint", buffered: true });
"""
WEIGH = """() => {
  const all = performance.getEntriesByType("resource");
  const of = (ending) => all.filter(({ name }) => new URL(name).pathname.endsWith(ending));
  const sum = (some, what) => some.reduce((bytes, one) => bytes + one[what], 0);
  return {
    script: sum(of(".js"), "encodedBodySize"),
    script_unpacked: sum(of(".js"), "decodedBodySize"),
    style: sum(of(".css"), "encodedBodySize"),
    bytes: sum(all, "transferSize"),
    requests: all.length + 1,
    third_parties: all.filter(({ name }) => new URL(name).origin !== location.origin).length,
    ...window.seen,
  };
}"""
RESULTS = Path(os.environ.get("CI_RESULTS") or ROOT / "test-results")


@pytest.fixture(scope="module")
def blank_installation(tmp_path_factory):
    """One that no agent has spoken to: its board walks through the first connection."""
    with an_installation(tmp_path_factory.mktemp("blank")) as running:
        yield running


@pytest.fixture(params=["blank", "with a card"])
def board(request):
    """Give an installation whose board stands as named, and what to see on it then."""
    if request.param == "blank":
        yield request.getfixturevalue("blank_installation"), "Listening since|Wartet seit"
        return
    installation = request.getfixturevalue("installation")
    with several_stuck(installation, "first-load", count=2):
        yield installation, "first-load"


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
@pytest.mark.parametrize("language", ["en-GB", "de-DE"])
def test_the_first_load_stays_within_its_budget(browser, board, phone, language):
    installation, seen = board
    context = browser.new_context(
        viewport={"width": 390, "height": 844} if phone else {"width": 1440, "height": 900},
        locale=language,
        service_workers="block",
    )
    cookies = installation.cookies().items()
    context.add_cookies([{"name": n, "value": v, "url": installation.url} for n, v in cookies])
    context.add_init_script(OBSERVE)
    page = context.new_page()
    page.goto(installation.url)
    page.locator("h1").first.wait_for()
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    expect(page.get_by_text(re.compile(seen)).first).to_be_visible()
    page.wait_for_load_state("networkidle")

    weight = page.evaluate(WEIGH)
    context.close()

    RESULTS.mkdir(exist_ok=True)
    name = f"first-load-{'phone' if phone else 'desktop'}-{language[:2]}.json"
    (RESULTS / name).write_text(json.dumps(weight, indent=1))
    assert {what: weight[what] for what in MOST if weight[what] > MOST[what]} == {}


ASKED = """() => performance.getEntriesByType("resource")
  .filter(({ name }) => name.includes("/api/v1/"))
  .map(({ name, initiatorType }) => [new URL(name).href, initiatorType])"""


@pytest.mark.parametrize("path", ["/", "/decisions", "/runs/{run}", "/costs"])
def test_the_page_prefetches_exactly_what_its_screen_reads(browser, installation, path):
    with several_stuck(installation, "ahead", count=1) as run:
        context = browser.new_context(service_workers="block")
        cookies = installation.cookies().items()
        context.add_cookies([{"name": n, "value": v, "url": installation.url} for n, v in cookies])
        page = context.new_page()
        page.goto(installation.url + path.format(run=run.id))
        expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
        page.wait_for_load_state("networkidle")
        asked = page.evaluate(ASKED)
        context.close()

    ahead = [address for address, by in asked if by == "link"]
    assert len(ahead) == 2  # who is signed in, and the screen's own
    # Else a browser would have fetched it twice, and thrown the first answer away.
    assert [address for address, _ in asked].count(ahead[1]) == 1


def test_a_file_is_sent_as_small_as_a_browser_takes_it(installation):
    page = sent(installation, "/", "identity").decode()
    (script,) = re.findall(r'<script type="module" crossorigin src="([^"]+)"', page)

    plain, packed, smallest = (
        sent(installation, script, kind) for kind in ("identity", "gzip", "br")
    )

    assert gzip.decompress(packed) == plain
    assert len(smallest) < len(packed)
    # A browser would fetch each twin besides, and never ask for it.
    assert not re.search(rb'\.(br|gz)"', sent(installation, "/sw.js", "identity"))


def sent(installation, path, encoding):
    request = Request(installation.url + path, headers={"Accept-Encoding": encoding})
    with urlopen(request) as answer:
        return answer.read()
