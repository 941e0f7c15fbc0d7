"""Rows to and from the driver: the same values as Django's own way, without its steps."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from django.db import connection
from django.db.models import JSONField
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb
from psycopg.types.numeric import Int4, Int8

from missioncontrol.compiled_queries import column_reader
from missioncontrol.costs.models import Spend
from missioncontrol.ids import new_id
from missioncontrol.runs.models import JournalRow, ModelCall, Run, Turn
from missioncontrol.runs.statements import column_writer, new_row, update_columns
from tests.build import a_run

WIDTHS = (Int4, Int8)
"""How wide a parameter is for PostgreSQL, which the column says all the same: whole numbers."""
MODELS = [JournalRow, ModelCall, Run, Spend, Turn]
FIELDS = [field for model in MODELS for field in model._meta.concrete_fields]
EXAMPLES = {
    "UUIDField": new_id(),
    "DateTimeField": datetime(2026, 3, 4, 5, 6, 7, 890, tzinfo=timezone(timedelta(hours=2))),
    "JSONField": {"ä": [1, 2.5, None, True], "empty": {}},
    "DecimalField": Decimal("1.25"),
    "BooleanField": True,
    "FloatField": 0.1,
    "IntegerField": 7,
    "BigIntegerField": 2**40,
    "BigAutoField": 7,
    "CharField": "text",
    "TextField": "text",
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize("field", FIELDS, ids=str)
def test_a_column_is_written_as_django_writes_it(field):
    target = getattr(field, "target_field", field)
    value = EXAMPLES[target.get_internal_type()]
    write = column_writer(field, connection)

    written = value if write is None else write(value)

    theirs = field.get_db_prep_save(value, connection)
    if isinstance(target, JSONField):  # without their blanks; psycopg wraps the value
        assert json.loads(written) == (
            theirs.obj if isinstance(theirs, Jsonb) else json.loads(theirs)
        )
        return
    assert str(written) == str(theirs)
    assert type(written) is (int if isinstance(theirs, WIDTHS) else type(theirs))


@pytest.mark.parametrize("field", [one for one in FIELDS if column_reader(one, "sqlite")], ids=str)
def test_a_column_is_read_as_it_was_written(field):
    target = getattr(field, "target_field", field)
    value = EXAMPLES[target.get_internal_type()]
    read = column_reader(field, "sqlite")
    stored = {
        "UUIDField": lambda: value.hex,
        "DateTimeField": lambda: value.astimezone(UTC).replace(tzinfo=None),
        "JSONField": lambda: json.dumps(value),
    }[target.get_internal_type()]()

    assert read(stored) == value
    assert read(None) is None


@given(json_values)
def test_any_json_is_read_as_python_reads_it(value):
    read = column_reader(Run._meta.get_field("budget"), "sqlite")
    text = json.dumps(value)

    assert json.dumps(read(text)) == json.dumps(json.loads(text))


@given(json_values)
def test_any_json_is_written_as_it_is_read(value):
    field = Run._meta.get_field("budget")
    write = column_writer(field, connection) if connection.vendor == "sqlite" else json.dumps

    assert json.loads(write(value)) == value


def test_json_with_a_lone_surrogate_is_still_written():
    field = Run._meta.get_field("budget")
    write = column_writer(field, connection) if connection.vendor == "sqlite" else json.dumps

    assert json.loads(write(["\ud800"])) == ["\ud800"]


@pytest.mark.parametrize("key", [None, True, 1, 1.5, float("inf")], ids=str)
def test_a_key_is_written_as_django_writes_it(key):
    field = Run._meta.get_field("budget")
    write = column_writer(field, connection) if connection.vendor == "sqlite" else json.dumps

    assert json.loads(write([{key: 1}])) == json.loads(json.dumps([{key: 1}]))


def test_json_that_contains_itself_is_refused():
    endless = []
    endless.append(endless)
    field = Run._meta.get_field("budget")
    write = column_writer(field, connection) if connection.vendor == "sqlite" else json.dumps

    with pytest.raises(ValueError, match="Circular reference"):
        write(endless)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "value",
    [b"x", {"at": datetime(2026, 3, 4, tzinfo=UTC)}, [[{1}]], {"id": new_id()}, {(1, 2): 1}],
    ids=["bytes", "a date", "a set", "an id", "a pair as key"],
)
def test_values_that_are_not_json_raise_the_same_error_as_in_django(value):
    run = a_run()
    run.budget = value

    with pytest.raises(TypeError) as theirs:
        json.dumps(value)

    with pytest.raises(TypeError, match=re.escape(str(theirs.value))):
        update_columns(Run, ("budget",), [run])


def test_json_with_a_lone_surrogate_is_still_read():
    read = column_reader(Run._meta.get_field("budget"), "sqlite")

    assert read('["\\ud800"]') == ["\ud800"]


@pytest.mark.parametrize("model", MODELS)
def test_a_new_row_has_the_models_defaults(model):
    made, theirs = new_row(model, id=new_id()), model()

    assert made._state.adding
    assert {
        name: made.__dict__[name] for name in theirs.__dict__ if name not in {"_state", "id"}
    } == {name: value for name, value in theirs.__dict__.items() if name not in {"_state", "id"}}


def test_new_rows_share_no_list():
    one, other = (new_row(Turn, run_id=new_id()) for _ in range(2))
    one.files.append("a.py")

    assert other.files == []
    assert one.id != other.id
