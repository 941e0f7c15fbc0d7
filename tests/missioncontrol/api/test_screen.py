"""The page asks for its screen's own files beside its code, not after that ran."""

import json
import re

import pytest

PRELOADS = {
    "en": {"history": ["/assets/History-1.js", "/assets/History-1.css", "/assets/history-en.js"]},
    "de": {
        "history": ["/assets/History-1.js", "/assets/history-de.js"],
        "run": ["/assets/Run-1.js"],
        "runPhone": ["/assets/RunOnPhone-1.js"],
    },
}
PAGE = "<html><head><title>Mission Control</title></head><body></body></html>"


@pytest.fixture
def built(tmp_path, settings):
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / ".vite").mkdir()
    (tmp_path / ".vite/preloads.json").write_text(json.dumps(PRELOADS))
    settings.FRONTEND_DIST = tmp_path
    return tmp_path


def links(client, path, language="en-GB,en;q=0.9"):
    text = client.get(path, headers={"Accept-Language": language}).content.decode()
    assert text.endswith("</head><body></body></html>")
    return re.findall(r'<link rel="([^"]+)".*? media="([^"]+)" crossorigin href="([^"]+)">', text)


def test_a_screen_s_code_styles_and_texts_are_named(built, client):
    assert links(client, "/history") == [
        ("modulepreload", "all", "/assets/History-1.js"),
        ("preload", "all", "/assets/History-1.css"),
        ("modulepreload", "all", "/assets/history-en.js"),
    ]


def test_the_texts_are_those_that_the_browser_asks_for_first_and_can_be_had(built, client):
    named = [address for _, _, address in links(client, "/history", "fr, de-CH;q=0.8, en;q=0.5")]
    assert named == ["/assets/History-1.js", "/assets/history-de.js"]


def test_a_screen_that_phones_have_their_own_of_is_chosen_by_the_width(built, client):
    assert links(client, "/runs/01a213b8/turns/4", "de") == [
        ("modulepreload", "(min-width: 760px)", "/assets/Run-1.js"),
        ("modulepreload", "(max-width: 759.98px)", "/assets/RunOnPhone-1.js"),
    ]


@pytest.mark.parametrize("path", ["/", "/no-such-screen", '/"><script>'])
def test_an_address_without_a_screen_gets_the_page_alone(built, client, path):
    assert client.get(path).content.decode() == PAGE


def test_a_build_that_lists_nothing_still_has_its_page(built, client):
    (built / ".vite/preloads.json").unlink()
    assert client.get("/history").content.decode() == PAGE


def test_the_page_is_answered_as_it_was_built(built, client):
    page = PAGE.replace("Mission", "Mißion\r\n").encode()
    (built / "index.html").write_bytes(page)
    assert client.get("/no-such-screen").content == page
