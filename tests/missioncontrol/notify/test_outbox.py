"""Each target hears of a card once; what fails is tried again, later each time."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import time
from typing import Any

import pytest

from missioncontrol.decisions import interventions
from missioncontrol.decisions.actions import Tap
from missioncontrol.notify import outbox, services, webhook
from missioncontrol.notify.models import Delivery, Notice
from missioncontrol.runs.models import JournalRow, Run
from tests.build import NOON, a_person, a_project, a_stuck_run, after
from tests.missioncontrol.notify.build import a_channel, a_device, deliver_due, statuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def hooked(server, settings, project):
    """A project with one channel, a web hook."""
    settings.NOTIFY_HOSTS = [server.host]
    settings.PUBLIC_URL = "https://mc.example.com"
    return a_channel(project, f"{server.url}/told")


def answer(run: Run) -> None:
    run.refresh_from_db()
    interventions.intervene(
        run.id,
        Tap(key="k", action="continue", decision=run.open_decision, version=run.version),
        projects=[run.project_id],
        by="ana",
        at=after(1),
    )


def journalled(run: Run, kind: str) -> list[Any]:
    rows = JournalRow.objects.filter(run=run, type=kind).order_by("seq")
    return [json.loads(row.payload or "") for row in rows]


def test_a_card_is_told_once(server, hooked, project):
    run = a_stuck_run(project)

    for seconds in (0, 10, 600):
        deliver_due(at=after(seconds))

    ((_, headers, body),) = server.received
    message = json.loads(body)
    assert (message["run"], message["decision"]) == (str(run.id), str(run.open_decision))
    assert message["title"] == "fix-auth-tests is paused"
    assert message["url"] == f"https://mc.example.com/decisions/{run.open_decision}"
    assert headers["X-MissionControl-Delivery"] == str(Delivery.objects.get().id)
    assert journalled(run, "notice.sent") == [
        {"channel": "webhook", "decision": str(run.open_decision)}
    ]


def test_it_is_signed_with_its_moment(server, hooked, project):
    a_stuck_run(project)
    deliver_due()

    ((_, headers, body),) = server.received
    signed = headers["X-MissionControl-Timestamp"].encode() + b"." + body
    secret = webhook.secret_of(project.id)
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-MissionControl-Signature"] == f"v1={expected}"


def test_a_card_waits_for_its_judge_who_brings_the_fix(server, hooked, project):
    run = a_stuck_run(project, judged=False)
    assert deliver_due(at=NOON) == 0

    from missioncontrol.detection import judging

    judging.judge_card(run.open_decision, at=after(1))
    deliver_due(at=after(1))

    ((_, _, body),) = server.received
    assert json.loads(body)["about"]["fix"]


def test_but_not_for_long(server, hooked, project):
    a_stuck_run(project, judged=False)

    assert deliver_due(at=after(9)) == 0
    assert deliver_due(at=after(10)) == 1


def test_what_was_answered_before_is_not_told(server, hooked, project):
    run = a_stuck_run(project)
    answer(run)

    assert deliver_due(at=after(60)) == 0
    assert statuses() == ["withdrawn"]
    assert Notice.objects.get().outcome == "continue"


def test_a_device_that_shows_it_is_told_to_take_it_away(project, owner):
    a_device(owner)
    run = a_stuck_run(project)
    Delivery.objects.update(status="sent", due_at=None)

    answer(run)

    assert statuses(what="withdrawal") == ["waiting"]
    assert statuses(what="decision") == ["sent"]


def test_an_answer_while_it_was_on_its_way_takes_it_away_too(project, owner):
    a_device(owner)
    run = a_stuck_run(project)
    (claimed,) = outbox.claim(at=NOON)
    delivery = Delivery.objects.select_related("notice").get(pk=claimed)
    answer(run)

    outbox.store_outcome(delivery, outbox.Outcome(), at=after(2))

    assert statuses(what="decision") == ["sent"]
    assert statuses(what="withdrawal") == ["waiting"]


def test_who_may_only_look_and_who_is_elsewhere_hear_nothing(project, viewer, stranger):
    a_device(viewer)
    a_device(stranger, "https://push.example.com/sam")
    a_stuck_run(project)

    assert not Delivery.objects.exists()


def test_each_device_hears_once_and_switched_off_ones_do_not(project, owner, operator):
    a_device(owner, "https://push.example.com/1")
    a_device(owner, "https://push.example.com/2", enabled=False)
    a_device(operator, "https://push.example.com/3")
    a_stuck_run(project)

    assert statuses() == ["waiting", "waiting"]


def test_a_channel_hears_what_it_wants_to(project):
    a_channel(project, hears_decisions=False, hears_budgets=False, hears_reports=True)
    a_stuck_run(project)

    assert not Delivery.objects.exists()


def test_a_later_step_hears_only_if_nobody_answered(server, hooked, project):
    a_channel(project, f"{server.url}/boss", name="boss", step_minutes=5)
    run = a_stuck_run(project)

    deliver_due(at=NOON)
    assert deliver_due(at=after(299)) == 0
    deliver_due(at=after(300))

    (_, _, _), (path, _, body) = server.received
    message = json.loads(body)
    assert (path, message["title"]) == ("/boss", "Still paused: fix-auth-tests")
    assert message["text"].startswith("Nobody answered for 5 min. In 55 min it will be stopped.")
    assert run.open_decision is not None


def test_and_not_once_somebody_has(server, hooked, project):
    a_channel(project, f"{server.url}/boss", name="boss", step_minutes=5)
    run = a_stuck_run(project)
    deliver_due(at=NOON)
    answer(run)

    assert deliver_due(at=after(300)) == 0
    assert statuses() == ["sent", "withdrawn"]


def test_quiet_hours_put_it_off_to_their_end(server, hooked, project):
    hooked.quiet_from, hooked.quiet_to = time(11, 0), time(13, 0)
    hooked.save(update_fields=["quiet_from", "quiet_to"])
    a_stuck_run(project)

    assert deliver_due(at=after(3599)) == 0
    assert Delivery.objects.get().due_at == after(3600)
    assert deliver_due(at=after(3600)) == 1
    assert len(server.received) == 1


def test_quiet_hours_that_were_set_meanwhile_put_off_the_next_try(server, hooked, project):
    server.status = 500
    a_stuck_run(project)
    deliver_due()
    hooked.quiet_from, hooked.quiet_to = time(12, 0), time(13, 0)
    hooked.save(update_fields=["quiet_from", "quiet_to"])

    deliver_due(at=after(60))

    assert len(server.received) == 1
    assert Delivery.objects.get().due_at == after(3600)


def test_a_failure_is_tried_again_later_each_time(server, hooked, project):
    server.status = 500
    a_stuck_run(project)

    deliver_due(at=NOON)
    first = Delivery.objects.get().due_at
    deliver_due(at=first)
    second = Delivery.objects.get().due_at

    assert deliver_due(at=first) == 0
    assert second - first > first - NOON
    assert Delivery.objects.get().last_error == "it answered 500"


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_webhook_is_not_called_again_before_its_retry_after(server, hooked, project, status):
    server.status, server.headers = status, {"Retry-After": "120"}
    a_stuck_run(project)
    deliver_due()
    server.status = 204

    # Counted from the answer, which came a moment after the claim.
    assert deliver_due(at=after(120)) == 0
    assert deliver_due(at=after(122)) == 1
    assert statuses() == ["sent"]


def test_nor_before_our_own_pause_is_over(server, hooked, project):
    server.status, server.headers = 503, {"Retry-After": "1"}
    a_stuck_run(project)

    deliver_due()

    assert deliver_due(at=after(5)) == 0
    assert deliver_due(at=after(7)) == 1


def test_what_is_answered_while_a_busy_server_is_left_alone_is_not_told(server, hooked, project):
    server.status, server.headers = 429, {"Retry-After": "120"}
    run = a_stuck_run(project)
    deliver_due()

    answer(run)

    assert (deliver_due(at=after(200)), statuses()) == (0, ["withdrawn"])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_web_hook_that_moved_says_so_and_ends_at_once(server, hooked, project, status):
    server.status = status
    a_stuck_run(project)

    deliver_due()

    assert (statuses(), len(server.received)) == (["failed"], 1)
    why = f"it redirects ({status}): enter the address that it leads to"
    assert Delivery.objects.get().last_error == why


def test_after_eight_tries_it_has_failed_and_the_journal_says_so(server, hooked, project):
    server.status = 500
    run = a_stuck_run(project)
    while (delivery := Delivery.objects.get()).due_at is not None:
        deliver_due(at=delivery.due_at)

    (failed,) = journalled(run, "notice.failed")
    assert len(server.received) == 8
    assert (delivery.status, failed["reason"]) == ("failed", "it answered 500")
    assert {headers["X-MissionControl-Delivery"] for _, headers, _ in server.received} == {
        str(delivery.id)
    }


@pytest.mark.parametrize("status", [401, 404, 410])
def test_a_permanent_failure_is_not_retried(server, hooked, project, status):
    server.status = status
    a_stuck_run(project)

    deliver_due()

    assert (statuses(), len(server.received)) == (["failed"], 1)


def test_a_failed_one_is_tried_again_when_a_person_asks(server, hooked, project):
    server.status = 404
    a_stuck_run(project)
    deliver_due()
    server.status = 204

    assert outbox.retry(Delivery.objects.get(), at=after(60))
    deliver_due(at=after(60))

    assert (statuses(), len(server.received)) == (["sent"], 2)
    assert not outbox.retry(Delivery.objects.get(), at=after(61))


def test_a_subscription_that_is_gone_is_removed(project, owner):
    a_device(owner)
    a_stuck_run(project)
    (claimed,) = outbox.claim(at=NOON)
    delivery = Delivery.objects.select_related("notice").get(pk=claimed)

    gone = outbox.Outcome(failure="it answered 410", is_final=True, is_gone=True)
    outbox.store_outcome(delivery, gone, at=NOON)

    delivery.refresh_from_db()
    assert (delivery.status, delivery.device, delivery.target) == ("failed", None, "Ana's Pixel")
    assert not owner.devices.exists()


def test_what_a_worker_took_is_left_alone_until_its_lease_is_over(hooked, project):
    a_stuck_run(project)

    assert len(outbox.claim(at=NOON)) == 1
    assert outbox.claim(at=after(59)) == []
    assert len(outbox.claim(at=after(60))) == 1


def test_one_that_waited_past_its_lease_is_left_to_who_claims_it_next(server, hooked, project):
    a_stuck_run(project)
    (claimed,) = outbox.claim(at=NOON)

    outbox.deliver(claimed, at=after(60))

    assert server.received == []


def test_tries_that_nobody_came_back_from_count(hooked, project, settings):
    settings.NOTIFY_HOSTS = None  # a fault of ours: it is no list
    a_stuck_run(project)
    for minute in range(0, 24, 3):
        with pytest.raises(TypeError):
            deliver_due(at=after(minute * 60))

    deliver_due(at=after(30 * 60))

    assert Delivery.objects.get().tries == 8
    assert Delivery.objects.get().last_error == "nothing came of its last try"


def test_a_channel_that_was_switched_off_or_removed_is_skipped(server, hooked, project):
    gone = a_channel(project, f"{server.url}/gone", name="gone")
    a_stuck_run(project)
    hooked.enabled = False
    hooked.save(update_fields=["enabled"])
    gone.delete()

    deliver_due()

    assert (statuses(), server.received) == (["skipped", "skipped"], [])


def test_who_left_the_project_hears_no_more(project):
    leaver = a_person("lea", project)
    a_device(leaver)
    a_stuck_run(project)
    leaver.membership_set.all().delete()

    deliver_due()

    assert Delivery.objects.get().last_error == "its person no longer answers in the project"


def test_an_address_sealed_with_another_key_fails_and_says_what_to_do(hooked, project, settings):
    a_stuck_run(project)
    settings.SECRET_KEY = "another one"

    deliver_due()

    assert "enter its address again" in Delivery.objects.get().last_error


def test_a_report_is_told_once_a_subject(server, hooked, project):
    hooked.hears_reports = True
    hooked.save(update_fields=["hears_reports"])
    announcement = services.content.Announcement(
        title="Saturday cost $2.31", body="46% of the daily budget."
    )

    for _ in range(2):
        services.send_notice(
            project.id, "report", subject="2026-11-21", message=announcement, at=NOON
        )
    deliver_due()

    ((_, _, body),) = server.received
    assert json.loads(body)["title"] == "Saturday cost $2.31"
    assert JournalRow.objects.filter(project=project, run=None, type="notice.sent").count() == 1


def test_a_test_reaches_a_channel_that_is_off_and_asleep(server, hooked, project):
    hooked.enabled, hooked.quiet_from, hooked.quiet_to = False, time(11), time(13)
    hooked.save(update_fields=["enabled", "quiet_from", "quiet_to"])

    services.send_test(hooked, project=hooked.project_id, by="ana", at=NOON)
    deliver_due()

    assert statuses(what="test") == ["sent"]


def test_no_address_lies_open_in_the_database(hooked, project, owner):
    from django.db import connection

    a_device(owner, "https://push.example.com/very-secret")
    a_channel(a_project("other"), "https://hooks.example.com/also-secret")
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM notify_channel")
        kept = repr(cursor.fetchall())
        cursor.execute("SELECT * FROM notify_device")
        kept += repr(cursor.fetchall())

    assert "very-secret" not in kept
    assert "also-secret" not in kept
