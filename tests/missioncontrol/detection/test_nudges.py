"""The quiet severities on the server: a shadow's note, a nudge to the agent."""

import pytest

from guard.formats.fields import read_turn
from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Tap
from missioncontrol.decisions.directives import queued_messages
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import guard_turn
from tests.build import NOON, a_call, a_run, report

pytestmark = pytest.mark.django_db

FAILED = "Traceback (most recent call last):\n  ...\nModuleNotFoundError: no module 'app.tokens'"


def raised(run):
    rows = run.journal.filter(type="detection.raised").order_by("seq")
    return [(row.payload.split('"outcome":"')[1].split('"')[0]) for row in rows]


def a_failing(run, times=1):
    for _ in range(times):
        run = report(run, a_call("pytest -q", error=FAILED))
    return run


def telling(**ladder):
    return {"ladder": {"every": {"nudge": "tell"}, **ladder}}


def test_a_detector_in_observe_is_journalled_once_and_holds_nobody():
    quiet = {"detectors": ["repeat"], "ladder": {"repeat": {"trip": "observe"}}}

    run = a_failing(a_run(policy=quiet), times=6)

    assert raised(run) == ["observed"]
    assert (run.status, run.open_decision, run.meters.queued_messages) == ("running", None, 0)


def test_a_nudge_tells_the_agent_what_repeats_and_the_first_error():
    run = a_failing(a_run(policy=telling()), times=2)

    (message,) = queued_messages(run.id, at=NOON)
    assert "ran the same" in message.text
    assert "ModuleNotFoundError: no module 'app.tokens'" in message.text
    assert message.agent == "coder"
    assert raised(run) == ["nudged"]
    assert run.journal.filter(type="message.queued").count() == 1


def test_a_streak_is_nudged_once_and_still_trips():
    run = a_failing(a_run(policy=telling()), times=3)

    assert raised(run)[:1] == ["nudged"]
    assert raised(run).count("nudged") == 1
    assert raised(run)[-1] == "card"


def test_without_a_policy_that_says_so_nobody_is_nudged():
    run = a_failing(a_run(), times=2)

    assert (run.meters.queued_messages, raised(run)) == (0, [])


def test_a_trip_that_only_nudges_opens_no_card():
    policy = {"detectors": ["repeat"], **telling(repeat={"trip": "nudge"})}

    run = a_failing(a_run(policy=policy), times=5)

    assert run.open_decision is None
    assert run.meters.queued_messages >= 1


def test_an_agent_that_takes_no_text_is_not_sent_any():
    run = a_failing(a_run(policy=telling(), capabilities={"inject": []}), times=2)

    assert (run.meters.queued_messages, raised(run)) == (0, ["nudged"])


def test_an_allowed_call_is_not_nudged(project):
    held = a_failing(a_run(project, policy=telling()), times=3)
    interventions.intervene(
        held.id,
        Tap(
            key="k",
            action="allowlist",
            version=held.version,
            decision=held.open_decision,
            scope="project",
        ),
        projects=[project.id],
        by="ana",
        at=NOON,
    )

    run = a_failing(a_run(project, policy=telling()), times=2)

    assert (run.meters.queued_messages, raised(run)) == (0, [])


def test_a_policy_of_another_release_does_not_stop_detection(caplog):
    run = a_run()
    Run.objects.filter(pk=run.pk).update(policy={"a detector that is gone": 1})
    run.refresh_from_db()

    run = a_failing(run, times=3)

    assert run.open_decision is not None
    assert "the default stands in" in caplog.text


def test_a_policy_escalates_step_by_step_by_counts():
    rungs = {"trip": "escalate", "ask_at": 4, "stop_at": 5}
    run = a_run(policy={"detectors": ["repeat"], "ladder": {"repeat": rungs}})

    seen = []
    for _ in range(5):
        run = a_failing(run)
        seen.append(run.status)

    assert seen == ["running", "running", "running", "holding", "stopping"]
    assert raised(run) == ["escalated", "card", "stopped"]


def test_what_a_call_says_of_itself_is_kept_and_obeyed(project):
    run = a_run(project)
    turns = [
        {
            "role": "assistant",
            "tool": "fetch_thing",
            "args": {"id": 1},
            "key": f"k{number}",
            "result": "nothing yet",
            "nature": {"retry": "poll", "loop_key": ["id"]},
        }
        for number in range(6)
    ]

    report(run, *[read_turn(turn) for turn in turns])

    run.refresh_from_db()
    assert run.open_decision is None
    stored = run.turn_rows.first().nature
    assert stored == {"loop_key": ["id"], "progress_key": [], "retry": "poll"}
    assert guard_turn(run.turn_rows.first()).nature.retry == "poll"
