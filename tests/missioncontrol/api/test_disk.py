"""A database that cannot write is not ready, though it reads."""

import sys

import pytest

from missioncontrol.api import problems, web_process
from missioncontrol.api.views import instance
from missioncontrol.api.web_process import FULL_REMEMBERED_S, Disk


@pytest.fixture
def clock():
    """The hour, which a test moves: `clock[0] += 1`."""
    return [100.0]


@pytest.fixture
def own_disk(clock, monkeypatch):
    own = Disk(lambda: clock[0])
    monkeypatch.setattr(problems, "disk", own)
    monkeypatch.setattr(instance, "disk", own)
    return own


class DiskFull(Exception):
    sqlite_errorname = "SQLITE_FULL"


def refuse_a_write():
    fault = RuntimeError()
    fault.__cause__ = DiskFull()
    return problems.database_problem(fault)


def test_a_database_with_free_space_is_ready(db, own_disk):
    assert instance.is_database_ready()


def test_a_database_that_refused_a_write_for_lack_of_space_is_not_ready(db, own_disk):
    refuse_a_write()

    assert not instance.is_database_ready()


def test_a_refused_write_is_forgotten_after_a_while(db, own_disk, clock):
    refuse_a_write()

    clock[0] += FULL_REMEMBERED_S

    assert instance.is_database_ready()


def test_a_database_on_a_disk_that_is_nearly_full_is_not_ready(db, own_disk, monkeypatch):
    monkeypatch.setattr(web_process, "MIN_FREE_BYTES", sys.maxsize)

    assert not instance.is_database_ready()


def test_a_database_is_ready_before_its_data_directory_exists(db, own_disk, settings, tmp_path):
    settings.DATA_DIR = tmp_path / "not made"

    assert instance.is_database_ready()
