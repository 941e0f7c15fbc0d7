"""What a board is told when its socket begins, or begins anew."""

from contextlib import contextmanager

import pytest
from django.db import connection

from missioncontrol.decisions import interventions, rows
from missioncontrol.decisions.actions import Tap
from missioncontrol.runs import journal
from missioncontrol.runs.lifecycle import Move
from missioncontrol.runs.models import JournalRow
from tests.build import NOON, a_run, a_stuck_run

pytestmark = pytest.mark.django_db


@contextmanager
def after_the_first_statement(action):
    """Do something as another process would, once the reading has begun."""
    begun = []

    def execute(run, *args):
        result = run(*args)
        if not begun:
            begun.append(True)
            action()
        return result

    with connection.execute_wrapper(execute):
        yield


def test_what_happens_while_it_is_read_is_shown_or_told_by_an_event_to_come():
    run = a_stuck_run()
    answer = Tap(key="k", action="continue", version=run.version, decision=run.open_decision)

    with after_the_first_statement(
        lambda: interventions.intervene(
            run.id, answer, projects=[run.project_id], by="ana", at=NOON
        )
    ):
        board = rows.board_snapshot(run.project_id, at=NOON)

    resolved = JournalRow.objects.get(run=run, type="decision.resolved")
    (shown,) = board.decisions
    assert shown.status == "resolved" or board.seq[str(run.id)] < resolved.seq


def test_a_run_that_goes_on_has_its_place_before_newer_ones_that_ended(project, monkeypatch):
    monkeypatch.setattr(rows, "MAX_BOARD_RUNS", 2)
    going_on, *ended = [a_run(project) for _ in range(3)]
    for run in ended:
        with journal.lock_runs([run.id], at=NOON) as tx:
            tx.move(tx.run(run.id), Move.COMPLETE, by="agent")

    board = rows.board_snapshot(project.id, at=NOON)

    assert going_on.id in [row.id for row in board.runs]
    assert len(board.runs) == 2
