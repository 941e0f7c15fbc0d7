"""A dispatch as the web process writes it, read by a real Celery worker."""

import json

import pytest
from django.conf import settings
from redis import Redis

from missioncontrol.broadcast import channel
from missioncontrol.celery import app
from missioncontrol.detection import tasks
from missioncontrol.runs.models import Run
from tests.build import a_call, a_run, put
from tests.workers import a_worker

QUEUE = settings.DETECT_QUEUES[0]
# By the prefix of this process: others test at the same broker.
REPLIES = channel("reply", "tests")
UNACKED = settings.CELERY_BROKER_TRANSPORT_OPTIONS["unacked_key"]


@pytest.fixture
def broker():
    with Redis.from_url(settings.BROKER_URL) as client:
        client.delete(QUEUE, settings.CELERY_TASK_DEFAULT_QUEUE)
        yield client


@pytest.fixture
def replies(broker):
    with broker.pubsub(ignore_subscribe_messages=True) as pubsub:
        pubsub.subscribe(REPLIES)
        while not pubsub.subscribed:
            pubsub.get_message(timeout=1)
        yield pubsub


def next_reply(replies):
    while (message := replies.get_message(timeout=60)) is None:
        pass
    return json.loads(message["data"])


@pytest.mark.django_db(transaction=True)
def test_a_detector_judges_its_queue_and_replies_to_the_sender(broker, replies, project):
    run = a_run(project)
    put(run, a_call("ls"))
    body = {"runs": [str(run.id)], "reply_to": REPLIES, "number": 7}
    broker.lpush(QUEUE, tasks.detect_message(body))

    with a_worker(app, queues=[QUEUE]):
        reply = next_reply(replies)

    assert (reply["type"], reply["ring"]) == ("judged", 7)
    assert reply["runs"][run.id.hex]["detected_obs"] == 1
    assert Run.objects.get(pk=run.pk).meters.detected_obs == 1
    assert not broker.llen(QUEUE)


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_detects_for_a_silent_detector_acknowledges_the_message(broker, replies):
    tasks.detect.apply_async(kwargs={"runs": [], "reply_to": REPLIES, "number": 8})

    queues = [settings.CELERY_TASK_DEFAULT_QUEUE]
    with a_worker(app, queues=queues):
        assert next_reply(replies)["ring"] == 8

    assert not broker.hlen(UNACKED)


@pytest.mark.django_db(transaction=True)
def test_unacknowledged_messages_are_stored_under_the_installations_own_prefix(broker):
    line = app.broker_connection().default_channel

    assert line.unacked_key == UNACKED == f"{settings.BROKER_PREFIX}-unacked"
    assert line.unacked_index_key.startswith(settings.BROKER_PREFIX)
    assert line.unacked_mutex_key.startswith(settings.BROKER_PREFIX)


def test_a_dispatch_is_not_tracked_as_unacknowledged():
    assert all(app.amqp.queues[name].no_ack for name in settings.DETECT_QUEUES)
    assert not app.amqp.queues[settings.CELERY_TASK_DEFAULT_QUEUE].no_ack
