"""Installation, projects, runs in id order, allowlist entries, counters: none waits for another."""

import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection, connections, transaction

from guard.turn import Usage
from missioncontrol.costs import trees
from missioncontrol.costs.models import Spend
from missioncontrol.decisions import interventions, organisation, sessions
from missioncontrol.decisions.actions import Amount, Tap
from missioncontrol.decisions.allowlist import HitTotals
from missioncontrol.decisions.models import AllowlistEntry
from missioncontrol.detection import pipeline
from missioncontrol.errors import StaleRun
from missioncontrol.ids import new_id
from missioncontrol.projects.rules import change_project
from missioncontrol.runs import journal
from missioncontrol.runs.models import Run, RunMeters
from tests.build import NOON, a_call, a_project, a_run, put, report
from tests.installations import wait_for

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 15


@pytest.fixture(autouse=True)
def _with_row_locks():
    if connection.vendor != "postgresql":
        pytest.skip("SQLite locks the whole database: set DATABASE_URL to a PostgreSQL server")


def together(*actions):
    """Run deeds in threads that begin at once; raise what one of them raised."""
    start = threading.Barrier(len(actions))

    def begin(action):
        try:
            start.wait(60)
            action()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(actions)) as pool:
        for done in [pool.submit(begin, action) for action in actions]:
            done.result(timeout=120)


def apart(action, *what, **more):
    """Do something in a thread of its own."""
    try:
        return action(*what, **more)
    finally:
        connections.close_all()


def somebody_waits_for_us():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks "
            "WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        )
        return cursor.fetchone()[0] > 0


def an_entry(project, pattern):
    return AllowlistEntry.objects.create(
        id=new_id(),
        project=project,
        scope="project",
        pattern=pattern,
        created_by="ana",
        created_at=NOON,
    )


def test_hits_of_the_same_entries_found_the_other_way_round_are_all_counted():
    project = a_project()
    one, two = an_entry(project, "a").id, an_entry(project, "b").id

    def hit(*found):
        for _ in range(ROUNDS):
            with transaction.atomic():
                hits = HitTotals()
                for entry in found:
                    hits.update([entry])
                hits.write(at=NOON)

    together(lambda: hit(one, two), lambda: hit(two, one))

    assert [entry.hits for entry in AllowlistEntry.objects.all()] == [2 * ROUNDS] * 2


def test_ceilings_may_be_changed_while_many_runs_are_judged_and_every_cent_is_counted():
    project = a_project(budgets={"project": {"usd": "1000"}})
    halves = [[a_run(project) for _ in range(4)] for _ in range(2)]

    def work(runs):
        for number in range(ROUNDS):
            for run in runs:
                put(run, a_call(f"cat {number}", cost_usd=Decimal("0.01"), usage=Usage(input=1)))
            pipeline.detect([run.id for run in runs], at=NOON)

    def change():
        for number in range(ROUNDS):
            given = {"project": {"usd": str(1000 + number)}}
            change_project(project.id, {"budgets": given}, by="ana", at=NOON)

    together(lambda: work(halves[0]), lambda: work(halves[1][::-1]), change)

    total = Spend.objects.get(scope="project")
    assert (total.usd, total.tokens, total.calls) == (Decimal("1.20"), 120, 120)


def raise_by_ten(run, *, version):
    """Tap on more without naming a card; True: it was done."""
    key, more = f"more-{version}", Amount(calls=10)
    tap = Tap(key=key, action="allow_budget", version=version, amount=more)
    try:
        interventions.intervene(run.id, tap, projects=[run.project_id], by="ana", at=NOON)
    except StaleRun:
        return False
    return True


def test_taps_that_name_no_card_raise_a_shared_ceiling_one_after_the_other():
    for _ in range(ROUNDS):
        project = a_project(budgets={"project": {"calls": 2}})
        runs = [report(a_run(project), a_call("ls"), a_call("id")) for _ in range(2)]
        done = []

        def tap(run, done=done):
            done.append(raise_by_ten(run, version=run.version))

        together(*[functools.partial(tap, run) for run in runs])

        project.refresh_from_db()
        # Four were made: ten more may be, and with the second tap another ten.
        assert project.budgets["project"]["calls"] == 4 + 10 * sum(done)


def test_a_tap_is_stale_where_a_shared_card_opened_while_it_waited_for_the_run():
    project = a_project(budgets={"project": {"calls": 1}})
    run = a_run(project)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            opened = report(run, a_call("ls"))
            tapped = pool.submit(apart, raise_by_ten, run, version=opened.version)
            wait_for(somebody_waits_for_us)
        done = tapped.result(timeout=60)

    project.refresh_from_db()
    assert (done, project.budgets) == (False, {"project": {"calls": 1}})


def test_a_verdict_that_waited_for_a_raised_ceiling_knows_it():
    project = a_project(budgets={"project": {"calls": 1}})
    first, second = a_run(project), a_run(project)
    held = report(first, a_call("ls"))
    put(second, a_call("id"))
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert raise_by_ten(held, version=held.version)
            judged = pool.submit(apart, pipeline.detect, [second.id], at=NOON)
            wait_for(somebody_waits_for_us)
        judged.result(timeout=60)

    assert Run.objects.get(pk=second.pk).status == "running"


def test_a_tree_counts_every_cent_while_its_runs_are_judged_linked_and_its_ceiling_raised():
    project = a_project()
    root = a_run(project, budget={"usd": "1000", "calls": 1000})
    children = [a_run(project, parent=root.id) for _ in range(4)]
    late = a_run(project)

    def work(runs):
        for number in range(ROUNDS):
            for run in runs:
                put(run, a_call(f"cat {number}", cost_usd=Decimal("0.01")))
            pipeline.detect([run.id for run in runs], at=NOON)

    def link():
        trees.link_run(late.id, root.id, projects=[project.id], by="agent", at=NOON)

    def pay():
        for _ in range(ROUNDS):
            raise_by_ten(root, version=Run.objects.get(pk=root.id).version)

    together(lambda: work([root, *children]), lambda: work([late, *children[::-1]]), link, pay)

    total = Spend.objects.get(scope="tree", name=str(root.id))
    assert total.usd == Decimal("0.01") * ROUNDS * (len(children) * 2 + 1)


def test_two_projects_spend_while_all_their_ceilings_are_set_and_every_cent_counts():
    projects = [a_project(budgets={"day": {"usd": "1000"}}) for _ in range(2)]
    halves = [[a_run(project) for _ in range(4)] for project in projects]

    def work(runs):
        for number in range(ROUNDS):
            for run in runs:
                put(run, a_call(f"cat {number}", cost_usd=Decimal("0.01")))
            pipeline.detect([run.id for run in runs], at=NOON)

    def change_all():
        for number in range(ROUNDS):
            organisation.set_day_budget(Decimal(1000 + number), by="ana", at=NOON)

    def change_one():
        for number in range(ROUNDS):
            given = {"day": {"usd": str(1000 + number)}}
            change_project(projects[1].id, {"budgets": given}, by="ana", at=NOON)

    together(lambda: work(halves[0]), lambda: work(halves[1][::-1]), change_all, change_one)

    assert organisation.show_day_budget(at=NOON).spent_usd == Decimal("1.20")


def test_two_projects_that_reach_it_together_are_both_held_at_the_next_turn():
    for _ in range(ROUNDS):
        Spend.objects.all().delete()
        organisation.set_day_budget(Decimal(10), by="ana", at=NOON)
        runs = [a_run(a_project()) for _ in range(2)]

        def spend(run):
            report(run, a_call("ls", cost_usd=Decimal(5)))

        together(*[functools.partial(spend, run) for run in runs])

        held = [report(run, a_call("pwd")).status for run in runs]
        assert held == ["holding", "holding"]


def test_taps_in_two_projects_raise_the_ceiling_of_all_one_after_the_other():
    for _ in range(ROUNDS):
        Spend.objects.all().delete()
        organisation.set_day_budget(None, by="ana", at=NOON)
        organisation.set_day_budget(Decimal(2), by="ana", at=NOON)
        before = organisation.show_day_budget(at=NOON)
        runs = [a_run(a_project()) for _ in range(2)]
        more = before.extra_usd + 2
        runs = [report(run, a_call("ls", cost_usd=more)) for run in runs]
        done = []

        def tap(run, done=done):
            asked = Tap(
                key=f"more-{run.id}",
                action="allow_budget",
                version=run.version,
                decision=run.open_decision,
                amount=Amount(usd=Decimal(100)),
            )
            try:
                interventions.intervene(
                    run.id,
                    asked,
                    projects=[run.project_id],
                    owns_project=lambda: True,
                    by="ana",
                    at=NOON,
                )
            except StaleRun:
                return
            done.append(run.id)

        together(*[functools.partial(tap, run) for run in runs])

        raised = organisation.show_day_budget(at=NOON).extra_usd - before.extra_usd
        assert raised >= 100 * len(done) > 0


def test_a_column_written_by_another_process_is_not_overwritten():
    """Each of a transaction's runs is written in the columns that changed in any of them."""
    one, other = a_run(a_project()), a_run(a_project())
    promised = NOON + timedelta(seconds=45)
    with ThreadPoolExecutor(1) as pool:
        with journal.lock_runs([one.id, other.id], at=NOON) as tx:
            vouching = pool.submit(
                apart, sessions.record_heartbeat, other.id, witness="its own", for_s=45, at=NOON
            )
            wait_for(somebody_waits_for_us)
            tx.run(one.id).meters.expected_by = NOON
            tx.run(one.id).meters.witness = "another"
            tx.run(other.id).meters.doing = "reads"
        assert vouching.result(timeout=120)

    known = RunMeters.objects.get(run=other)
    assert (known.doing, known.expected_by, known.witness) == ("reads", promised, "its own")
