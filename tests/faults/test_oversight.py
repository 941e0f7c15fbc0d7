"""What `kill -9` in the middle of the work may cost: time, and no turn, card or answer."""

import fcntl
import os
import signal
import sqlite3
from contextlib import closing
from decimal import Decimal

import pytest

from tests.contract.conversation import a_turn, an_agent_of, the_person_of
from tests.faults.fleet import PRICE, Fleet, keep_trying
from tests.installations import wait_for

pytestmark = pytest.mark.faults

PARTS = ["=detector-0@", "=worker@", "valkey.sock", "daphne"]


@pytest.fixture
def agent(running):
    return an_agent_of(running)


@pytest.fixture
def person(running):
    return the_person_of(running)


@pytest.fixture
def fleet(agent, person):
    """Return a function that sends agents to work."""

    def send(name, *, looping=3, healthy=2, loops=2, turns=12, under=None):
        return Fleet(
            agent,
            person,
            name=name,
            looping=looping,
            healthy=healthy,
            loops=loops,
            turns=turns,
            under=under,
        ).start()

    return send


def kill(installation, part):
    os.kill(wait_for(lambda: installation.pid_of(part)), signal.SIGKILL)


def read(installation, question):
    """Ask the installation's own database, past its server."""
    url = installation.environment.get("DATABASE_URL")
    if url:
        import psycopg

        with psycopg.connect(url) as database:
            return database.execute(question).fetchall()
    with closing(sqlite3.connect(installation.data / "missioncontrol.sqlite3")) as database:
        return database.execute(question).fetchall()


def unjudged(installation):
    return read(installation, "SELECT run_id FROM runs_runmeters WHERE detected_obs < last_obs")


def cards_of(person, run):
    found, path = [], "/api/v1/decisions/?limit=500"
    while path:
        page = keep_trying(lambda path=path: person.get(path))
        found += [card for card in page["results"] if card["run"] == run]
        path = page["next"] and page["next"].removeprefix(person.url)
    return found


def turns_of(person, run):
    return person.get(f"/api/v1/runs/{run}/turns/?limit=500")["results"]


def is_whole(running, fleet):
    """Every acknowledged turn is there once, judged, with one card a loop."""
    wait_for(lambda: not unjudged(running))
    for agent in fleet.agents:
        turns = turns_of(fleet.caller, agent.run_id)
        assert [turn["seq"] for turn in turns] == list(range(len(turns)))
        assert [turn["key"] for turn in turns] == list(dict.fromkeys(agent.acknowledged))
        assert all(turn["phase"] == "done" for turn in turns)
        assert len(cards_of(fleet.caller, agent.run_id)) == agent.loops, agent.name
    audited = fleet.caller.get("/api/v1/audit/verify/")
    assert audited["ok"], audited


@pytest.mark.parametrize("part", PARTS)
def test_a_kill_under_load_loses_no_turn_and_opens_no_card_twice(running, fleet, part):
    working = fleet(f"load {part.strip()}")
    working.person.start()
    wait_for(lambda: working.acknowledged() >= 15)

    kill(running, part)

    working.finish()
    is_whole(running, working)


def test_continuous_taps_deprive_no_turn_of_its_verdict(running, fleet):
    working = fleet("under taps", looping=6, healthy=6)
    working.person.start()
    with (running.data / "missioncontrol.sqlite3-people").open("w") as announced:
        fcntl.flock(announced, fcntl.LOCK_SH)
        wait_for(lambda: working.acknowledged() >= 60)

    working.finish()
    is_whole(running, working)


@pytest.mark.parametrize("part", PARTS[1:])
def test_a_tap_after_the_restart_releases_a_held_agent(running, fleet, part):
    waiting = fleet(f"held {part.strip()}", looping=2, healthy=0, loops=1)
    wait_for(lambda: len(waiting.held()) == 2)
    before = running.pid_of(part)

    os.kill(before, signal.SIGKILL)
    wait_for(lambda: running.pid_of(part) not in {None, before})
    waiting.person.start()

    waiting.finish()
    is_whole(running, waiting)


@pytest.mark.parametrize("part", PARTS[1:3])
def test_a_turn_nobody_waits_for_is_judged_though_its_dispatch_was_lost(running, agent, part):
    run = agent.open_run(mode="pause")
    for _ in range(3):
        assert agent.post_turns(run, a_turn(error="not found: a.py"), wait=None).status == 200

    kill(running, part)

    wait_for(lambda: not unjudged(running))
    assert (
        keep_trying(lambda: agent.ask("GET", f"/api/v1/runs/{run}/directive/")).json["action"]
        == "hold"
    )


@pytest.mark.parametrize("part", PARTS[:2])
def test_a_kill_under_linked_runs_counts_their_cards_and_cents_once(running, fleet, agent, part):
    lead = agent.open_run(name="lead")
    working = fleet(f"tree {part.strip()}", under=lead)
    working.person.start()
    wait_for(lambda: working.acknowledged() >= 15)

    kill(running, part)

    working.finish()
    is_whole(running, working)
    turns = sum(len(turns_of(working.caller, one.run_id)) for one in working.agents)
    counted = dict(read(running, "SELECT name, usd FROM oversight_spend WHERE scope = 'tree'"))
    assert round(Decimal(counted[lead]), 6) == turns * Decimal(PRICE)


@pytest.mark.parametrize("part", PARTS[:3])
def test_a_loop_over_linked_runs_is_carded_once_though_its_judge_was_killed(
    running, agent, person, part
):
    lead, fails = agent.open_run(), {"error": "ModuleNotFoundError: no module 'app.tokens'"}
    for _ in range(2):
        child = agent.open_run(parent=lead)
        assert agent.post_turns(child, a_turn(**fails), wait=60).json["judged"]
        assert agent.ask("PATCH", f"/api/v1/runs/{child}/", {"status": "failed"}).status == 200
    third = agent.open_run(parent=lead)
    assert agent.post_turns(third, a_turn(**fails), wait=None).status == 200

    kill(running, part)

    wait_for(lambda: not unjudged(running))
    (card,) = cards_of(person, third)
    assert card["detector"] == "errors"
