"""A detecting process: it takes dispatches off its list, judges their runs, and answers."""

import json
import signal
import threading

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from redis import Redis

from missioncontrol.detection.detector import Detector
from missioncontrol.runs.models import Run
from tests.build import a_call, a_run, put

QUEUE, REPLIES = settings.DETECT_QUEUES[0], "tests:replies"


@pytest.fixture
def broker():
    with Redis.from_url(settings.BROKER_URL) as client:
        client.delete(QUEUE)
        yield client


@pytest.fixture
def heard(broker):
    with broker.pubsub(ignore_subscribe_messages=True) as pubsub:
        pubsub.subscribe(REPLIES)
        while not pubsub.subscribed:
            pubsub.get_message(timeout=1)
        pubsub.get_message(timeout=1)
        yield pubsub


def a_dispatch(*runs, number=7):
    told = {"runs": [str(run.id) for run in runs], "reply_to": REPLIES, "number": number}
    return json.dumps(told)


def reply(heard):
    while (message := heard.get_message(timeout=60)) is None:
        pass
    return json.loads(message["data"])


@pytest.mark.django_db(transaction=True)
def test_a_detector_judges_what_waits_in_its_list_and_tells_who_asked(broker, heard, project):
    run = a_run(project)
    put(run, a_call("ls"))
    detector = Detector(QUEUE)
    answers = []
    broker.lpush(QUEUE, "no dispatch", a_dispatch(run))

    def end_once_answered():
        answers.append(reply(heard))
        detector.end()

    waiting = threading.Thread(target=end_once_answered)
    waiting.start()
    detector.serve()
    waiting.join()

    (answer,) = answers
    assert (answer["type"], answer["ring"]) == ("judged", 7)
    assert answer["runs"][run.id.hex]["detected_obs"] == 1
    assert Run.objects.get(pk=run.pk).detected_obs == 1
    assert not broker.llen(QUEUE)


def test_a_detector_that_waits_ends_at_once_and_one_that_works_once_it_is_done():
    detector = Detector(QUEUE)

    with pytest.raises(SystemExit):
        detector.end(signal.SIGTERM, None)

    detector._is_working = True
    detector.end(signal.SIGTERM, None)  # its loop sees that it is to end
    detector.serve()


def test_a_detector_of_a_number_that_nobody_sends_to_is_refused():
    with pytest.raises(CommandError, match="numbers 0 to 1, not 2"):
        call_command("detect", "2")
