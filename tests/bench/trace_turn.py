"""Which of our functions one turn runs through: from HTTP to its verdict, or to the held agent.

Run `uv run python -m tests.bench.trace_turn [--list]`; prints JSON. It starts a whole Mission
Control, has every one of its processes note which named functions of `missioncontrol` and
`guard` are entered, and posts a call that goes on, and the third of three equal failing calls,
which is held, over a connection that is kept, as the SDK does. A look takes a tenth of a second,
so a sweep or a heartbeat may fall into it: of several looks the one with the fewest functions
is told, beside all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from guard.sdk.flow import Request
from guard.sdk.transport import HttpTransport
from tests.contract.conversation import Caller, a_turn, an_agent_of
from tests.installations import ROOT, an_installation, wait_for

LOOKS = int(os.environ.get("BENCH_LOOKS", "7"))
PACKAGES = ("missioncontrol", "guard")

# Python runs it at each start. It notes while the folder has a file called `on`.
SPY = """
import json, os, sys, threading, time
HERE, ROOTS = os.environ["TRACE_FOLDER"], tuple(os.environ["TRACE_ROOTS"].split(os.pathsep))
entered = set()
def note(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith(ROOTS):
        entered.add(frame.f_code)
def watch():
    seen = None
    while True:
        try:
            with open(os.path.join(HERE, "on")) as on:
                look = on.read()
        except OSError:
            look = None
        if look and look != seen:
            entered.clear()
            open(os.path.join(HERE, f"ready-{look}-{os.getpid()}"), "w").close()
        elif seen and not look:
            named = [[code.co_filename, code.co_qualname] for code in list(entered)]
            with open(os.path.join(HERE, f"{seen}-{os.getpid()}.part"), "w") as told:
                json.dump(named, told)
            os.rename(told.name, os.path.join(HERE, f"{seen}-{os.getpid()}.json"))
        seen = look
        time.sleep(0.005)
def begin():
    threading.Thread(target=watch, daemon=True).start()
    threading.setprofile(note)
    sys.setprofile(note)
# `up` and beat are on no turn's way: one keeps the others alive, one counts the seconds.
if sys.argv[:1] != ["-c"]:
    if not {"up", "beat"} & set(sys.argv):
        begin()
    os.register_at_fork(after_in_child=begin)
"""


class Traced:
    """The functions entered in all processes while a look lasts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, look: int) -> None:
        """Have every process forget what it noted."""
        (self.folder / "on.part").write_text(str(look))
        (self.folder / "on.part").rename(self.folder / "on")
        time.sleep(0.1)

    def end(self, look: int) -> dict[str, set[str]]:
        """Return the functions entered since, by module."""
        (self.folder / "on").unlink()
        ready = len(list(self.folder.glob(f"ready-{look}-*")))
        wait_for(lambda: len(list(self.folder.glob(f"{look}-*.json"))) >= ready)
        found: dict[str, set[str]] = {}
        for trace in self.folder.glob(f"{look}-*.json"):
            for path, name in json.loads(trace.read_text()):
                if not name.endswith(">"):  # a comprehension is no stop on the way
                    found.setdefault(str(Path(path).relative_to(ROOT)), set()).add(name)
        return found


def one_turn(
    traced: Traced, agent: Caller, kept: HttpTransport, look: int, *, errors: int
) -> dict[str, set[str]]:
    """Note what a proposed call runs through that failed so many times before."""
    run = agent.open_run(name=f"traced {look}")
    for _ in range(errors):
        agent.post_turns(run, a_turn(error="No such file: tokens.py"))
    if not errors:
        agent.post_turns(run, a_turn("ls", result="app tests"))
    kept.send(Request(method="GET", path=f"runs/{run}/directive/"))  # so that it is open
    time.sleep(0.3)
    asked = Request(
        method="POST",
        path=f"runs/{run}/turns/",
        body={"turns": [a_turn(phase="proposed")]},
        headers={"Prefer": "wait=20"},
        timeout_s=30.0,
    )
    traced.begin(look)
    answer = kept.send(asked)
    found, directive = traced.end(look), answer.body["directive"]
    assert directive["action"] == ("hold" if errors else "proceed"), directive
    agent.ask("PATCH", f"/api/v1/runs/{run}/", {"status": "completed"})
    return found


def report_of(looks: list[dict[str, set[str]]], *, names: bool) -> dict[str, Any]:
    """Tell the smallest of the looks, and how large the others were."""
    sizes = [sum(map(len, found.values())) for found in looks]
    least = looks[sizes.index(min(sizes))]
    by_package = Counter(path.split("/")[0] for path in least for _ in least[path])
    answer: dict[str, Any] = {
        "functions": min(sizes),
        "modules": len(least),
        "functions_by_package": dict(by_package),
        "functions_of_each_look": sizes,
    }
    if names:
        answer["entered"] = {path: sorted(found) for path, found in sorted(least.items())}
    return answer


def main() -> None:
    """Print what a turn that goes on runs through, and one that is held."""
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("--list", action="store_true", help="name every function")
    asked = reading.parse_args()
    with tempfile.TemporaryDirectory() as home:
        spy, folder = Path(home) / "spy", Path(home) / "seen"
        spy.mkdir()
        folder.mkdir()
        (spy / "sitecustomize.py").write_text(SPY)
        environment = {
            "PYTHONPATH": str(spy),
            "TRACE_FOLDER": str(folder),
            "TRACE_ROOTS": os.pathsep.join(f"{ROOT / package}/" for package in PACKAGES),
        }
        with an_installation(Path(home) / "data", **environment) as running:
            agent = an_agent_of(running)
            kept, traced = HttpTransport(running.url, running.agent_key), Traced(folder)
            for errors in (0, 2):  # what is imported and read once is no part of it
                one_turn(traced, agent, kept, errors, errors=errors)
            numbers = range(10, 10 + LOOKS)
            goes_on = [one_turn(traced, agent, kept, look, errors=0) for look in numbers]
            held = [one_turn(traced, agent, kept, look + LOOKS, errors=2) for look in numbers]
    answer = {
        "goes on": report_of(goes_on, names=asked.list),
        "held": report_of(held, names=asked.list),
    }
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
