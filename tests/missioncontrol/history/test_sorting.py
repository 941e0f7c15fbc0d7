"""Runs in the order of a column, page by page."""

from datetime import timedelta
from decimal import Decimal

import pytest

from missioncontrol.history.search import SORTS
from missioncontrol.runs.models import Run, RunMeters
from tests.build import NOON, a_call, a_run, a_stuck_run, put

pytestmark = pytest.mark.django_db


@pytest.fixture
def pages(as_person, owner):
    """Return a reader of all pages of an order, one run a page: their names."""
    client = as_person(owner)

    def read(sort, limit=1):
        names, address = [], f"/api/v1/runs/?sort={sort}&limit={limit}"
        while address:
            answer = client.get(address)
            assert answer.status_code == 200, answer.content
            names += [row["name"] for row in answer.json()["results"]]
            address = answer.json()["next"]
        return names

    return read


def shaped(project, name, **columns):
    run = a_run(project, name=name)
    of_meters = columns.keys() <= {field.name for field in RunMeters._meta.fields}
    (RunMeters if of_meters else Run).objects.filter(pk=run.pk).update(**columns)


@pytest.mark.parametrize(
    ("sort", "columns"),
    [
        ("cost", {"cost_usd": (Decimal("0.1"), Decimal("0.300001"), Decimal(12))}),
        ("turns", {"last_seq": (2, 10, 100)}),
        ("status", {"status": ("completed", "held", "running")}),
        ("agent", {"agent": ("alpha", "Beta", "gamma")}),
        ("score", {"highest_score": (None, 0.1, 0.7)}),
        ("started", {"started_at": tuple(NOON + timedelta(hours=n) for n in range(3))}),
        ("name", {}),
    ],
)
def test_each_column_sorts_both_ways_a_page_at_a_time(project, pages, sort, columns):
    for at, name in ((1, "b"), (2, "c"), (0, "a")):
        shaped(project, name, **{column: values[at] for column, values in columns.items()})

    assert pages(sort) == ["a", "b", "c"]
    assert pages(f"-{sort}") == ["c", "b", "a"]


def test_what_is_equal_is_paged_without_a_gap(project, pages):
    for name in "abcde":
        a_run(project, name=name)

    assert pages("-cost", limit=2) == ["e", "d", "c", "b", "a"]


def test_the_run_whose_loops_cost_most_comes_first(project, pages):
    a_run(project, name="calm")
    a_stuck_run(project, name="stuck")
    put(a_run(project, name="calm too"), a_call())
    run = Run.objects.get(name="stuck")
    card = run.decisions.get()
    card.evidence["cost_usd"] = "0.75"
    card.save(update_fields=["evidence"])

    assert pages("-loops") == ["stuck", "calm too", "calm"]
    assert pages("loops") == ["calm", "calm too", "stuck"]


def test_a_strangers_runs_are_not_among_them(project, stranger, as_person):
    a_run(project)

    assert as_person(stranger).get("/api/v1/runs/?sort=cost").json()["results"] == []


@pytest.mark.parametrize(
    "asked",
    ["sort=colour", "sort=cost&cursor=x", 'sort=cost&cursor=["x","y"]', "sort=cost&cursor=1"],
)
def test_nonsense_is_refused(as_person, owner, asked):
    assert as_person(owner).get(f"/api/v1/runs/?{asked}").status_code == 400


def test_every_column_is_tried_here():
    tried = {"cost", "turns", "status", "agent", "score", "started", "name", "loops"}
    assert set(SORTS) == tried
