"""The database is restarted, or full, under agents that wait: nobody is let go, nothing is lost."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest

from tests.contract.conversation import a_turn, an_agent_of, the_person_of
from tests.installations import an_installation, wait_for

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with an_installation(tmp_path_factory.mktemp("up")) as installation:
        yield installation


@pytest.fixture
def agent(running):
    return an_agent_of(running)


@pytest.fixture
def person(running):
    return the_person_of(running)


@contextmanager
def database_away(installation):
    """Have PostgreSQL drop its connections and take no new ones; SQLite miss its runs."""
    url = installation.environment.get("DATABASE_URL")
    if url:
        with away_at_postgresql(url):
            yield
        return
    path = installation.data / "missioncontrol.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as database:
        # Else it would write the new name into every table that refers to it.
        database.execute("PRAGMA legacy_alter_table = ON")
        database.execute("ALTER TABLE runs_run RENAME TO runs_away")
        try:
            yield
        finally:
            database.execute("ALTER TABLE runs_away RENAME TO runs_run")


@contextmanager
def away_at_postgresql(url):
    import psycopg

    name = urlsplit(url).path.removeprefix("/")
    maintenance = urlsplit(url)._replace(path="/postgres").geturl()
    with psycopg.connect(maintenance, autocommit=True) as server:
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        server.execute(ended, [name])
        try:
            yield
        finally:
            server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def has_logged(installation, text):
    return text in (installation.data / "logs/web.log").read_text()


def test_a_held_agent_keeps_waiting_while_the_database_is_away(running, agent, person):
    run = agent.open_run(mode="pause")
    held = agent.get_stuck(run)
    with ThreadPoolExecutor(1) as waiting:
        answer = waiting.submit(agent.poll, run, held["version"], wait=60)
        wait_for(lambda: agent.ask("GET", f"/api/v1/runs/{run}/").json["status"] == "held")

        with database_away(running):
            wait_for(lambda: has_logged(running, "the database does not answer"))
        card = wait_for(lambda: person.card_of(run))
        told = {"decision": card["id"], "version": card["version"]}

        assert person.tap(run, "continue", **told).status == 201
        assert (answer.result().status, answer.result().json["action"]) == (200, "proceed")


def test_a_turn_posted_while_the_database_is_away_must_be_sent_again(running, agent):
    run, turn = agent.open_run(), a_turn()

    with database_away(running):
        refused = agent.post_turns(run, turn)

    assert (refused.status, refused.json["code"]) == (503, "unavailable")
    assert refused.headers["Retry-After"] == "1"
    assert wait_for(lambda: agent.post_turns(run, turn).json.get("accepted")) == 1
