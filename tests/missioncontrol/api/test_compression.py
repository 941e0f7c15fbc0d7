"""JSON is compressed for our own pages, and for nobody who could make somebody's browser ask."""

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


def test_a_page_of_ours_reads_the_same_in_fewer_bytes(read):
    plain, packed = read("runs/", {}), read("runs/", OURS)

    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    assert len(packed.content) < len(plain.content) / 2


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", None])
def test_whoever_else_has_it_asked_learns_nothing_by_its_size(site, read):
    asked = {**GZIP, "Sec-Fetch-Site": site} if site else GZIP

    assert "Content-Encoding" not in read("runs/", asked)


def test_a_browser_that_cannot_unpack_reads_it_as_it_is(read):
    assert "Content-Encoding" not in read("runs/", {"Sec-Fetch-Site": "same-origin"})


def test_equal_answers_differ_in_size(read):
    assert len({len(read("runs/", OURS).content) for _ in range(20)}) > 1


def test_a_file_goes_out_as_it_is(read):
    answer = read("runs/export/?as=jsonl", OURS)

    assert answer.status_code == 200
    assert "Content-Encoding" not in answer
