"""`manage.py check --deploy` finds nothing that is not explained in the settings."""

import subprocess
import sys

import pytest

from missioncontrol.up.data_dir import DataDir
from tests.installations import ROOT, Installation

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("url", ["https://mc.example.org", ""])
def test_the_deploy_check_reports_nothing(tmp_path, url):
    DataDir(tmp_path).ensure_secret("secret.key")
    environment = Installation(tmp_path, MISSIONCONTROL_PUBLIC_URL=url).own_environment()

    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
