"""`guard run -- COMMAND…` with real commands under a real Mission Control."""

import json
import signal
import sys
import uuid
from decimal import Decimal

import pytest

from guard.running.processes import is_running
from tests.agents.person import Person
from tests.agents.responses_api import Reply
from tests.agents.test_codex_story import (
    CORRECTION,
    ONE_CALL,
    Looping,
    reads_the_missing_file,
    thread_of,
)
from tests.installations import PATIENCE_S, read_proc, wait_for

pytestmark = pytest.mark.agents

RUN = (sys.executable, "-m", "guard.cli", "run", "--")
ENDED = 143
"""128 and SIGTERM: what a shell says of an ended command."""

WORKS = "import time; open('begun', 'w').close(); time.sleep(600)"


def run_named(person, name):
    rows = person.get("runs/")["results"]
    return next((row for row in rows if row["name"] == name), None)


def tap(person, run, action, **more):
    body = {"key": uuid.uuid4().hex, "action": action} | more
    return person.post(f"runs/{run}/interventions/", body)


def is_stopped(pid):
    return read_proc(pid, "stat").rpartition(b")")[2].split()[0] == b"T"


@pytest.fixture
def kept(installation, responses, codex, person):
    """Start a command under `guard run`; returns its process and its run's id."""

    def start(*command, name="night shift"):
        client = codex(responses(lambda _: Reply(text="ok")))
        name = f"{name} {uuid.uuid4().hex}"
        client.env |= {
            "MISSIONCONTROL_URL": installation.url,
            "MISSIONCONTROL_KEY": installation.agent_key,
        }
        process = client.spawn(*RUN[:-1], "--name", name, "--", *command)
        return client, process, wait_for(lambda: run_named(person, name))["id"]

    return start


# --- any command ---------------------------------------------------------------


def test_a_command_is_ended_with_all_it_started(kept, person):
    script = f'sleep 600 & echo $! > child; exec {sys.executable} -c "{WORKS}"'
    client, process, run = kept("sh", "-c", f"setsid sleep 600 & echo $! > other; {script}")
    wait_for((client.project / "begun").exists)
    pids = [int((client.project / name).read_text()) for name in ("child", "other")]
    assert person.run(run)["capabilities"]["terminate"] == "signal"

    tap(person, run, "terminate")

    assert process.wait(PATIENCE_S) == ENDED
    wait_for(lambda: not any(map(is_running, pids)))
    wait_for(lambda: person.run(run)["status"] == "terminated")


def test_a_paused_command_is_stopped(kept, person):
    client, process, run = kept("sh", "-c", "echo $$ > pid; while :; do sleep 0.1; done")
    file = client.project / "pid"
    pid = int(wait_for(lambda: file.exists() and file.read_text()))

    tap(person, run, "pause")
    wait_for(lambda: is_stopped(pid))
    wait_for(lambda: person.run(run)["status"] == "held")

    tap(person, run, "continue", version=person.run(run)["version"])
    wait_for(lambda: not is_stopped(pid))
    tap(person, run, "terminate")
    assert process.wait(PATIENCE_S) == ENDED


def test_a_paused_command_ends_when_its_key_is_revoked(installation, codex, responses, person):
    client, name = codex(responses(lambda _: Reply(text="ok"))), f"night shift {uuid.uuid4().hex}"
    key = person.post("keys/", {"name": name, "project": installation.project})
    where = ("--url", installation.url, "--key", key["secret"], "--name", name)
    process = client.spawn(*RUN[:-1], *where, "--", "sh", "-c", "echo $$ > pid; sleep 3; exit 7")
    run = wait_for(lambda: run_named(person, name))["id"]
    tap(person, run, "pause")
    wait_for(lambda: is_stopped(int((client.project / "pid").read_text())))

    person.delete(f"keys/{key['id']}/")

    assert process.wait(PATIENCE_S) == ENDED


@pytest.mark.parametrize(("code", "status"), [(0, "completed"), (7, "failed")])
def test_it_returns_the_exit_status_of_the_command(kept, person, code, status):
    _, process, run = kept("sh", "-c", f"exit {code}")

    assert process.wait(PATIENCE_S) == code
    wait_for(lambda: person.run(run)["status"] == status)


# --- Codex through its app-server -------------------------------------------------


class Steered(Looping):
    """A Codex under `guard run` that has just been held in its loop."""

    run_with = RUN


@pytest.fixture
def steered(installation, responses, codex):
    def start(script, **more):
        api = responses(script)
        client = codex(api)
        return Steered(installation, api, client, **more)

    return start


def sleeps_then_listens(conversation):
    """Work on something long, until told otherwise."""
    if CORRECTION in conversation.text or len(conversation.commands()) > 1:
        return Reply(text="Thank you.")
    return Reply(commands=("echo $$ > begun; while [ ! -e go-on ]; do sleep 0.05; done",))


def command_of(client):
    """The pid of the command it works on; 0: it has not begun."""
    begun = client.project / "begun"
    return int(begun.read_text() or 0) if begun.exists() else 0


@pytest.fixture
def working(installation, responses, codex, person):
    """Start a Codex under `guard run` that works on one long command."""

    def start(*, connected):
        api = responses(sleeps_then_listens)
        client = codex(api)
        client.env |= {
            "MISSIONCONTROL_URL": installation.url,
            "MISSIONCONTROL_KEY": installation.agent_key,
        }
        if connected:
            client.connect(installation.url, installation.agent_key)
        process = client.start("Work.", run=RUN)
        thread = wait_for(lambda: thread_of(client))
        run = wait_for(lambda: person.run_of(f"codex:{thread}"))["id"]
        wait_for(lambda: command_of(client))
        return api, client, process, run

    return start


def test_a_text_reaches_the_running_turn_and_the_next_model_request(working, person):
    api, client, process, run = working(connected=True)
    wait_for(lambda: "now" in person.run(run)["capabilities"]["inject"])

    tap(person, run, "inject", message=CORRECTION, version=person.run(run)["version"])
    wait_for(lambda: "message.delivered" in person.journal(run))
    (client.project / "go-on").touch()

    assert process.wait(PATIENCE_S) == 0
    assert len(api.conversations) == 2
    assert CORRECTION in api.conversations[1].last


def test_ending_interrupts_the_command_that_runs(working, person):
    api, client, process, run = working(connected=True)
    wait_for(lambda: person.run(run)["capabilities"]["terminate"] == "signal")

    tap(person, run, "terminate")

    assert process.wait(PATIENCE_S) == ENDED
    assert len(api.conversations) == 1
    wait_for(lambda: not is_running(command_of(client)))
    wait_for(lambda: person.run(run)["status"] == "terminated")


def test_without_hooks_a_pause_interrupts_and_continue_resumes(working, person):
    api, client, process, run = working(connected=False)

    tap(person, run, "pause")
    wait_for(lambda: person.run(run)["status"] == "held")
    assert len(api.conversations) == 1

    (client.project / "go-on").touch()
    tap(person, run, "inject", message=CORRECTION, version=person.run(run)["version"])
    assert process.wait(PATIENCE_S) == 0
    assert CORRECTION in api.conversations[-1].last


def test_a_loop_is_held_by_its_hooks_and_corrected_once(steered):
    story = steered(reads_the_missing_file)
    assert len(story.api.conversations) == 3

    story.person.tap(story.card, "inject", message=CORRECTION)
    assert story.process.wait(PATIENCE_S) == 0

    assert story.api.conversations[-1].text.count(CORRECTION) == 1
    used = 42 * len(story.api.conversations)
    wait_for(lambda: story.person.run(story.run)["usage"]["output"] == used)


def test_without_hooks_its_own_events_are_its_cost(installation, responses, codex, person):
    api = responses(lambda c: Reply(text="Done.") if c.commands() else Reply(commands=("ls",)))
    client = codex(api)
    client.env |= {
        "MISSIONCONTROL_URL": installation.url,
        "MISSIONCONTROL_KEY": installation.agent_key,
    }
    assert client.start("List.", run=RUN).wait(PATIENCE_S) == 0

    run = wait_for(lambda: person.run_of(f"codex:{thread_of(client)}"))
    run = wait_for(lambda: (seen := person.run(run["id"]))["status"] == "completed" and seen)
    assert len(api.conversations) == 2
    assert [turn["tool"] for turn in person.turns(run["id"])] == [None, "Bash", None]
    assert Decimal(run["cost_usd"]) == ONE_CALL * 2
    ended = [line for line in client.output().splitlines() if '"turn.completed"' in line]
    assert json.loads(ended[0])["usage"]["output_tokens"] == 84


def test_a_signal_to_us_ends_it(working, person):
    _, client, process, run = working(connected=True)

    process.send_signal(signal.SIGTERM)

    assert process.wait(PATIENCE_S) == ENDED
    wait_for(lambda: not is_running(command_of(client)))
    wait_for(lambda: person.run(run)["status"] in {"completed", "failed"})


def test_a_person_sees_whose_run_it_is(working, person, installation):
    _, _, process, run = working(connected=False)

    row = Person(installation).run(run)
    assert (row["agent"], row["name"]) == ("codex", "tidepool: Work.")
    tap(person, run, "terminate")
    assert process.wait(PATIENCE_S) == ENDED
