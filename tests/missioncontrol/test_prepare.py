"""`manage.py prepare`: what `up` makes at its first start, for who runs the processes."""

import os
import stat

import pytest
from django.core.management import CommandError, call_command

from missioncontrol.up import data_dir
from missioncontrol.up.data_dir import DataDir
from tests.installations import Installation, a_database
from tests.missioncontrol.test_backups import managed

SECRETS = ("secret.key", "vapid.key")


@pytest.fixture
def data(db, tmp_path, settings, monkeypatch):
    """An empty data directory beside a database that is there."""
    monkeypatch.delenv("MISSIONCONTROL_SECRET_KEY")
    monkeypatch.delenv("VAPID_PRIVATE_KEY", raising=False)
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


def kept(data):
    return [(data / name).read_text() for name in SECRETS]


def test_it_makes_secrets_that_only_their_owner_reads(data):
    call_command("prepare")

    assert all(kept(data))
    assert {stat.S_IMODE((data / name).stat().st_mode) for name in SECRETS} == {0o600}


def test_the_second_time_it_keeps_the_secrets_that_are_there(data):
    call_command("prepare")
    made = kept(data)

    call_command("prepare")

    assert kept(data) == made


def test_it_makes_no_secret_beside_the_one_of_the_environment(data, monkeypatch):
    monkeypatch.setenv("MISSIONCONTROL_SECRET_KEY", "of every process")

    call_command("prepare")

    assert not (data / "secret.key").exists()


def test_it_does_nothing_while_up_holds_the_directory(data, monkeypatch):
    monkeypatch.setattr(data_dir, "LOCK_WAIT_S", 0)
    holder = DataDir(data)
    with holder.locked():
        holder.write_status("serving", "http://127.0.0.1:8765")

        with pytest.raises(CommandError, match=f"process {os.getpid()}.*Stop it first"):
            call_command("prepare")

    assert not (data / "secret.key").exists()


@pytest.mark.slow
def test_the_first_person_and_project_can_be_made_after_it(tmp_path):
    with a_database() as database:
        new = Installation(tmp_path / "data", **database)

        assert managed(new, "prepare") == (0, "preparing the database")

        assert managed(new, "project", "make", "My project")[0] == 0
