"""The page preloads its screen's own files together with its code."""

import gzip
import json
import re

import pytest

from missioncontrol.api.views.pages import DESKTOP_MEDIA, PHONE_MEDIA

PRELOADS = {
    "en": {
        "history": {
            "files": ["/assets/History-1.js", "/assets/History-1.css", "/assets/history-en.js"],
            "parts": [],
        }
    },
    "de": {
        "history": {"files": ["/assets/History-1.js", "/assets/history-de.js"], "parts": []},
        "run": {"files": ["/assets/Run-1.js"], "parts": []},
        "runPhone": {"files": ["/assets/RunOnPhone-1.js"], "parts": ["/assets/Card-1.js"]},
    },
}
ANSWERS = {
    "now": "boards/",
    "decisions": "boards/",
    "run": "runs/{id}/snapshot/",
    "costs": "costs/account/?range=day&group_by=agent",
}
RUN = "01a21872-cb96-70cd-b929-f00e7dedbfb6"
PAGE = "<html><head><title>Mission Control</title></head><body></body></html>"


@pytest.fixture
def built_frontend(tmp_path, settings):
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / ".vite").mkdir()
    (tmp_path / ".vite/preloads.json").write_text(json.dumps(PRELOADS))
    (tmp_path / ".vite/answers.json").write_text(json.dumps(ANSWERS))
    settings.FRONTEND_DIST = tmp_path
    return tmp_path


def links(client, path, language="en-GB,en;q=0.9"):
    text = client.get(path, headers={"Accept-Language": language}).content.decode()
    assert text.endswith("</head><body></body></html>")
    return re.findall(r'<link rel="([^"]+)".*? media="([^"]+)" crossorigin href="([^"]+)">', text)


def test_the_page_preloads_a_screens_code_styles_and_texts(built_frontend, client):
    assert links(client, "/history") == [
        ("modulepreload", "all", "/assets/History-1.js"),
        ("preload", "all", "/assets/History-1.css"),
        ("modulepreload", "all", "/assets/history-en.js"),
    ]


def test_preloaded_texts_are_in_the_first_accepted_language_that_exists(built_frontend, client):
    named = [address for _, _, address in links(client, "/history", "fr, de-CH;q=0.8, en;q=0.5")]
    assert named == ["/assets/History-1.js", "/assets/history-de.js"]


def test_a_screen_with_a_phone_layout_is_chosen_by_media_query(built_frontend, client):
    assert links(client, "/runs/01a213b8/turns/4", "de") == [
        ("modulepreload", DESKTOP_MEDIA, "/assets/Run-1.js"),
        ("modulepreload", PHONE_MEDIA, "/assets/RunOnPhone-1.js"),
        ("modulepreload", PHONE_MEDIA, "/assets/Card-1.js"),
    ]


def preloaded(client, path, **headers):
    page = client.get(path, headers=headers).content.decode()
    return re.findall(r'<link rel="preload" as="fetch" crossorigin href="([^"]+)">', page)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/", "boards/"),
        ("/decisions", "boards/"),
        (f"/decisions/{RUN}", "boards/"),
        (f"/runs/{RUN}", f"runs/{RUN}/snapshot/"),
        (f"/runs/{RUN}/turns/4", f"runs/{RUN}/snapshot/"),
        ("/costs", "costs/account/?range=day&amp;group_by=agent"),
    ],
)
def test_a_screens_first_api_request_is_preloaded_with_the_page(
    path, answer, built_frontend, client
):
    assert preloaded(client, path) == [f"/api/v1/{answer}"]


@pytest.mark.parametrize("path", ["/history", "/costs?range=week", "/runs/x", '/runs/"><script>'])
def test_nothing_is_preloaded_that_the_address_does_not_name(path, built_frontend, client):
    assert preloaded(client, path) == []


def test_the_service_workers_copy_preloads_nothing(built_frontend, client):
    of_history = client.get("/history", headers={"Sec-Fetch-Dest": "empty"})

    assert of_history.content.decode() == PAGE
    assert preloaded(client, "/", **{"Sec-Fetch-Dest": "empty"}) == []
    assert preloaded(client, "/", **{"Sec-Fetch-Dest": "document"}) == ["/api/v1/boards/"]


def test_the_page_is_compressed_for_a_browser_that_accepts_gzip(built_frontend, client):
    plain = client.get("/history").content

    packed = client.get("/history", headers={"Accept-Encoding": "gzip, deflate, br"})

    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain


@pytest.mark.parametrize("path", ["/no-such-screen", '/"><script>'])
def test_an_address_without_a_screen_gets_the_page_alone(built_frontend, client, path):
    assert client.get(path).content.decode() == PAGE


def test_a_build_without_preload_tables_still_serves_its_page(built_frontend, client):
    (built_frontend / ".vite/preloads.json").unlink()
    (built_frontend / ".vite/answers.json").unlink()
    assert client.get("/history").content.decode() == PAGE
    assert client.get("/").content.decode() == PAGE


def test_the_page_is_served_as_built(built_frontend, client):
    page = PAGE.replace("Mission", "Mißion\r\n").encode()
    (built_frontend / "index.html").write_bytes(page)
    assert client.get("/no-such-screen").content == page
