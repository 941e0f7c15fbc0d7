"""The engines that a process keeps: behind, ahead, let go and built again, they judge the same."""

from collections import OrderedDict

import pytest

from guard.engine import Engine
from guard.policy import DETECTOR_NAMES, Policy
from guard.turn import Usage
from missioncontrol.costs.counting import NOT_PLACED
from missioncontrol.costs.ledger import Call, enter_call
from missioncontrol.decisions.models import Decision
from missioncontrol.detection import engine_cache, pipeline
from missioncontrol.runs import journal
from missioncontrol.runs.models import Run, RunMeters
from missioncontrol.runs.models import Turn as TurnRow
from tests.build import NOON, a_call, a_proposal, a_run, a_stuck_run, put, report
from tests.missioncontrol.taps import tap

pytestmark = pytest.mark.django_db


def test_a_process_that_never_saw_the_run_judges_the_same():
    run = a_run()
    report(run, a_call(error="x"))
    report(run, a_call(error="x"))

    engine_cache.ENGINES.clear()
    run = report(run, a_proposal())

    assert run.open_decision is not None


@pytest.mark.parametrize("forgets", [False, True], ids=["the same process", "another"])
def test_what_was_known_before_a_person_stepped_in_is_no_news_after(forgets):
    run = a_stuck_run()
    tap(run, "continue")

    if forgets:
        engine_cache.ENGINES.clear()
    error = "ModuleNotFoundError: no module 'app.tokens'"
    report(run, a_call("pytest -q", error=error))

    assert TurnRow.objects.filter(run=run).latest("obs").changed is False


def test_a_process_that_fell_behind_catches_up():
    run = a_run()
    report(run, a_call(error="x"))
    behind = dict(engine_cache.ENGINES)
    engine_cache.ENGINES.clear()
    report(run, a_call(error="x"))

    engine_cache.ENGINES.clear()
    engine_cache.ENGINES.update(behind)
    run = report(run, a_proposal())

    assert run.open_decision is not None


def test_a_process_that_fell_behind_in_one_run_catches_up_beside_another():
    run, other = a_run(), a_run()
    report(run, a_call(error="x"))
    report(other, a_call("ls"))
    behind = dict(engine_cache.ENGINES)
    engine_cache.ENGINES.clear()
    report(run, a_call(error="x"))

    engine_cache.ENGINES.clear()
    engine_cache.ENGINES.update(behind)
    put(run, a_proposal())
    put(other, a_call("pwd"))
    pipeline.detect([run.id, other.id], at=NOON)

    run.refresh_from_db()
    assert run.open_decision is not None


def test_a_process_that_fell_far_behind_reads_no_more_than_an_engine_looks_back_on():
    run = report(a_run(), a_call("ls"))
    behind = dict(engine_cache.ENGINES)
    engine_cache.ENGINES.clear()
    run = report(run, *(a_call(f"cat {number}") for number in range(Engine.WINDOW + 10)))

    engine_cache.ENGINES.clear()
    engine_cache.ENGINES.update(behind)

    assert len(engine_cache.unseen_observations([run])[run.id]) == Engine.WINDOW


def test_a_process_whose_database_was_restored_rereads_it():
    run = report(a_run(), a_call("ls"), a_call("pwd"))
    RunMeters.objects.update(detected_obs=1)
    run.refresh_from_db()

    found = engine_cache.unseen_observations([run])[run.id]

    assert [seen.obs for seen in found] == [1, 2]


def seen_ahead(run, *turns):
    """Store turns and have the engine see them before anything is locked."""
    put(run, *turns)
    return engine_cache.look_ahead({run.id})


def test_what_an_engine_saw_ahead_of_the_lock_counts_once():
    run = report(a_run(), a_call(error="x"))

    seen_ahead(run, a_call(error="x"))
    run = report(run, a_proposal())

    assert run.open_decision is not None
    assert Decision.objects.get().evidence["turns"] == [0, 1, 2]


def test_a_person_who_steps_in_after_the_engine_saw_a_turn_resets_that_turn_too():
    run = report(a_run(), a_call(error="x"))
    run = report(run, a_call(error="x"))

    seen_ahead(run, a_call(error="x"))
    tap(run, "pause")
    tap(run, "continue")
    pipeline.detect([run.id], at=NOON)
    run = report(run, a_call(error="x"))

    assert run.open_decision is None


def test_what_was_stored_after_the_look_ahead_is_judged_with_it():
    run = report(a_run(), a_call("ls"))

    ahead = seen_ahead(run, a_call("pwd"))
    put(run, a_call("date"))
    run = Run.objects.select_related("meters").get(pk=run.id)

    assert [seen.obs for seen in engine_cache.unseen_observations([run], ahead)[run.id]] == [2, 3]


def test_a_call_that_was_counted_after_the_look_ahead_is_not_counted_twice():
    run = report(a_run(), a_call("ls"))
    paid = a_call("pwd", usage=Usage(input=1000), model="claude-sonnet-4-5", call_id="one")
    ahead = seen_ahead(run, paid)
    with journal.lock_runs([run.id], at=NOON) as tx:
        call, _ = enter_call(tx, tx.run(run.id), Call(call_id="one", source="turns"))
        call.save()
    run = Run.objects.select_related("meters").get(pk=run.id)

    (seen,) = engine_cache.unseen_observations([run], ahead)[run.id]

    assert seen.row.counted_at == NOT_PLACED


def test_a_ceiling_is_weighed_under_the_lock():
    run = report(a_run(budget={"calls": 2}), a_call("ls"))

    seen_ahead(run, a_call("pwd"))

    assert engine_cache.ENGINES[run.id].ahead is None


class WatchedUse:
    """Notes whether anybody asks what was used."""

    asked = False

    def __getattr__(self, unit):
        self.asked = True
        return 0


@pytest.mark.parametrize("detector", DETECTOR_NAMES)
def test_each_rule_says_whether_it_reads_usage(detector):
    policy, use = Policy(detectors=(detector,)), WatchedUse()
    engine = Engine(policy, suspects=True)

    for _ in range(5):
        engine.observe(a_call(error="x"), spent=use)

    assert engine_cache.policy_reads_usage(policy) is use.asked


@pytest.fixture
def share(settings, monkeypatch):
    """A process that may have a thousand bytes, and keeps two engines all the same."""
    settings.DETECTOR_MEMORY = 1000
    monkeypatch.setattr(engine_cache, "MIN_ENGINES", 2)
    monkeypatch.setattr(engine_cache, "_peak_memory", 0)
    monkeypatch.setattr(engine_cache, "ENGINES", OrderedDict.fromkeys(range(100)))


def test_within_its_share_a_process_keeps_every_engine(share):
    engine_cache.evict_engines(1000)

    assert len(engine_cache.ENGINES) == 100


def test_the_least_recently_used_engines_are_evicted_when_memory_grows(share):
    engine_cache.evict_engines(1001)
    assert list(engine_cache.ENGINES) == list(range(3, 100))

    engine_cache.evict_engines(1001)
    engine_cache.evict_engines(900)
    assert len(engine_cache.ENGINES) == 97

    engine_cache.evict_engines(1002)
    assert len(engine_cache.ENGINES) == 95


def test_a_minimum_of_engines_stays_however_little_memory_there_is(share):
    for held in range(2000, 2200):
        engine_cache.evict_engines(held)

    assert list(engine_cache.ENGINES) == [98, 99]


def test_an_evicted_engine_is_rebuilt(share, monkeypatch):
    monkeypatch.setattr(engine_cache, "ENGINES", OrderedDict())
    run = report(a_run(), a_call(error="x"), a_call(error="x"))
    engine_cache.ENGINES.clear()

    run = report(run, a_call(error="x"))

    assert run.open_decision is not None


def test_a_process_that_never_saw_the_run_counts_from_where_a_person_stepped_in():
    run = report(a_run(), *(a_call(error="x") for _ in range(3)))
    tap(run, "continue")

    engine_cache.ENGINES.clear()
    run = report(run, *(a_call(error="x") for _ in range(2)))

    assert run.open_decision is None
