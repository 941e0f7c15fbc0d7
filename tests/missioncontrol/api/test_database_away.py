"""A caller who must retry learns what is wrong with the database."""

import pytest
from django.db import OperationalError, connection

from missioncontrol.api import problems
from missioncontrol.api.problems import database_problem
from missioncontrol.api.web_process import Disk

FULL_DISK = {
    "sqlite": "CREATE TABLE large AS SELECT zeroblob(10000000)",
    "postgresql": "DO $$ BEGIN RAISE 'No space left on device' USING ERRCODE = '53100'; END $$",
}


@pytest.fixture
def disk_full(db, monkeypatch):
    # Whoever asks in the next half minute would hear of it.
    monkeypatch.setattr(problems, "disk", Disk())
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        (pages,) = cursor.execute("PRAGMA max_page_count").fetchone()
        cursor.execute("PRAGMA max_page_count = 1")  # no more than there are
        yield
        cursor.execute(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_is_reported(disk_full):
    with pytest.raises(OperationalError) as raised, connection.cursor() as cursor:
        cursor.execute(FULL_DISK[connection.vendor])

    assert str(database_problem(raised.value)) == "The disk of the database is full."
