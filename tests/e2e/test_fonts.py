"""The screens' own faces: served by us, figures of one width, and no shift when they come."""

import pytest

from tests.installations import wait_for

pytestmark = pytest.mark.screens

WIDTH = """([text, font]) => {
  const line = Object.assign(document.createElement("span"), { textContent: text });
  Object.assign(line.style, { font, position: "absolute", whiteSpace: "pre" });
  line.style.fontVariantNumeric = "tabular-nums";
  document.body.append(line);
  const { width, height } = line.getBoundingClientRect();
  line.remove();
  return [width, height];
}"""
FACES = ["var(--font)", "var(--mono)"]
STAND_INS = {"var(--font)": "'Inter Fallback'", "var(--mono)": "'JetBrains Mono Fallback'"}
ALL_COME = "Promise.all([...document.fonts].map((face) => face.load().catch(() => null)))"
ASKED = "performance.getEntriesByType('resource')"
SAID = "The agent ran the same test four times and got identical output each time."


def measure(page, text, face):
    return page.evaluate(WIDTH, [text, f"16px / normal {face}"])


@pytest.mark.parametrize("face", FACES)
def test_digits_have_equal_widths(open_page, face):
    page = open_page("/costs")
    page.evaluate(ALL_COME)

    assert measure(page, "1111", face) == measure(page, "8888", face)


def test_both_fonts_are_served_from_our_origin(open_page):
    page = open_page("/costs")

    page.evaluate(ALL_COME)

    asked = page.evaluate(f"{ASKED}.map(({{ name }}) => name)")
    fonts = [name for name in asked if name.endswith(".woff2")]
    assert len(set(fonts)) == 2
    assert all(font.startswith(page.evaluate("location.origin")) for font in fonts)


def test_fonts_are_requested_after_everything_that_draws_the_screen(open_page):
    page = open_page("/")
    # What is drawn asks for its face, and may not be drawn yet. Asked from here: in the page
    # `wait_for_function` evaluates a text again and again, which our policy forbids.
    wait_for(lambda: page.evaluate(f"{ASKED}.some(({{ name }}) => name.endsWith('.woff2'))"))

    asked = page.evaluate(f"{ASKED}.map(({{ name, startTime }}) => [name, startTime])")

    html = page.request.get(page.url).text()
    fonts = [at for name, at in asked if name.endswith(".woff2")]
    scripts = [at for name, at in asked if name.endswith(".js") and name.split("/")[-1] in html]
    assert min(fonts) > max(scripts)


def test_signed_out_pages_have_both_fonts_too(open_page):
    page = open_page("/login/", signed_in=False)
    page.evaluate("document.fonts.ready")

    faces = page.evaluate("[...document.fonts].map(({ family, status }) => [family, status])")
    assert sorted(faces) == [["Inter Variable", "loaded"], ["JetBrains Mono Variable", "loaded"]]


@pytest.mark.parametrize("face", FACES)
def test_the_fallback_font_takes_the_same_space(open_page, face):
    page = open_page("/costs")
    page.evaluate(ALL_COME)
    own = measure(page, SAID, face)
    stand_in = measure(page, SAID, STAND_INS[face])

    assert stand_in[1] == pytest.approx(own[1], abs=1)
    assert stand_in[0] == pytest.approx(own[0], rel=0.03)
