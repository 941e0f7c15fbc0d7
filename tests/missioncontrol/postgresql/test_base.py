"""PostgreSQL is asked for much at once, and nothing is lost or turned about by it."""

import gc
import re
import tempfile
from pathlib import Path

import psycopg
import pytest
from django.db import (
    DatabaseError,
    DataError,
    IntegrityError,
    InternalError,
    OperationalError,
    connection,
    transaction,
)
from django.test.utils import CaptureQueriesContext

from guard.turn import Usage
from missioncontrol import env
from missioncontrol.detection import pipeline
from missioncontrol.detection.engine_cache import _UNJUDGED_TURNS
from missioncontrol.postgresql import base
from missioncontrol.postgresql import base as pipeline_
from missioncontrol.postgresql.base import DatabaseWrapper
from missioncontrol.runs.ingest import Arrival, store
from missioncontrol.runs.models import JournalRow, Run, Turn
from missioncontrol.runs.statements import insert_rows, update_columns
from tests.build import NOON, a_call, a_project, a_run, report

pytestmark = [
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="SQLite runs in the process that asks it"
    ),
    pytest.mark.django_db(transaction=True),
]


def a_paid_call(number):
    usage = Usage(input=100 + number, output=5)
    return a_call(f"cat {number}.py", usage=usage, model="claude-sonnet-4-5", provider="anthropic")


def round_trips(action):
    """Count what the driver waits for: each ends with a Sync, or is a query of the simple kind."""
    with tempfile.TemporaryFile("w+") as traced:
        connection.connection.pgconn.trace(traced.fileno())
        action()
        connection.connection.pgconn.untrace()
        traced.seek(0)
        return len(re.findall(r"\tF\t\d+\t(?:Sync|Query)\b", traced.read()))


def storing(run, *turns):
    arrival = Arrival(run=run.id, project=run.project_id, turns=turns)
    return lambda: store([arrival], at=NOON)


def judging(run):
    return lambda: pipeline.detect([run.id], at=NOON)


def rename(run):
    run.name = "renamed"
    update_columns(Run, ("name",), [run])


@transaction.atomic
def store_twice(turn, *, also=lambda: None):
    insert_rows(Turn, [turn])
    also()


@transaction.atomic
def rename_despite(run, fault):
    rename(run)
    fault()


def divide_by_zero():
    with pytest.raises(DataError):
        connection.read(("SELECT 1 / %s", [0]))


def fail():
    raise LookupError


@pytest.fixture
def run():
    """An agent at work: what is asked once a connection was asked."""
    run = a_run(a_project(), name="tests")
    for number in range(2):
        storing(run, a_paid_call(number))()
        judging(run)()
    return run


def test_turns_are_stored_in_two_round_trips(run):
    assert round_trips(storing(run, a_paid_call(2))) == 2


def test_turns_are_judged_in_three_round_trips(run):
    storing(run, a_paid_call(2))()

    assert round_trips(judging(run)) == 3


def test_a_write_is_visible_to_the_next_statement(run):
    with transaction.atomic():
        rename(run)

        assert Run.objects.get().name == "renamed"


def test_the_last_write_is_committed(run):
    with transaction.atomic():
        rename(run)

    assert Run.objects.get().name == "renamed"


def test_a_write_outside_of_any_transaction_is_committed_at_once(run):
    rename(run)

    with another_connection() as another:
        assert another.execute("SELECT name FROM runs_run").fetchall() == [("renamed",)]


def test_pending_writes_are_discarded_with_their_transaction(run):
    with transaction.atomic():
        rename(run)
        transaction.set_rollback(True)

    assert Run.objects.get().name == "tests"


def test_pending_writes_are_discarded_with_their_savepoint(run):
    with transaction.atomic():
        with transaction.atomic():
            rename(run)
            transaction.set_rollback(True)
        run.goal = "kept"
        update_columns(Run, ("goal",), [run])

    assert (Run.objects.get().name, Run.objects.get().goal) == ("tests", "kept")


def test_a_failing_write_raises_at_the_end_of_its_transaction_and_rolls_it_back(run):
    with pytest.raises(IntegrityError):
        store_twice(Turn.objects.first(), also=lambda: rename(run))

    assert Run.objects.get().name == "tests"


def test_a_write_that_fails_raises_where_its_savepoint_ends(run):
    with transaction.atomic():
        rename(run)
        with pytest.raises(IntegrityError):
            store_twice(Turn.objects.first())

    assert Run.objects.get().name == "renamed"


def test_a_pending_write_that_would_fail_leaves_what_was_before_its_savepoint(run):
    with transaction.atomic():
        rename(run)
        with pytest.raises(LookupError):
            store_twice(Turn.objects.first(), also=fail)

    assert Run.objects.get().name == "renamed"


def test_a_cursor_from_before_a_write_sees_it(run):
    with transaction.atomic(), connection.cursor() as cursor:
        rename(run)
        cursor.execute("SELECT name FROM runs_run")
        assert cursor.fetchall() == [("renamed",)]


def test_a_cursor_from_before_a_transaction_writes_inside_of_it(run):
    with connection.cursor() as cursor, transaction.atomic():
        cursor.executemany("UPDATE runs_run SET name = %s", [["renamed"]])
        transaction.set_rollback(True)

    assert Run.objects.get().name == "tests"


def test_a_cursor_that_logs_its_queries_keeps_the_same_order(run):
    with (
        CaptureQueriesContext(connection) as logged,
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        rename(run)
        cursor.execute("SELECT 1")

    asked = [query["sql"].partition(" ")[0] for query in logged.captured_queries]
    assert asked == ["BEGIN", "UPDATE", "SELECT", "COMMIT"]


def test_without_autocommit_a_write_waits_for_the_commit(run):
    connection.set_autocommit(False)
    try:
        rename(run)
        connection.rollback()
    finally:
        connection.set_autocommit(True)

    assert Run.objects.get().name == "tests"


def test_nothing_is_written_in_a_transaction_that_must_be_rolled_back(run):
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(transaction.TransactionManagementError):
            rename(run)


def test_a_transaction_in_which_a_statement_failed_is_not_taken_for_committed(run):
    with pytest.raises(InternalError, match="nothing of its transaction"):
        rename_despite(run, divide_by_zero)

    assert Run.objects.get().name == "tests"


def test_a_connection_that_ends_before_the_commit_raises(run):
    with another_connection() as another, pytest.raises(OperationalError):
        rename_despite(run, lambda: end(another, connection))

    assert Run.objects.get().name == "tests"


def test_a_doubled_percent_sign_is_one(run):
    asked = "SELECT %s LIKE '%%s', 'a%%'"

    assert connection.read((asked, ["as"])) == [[(True, "a%")]]


def test_a_failed_commit_runs_no_on_commit_callbacks(run):
    done = []

    with pytest.raises(IntegrityError):
        store_twice(
            Turn.objects.first(),
            also=lambda: transaction.on_commit(lambda: done.append("published")),
        )

    assert not done
    assert connection.get_autocommit()


def test_a_server_side_cursor_ends_with_its_transaction(run):
    with transaction.atomic():
        rows = JournalRow.objects.iterator(chunk_size=1)
        next(rows)
        with connection.cursor() as cursor:
            cursor.execute("SELECT is_holdable FROM pg_cursors WHERE name LIKE '_django%'")
            assert cursor.fetchall() == [(False,)]
        rows.close()


def test_a_connection_that_the_server_ended_is_replaced_before_it_is_used(run):
    with another_connection() as another:
        end(another, connection)
    connection.close_if_unusable_or_obsolete()

    assert Run.objects.get().name == "tests"


def test_a_pool_lends_no_connection_that_the_server_ended(run, monkeypatch):
    pooled = a_pooled_connection(monkeypatch)
    try:
        with pooled.cursor() as cursor:
            cursor.execute("SELECT 1")
        with another_connection() as another:
            end(another, pooled)
        pooled.close()  # gives it back

        with pooled.cursor() as cursor:
            cursor.execute("SELECT name FROM runs_run")
            assert cursor.fetchall() == [("tests",)]
    finally:
        pooled.close()
        pooled.close_pool()


def test_a_connection_is_lent_without_asking_the_server(run, monkeypatch):
    pooled = a_pooled_connection(monkeypatch)
    pooled.ensure_connection()
    lent = pooled.connection
    with tempfile.TemporaryFile("w+") as traced:
        lent.pgconn.trace(traced.fileno())
        pooled.close()
        pooled.ensure_connection()
        lent.pgconn.untrace()
        traced.seek(0)
        pooled.close()
        pooled.close_pool()

        assert traced.read() == ""


def test_statements_after_a_failed_one_are_prepared_when_they_are_repeated(run):
    """A name that PostgreSQL has never heard of would fail from then on."""
    with pytest.raises(IntegrityError):
        store_twice(Turn.objects.first(), also=lambda: rename(run))
    rename(run)

    assert Run.objects.get().name == "renamed"


def test_a_connection_drops_its_prepared_statements_before_there_are_too_many(run, monkeypatch):
    monkeypatch.setattr(pipeline_, "MAX_PREPARED", 3)
    for number in range(6):
        assert connection.read((f"SELECT {number} + %s", [1])) == [[(number + 1,)]]

    (((kept,),),) = connection.read(("SELECT count(*) FROM pg_prepared_statements", []))
    assert kept <= 4


def test_a_plan_from_before_a_table_changed_is_made_again(run):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE changed AS SELECT 1 AS number")
        asked = ("SELECT number FROM changed WHERE number = %s", [1])
        assert connection.read(asked) == [[(1,)]]
        cursor.execute("ALTER TABLE changed ALTER number TYPE bigint")

        with pytest.raises(DatabaseError):
            connection.read(asked)
        assert connection.read(asked) == [[(1,)]]
        cursor.execute("DROP TABLE changed")


def test_a_released_connection_is_not_kept_alive(run):
    before = len(base._pipelines)
    connection.read(("SELECT 1", []))
    connection.close()
    gc.collect()

    assert len(base._pipelines) < before


def test_a_text_with_a_nul_is_refused_and_not_cut_short(run):
    run.name = "one\0two"
    with pytest.raises(DataError, match="NUL"):
        update_columns(Run, ("name",), [run])

    assert Run.objects.get().name == "tests"


def test_a_connection_that_ends_during_a_query_is_replaced(run):
    with pytest.raises(OperationalError):
        connection.read(
            ("SELECT pg_terminate_backend(pg_backend_pid(), %s)", [0]), ("SELECT 1", [])
        )
    connection.close_if_unusable_or_obsolete()

    assert connection.read(("SELECT name FROM runs_run", [])) == [[("tests",)]]


def write_by_pipeline(wrapper):
    wrapper.write("UPDATE runs_run SET name = %s", [["renamed"]])


def write_by_cursor(wrapper):
    with wrapper.cursor() as cursor:
        cursor.execute("UPDATE runs_run SET name = 'renamed'")


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("write", [write_by_pipeline, write_by_cursor])
def test_a_connection_to_a_server_that_is_read_only_since_a_failover_is_replaced(
    run, monkeypatch, write, pooled
):
    own = an_own_connection(monkeypatch, "", pooled=pooled)
    try:
        with own.cursor() as cursor:
            cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
        with pytest.raises(InternalError, match="read-only"):
            write(own)
        own.close_if_unusable_or_obsolete()

        write(own)
    finally:
        own.close()
        own.close_pool()


def test_nothing_is_prepared_for_a_pooler_that_cannot_keep_it(run, monkeypatch):
    unprepared = an_own_connection(monkeypatch, "?prepared=no", pooled=False)
    try:
        for _ in range(3):
            assert unprepared.read(("SELECT name FROM runs_run", [])) == [[("tests",)]]

        assert unprepared.read(("SELECT count(*) FROM pg_prepared_statements", [])) == [[(0,)]]
    finally:
        unprepared.close()


def test_only_new_turns_of_long_runs_are_read():
    """Else each verdict would take longer than the one before."""
    runs = [a_run(a_project(), name=str(number)) for number in range(6)]
    for run in runs:
        report(run, *[a_paid_call(number) for number in range(30)])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE runs_turn, runs_run, runs_runmeters, runs_modelcall")
    for run in runs:
        storing(run, a_paid_call(30))()

    with transaction.atomic():
        # Tables as small as these it would read whole.
        connection.cursor().execute("SET LOCAL enable_seqscan = off")
        before = rows_read()
        assert [turn.seq for turn in _UNJUDGED_TURNS.fetch([run.id for run in runs])] == [30] * 6

        assert rows_read() - before <= 6


def rows_read():
    """Count the rows of the large tables that this transaction has read."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables "
            "WHERE relname IN ('runs_turn', 'runs_modelcall')"
        )
        return cursor.fetchone()[0]


def another_connection():
    settings = connection.settings_dict
    named = {"dbname": settings["NAME"], "user": settings["USER"], "host": settings["HOST"]}
    return psycopg.connect(**named, port=settings["PORT"], password=settings["PASSWORD"])


def end(another, wrapper):
    """Have the server end a connection, and wait until it has."""
    pid = wrapper.connection.info.backend_pid
    another.execute("SELECT pg_terminate_backend(%s, 60000)", [pid])


def a_pooled_connection(monkeypatch):
    return an_own_connection(monkeypatch, "", pooled=True)


def an_own_connection(monkeypatch, options, *, pooled):
    settings = connection.settings_dict
    monkeypatch.setenv("DATABASE_URL", f"postgres://of@one/web{options}")
    described = env.database(
        "DATABASE_URL", sqlite=Path("unused"), pooled=pooled, serving=True, durable=False
    )
    own = {name: settings[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
    return DatabaseWrapper({**settings, **described, **own}, alias="own")
