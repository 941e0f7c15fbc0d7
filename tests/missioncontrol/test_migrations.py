"""Upgrades: what a new version may do to the tables of an installation."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from guard.policy import (
    DEFAULT_POLICY,
    Errors,
    JudgeRule,
    Policy,
    Repeat,
    Stagnation,
    parse,
)
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.audit.checking import verify
from missioncontrol.audit.project_file import RENAMED_COLUMNS
from missioncontrol.decisions import sessions
from missioncontrol.runs.lifecycle import Source
from missioncontrol.runs.models import Hold, Run, RunMeters
from tests.build import NOON, a_call, a_run, a_stuck_run, after, report


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "migration",
    [
        ("costs", "0001"),
        ("decisions", "0001"),
        ("detection", "0001"),
        ("reports", "0001"),
        ("oversight", "0012"),
    ],
)
def test_moving_models_between_rooms_sends_no_sql(migration):
    sql = io.StringIO()

    call_command("sqlmigrate", *migration, stdout=sql)

    statements = [line for line in sql.getvalue().splitlines() if not line.startswith("--")]
    assert [line for line in statements if line not in {"BEGIN;", "COMMIT;"}] == []


def migrate(*to):
    """Bring the tables where these migrations leave them; return the models as they are there."""
    executor = MigrationExecutor(connection)
    executor.migrate(list(to))
    return MigrationExecutor(connection).loader.project_state(list(to)).apps


@pytest.fixture
def newest():
    """Whatever a test left the tables at, the next one finds them as they are now."""
    targets = MigrationExecutor(connection).loader.graph.leaf_nodes()
    yield targets
    migrate(*targets)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_run_that_was_held_before_holds_were_rows_is_held_as_it_was(project, newest):
    waiting, over, free = a_stuck_run(project), a_stuck_run(project), a_run(project)
    sessions.record_waiting(waiting.id, at=after(5))
    sessions.end_session(over.id, at=after(60))
    anchor_heads(at=after(70))
    before = list(Hold.objects.order_by("pk").values())

    earlier = migrate(("runs", "0017_erased_turns"), ("decisions", "0001_initial"))
    was = {run.pk: run for run in earlier.get_model("runs", "Run").objects.all()}
    assert (was[waiting.pk].waiting_since, was[waiting.pk].hold_seq) == (after(5), 2)
    assert (was[over.pk].hold_stands, was[over.pk].held_since) == (True, NOON)
    assert was[free.pk].held_since is None
    migrate(*newest)

    assert list(Hold.objects.order_by("pk").values()) == before
    assert [one["run_id"] for one in before] == sorted([waiting.pk, over.pk])
    assert Run.objects.get(pk=free.pk).hold is None
    assert verify(projects=[project.id]).ok


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_what_a_run_counted_before_its_meters_were_a_row_is_kept(project, newest):
    run = report(a_stuck_run(project), a_call("ls"))
    anchor_heads(at=after(70))
    before = list(RunMeters.objects.order_by("pk").values())

    earlier = migrate(("runs", "0018_hold"))
    was = earlier.get_model("runs", "Run").objects.get(pk=run.pk)
    called = {now: then for then, now in RENAMED_COLUMNS.items()}
    columns = {name: getattr(was, called.get(name, name)) for name in before[0] if name != "run_id"}
    assert [{"run_id": run.pk, **columns}] == before
    migrate(*newest)

    assert list(RunMeters.objects.order_by("pk").values()) == before
    assert verify(projects=[project.id]).ok


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_source_of_a_run_from_before_its_column_is_kept(project, newest):
    runs = {source: a_run(project) for source in Source}
    for source, run in runs.items():
        Run.objects.filter(pk=run.pk).update(source=source)

    earlier = migrate(("runs", "0021_no_second_index")).get_model("runs", "Run").objects
    flags = {
        source: (was.observed_only, was.imported)
        for source, run in runs.items()
        for was in earlier.filter(pk=run.pk)
    }
    migrate(*newest)

    assert flags == {
        Source.AGENT: (False, False),
        Source.TELEMETRY: (True, False),
        Source.RECORDING: (False, True),
    }
    assert {one: Run.objects.get(pk=run.pk).source for one, run in runs.items()} == {
        one: one for one in Source
    }


# The whole policy as 387d95d kept it, every rule and setting named.
BEFORE = json.loads((Path(__file__).parent / "policy_before_five_rules.json").read_text())


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_policy_from_before_the_five_rules_keeps_its_meaning(project, newest):
    set_then = {
        **BEFORE,
        "extends": "",
        "detectors": ["same_error", "exact_repeat", "reverification"],
        "exact_repeat": {"repeats": 5, "without_results": 6, "polls": 9},
        "ping_pong": {"rounds": 4, "threshold": 0.9},
        "same_error": {"in_a_row": 6, "near": 5, "variants": 9, "refusals": 7},
        "stall": {"evidence": 7, "without_results": 10},
        "ladder": {"exact_repeat": {"stop_at": 9}, "relay": {"trip": "observe"}},
        "tool": {"Bash": {"retry": "poll", "exact_repeat": {"repeats": 8}}},
    }
    own, untouched = a_run(project), a_run(project)
    earlier = migrate(("detection", "0002_recording"))
    earlier.get_model("accounts", "Project").objects.filter(pk=project.pk).update(policy=BEFORE)
    earlier.get_model("runs", "Run").objects.filter(pk=own.pk).update(policy=set_then)
    versions = earlier.get_model("detection", "PolicyVersion").objects
    typed = {"number": 1, "by": "ada", "at": NOON, "text": "# ours\nexact_repeat.repeats = 4"}
    versions.create(
        project_id=project.pk,
        policy={"exact_repeat": {"repeats": 4}, "agent": {"🤖": {"sensitivity": 0.9}}},
        **typed,
    )

    migrate(*newest)

    project.refresh_from_db()
    asked_at = JudgeRule(drought=BEFORE["judge"]["drought"])
    assert Policy.from_mapping(project.policy) == replace(DEFAULT_POLICY, judge=asked_at)
    policy = Policy.from_mapping(Run.objects.get(pk=own.pk).policy)
    assert policy.detectors == ("repeat", "errors")
    assert policy.repeat == Repeat(calls=5, without_results=6, polls=9, rounds=4)
    assert policy.errors == Errors(same=6, near=5, variants=9, refused=7)
    assert policy.stagnation == Stagnation(without_results=10)
    assert policy.sensitivity > 0.85
    assert policy.escalation_of("repeat").stop_at == 9
    assert policy.escalation_of("errors").trip == "observe"
    assert policy.for_step(tool="Bash", agent=None).repeat.calls == 8
    assert Run.objects.get(pk=untouched.pk).policy is None
    version = project.policy_versions.get()
    assert parse(version.text) == version.policy
    assert version.policy == {"repeat": {"calls": 4}, "agent": {"🤖": {"sensitivity": 0.9}}}
    assert "# # ours\n# exact_repeat.repeats = 4" in version.text
