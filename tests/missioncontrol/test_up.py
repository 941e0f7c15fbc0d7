"""`manage.py up`, started for real."""

import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.installations import (
    ROOT,
    Installation,
    StartFailed,
    a_database,
    all_pids,
    is_zombie,
    wait_for,
)


@pytest.fixture
def running(installation):
    return installation


def status_of(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:
            return response.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_the_json_line_has_exactly_the_documented_fields(running):
    assert list(running.line) == ["url", "project", "agent_key", "login_url", "pid"]
    assert running.line["pid"] == running.process.pid
    assert running.agent_key.startswith("mc_")


def test_it_serves_once_it_prints_the_line(running):
    assert status_of(f"{running.url}/healthz") == 200


def test_it_is_ready_once_the_worker_answers(running):
    wait_for(lambda: status_of(f"{running.url}/readyz") == 200)


def test_the_link_signs_in(running):
    assert "mc_session" in running.cookies()
    assert running.get("/api/v1/projects/")["results"][0]["id"] == running.project


def test_the_agent_key_opens_a_run(running):
    status, run = running.ask("POST", "/api/v1/runs/", {"name": "first"})

    assert status == 201
    assert run["project"] == running.project


def test_the_agent_key_stays_with_its_owner(running):
    kept = running.data / "agent.key"

    assert kept.read_text().strip() == running.agent_key
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_the_agent_key_is_in_no_other_file(running):
    key = running.agent_key.encode()

    holders = [path.name for path in running.data.rglob("*") if holds(path, key)]

    assert holders == ["agent.key"]


def test_the_sign_in_link_is_in_no_file(running):
    running.cookies()
    secret = running.line["login_url"].rstrip("/").rsplit("/", 1)[1].encode()

    assert [path.name for path in running.data.rglob("*") if holds(path, secret)] == []


def holds(path, secret):
    return path.is_file() and secret in path.read_bytes()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example"])
def test_it_answers_to_no_foreign_host(running, host):
    assert status_of(f"{running.url}/login/", Host=host) == 400


def test_it_answers_to_its_own_name(running):
    assert status_of(f"{running.url}/login/", Host=socket.gethostname()) == 200


def test_a_second_start_on_the_same_data_is_told_who_holds_it(running):
    with pytest.raises(StartFailed, match=rf"process {running.process.pid}.*{running.url}"):
        Installation(running.data).start()


def test_a_second_start_on_the_same_port_is_told_that_it_is_taken(running, tmp_path):
    port = running.url.rsplit(":", 1)[1]

    with pytest.raises(StartFailed, match=f"Port {port} on 127.0.0.1 is taken"):
        Installation(tmp_path, "--port", port).start()


def test_another_link_can_be_asked_for(running):
    printed = running.login_link()

    assert printed.startswith(f"{running.url}/login/")
    assert status_of(printed) == 200


def test_a_failed_start_prints_one_sentence_and_no_traceback(tmp_path):
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StartFailed) as failed:
        Installation(tmp_path / "file").start()

    assert failed.value.code == 1
    assert len(str(failed.value).splitlines()) == 1


def test_it_stops_every_process_and_restarts_with_the_same_key(running):
    key, before = running.agent_key, running.processes()

    with running.away():
        assert running.process.returncode == 0
        # A container's first process may take its time to reap what has ended.
        wait_for(lambda: not [pid for pid in all_pids() if pid in before and not is_zombie(pid)])

    assert running.agent_key == key


@pytest.mark.slow
def test_a_missing_identity_provider_ends_the_start_with_one_sentence(tmp_path):
    with pytest.raises(StartFailed, match="MISSIONCONTROL_OIDC_ISSUER is ''; expected") as failed:
        Installation(tmp_path, MISSIONCONTROL_SIGN_IN="oidc").start()

    assert failed.value.code == 1
    assert "Traceback" not in str(failed.value)


@pytest.mark.slow
def test_a_database_from_newer_code_is_left_alone(tmp_path):
    with a_database() as database:
        first = Installation(tmp_path, **database)
        migrate(first)
        note_a_newer_migration(first)

        with pytest.raises(StartFailed, match=r"newer Mission Control .*runs\.9999_later"):
            first.start()


def migrate(installation):
    migrating = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(migrating, cwd=ROOT, env=installation.own_environment(), check=True)


def note_a_newer_migration(installation):
    script = (
        "import django; django.setup()\n"
        "from django.db.migrations.recorder import MigrationRecorder as R\n"
        "from django.db import connection\n"
        "R(connection).record_applied('runs', '9999_later')\n"
    )
    subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=installation.own_environment(), check=True
    )
