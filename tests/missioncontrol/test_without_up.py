"""What docs/operating.md has set where nobody runs `up`, as an operator copies it."""

import json
import re
import subprocess
import sys

import pytest

from tests.installations import ROOT, Installation

pytestmark = pytest.mark.slow

ASK = """
import json
from django.conf import settings
names = ("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "SESSION_COOKIE_SECURE")
print(json.dumps([getattr(settings, name) for name in names]))
"""

# A crowd that comes to a port which Daphne opens, while nobody accepts yet.
CROWD = """
import select, socket, django
django.setup()
from missioncontrol.api import daphne_requests
daphne_requests.install()
from twisted.internet import protocol, reactor
at = reactor.listenTCP(0, protocol.Factory(), interface="127.0.0.1").getHost()
crowd = [socket.socket() for _ in range(300)]
for one in crowd:
    one.setblocking(False)
    one.connect_ex((at.host, at.port))
print(len(select.select([], crowd, [], 0)[1]))
"""


def printed_by(program, folder, **environment):
    """Run a program in the environment of an installation."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=Installation(folder, **environment).own_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture
def exported(tmp_path):
    """Return what Django makes of the page's `export` line, but for the addresses of servers."""
    page = (ROOT / "docs/operating.md").read_text()
    (line,) = re.findall(r"^export (DATABASE_URL=.*)$", page, re.MULTILINE)
    told = dict(word.split("=", 1) for word in line.split())
    written = {name: value for name, value in told.items() if value != "…"}
    return printed_by(ASK, tmp_path, **written)


def test_a_crowd_is_rate_limited_if_daphne_opens_the_port(tmp_path):
    assert printed_by(CROWD, tmp_path) == 300


def test_people_behind_https_reach_it_and_can_tap(exported):
    hosts, origins, is_secure = exported

    assert "mc.example.org" in hosts
    assert origins == ["https://mc.example.org"]
    assert is_secure


def test_failing_code_fails_only_its_own_test(tmp_path):
    ours = Installation(tmp_path)
    with pytest.raises(AssertionError, match="it failed"):
        ours.in_python("1 / 0")

    assert ours.in_python("import sys; print(sys.argv[1])", "goes on") == "goes on\n"
    ours.leave_python()
