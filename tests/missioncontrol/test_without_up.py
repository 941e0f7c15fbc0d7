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


@pytest.fixture
def exported(tmp_path):
    """Return what Django makes of the page's `export` line, but for the addresses of servers."""
    page = (ROOT / "docs/operating.md").read_text()
    (line,) = re.findall(r"^export (DATABASE_URL=.*)$", page, re.MULTILINE)
    told = dict(word.split("=", 1) for word in line.split())
    written = {name: value for name, value in told.items() if value != "…"}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=ROOT,
        env=Installation(tmp_path, **written).own_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_people_behind_https_reach_it_and_their_taps_are_taken(exported):
    hosts, origins, is_secure = exported

    assert "mc.example.org" in hosts
    assert origins == ["https://mc.example.org"]
    assert is_secure
