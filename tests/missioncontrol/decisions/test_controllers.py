"""Who controls a run is told when it is warned and when it is ended."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import timedelta

import pytest

from missioncontrol.decisions import interventions, messages
from missioncontrol.decisions.actions import Tap
from missioncontrol.decisions.directives import control_state_of, make_directive, queued_messages
from missioncontrol.decisions.models import ControllerNote
from missioncontrol.detection import tasks
from missioncontrol.errors import InvalidRequest
from missioncontrol.notify import webhook
from missioncontrol.runs.models import JournalRow, Run
from tests.build import NOON, a_project, a_run, after, put
from tests.installations import wait_for
from tests.missioncontrol.taps import BROKER, report_messages

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss() -> Run:
    return a_run(a_project(), name="boss")


def a_controlled_run(boss: Run) -> Run:
    return a_run(boss.project, name="fix-parser", policy=BROKER, controller=boss.id)


def heard_by(run: Run) -> list[str]:
    run.refresh_from_db()
    answer = make_directive(
        control_state_of(run), asked_seq=None, messages=queued_messages(run.id, at=NOON)
    )
    return [message.text for message in answer.messages]


def test_the_controlling_run_is_told_of_a_warning(boss):
    run = report_messages(a_controlled_run(boss), 4)

    messages.notify_controlling_runs(at=NOON)

    (message,) = heard_by(boss)
    assert "fix-parser" in message
    assert str(run.id) in message
    assert "has been warned" in message


def test_the_controlling_run_is_told_of_the_end(boss):
    report_messages(a_controlled_run(boss), 6)

    messages.notify_controlling_runs(at=NOON)

    warned, stopped = heard_by(boss)
    assert "has been warned" in warned
    assert "was stopped: It repeated itself 5 times, almost word for word" in stopped


def test_a_controller_is_told_once(boss):
    report_messages(a_controlled_run(boss), 6)

    for _ in range(3):
        messages.notify_controlling_runs(at=NOON)

    assert len(heard_by(boss)) == 2
    assert JournalRow.objects.filter(run=boss, type="message.queued").count() == 2


def test_a_waiting_controller_is_woken(boss):
    version = boss.version
    report_messages(a_controlled_run(boss), 4)

    messages.notify_controlling_runs(at=NOON)

    boss.refresh_from_db()
    assert boss.version == version + 1


def test_a_controller_is_told_by_the_task_that_judges(boss):
    from guard.turn import Role, Turn

    run = a_controlled_run(boss)
    put(run, *[Turn(role=Role.ASSISTANT, content="Again and again the same.")] * 4)

    tasks.detect_now([run.id])

    assert len(heard_by(boss)) == 1


@pytest.mark.django_db(transaction=True)
def test_the_sweeper_tells_the_controller_of_an_end_by_a_person(boss):
    run = a_controlled_run(boss)
    interventions.intervene(
        run.id, Tap(key="k", action="terminate"), projects=[run.project_id], by="ana", at=NOON
    )

    tasks.sweep()

    (message,) = heard_by(boss)
    assert "Terminated by ana." in message


def test_a_run_without_a_controller_leaves_no_note():
    report_messages(a_run(policy=BROKER), 6)

    assert not ControllerNote.objects.exists()


def test_a_controller_address_must_not_be_internal(db):
    for url in ("http://127.0.0.1/x", "https://user@example.com/", "not an address"):
        with pytest.raises(InvalidRequest, match="controller"):
            a_run(controller=url)


@pytest.fixture
def hooked(server, settings) -> Run:
    settings.CONTROLLER_HOSTS = [server.host]
    return report_messages(
        a_run(policy=BROKER, name="fix-parser", controller=f"{server.url}/told"), 4
    )


def call_due(*, at=NOON) -> int:
    claimed = messages.claim_controller_webhooks(at=at)
    for note in claimed:
        messages.call_controller_webhook(note, claimed_at=at, at=at)
    return len(claimed)


def test_a_controller_webhook_receives_what_happened(server, hooked):
    call_due()

    ((path, headers, body),) = server.received
    message = json.loads(body)
    assert (path, headers["X-MissionControl-Event"]) == ("/told", "escalation.asked")
    assert (message["run"], message["name"]) == (str(hooked.id), "fix-parser")
    assert message["decision"] == str(hooked.open_decision)
    assert JournalRow.objects.filter(run=hooked, type="notice.sent").count() == 1


def test_a_webhook_can_verify_the_signature_over_time_and_body(server, hooked):
    call_due()

    ((_, headers, body),) = server.received
    signed = headers["X-MissionControl-Timestamp"].encode() + b"." + body
    secret = webhook.secret_of(hooked.project_id)
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-MissionControl-Signature"] == f"v1={expected}"
    assert headers["X-MissionControl-Timestamp"] == str(int(NOON.timestamp()))


def test_each_project_has_a_secret_of_its_own():
    assert webhook.secret_of(a_project("a").id) != webhook.secret_of(a_project("b").id)


def test_what_was_sent_is_not_sent_again(server, hooked):
    assert [call_due(at=after(minute * 60)) for minute in range(0, 30, 5)] == [1, 0, 0, 0, 0, 0]


def test_a_failure_is_tried_again_later_each_time(server, hooked):
    server.status = 500

    call_due()
    first = ControllerNote.objects.get().due_at
    call_due(at=first)
    second = ControllerNote.objects.get().due_at

    assert call_due(at=first) == 0
    assert second - first > first - NOON > timedelta(0)


def test_a_repeat_carries_the_same_delivery(server, hooked):
    server.status = 503
    call_due()
    server.status = 204
    call_due(at=ControllerNote.objects.get().due_at)

    one, other = (headers["X-MissionControl-Delivery"] for _, headers, _ in server.received)
    assert one == other
    assert ControllerNote.objects.get().due_at is None


def test_a_busy_webhook_is_not_called_again_before_its_retry_after(server, hooked):
    server.status, server.headers = 503, {"Retry-After": "120"}
    call_due()
    server.status = 204

    assert call_due(at=after(120)) == 0
    assert call_due(at=after(122)) == 1
    assert ControllerNote.objects.get().due_at is None


@pytest.mark.parametrize("status", [308, 404])
def test_a_permanent_failure_is_not_retried(server, hooked, status):
    server.status = status

    call_due()

    assert ControllerNote.objects.get().due_at is None
    assert JournalRow.objects.filter(run=hooked, type="notice.failed").count() == 1


def test_a_webhook_is_given_up_after_eight_tries_and_journalled(server, hooked):
    server.status = 500
    while (note := ControllerNote.objects.get()).due_at is not None:
        call_due(at=note.due_at)

    failed = JournalRow.objects.get(run=hooked, type="notice.failed")
    assert len(server.received) == 8
    assert "it answered 500" in failed.payload


def test_a_try_whose_worker_died_counts_and_the_last_one_is_journalled(hooked, settings):
    settings.CONTROLLER_HOSTS = None  # a fault of ours: it is no list

    for minute in range(0, 16, 2):
        with pytest.raises(TypeError):
            call_due(at=after(minute * 60))
    assert ControllerNote.objects.get().tries == 8

    call_due(at=after(20 * 60))

    failed = JournalRow.objects.get(run=hooked, type="notice.failed")
    assert "nothing came of its last try" in failed.payload
    assert ControllerNote.objects.get().due_at is None


def test_a_stored_address_that_is_no_valid_url_is_settled_as_failed(hooked):
    hooked.controller_url = "https://hooks.example.com/\u00e9t\u00e9"
    hooked.save(update_fields=["controller_url"])

    while (note := ControllerNote.objects.get()).due_at is not None:
        call_due(at=note.due_at)

    assert JournalRow.objects.filter(run=hooked, type="notice.failed").count() == 1


def test_an_address_that_now_resolves_internally_is_not_called(server, hooked, settings):
    settings.CONTROLLER_HOSTS = []

    call_due()

    assert server.received == []
    assert ControllerNote.objects.get().tries == 1


def test_a_claimed_note_is_left_alone_by_other_workers(hooked):
    assert len(messages.claim_controller_webhooks(at=NOON)) == 1
    assert messages.claim_controller_webhooks(at=NOON) == []
    assert len(messages.claim_controller_webhooks(at=after(61))) == 1


def test_a_note_whose_lease_expired_is_left_to_the_next_claim(server, hooked):
    (note,) = messages.claim_controller_webhooks(at=NOON)

    messages.call_controller_webhook(note, claimed_at=NOON, at=after(61))

    assert server.received == []


def test_a_claimed_note_is_not_called_between_another_workers_tries(server, hooked):
    server.status, server.headers = 503, {"Retry-After": "120"}
    (note,) = messages.claim_controller_webhooks(at=NOON)
    call_due(at=after(61))

    messages.call_controller_webhook(note, claimed_at=NOON, at=after(62))

    assert len(server.received) == 1


@pytest.mark.django_db(transaction=True)
def test_the_sweep_calls_webhooks_in_a_thread_of_their_own(server, hooked):
    tasks.sweep()

    wait_for(lambda: ControllerNote.objects.get().due_at is None)
    assert len(server.received) == 1


def test_a_restarted_run_keeps_its_controller(server, hooked):
    made, _ = interventions.intervene(
        hooked.id,
        Tap(key="k", action="restart", message="Again, from the start."),
        projects=[hooked.project_id],
        by="ana",
        at=NOON,
    )

    assert Run.objects.get(pk=made.new_run).controller_url == f"{server.url}/told"
