"""Recorded runs under a proposed policy and today's: bounded, resumable, honest."""

from datetime import timedelta

import pytest

from missioncontrol.detection import backtests, tasks
from missioncontrol.detection.models import Backtest, BacktestRun
from missioncontrol.runs.models import Run
from tests.build import NOON, a_call, a_proposal, a_run, a_stuck_run, report
from tests.missioncontrol.taps import tap

pytestmark = pytest.mark.django_db

LATER = NOON + timedelta(minutes=5)


def ask(project, policy=None, **fields):
    fields.setdefault("since", NOON - timedelta(days=1))
    fields.setdefault("runs", None)
    by = fields.pop("by", "ana")
    asked = backtests.NewBacktest(policy=policy or {}, **fields)
    return backtests.request_backtest(project, asked, by=by, at=NOON)


def result(backtest):
    while backtests.run_slice(backtest.id, at=NOON):
        pass
    backtest.refresh_from_db()
    return backtests.backtest_row(backtest)


def test_todays_side_flags_the_turn_that_was_really_held(project):
    run = a_stuck_run(project)
    held_at = run.decisions.get().signal["turns"][-1]

    row = result(ask(project, {"repeat": {"calls": 2}}))

    assert row.runs[0].today.alarm_turn == held_at == 2
    assert row.runs[0].proposed.alarm_turn == 1


def test_what_came_after_the_alarm_is_counted_with_its_cost(project):
    run = a_run(project, mode="warn")
    for _ in range(6):
        report(run, a_call(error="ModuleNotFoundError: app", cost_usd="0.5"))

    row = result(ask(project))

    assert row.today.turns_after == 3
    assert row.today.cost_after_usd == pytest.approx(1.5)
    assert row.today.detectors == {"repeat": 1}


def test_a_policy_that_ends_runs_says_where(project):
    run = a_run(project, mode="warn")
    for _ in range(6):
        report(run, a_call(error="ModuleNotFoundError: app"))

    row = result(ask(project, {"ladder": {"every": {"stop_at": 5}}}))

    assert (row.proposed.stopped, row.today.stopped) == (1, 0)
    assert row.runs[0].proposed.stop_turn == 4


def test_a_task_type_has_its_own_table_in_a_backtest_too(project):
    a_stuck_run(project, task_type="research")
    policy = {"task_type": {"research": {"detectors": ["budget"]}}}

    row = result(ask(project, policy))

    assert (row.proposed.flagged, row.today.flagged) == (0, 1)


@pytest.mark.parametrize("answer", ["terminate", "inject", "restart"])
def test_how_cards_were_answered_labels_their_runs(project, answer):
    loop, fine = a_stuck_run(project), a_stuck_run(project)
    tap(loop, answer, **({} if answer == "terminate" else {"message": "Read the file first."}))
    tap(fine, "continue")
    report(a_run(project), a_call())

    row = result(ask(project, {"detectors": []}))

    assert (row.loops, row.healthy) == (1, 1)
    assert (row.today.loops_found, row.today.healthy_flagged) == (1, 1)
    assert (row.proposed.loops_found, row.proposed.healthy_flagged) == (0, 0)


def test_a_backtest_continues_after_its_finished_runs(project, monkeypatch):
    monkeypatch.setattr(backtests, "SLICE_S", -1.0)
    for _ in range(3):
        a_stuck_run(project)
    backtest = ask(project)

    slices = [backtests.run_slice(backtest.id, at=NOON) for _ in range(3)]

    assert slices == [True, True, False]
    assert BacktestRun.objects.count() == 3
    backtest.refresh_from_db()
    assert backtest.status == "done"


def test_a_task_that_comes_twice_does_nothing_twice(project):
    a_stuck_run(project)
    backtest = ask(project)
    result(backtest)

    assert backtests.run_slice(backtest.id, at=NOON) is False
    assert BacktestRun.objects.count() == 1


def test_a_newer_backtest_replaces_an_unfinished_one(project):
    older, newer = ask(project), ask(project)

    assert backtests.run_slice(older.id, at=NOON) is False
    older.refresh_from_db()
    assert (older.status, older.error) == ("failed", "A newer backtest took its place.")
    assert result(newer).status == "done"


def test_two_people_can_run_backtests_at_once(project):
    anas, beas = ask(project), ask(project, by="bea")

    assert result(anas).status == "done"
    assert result(beas).status == "done"


def test_old_backtests_are_deleted(project, monkeypatch):
    monkeypatch.setattr(backtests, "MAX_KEPT", 2)
    asked = [ask(project) for _ in range(4)]

    kept = Backtest.objects.order_by("id").values_list("id", flat=True)

    assert list(kept) == [one.id for one in asked[-2:]]


def test_unfinished_backtests_are_not_deleted(project, monkeypatch):
    monkeypatch.setattr(backtests, "MAX_KEPT", 2)
    anas = ask(project)

    for _ in range(3):
        ask(project, by="bea")

    assert result(anas).status == "done"


def test_only_so_many_runs_are_replayed_and_it_says_how_many_were_left_out(project, monkeypatch):
    monkeypatch.setattr(backtests, "MAX_RUNS", 2)
    runs = [a_run(project) for _ in range(3)]

    row = result(ask(project))

    assert (row.total, row.done, row.left_out) == (2, 2, 1)
    assert str(runs[0].id) not in Backtest.objects.get().runs  # the oldest


def test_a_run_erased_meanwhile_is_skipped(project):
    backtest = ask(project, runs=[a_run(project).id])
    Run.objects.all().delete()

    row = result(backtest)

    assert (row.status, row.total, row.done) == ("done", 0, 0)


def test_a_lost_backtest_is_resumed_and_finally_marked_failed(project):
    backtest = ask(project)
    times = [NOON + timedelta(minutes=2 * n) for n in range(1, backtests.MAX_TRIES + 1)]

    taken_up = [backtests.find_stalled(at=at) for at in times]

    assert taken_up[0] == [backtest.id]
    assert taken_up[-1] == []
    backtest.refresh_from_db()
    assert (backtest.status, bool(backtest.error)) == ("failed", True)


def test_a_backtest_with_a_recent_slice_is_left_alone(project):
    ask(project)

    assert backtests.find_stalled(at=NOON + timedelta(seconds=30)) == []


def test_a_failure_is_shown_on_the_backtests_page(project):
    a_stuck_run(project)
    backtest = ask(project)
    Backtest.objects.update(policy={"no such field": 1})

    tasks.backtest(str(backtest.id))

    backtest.refresh_from_db()
    row = backtests.backtest_row(backtest)
    assert row.status == "failed"
    assert "no such field" in row.error


def test_it_sees_a_call_before_it_ran_as_detection_did(project):
    run = a_run(project)
    for _ in range(2):
        report(run, a_proposal("make", key=f"m{_}"))
        report(run, a_call("make", key=f"m{_}", error="No rule to make target"))
    report(run, a_proposal("make", key="m2"))

    row = result(ask(project))

    assert row.runs[0].today.alarm_turn == 2
