"""A verdict asks the database for as much, however many turns it is about."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from guard.turn import Usage
from missioncontrol.detection import pipeline
from missioncontrol.projects.rules import change_project
from missioncontrol.runs.ingest import Arrival, store
from missioncontrol.runs.models import RunMeters
from tests.build import NOON, a_call, a_project, a_proposal, a_run, report

pytestmark = pytest.mark.django_db
MANY = 20


def a_paid_call(number):
    usage = Usage(input=100 + number, output=5)
    return a_call(f"cat {number}.py", usage=usage, model="claude-sonnet-4-5", provider="anthropic")


@pytest.fixture
def runs():
    """Two agents at work: what is asked once a process was asked."""
    project = a_project()
    runs = [a_run(project, name=name) for name in ("tests", "docs")]
    for run in runs:
        report(run, a_call("ls", result="app tests"), a_paid_call(0))
    return runs


def statements(action):
    """What a deed asks of the database, in its order, less the bounds of its transaction."""
    with CaptureQueriesContext(connection) as asked:
        action()
    queries = [query["sql"] for query in asked.captured_queries]
    return [sql for sql in queries if "SAVEPOINT" not in sql]


def storing(runs, *turns):
    arrivals = [Arrival(run=run.id, project=run.project_id, turns=turns) for run in runs]
    return statements(lambda: store(arrivals, at=NOON))


def judging(runs, *turns):
    storing(runs, *turns)
    return statements(lambda: pipeline.detect([run.id for run in runs], at=NOON))


@pytest.mark.parametrize("number", [1, MANY])
def test_turns_of_several_runs_are_stored_in_five(runs, number):
    assert len(storing(runs, *[a_call(f"cat {one}") for one in range(number)])) <= 5


def test_a_call_that_is_asked_for_is_judged_in_four(runs):
    assert len(judging(runs, a_proposal("cat new.py"))) <= 4


@pytest.mark.parametrize("number", [1, MANY])
def test_calls_are_judged_in_five(runs, number):
    assert len(judging(runs, *[a_call(f"cat {one}") for one in range(number)])) <= 5


# Two are read: the runs under their lock, and the turns. Five tables are written, each once: the
# turns, the meters, the events, and for what was paid the ledger and, as always, the shared sums.
# What was paid and what changed may differ from turn to turn and from run to run. With one read for
# both, engines would be asked under the runs' lock, on SQLite everybody's; without the shared sums,
# every ceiling would have to add up what of the runs' own counts was not folded into them yet.
@pytest.mark.parametrize("number", [1, MANY])
def test_counting_model_calls_takes_two_more_statements(runs, number):
    assert len(judging(runs, *[a_paid_call(one) for one in range(1, 1 + number)])) <= 7


def test_it_takes_no_more_statements_if_only_some_calls_cost(runs):
    assert len(judging(runs, a_call("ls src"), a_paid_call(1), a_proposal("cat new.py"))) <= 7


def test_it_takes_no_more_statements_if_runs_change_in_different_columns(runs):
    first, second = runs
    storing([first], a_call("ls src", error="No such file"), a_paid_call(1))
    storing([second], a_proposal("cat new.py"))

    asked = statements(lambda: pipeline.detect([run.id for run in runs], at=NOON))

    assert len(asked) <= 7


def test_a_projects_rules_are_reread_after_a_change(runs):
    change_project(runs[0].project_id, {"hold_limit": 60}, by="ana", at=NOON)

    asked = judging(runs, a_paid_call(1)), judging(runs, a_paid_call(2))

    assert [sum('"hold_limit"' in sql for sql in one) for one in asked] == [1, 0]


@pytest.mark.parametrize("action", [storing, judging])
def test_a_turn_that_changes_no_state_writes_no_run(runs, action):
    asked = "\n".join(action(runs, a_paid_call(1)))

    assert 'UPDATE "runs_runmeters"' in asked
    assert 'UPDATE "runs_run"' not in asked


def test_no_index_covers_a_column_that_a_turn_changes():
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, RunMeters._meta.db_table)

    indexed = {name for one in found.values() if not one["check"] for name in one["columns"]}
    assert indexed == {"run_id"}


def test_shared_rows_are_locked_last(runs):
    assert "oversight_spend" in judging(runs, a_paid_call(1))[-1]
