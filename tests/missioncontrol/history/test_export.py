"""Exports: everything a filter leaves, in bounded memory, safe in a spreadsheet."""

import asyncio
import csv
import io
import json

import pytest
from asgiref.sync import ThreadSensitiveContext
from django.db import connection
from django.test import AsyncClient, AsyncRequestFactory, RequestFactory
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.request import Request

from missioncontrol.api.rest import CHUNK_BYTES, stream_file
from missioncontrol.history.search import CSV_COLUMNS
from missioncontrol.reports.texts import FORMULA, safe_cell
from missioncontrol.runs.models import Run
from missioncontrol.runs.statements import pages_of
from tests.build import a_call, a_run, a_stuck_run, report

CSV = {"as": "csv"}
pytestmark = pytest.mark.django_db


def export(client, **query):
    response = client.get("/api/v1/runs/export/", query)
    assert response.status_code == 200
    return b"".join(response.streaming_content).decode()


def test_json_lines_are_the_rows_of_the_list(project, as_person, owner):
    report(a_run(project, name="dear"), a_call(cost_usd="2.5"))
    a_stuck_run(project, name="stuck")
    client = as_person(owner)

    lines = [json.loads(line) for line in export(client).splitlines()]

    listed = client.get("/api/v1/runs/").json()["results"]
    for row in (*lines, *listed):
        row.pop("burn_usd_per_hour")  # of this moment
    assert lines == listed


def test_a_csv_file_is_read_back_as_it_was(project, as_person, owner):
    report(a_run(project, name='a "quoted", name', goal="two\nlines"), a_call(cost_usd="2.5"))

    (row,) = csv.DictReader(io.StringIO(export(as_person(owner), **CSV), newline=""))

    assert tuple(row) == tuple(CSV_COLUMNS)
    assert (row["name"], row["goal"]) == ('a "quoted", name', "two\nlines")
    assert (row["turns"], float(row["cost_usd"])) == ("1", 2.5)


def test_the_filter_goes_with_the_export(project, as_person, owner):
    report(a_run(project, name="dear"), a_call(cost_usd="2.5"))
    a_run(project, name="cheap")

    assert export(as_person(owner), q="cost:>1", **CSV).count("\r\n") == 2
    assert json.loads(export(as_person(owner), q="cost:<1"))["name"] == "cheap"


def test_no_cell_is_a_formula(project, as_person, owner):
    a_run(project, name="=HYPERLINK('http://evil')", goal="@SUM(A1)", agent="-2+3")

    (row,) = csv.DictReader(io.StringIO(export(as_person(owner), **CSV)))

    assert (row["name"][:2], row["goal"][:2], row["agent"]) == ("'=", "'@", "'-2+3")


@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff20"])
def test_no_sign_that_some_spreadsheet_runs_begins_a_cell(begins):
    assert safe_cell(f"{begins}1+1") == f"'{begins}1+1"


@given(st.text() | st.none() | st.integers() | st.booleans())
def test_a_cell_never_begins_like_a_formula(value):
    assert not safe_cell(value).startswith(FORMULA)


def test_a_stranger_exports_nothing_of_ours(project, as_person, stranger):
    a_run(project)

    assert export(as_person(stranger)) == ""


def test_another_format_is_refused(as_person, owner):
    assert as_person(owner).get("/api/v1/runs/export/?as=exe").status_code == 400


def test_pages_hold_each_row_once_while_others_arrive(project):
    for n in range(5):
        a_run(project, name=f"run {n}")
    pages = pages_of(Run.objects.order_by("-id"), size=2)

    seen = [next(pages)]
    a_run(project, name="new")
    seen += list(pages)

    assert [run.name for page in seen for run in page] == [f"run {n}" for n in (4, 3, 2, 1, 0)]


def test_lines_leave_in_parts_of_a_bounded_size():
    lines = (b"x" * 1000 for _ in range(1000))
    response = stream_file(Request(RequestFactory().get("/")), lines, kind="jsonl", name="runs")

    sizes = [len(part) for part in response.streaming_content]

    assert sum(sizes) == 1_000_000
    assert max(sizes) < CHUNK_BYTES + 1000


@pytest.mark.django_db(transaction=True)
def test_under_asgi_an_export_is_streamed_too(project, owner):
    a_run(project, name="one")

    async def fetch():
        client = AsyncClient()
        await client.aforce_login(owner)
        response = await client.get("/api/v1/runs/export/")
        assert response.is_async
        return b"".join([part async for part in response.streaming_content])

    assert json.loads(asyncio.run(fetch()))["name"] == "one"


@pytest.mark.django_db(transaction=True)
def test_what_it_reads_by_goes_back_to_the_pool_before_each_part_leaves(monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)  # as where there is a pool
    held = []

    def lines():
        for _ in range(3):
            held.append(connection.connection)
            Run.objects.exists()
            yield b"x" * CHUNK_BYTES
        held.append(connection.connection)

    async def fetch():
        request = Request(AsyncRequestFactory().get("/"))
        async with ThreadSensitiveContext():
            parts = stream_file(request, lines(), kind="jsonl", name="runs").streaming_content
            return [len(part) async for part in parts]

    assert asyncio.run(fetch()) == [CHUNK_BYTES] * 3
    assert held == [None] * 4
