"""Querysets compiled once read what Django reads, for any number of values."""

import pytest
from django.db import connection
from django.db.models import F

from missioncontrol.compiled_queries import MAX_LIST_LENGTH, CompiledQuery
from missioncontrol.ids import new_id
from missioncontrol.runs.models import LONG_COLUMNS, Run, Turn
from tests.build import a_call, a_run, put

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(project):
    return [a_run(project, name=str(number), metadata={"n": number}) for number in range(5)]


def by_id(ids):
    return Run.objects.filter(pk__in=ids).order_by("pk")


@pytest.mark.parametrize("number", range(1, 6))
def test_it_reads_the_rows_that_the_queryset_reads(number, runs):
    ids = {run.id for run in runs[:number]}

    read = CompiledQuery(by_id).fetch(ids)

    assert [one.__dict__ | {"_state": None} for one in read] == [
        one.__dict__ | {"_state": None} for one in by_id(ids)
    ]


def test_an_empty_list_needs_no_query(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert CompiledQuery(by_id).fetch([]) == []


def test_the_same_statement_serves_different_values(runs):
    query = CompiledQuery(by_id)

    assert [[run.name for run in query.fetch([one.id])] for one in runs] == [
        [one.name] for one in runs
    ]


def test_two_lists_are_not_mixed_up(runs):
    for run in runs[:2]:
        put(run, a_call(key="a"), a_call(key="b"), a_call(key="c"))
    query = CompiledQuery(lambda ids, keys: Turn.objects.filter(run__in=ids, key__in=keys))

    found = query.fetch([runs[0].id, runs[3].id], {"a", "c", "x"})

    assert {(turn.run_id, turn.key) for turn in found} == {(runs[0].id, "a"), (runs[0].id, "c")}


def test_an_annotation_beside_a_joined_row_is_read(runs):
    query = CompiledQuery(
        lambda ids: by_id(ids).select_related("meters").annotate(of=F("project__name"))
    )

    found = query.fetch([runs[0].id])[0]

    assert (found.of, found.meters.lineage_forgotten) == (runs[0].project.name, {})


def test_a_deferred_column_is_read_on_access(runs):
    query = CompiledQuery(lambda ids: by_id(ids).defer(*LONG_COLUMNS))

    run = query.fetch([runs[4].id])[0]

    assert run.get_deferred_fields() == set(LONG_COLUMNS)
    assert run.metadata == {"n": 4}


def test_a_row_is_saved_like_any_other(runs):
    run = CompiledQuery(by_id).fetch([runs[0].id])[0]
    run.name = "renamed"

    run.save(update_fields=["name"])

    assert Run.objects.get(pk=run.pk).name == "renamed"
    assert run == runs[0]


def test_it_is_compiled_once_for_lengths_up_to_a_power_of_two(runs):
    built = []
    query = CompiledQuery(lambda ids: built.append(len(ids)) or by_id(ids))

    for number in (1, 1, 3, 4, 3, 5):
        assert len(query.fetch([run.id for run in runs[:number]])) == number

    # An array of PostgreSQL's is one value, however many it has.
    assert built == ([1] if connection.vendor == "postgresql" else [1, 4, 8])


def test_a_very_long_list_is_read_without_keeping_a_statement(runs):
    built = []
    query = CompiledQuery(lambda ids: built.append(len(ids)) or by_id(ids))
    many = [run.id for run in runs] + [new_id() for _ in range(MAX_LIST_LENGTH)]

    assert query.fetch(many) == runs
    assert query.fetch(many) == runs

    assert built == ([1] if connection.vendor == "postgresql" else [MAX_LIST_LENGTH + 5] * 2)
