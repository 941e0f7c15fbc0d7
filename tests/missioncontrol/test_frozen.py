"""A process that freezes, or a PostgreSQL that is away, keeps nobody waiting for long."""

import threading
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from psycopg_pool import ConnectionPool

from missioncontrol import env
from missioncontrol.errors import SettingInvalid

URL = "postgres://mc@db.example.org/mc"
POSTGRES = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has one machine, and no connections to lose"
)


def options(*, serving, pooled=False):
    found = env.database(
        "DATABASE_URL", sqlite=Path("unused"), pooled=pooled, serving=serving, durable=False
    )
    return found["OPTIONS"]


def test_a_serving_process_has_a_timeout_for_idle_transactions(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", URL)

    libpq_options = options(serving=True)["options"]
    assert libpq_options.startswith("-c idle_in_transaction_session_timeout=15s ")


def test_a_command_has_no_timeout_for_idle_transactions(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", URL)

    assert "options" not in options(serving=False)


def test_options_in_the_database_url_replace_ours(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", f"{URL}?options=-c%20statement_timeout%3D60s")

    assert options(serving=True)["options"] == "-c statement_timeout=60s"


def test_empty_options_in_the_database_url_send_none_to_a_pooler(monkeypatch):
    """PgBouncer refuses a blank one, too."""
    monkeypatch.setenv("DATABASE_URL", f"{URL}?options=")

    assert options(serving=True)["options"] == ""


def test_prepared_in_the_database_url_takes_yes_or_no(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", f"{URL}?prepared=never")

    with pytest.raises(SettingInvalid, match="prepared=never"):
        options(serving=True)


@pytest.mark.parametrize("serving", [True, False])
def test_connecting_times_out_unless_the_database_url_says_otherwise(monkeypatch, serving):
    monkeypatch.setenv("DATABASE_URL", f"{URL}?tcp_user_timeout=0")

    found = options(serving=serving)

    assert (found["connect_timeout"], found["tcp_user_timeout"]) == ("10", "0")


@POSTGRES
@pytest.mark.django_db(transaction=True)
def test_a_row_locked_by_a_frozen_process_is_released(monkeypatch, project):
    monkeypatch.setenv("DATABASE_URL", URL)
    monkeypatch.setattr(env, "IDLE_TRANSACTION_S", 1)
    reached = connection.get_connection_params()
    lock = "SELECT 1 FROM accounts_project FOR UPDATE"

    with psycopg.connect(**{**reached, **options(serving=True)}) as frozen:
        frozen.execute(lock)
        with connection.cursor() as cursor:
            cursor.execute(lock)  # waits until PostgreSQL has ended the other one

        with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
            frozen.execute("SELECT 1")


# What still tries, at ever greater distances, would keep others from trying at once.
def test_a_pool_gives_up_on_an_absent_server_and_starts_again(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", URL)
    monkeypatch.setattr(env, "POOL_TIMEOUT_S", 1)
    gave_up = threading.Event()
    nobody = "host=127.0.0.1 port=9"  # discard: nothing listens

    pool = options(serving=True, pooled=True)["pool"]
    with ConnectionPool(nobody, reconnect_failed=lambda _: gave_up.set(), **pool):
        assert gave_up.wait(30)
