"""Escalation: another strategy is asked for, the policy ends a run."""

from __future__ import annotations

import json

import pytest

from guard.turn import Role, Turn
from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Tap
from missioncontrol.decisions.models import Decision, Message
from missioncontrol.detection import engine_cache, judging, tasks
from missioncontrol.notify import content
from missioncontrol.notify.models import Notice
from missioncontrol.runs.models import JournalRow, Run
from tests.build import NOON, a_call, a_project, a_proposal, a_run, after, put, report
from tests.missioncontrol.notify.build import a_channel
from tests.missioncontrol.taps import BROKER, directive_of, report_messages

pytestmark = pytest.mark.django_db
ERROR = "Traceback (most recent call last):\n  File 'a.py', line 3\nKeyError: 'user'"


def attempt(run: Run, times: int) -> Run:
    for number in range(times):
        run = report(
            run,
            a_call(
                f"sed -i s/{number}/x/ a.py",
                error=ERROR,
                files=("a.py",),
                action_class="fix",
                state="c0ffee",
            ),
        )
    return run


def events(run: Run) -> list[str]:
    return list(JournalRow.objects.filter(run=run).order_by("seq").values_list("type", flat=True))


def event(run, kind):
    return json.loads(JournalRow.objects.get(run=run, type=kind).payload)


def test_a_warning_tells_people_and_the_agent_goes_on():
    run = report_messages(a_run(policy=BROKER), 4)

    card = Decision.objects.get()
    assert (run.status, directive_of(run).action) == ("running", "proceed")
    assert (card.detector, card.holds, card.status) == ("broker", False, "open")
    assert event(run, "escalation.asked")["decision"] == str(card.id)


def test_no_warning_comes_before_the_fourth_turn():
    run = report_messages(a_run(policy=BROKER), 3)

    assert (run.open_decision, Message.objects.count()) == (None, 0)


def test_the_agent_is_asked_for_another_strategy_with_the_first_error():
    run = attempt(a_run(policy={"preset": "fingerprint"}), 3)

    (message,) = directive_of(run).messages
    assert "3 times" in message.text
    assert "KeyError: 'user'" in message.text
    assert "stronger model" in message.text
    assert (message.agent, message.escalation.repeats) == ("coder", 3)
    assert message.escalation.first_error == "KeyError: 'user'"
    assert message.escalation.detector == "fingerprint"


def test_the_journal_holds_what_was_asked():
    run = attempt(a_run(policy={"preset": "fingerprint"}), 3)

    payload = event(run, "escalation.asked")
    assert (payload["detector"], payload["repeats"], payload["turn_seq"]) == ("fingerprint", 3, 2)
    assert payload["message"] == str(Message.objects.get().id)
    assert event(run, "detection.raised")["outcome"] == "escalated"


def test_an_agent_that_takes_no_text_is_escalated_for_people_alone():
    run = report_messages(a_run(policy=BROKER, capabilities={"inject": False}), 4)

    assert directive_of(run).messages == ()
    assert event(run, "escalation.asked")["message"] is None


def test_an_escalation_is_asked_once_a_streak():
    run = report_messages(a_run(policy=BROKER), 5)

    assert Decision.objects.count() == Message.objects.count() == 1
    assert events(run).count("escalation.asked") == 1


def test_no_judge_dismisses_the_card_of_a_policy_without_one():
    run = report_messages(a_run(policy=BROKER), 4)

    judging.judge_card(run.open_decision, at=NOON)

    run.refresh_from_db()
    assert Decision.objects.get().verdict is None
    assert run.open_decision is not None


def test_a_policy_ends_the_run_at_once():
    run = report_messages(a_run(policy=BROKER), 6)

    answer = directive_of(run)
    assert (answer.action, answer.call, run.status) == ("stop", "skip", "stopping")
    assert answer.reason == event(run, "session.terminated")["reason"]
    assert "5 times" in answer.reason


def test_people_are_notified_of_a_run_that_its_policy_ended():
    project = a_project()
    a_channel(project)

    run = report_messages(a_run(project, policy=BROKER), 6)

    ended = Notice.objects.get(what="warning")
    notice = content.load(ended.content)
    assert notice.title == "fix-auth-tests was ended"
    assert notice.body.startswith("Its policy ended it. ")
    assert notice.path == f"/runs/{run.id}"
    assert [delivery.status for delivery in ended.deliveries.all()] == ["waiting"]


def test_no_further_turn_is_allowed_after_the_policy_ended_the_run():
    run = report_messages(a_run(policy=BROKER), 6)

    for number in range(3):
        run = report(run, a_proposal(f"echo {number}"))
        assert (directive_of(run).action, directive_of(run).call) == ("stop", "skip")


def test_the_card_is_resolved_and_says_who_ended_the_run():
    run = report_messages(a_run(policy=BROKER), 6)

    card = Decision.objects.get()
    assert (card.status, card.resolution, card.resolved_by) == ("resolved", "terminate", "guard")
    assert run.open_decision is None


def test_an_end_without_a_warning_leaves_its_card_too():
    run = report_messages(a_run(policy={"preset": "ralph"}), 2)

    card = Decision.objects.get()
    assert (card.detector, card.resolution) == ("ralph", "terminate")
    assert run.status == "stopping"


@pytest.mark.parametrize(
    "turn",
    [
        Turn(role=Role.ASSISTANT, content="All done.\n- [x] TASK_COMPLETE"),
        Turn(
            role=Role.ASSISTANT,
            tool="Write",
            args={"content": "# Task\n- [x] TASK_COMPLETE\n"},
            result="ok",
        ),
    ],
)
def test_a_ticked_box_ends_a_run_whose_policy_names_it(turn):
    run = report(a_run(policy={"preset": "ralph"}), turn)

    assert run.status == "completed"
    assert event(run, "run.moved")["reason"] == "it ticked TASK_COMPLETE"
    assert not Decision.objects.exists()


def test_a_box_ticked_by_another_role_or_under_another_policy_ends_nothing():
    box = "- [x] TASK_COMPLETE"
    asked = report(a_run(policy={"preset": "ralph"}), Turn(role=Role.USER, content=box))
    other = report(a_run(), Turn(role=Role.ASSISTANT, content=box))

    assert (asked.status, other.status) == ("running", "running")


def test_the_end_is_journalled_once_whatever_the_agent_reports_then():
    run = report_messages(a_run(policy=BROKER), 6)

    run = interventions.report_end(
        run.id, "failed", projects=[run.project_id], by="agent", at=after(5)
    )

    assert run.status == "terminated"
    assert events(run).count("session.terminated") == 1


def test_held_calls_of_an_ended_run_are_skipped():
    policy = {
        "preset": "loopguard",
        "judged": False,
        "ladder": {"loopguard": {"stop_at": 4}},
        "contrib": {"loopguard": {"repeats": 3}},
    }
    run = a_run(policy={**policy, "detectors": ["loopguard", "broker"]})
    put(run, *[a_proposal("make", key=f"p{n}") for n in range(6)])
    for number in range(6):
        run = report(run, a_call("make", key=f"p{number}", error="boom"))

    assert run.status == "stopping"
    assert directive_of(run).call == "skip"


@pytest.mark.parametrize(("mode", "cards"), [("warn", 0), ("flag", 1)])
def test_a_mode_that_holds_nothing_ends_nothing(mode, cards):
    run = report_messages(a_run(policy=BROKER, mode=mode), 8)

    assert (run.status, directive_of(run).action) == ("running", "proceed")
    assert Decision.objects.count() == cards
    assert "session.terminated" not in events(run)


def test_in_auto_the_policy_ends_it_as_well():
    assert report_messages(a_run(policy=BROKER, mode="auto"), 6).status == "stopping"


def test_a_question_to_people_takes_the_place_of_a_warning():
    policy = {
        "ladder": {"repeat": {"escalate_at": 3, "ask_at": 5}},
        "detectors": ["repeat"],
        "judged": False,
    }
    run = a_run(policy=policy)
    for number in range(1, 6):
        run = report(run, a_call("make", error="boom"))
        if number == 3:
            assert (run.status, Decision.objects.get().holds) == ("running", False)

    first, second = Decision.objects.order_by("opened_at", "id")
    assert (first.resolution, first.resolved_by) == ("superseded", "guard")
    assert (second.id, second.holds, run.status) == (run.open_decision, True, "holding")


def test_a_person_who_answers_the_warning_starts_the_count_again():
    run = report_messages(a_run(policy=BROKER), 4)
    interventions.intervene(
        run.id,
        Tap(key="k", action="continue", version=run.version, decision=run.open_decision),
        projects=[run.project_id],
        by="ana",
        at=NOON,
    )

    run = report_messages(run, 3)

    assert (run.status, run.open_decision) == ("running", None)


def test_a_run_that_a_person_holds_is_theirs():
    run = report_messages(a_run(policy=BROKER), 3)
    interventions.intervene(
        run.id, Tap(key="k", action="pause"), projects=[run.project_id], by="ana", at=NOON
    )

    run = report_messages(run, 5)

    assert run.status == "holding"


def test_a_warned_run_that_a_person_holds_is_theirs_too():
    run = report_messages(a_run(policy=BROKER), 4)
    interventions.intervene(
        run.id, Tap(key="k", action="pause"), projects=[run.project_id], by="ana", at=NOON
    )

    run = report_messages(run, 4)

    assert run.status == "holding"
    assert "session.terminated" not in events(run)


def test_a_projects_policy_may_be_a_preset():
    project = a_project(policy=BROKER)

    assert report_messages(a_run(project), 6).status == "stopping"


def test_the_server_agrees_with_the_engine_after_a_restart_of_its_worker():

    run = report_messages(a_run(policy=BROKER), 5)
    engine_cache.ENGINES.clear()

    assert report_messages(run, 1).status == "stopping"


def test_a_task_asks_no_judge_where_none_is_wanted():
    run = a_run(policy=BROKER)
    put(run, *[Turn(role=Role.ASSISTANT, content="Again and again the same.")] * 4)

    tasks.detect_now([run.id])

    assert Decision.objects.get().status == "open"
