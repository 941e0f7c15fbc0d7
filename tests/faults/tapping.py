"""A person who taps *Hold* again and again, in a process of their own.

A crowd of agents in the same process would keep the person waiting by itself.
"""

import http.client
import json
import select
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

from tests.installations import PATIENCE_S, ROOT

PAUSE_S = 0.1


class Taps:
    """How long each answer took; complete once the tapping is over."""

    def __init__(self):
        self.took_s = []

    @property
    def worst_s(self):
        return max(self.took_s)

    def distribution(self):
        """Return the distribution, to print."""
        ordered = sorted(self.took_s)
        at = {"median": 0.5, "p90": 0.9, "worst": 1.0}
        shown = {name: ordered[int(part * (len(ordered) - 1))] for name, part in at.items()}
        return {"taps": len(ordered), **{name: round(took, 3) for name, took in shown.items()}}


@contextmanager
def tapping(server, run, *, fresh=False):
    """Tap from now until this ends; `fresh`: each time over a new connection, as after a rest."""
    at, cookies = urlsplit(server.url), server.cookies()
    fields = {
        "host": at.hostname,
        "port": at.port,
        "fresh": fresh,
        "path": f"/api/v1/runs/{run}/interventions/",
        "headers": {
            "Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()),
            "X-CSRFToken": cookies["csrftoken"],
            "Origin": server.url,
            "Content-Type": "application/json",
        },
    }
    person = subprocess.Popen(
        [sys.executable, "-m", __name__, json.dumps(fields)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    taps = Taps()
    assert person.stdout.readline()  # the first tap is answered
    try:
        yield taps
    finally:
        printed, _ = person.communicate()
    assert person.returncode == 0
    taps.took_s = [float(line) for line in printed.split()]


def tap_until_told(host, port, path, headers, fresh):
    wire = http.client.HTTPConnection(host, port, timeout=PATIENCE_S)
    while not select.select([sys.stdin], [], [], PAUSE_S)[0]:
        body = json.dumps({"key": uuid4().hex, "action": "pause"})
        began = time.monotonic()
        wire.request("POST", path, body, headers)
        response = wire.getresponse()
        response.read()
        print(time.monotonic() - began, flush=True)  # noqa: T201 - read by who started it
        assert response.status == 201, response.status
        if fresh:
            wire.close()


if __name__ == "__main__":
    tap_until_told(**json.loads(sys.argv[1]))
