"""A recording is read and judged in processes of their own, with limits on time and memory."""

import tempfile
from contextlib import ExitStack

import pytest

from missioncontrol.detection import sandbox
from missioncontrol.runs.models import Run
from tests.missioncontrol.api.test_recordings_api import a_file, a_stuck_file, send, turn

pytestmark = pytest.mark.django_db


def test_a_call_nested_too_deep_costs_its_turn_alone(as_person, operator):
    deep = 900 * '{"a":' + "1" + 900 * "}"
    body = a_file(turn()) + f'\n{{"role": "assistant", "tool": "x", "args": {deep}}}'.encode()

    response = send(as_person(operator), body)

    assert response.status_code == 201, response.content
    assert (response.json()["turns"], response.json()["unreadable"]) == (1, 1)


def test_a_file_that_takes_too_long_to_read_is_refused(as_person, operator, monkeypatch):
    monkeypatch.setattr(sandbox, "READING_CPU_S", 1)
    # A quote that is never closed, each line of it looked at in each field it may be.
    body = b'role,content,tool\nassistant,"' + b"a\n" * (2 << 20)

    response = send(as_person(operator), body, name="open-quote.csv")

    assert response.status_code == 400, response.content
    assert "too much time or memory" in response.json()["detail"]
    assert not Run.objects.exists()


def test_a_file_that_takes_too_much_memory_is_refused(as_person, operator, monkeypatch):
    monkeypatch.setattr(sandbox, "MAX_MEMORY", 160 << 20)
    body = b"[" + b'{"a":0},' * 900_000 + b"{}]"

    response = send(as_person(operator), body)

    assert response.status_code == 400, response.content
    assert "too much time or memory" in response.json()["detail"]


def test_an_uploaded_file_never_has_a_name_on_disk(as_person, operator, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    read, seen = sandbox.read_recording, []

    def look(*given, **named):
        seen.append(list(tmp_path.iterdir()))
        return read(*given, **named)

    monkeypatch.setattr(sandbox, "read_recording", look)

    assert send(as_person(operator), a_stuck_file()).status_code == 201
    # A server that is killed meanwhile would leave it, with the secrets in it.
    assert seen == [[]]


def test_the_number_of_simultaneous_imports_is_limited(as_person, operator):
    with ExitStack() as taken:
        for _ in range(sandbox.MAX_CONCURRENT):
            taken.enter_context(sandbox.import_slot())
        response = send(as_person(operator), a_stuck_file())

    assert response.status_code == 503, response.content
    assert int(response.headers["Retry-After"]) > 0
    assert send(as_person(operator), a_stuck_file()).status_code == 201


def test_a_recording_that_takes_too_long_to_judge_is_refused(as_person, operator, monkeypatch):
    monkeypatch.setattr(sandbox, "JUDGING_CPU_S", 1)
    body = a_file(*(turn(f"pytest -k {n}", result=f"{n} failed") for n in range(9_000)))

    response = send(as_person(operator), body)

    assert response.status_code == 400, response.content
    assert "Judging its turns takes too much time" in response.json()["detail"]
    assert not Run.objects.exists()
