"""Names as their agents' people write them, from whichever side."""

import re

import pytest
from playwright.sync_api import expect

NAME = "בדיקת חשבוניות הרבעון השלישי מול ספר החשבונות אחרי המעבר למערכת החדשה של החברה"

SHOWS_ITS_BEGINNING = """(name) => {
  const first = document.createRange();
  first.setStart(name.firstChild, 0);
  first.setEnd(name.firstChild, 1);
  const sign = first.getBoundingClientRect();
  const { left, right } = name.closest(".el, th, h1").getBoundingClientRect();
  return sign.left >= left - 1 && sign.right <= right + 1;
}"""

SHORT = "בדיקה 7"
STANDS_BEFORE_THE_REST = """(element) => {
  const words = document.createTreeWalker(element.closest(".md"), NodeFilter.SHOW_TEXT);
  const starts = [];
  for (let text = words.nextNode(); text; text = words.nextNode()) {
    if (!text.data.trim()) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    starts.push(range.getClientRects()[0]);
  }
  const follows = (at) =>
    starts[at].top >= starts[at - 1].bottom || starts[at - 1].left < starts[at].left;
  return starts.length > 1 && starts.slice(1).every((_, at) => follows(at + 1));
}"""


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
@pytest.mark.parametrize("path", ["/", "/history", "/runs/{run}"])
def test_a_name_from_right_to_left_is_cut_at_its_end(open_page, agent, path, phone):
    run = agent.open_run(name=NAME)
    page = open_page(path.format(run=run), phone=phone)
    name = page.get_by_text(NAME, exact=True).first
    # Where other tests left many runs, the board shows some of them and offers a search.
    search = page.get_by_role("searchbox", name="Search running runs")
    expect(name.or_(search).first).to_be_visible()
    if search.is_visible():
        search.fill(NAME)

    expect(name).to_be_visible()
    assert name.evaluate(SHOWS_ITS_BEGINNING)


def test_a_sentence_about_it_shows_its_beginning_too(open_page, stuck):
    stuck("one"), stuck(NAME)
    page = open_page("/", phone=True)
    name = page.get_by_role("link").get_by_text(NAME).last

    expect(name).to_be_visible()
    assert name.evaluate(SHOWS_ITS_BEGINNING)


@pytest.mark.parametrize(
    ("path", "phone"), [("/", True), ("/decisions", False)], ids=["board", "chosen"]
)
def test_a_short_one_leaves_the_sentence_about_it_from_left_to_right(open_page, stuck, path, phone):
    runs = [stuck("one"), stuck(SHORT)]
    page = open_page(path, phone=phone)
    if not phone:
        for run in runs:
            page.get_by_role("checkbox", name=f"Select {run.name}").check()
    of = page.get_by_role("link") if phone else page.get_by_role("region", name=re.compile("^2 "))
    # This one's: what tests before it answered runs on, and has a link of its own.
    name = of.get_by_text(runs[1].name).last

    expect(name).to_be_visible()
    assert name.evaluate(STANDS_BEFORE_THE_REST)
