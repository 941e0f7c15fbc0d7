"""A turn writes a row into five tables: no index of theirs is one that another makes needless."""

from uuid import uuid4

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.db.models import ForeignKey

from missioncontrol.runs.models import JournalRow, ModelCall, Run, TelemetryRecord, Turn

COVERED = [
    (Run, "project"),
    (Turn, "run"),
    (ModelCall, "project"),
    (JournalRow, "project"),
    (JournalRow, "run"),
]


IN_ORDER = {ModelCall: "run", TelemetryRecord: "run"}
"""Read in order of their ids within a run, which this index gives at SQLite."""

SEARCHES = {"sqlite": "({}_id=?", "postgresql": "Index Cond: ({}_id = "}
"""How SQLite and PostgreSQL tell of the column by which they search an index."""


def begins_an_index(model, name):
    unique = [one for one in model._meta.constraints if getattr(one, "condition", None) is None]
    fields = [one.fields for one in [*model._meta.indexes, *unique]]
    return any(first.lstrip("-") == name for first, *_ in filter(None, fields))


@pytest.mark.parametrize("model", list(apps.get_app_config("runs").get_models()))
def test_no_foreign_key_is_indexed_by_itself_where_another_index_begins_with_it(model):
    own = [one.name for one in model._meta.fields if isinstance(one, ForeignKey) and one.db_index]

    twice = {name for name in own if begins_an_index(model, name)}
    assert twice == {IN_ORDER[model]} if model in IN_ORDER else not twice


@pytest.mark.django_db
@pytest.mark.parametrize(("model", "name"), COVERED)
def test_rows_are_found_by_the_index_that_is_left_as_a_cascade_looks_for_them(model, name):
    looked_for = model.objects.filter(**{f"{name}__in": [uuid4(), uuid4()]})

    with transaction.atomic():
        if connection.vendor == "postgresql":  # of a table without rows it would read all
            connection.cursor().execute("SET LOCAL enable_seqscan = off")
        plan = looked_for.explain()

    assert SEARCHES[connection.vendor].format(name) in plan
