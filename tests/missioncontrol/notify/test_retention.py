"""What became of old deliveries is forgotten, a little at a time; the audit log is not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from missioncontrol import env
from missioncontrol.errors import SettingInvalid
from missioncontrol.notify import content, outbox, services, tasks
from missioncontrol.notify.models import Delivery, Notice
from missioncontrol.runs.models import JournalRow
from missioncontrol.settings import CELERY_BEAT_SCHEDULE
from tests.build import NOON, a_stuck_run
from tests.missioncontrol.notify.build import a_channel, a_device, deliver_due
from tests.missioncontrol.notify.test_web_push import answer

pytestmark = pytest.mark.django_db
KEEP = timedelta(days=90)
LATER = NOON + KEEP + timedelta(minutes=1)


def forget(*, at=LATER, keep=KEEP):
    return outbox.prune(at=at, keep=keep)


def trials_of(channel, count):
    return [
        services.send_test(channel, project=channel.project_id, by="ana", at=NOON)
        for _ in range(count)
    ]


@pytest.fixture
def channel(project):
    return a_channel(project)


@pytest.mark.parametrize("status", outbox.SETTLED)
def test_what_is_settled_goes_with_its_notice(channel, status):
    trials_of(channel, 2)
    Delivery.objects.update(status=status, due_at=None)

    assert forget() == 2
    assert not Notice.objects.exists()


def test_what_is_younger_stays(channel):
    trials_of(channel, 1)
    Delivery.objects.update(status="sent")

    assert forget(at=NOON + KEEP) == 0
    assert Notice.objects.count() == 1


def test_what_still_waits_stays(channel):
    trials_of(channel, 1)

    assert forget() == 0
    assert Notice.objects.count() == 1


def test_a_second_time_finds_nothing(channel):
    trials_of(channel, 3)
    Delivery.objects.update(status="failed")

    assert [forget(), forget()] == [3, 0]


def test_a_beat_deletes_so_many_and_the_next_goes_on(channel, monkeypatch):
    monkeypatch.setattr(outbox, "PRUNE_BATCH", 2)
    monkeypatch.setattr(outbox, "MAX_PRUNE_BATCHES", 2)
    made = trials_of(channel, 5)
    Delivery.objects.update(status="sent")

    assert forget() == 4
    assert [left.id for left in Delivery.objects.all()] == [made[-1].id]
    assert forget() == 1


def test_what_a_device_shows_of_an_open_card_stays_until_it_is_answered(owner, project):
    device = a_device(owner)
    run = a_stuck_run(project)
    Delivery.objects.update(status="sent", due_at=None)

    assert forget() == 0
    answer(run)
    assert Delivery.objects.get(what="withdrawal").device == device
    Delivery.objects.update(status="sent", due_at=None)

    assert forget() == 2
    assert not Notice.objects.exists()


def test_a_warning_of_a_budget_is_not_given_again(project, channel):
    announcement = content.Announcement(title="Today is at 80 %", body="")
    services.send_notice(project.id, "budget", subject="the day", message=announcement, at=NOON)
    Delivery.objects.update(status="sent")

    assert forget() == 1
    assert (
        services.send_notice(
            project.id, "budget", subject="the day", message=announcement, at=LATER
        )
        is None
    )


def test_the_audit_log_is_not_touched(project, channel):
    a_stuck_run(project)
    deliver_due()
    Delivery.objects.update(status="failed", due_at=None)
    Notice.objects.update(settled_at=NOON)
    before = list(JournalRow.objects.order_by("id").values())

    assert forget() == 1
    assert list(JournalRow.objects.order_by("id").values()) == before


def test_beat_schedules_it_and_nothing_is_forgotten_that_is_kept_for_ever(channel, settings):
    trials_of(channel, 1)
    Delivery.objects.update(status="sent")

    settings.KEEP_DELIVERIES = None
    tasks.prune()
    assert Delivery.objects.count() == 1

    settings.KEEP_DELIVERIES = KEEP
    Delivery.objects.update(created_at=NOON - 9 * KEEP)
    tasks.prune()
    assert Delivery.objects.count() == 0
    assert CELERY_BEAT_SCHEDULE["forget"]["task"] == tasks.prune.name


@pytest.mark.parametrize(("days", "read"), [(None, 90), ("1", 1), ("36500", 36500)])
def test_days_are_read_from_the_environment(monkeypatch, days, read):
    monkeypatch.delenv("KEPT", raising=False)
    if days is not None:
        monkeypatch.setenv("KEPT", days)

    assert env.days("KEPT", 90) == timedelta(days=read)


@pytest.mark.parametrize("days", ["-1", "36501", "a week", "1.5"])
def test_what_is_no_number_of_days_is_refused_by_name(monkeypatch, days):
    monkeypatch.setenv("KEPT", days)

    with pytest.raises(SettingInvalid, match="KEPT"):
        env.days("KEPT", 90)


def test_no_days_at_all_is_for_ever(monkeypatch):
    monkeypatch.setenv("KEPT", "0")

    assert env.days("KEPT", 90) is None
