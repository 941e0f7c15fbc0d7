"""A page is printed: dark ink on white paper, all of it, and nothing to tap."""

from playwright.sync_api import expect

CUT = """() => [...document.querySelectorAll("main, main .page")].filter(
  (part) =>
    part.scrollHeight > part.clientHeight + 1 &&
    getComputedStyle(part).overflowY !== "visible"
).length"""


def test_a_long_page_is_printed_completely_and_dark_on_white(open_page):
    page = open_page("/settings/instance", color_scheme="dark")
    expect(page.get_by_text("Celery")).to_be_visible()
    page.set_viewport_size({"width": 794, "height": 400})
    heading = page.locator("h1")

    page.emulate_media(media="print")

    expect(page.get_by_role("navigation", name="Main")).to_have_count(0)
    expect(page.get_by_text("Celery")).to_be_in_viewport()
    assert page.evaluate(CUT) == 0
    assert page.evaluate("document.documentElement.scrollHeight > innerHeight")
    assert heading.evaluate("title => getComputedStyle(title).color") == "rgb(0, 0, 0)"


def test_a_list_of_cards_is_printed_as_long_as_it_is(open_page, stuck):
    runs = [stuck(name) for name in ("one", "two", "three", "four")]
    page = open_page("/")
    cards = page.get_by_role("list").filter(has_text=runs[3].name)
    expect(cards).to_have_css("contain", "size")

    page.emulate_media(media="print")

    expect(cards).to_have_css("contain", "none")
    expect(cards).to_have_css("overflow-y", "visible")
    expect(page.get_by_role("button", name="Terminate")).to_have_count(0)
