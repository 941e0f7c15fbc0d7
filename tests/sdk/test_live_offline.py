"""A real Mission Control that goes away under an agent, and comes back."""

import signal
import subprocess
import sys

import pytest

from guard import Session
from tests.agents.person import Person
from tests.installations import an_installation, wait_for

pytestmark = pytest.mark.faults

HOST = """
import sys
import guard
where = {"url": sys.argv[1], "key": sys.argv[2], "outbox": sys.argv[3]}
session = guard.Session("worker", run_key="the-run", agent="coder", goal="Find it", **where)
session.__enter__()
for n in range(3):
    session.after(session.before("read_file", {"path": f"{n}.py"}), result=f"text {n}")
print("online", flush=True)
sys.stdin.readline()
for n in range(3, 6):
    session.after(session.before("read_file", {"path": f"{n}.py"}), result=f"text {n}")
try:
    for _ in range(9):
        go = session.before("read_file", {"path": "gone.py"})
        session.after(go, error="gone.py: no such file")
except guard.Stopped as stopped:
    print("stopped", flush=True)
sys.stdin.readline()
"""


def a_host(server, outbox):
    command = [sys.executable, "-c", HOST, server.url, server.agent_key, str(outbox)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def the_run(person):
    return person.run_of("the-run")


def rules_of(outbox):
    return list(outbox.rglob("rules.json"))


def test_the_turns_of_an_agent_killed_during_an_outage_are_all_delivered(tmp_path):
    outbox = tmp_path / "outbox"
    with an_installation(tmp_path / "data") as server:
        host = a_host(server, outbox)
        try:
            assert host.stdout.readline() == "online\n"
            wait_for(lambda: rules_of(outbox))
            server.options = ("--port", server.url.rsplit(":", 1)[1])
            server.stop()
            host.stdin.write("go on\n")
            host.stdin.flush()
            assert host.stdout.readline() == "stopped\n"
        finally:
            host.send_signal(signal.SIGKILL)
            host.wait()
            host.stdin.close()
            host.stdout.close()

        server.start()
        with Session("next", url=server.url, key=server.agent_key, outbox=outbox):
            wait_for(lambda: not list(outbox.rglob("*.jsonl")))

        person = Person(server)
        run = the_run(person)
        turns = person.turns(run["id"])
        paths = [turn["args"]["path"] for turn in turns]
        assert paths == [f"{n}.py" for n in range(6)] + ["gone.py"] * 3
        assert [turn["phase"] for turn in turns] == ["done"] * 8 + ["proposed"]
        wait_for(lambda: the_run(person)["status"] == "stopping")
        made = [
            row
            for row in person.get(f"audit/?run={run['id']}&limit=500")["results"]
            if row["type"] == "intervention.made"
        ]
        assert [(row["by"], row["payload"]["row"]["action"]) for row in made] == [
            ("policy", "terminate")
        ]
