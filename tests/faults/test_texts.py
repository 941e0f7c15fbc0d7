"""A text that an answer took, and a kill kept from leaving, reaches its agent all the same."""

import os
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from itertools import count

import pytest

from tests.contract.asking import AskingSession
from tests.contract.conversation import an_agent_of, the_person_of
from tests.faults.fleet import keep_trying

pytestmark = pytest.mark.faults

TEXT = "The file is token.py."
# In which an answer that has left is read.
READ_WITHIN_S = 0.5
# Which of them is caught between the two, only chance says.
TRIES = 60
TAKEN = "SELECT count(*) FROM oversight_message WHERE claimed_at IS NOT NULL"


@pytest.fixture
def session(running):
    with ThreadPoolExecutor(1) as pool:
        session = AskingSession(an_agent_of(running), the_person_of(running), pool)
        session.hook("UserPromptSubmit", prompt="Mend the tests.")
        yield session


def catch_between(running, session, calls):
    """Stop the server where an answer has taken a text and not left; return who asks for it."""
    run, web = session.run()["id"], running.pid_of("daphne")
    with closing(sqlite3.connect(running.data / "missioncontrol.sqlite3")) as database:
        for tried in range(TRIES):
            version = session.person.get(f"/api/v1/runs/{run}/")["version"]
            told = session.person.tap(run, "inject", message=TEXT, version=version)
            assert told.status == 201
            asking = session._pool.submit(call, session, next(calls))
            is_over = False
            while database.execute(TAKEN).fetchone()[0] == tried:
                assert not is_over
                # Before the next look, which then sees what it took.
                is_over = asking.done()
            os.kill(web, signal.SIGSTOP)
            if not wait([asking], READ_WITHIN_S).done:
                return web, asking
            os.kill(web, signal.SIGCONT)
    pytest.fail("every answer left before the server was stopped")


def call(session, number):
    made = {"tool_name": "Bash", "tool_input": {"command": f"ls {number}"}}
    made |= {"tool_use_id": f"toolu_{number}", "tool_response": {"stdout": f"{number}.py"}}
    return str(keep_trying(lambda: session.hook("PostToolUse", **made)))


def test_a_message_claimed_before_the_kill_comes_with_the_next_answer(running, session):
    calls = count(1)
    web, asking = catch_between(running, session, calls)

    os.kill(web, signal.SIGKILL)

    assert TEXT in asking.result()
    assert TEXT not in call(session, next(calls))
