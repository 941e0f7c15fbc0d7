"""JSON is compressed only for requests of our own pages."""

import gzip

import pytest

from tests.build import a_run

pytestmark = pytest.mark.django_db

GZIP = {"Accept-Encoding": "gzip, br"}
OURS = {**GZIP, "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def read(project, owner, as_person):
    """Return a reader of long answers, as their owner."""
    for n in range(5):
        a_run(project, name=f"run {n}")
    client = as_person(owner)
    return lambda path, headers: client.get(f"/api/v1/{path}", headers=headers)


def test_a_same_origin_request_gets_a_compressed_response(read):
    plain, packed = read("runs/", {}), read("runs/", OURS)

    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    assert len(packed.content) < len(plain.content) / 2


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", None])
def test_a_cross_site_request_gets_an_uncompressed_response(site, read):
    asked = {**GZIP, "Sec-Fetch-Site": site} if site else GZIP

    assert "Content-Encoding" not in read("runs/", asked)


def test_a_browser_without_gzip_gets_an_uncompressed_response(read):
    assert "Content-Encoding" not in read("runs/", {"Sec-Fetch-Site": "same-origin"})


def test_equal_responses_differ_in_compressed_size(read):
    assert len({len(read("runs/", OURS).content) for _ in range(20)}) > 1


def test_a_file_is_not_compressed(read):
    answer = read("runs/export/?as=jsonl", OURS)

    assert answer.status_code == 200
    assert "Content-Encoding" not in answer
