"""Every writer of the file takes its turn, and leaves it with its commit."""

import fcntl
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction
from django.db.utils import ConnectionHandler

from missioncontrol.env import sqlite_database

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(tmp_path):
    return tmp_path / "db.sqlite3"


@pytest.fixture
def database(place, monkeypatch):
    """Give a connection to a file of its own, with one table."""
    handler = ConnectionHandler({"default": sqlite_database(place, durable=False)})
    monkeypatch.setattr(transaction, "get_connection", lambda _=None: handler["default"])
    with handler["default"].cursor() as cursor:
        cursor.execute("CREATE TABLE note (text TEXT UNIQUE)")
    yield handler["default"]
    handler["default"].close()


def is_taken(place):
    """Tell whether somebody has the turn."""
    with Path(f"{place}-turnstile").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def note(database, text):
    with database.cursor() as cursor:
        cursor.execute("INSERT INTO note VALUES (%s)", [text])


@transaction.atomic
def note_in_a_transaction(database, text):
    note(database, text)


def test_a_transaction_holds_the_lock_until_it_is_committed(database, place):
    taken = []
    with transaction.atomic():
        note(database, "one")
        taken.append(is_taken(place))
        transaction.on_commit(lambda: taken.append(is_taken(place)))

    assert taken == [True, False]


def test_a_failed_transaction_releases_the_lock(database, place):
    note(database, "one")

    with pytest.raises(IntegrityError):
        note_in_a_transaction(database, "one")

    assert not is_taken(place)


def test_a_connection_closed_in_a_transaction_releases_the_lock(database, place):
    database._start_transaction_under_autocommit()
    assert is_taken(place)

    database.close()

    assert not is_taken(place)


def test_a_single_writing_statement_takes_the_lock(database, place):
    note(database, "one")

    assert Path(f"{place}-turnstile").exists()
    assert not is_taken(place)


def test_reading_takes_no_lock(database, place):
    with database.cursor() as cursor:
        cursor.execute("SELECT text FROM note")

    assert not Path(f"{place}-turnstile").exists()


def test_a_checkpoint_runs_beside_an_open_transaction(database, place):
    note(database, "committed")
    beside = ConnectionHandler({"default": sqlite_database(place, durable=False)})["default"]
    with transaction.atomic():
        note(database, "open")

        beside.checkpoint()

        assert b"committed" in place.read_bytes()
        assert b"open" not in place.read_bytes()
    beside.close()


def test_within_its_own_transaction_a_checkpoint_does_nothing(database, place):
    with transaction.atomic():
        note(database, "open")

        database.checkpoint()

    assert b"open" not in place.read_bytes()
