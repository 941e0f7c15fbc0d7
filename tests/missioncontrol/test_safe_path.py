"""Mission Control started in a folder where an agent wrote a file for every name it may import."""

import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.installations import ROOT, an_installation, wait_for

pytestmark = pytest.mark.slow

# Asked for where it is installed, or never meant to be: by site, Celery, Kombu, Twisted.
OPTIONAL = {
    "sitecustomize",
    "usercustomize",
    "celeryconfig",
    "eventlet",
    "gevent",
    "local_settings",
}
JUDGE = {"MISSIONCONTROL_JUDGE_URL": "http://127.0.0.1:9/v1", "MISSIONCONTROL_JUDGE_MODEL": "none"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder whose files say so when they run."""
    hostile = tmp_path_factory.mktemp("hostile")
    for name in {*sys.stdlib_module_names, *packages_distributions(), *OPTIONAL}:
        text = f"open({str(hostile / 'ran')!r}, 'a').write({name + ' '!r})"
        (hostile / f"{name}.py").write_text(text)
    return hostile


@pytest.fixture(scope="module")
def running(folder):
    options = ("--port", "0", "--https", "--https-port", "0", "--demo")
    with an_installation(folder / "data", *options, folder=folder, **JUDGE) as started:
        yield started


@pytest.fixture
def ran(folder):
    """Tell which of the files ran."""
    return lambda: (folder / "ran").read_text() if (folder / "ran").exists() else ""


def test_no_process_imports_files_from_the_working_directory(running, ran):
    wait_for(lambda: running.get("/api/v1/decisions/")["results"], shown=ran)
    wait_for(lambda: running.pid_of(" beat ") and running.pid_of("missioncontrol.demo"), shown=ran)

    assert ran() == ""


def test_a_relative_path_in_settings_still_starts_at_the_working_directory(running, folder):
    assert Path(f"/proc/{running.pid_of('daphne')}/cwd").resolve() == folder.resolve()


@pytest.mark.parametrize(
    "command",
    [
        (sys.executable, ROOT / "manage.py", "check"),
        (Path(sys.executable).with_name("missioncontrol"), "check"),
        (Path(sys.executable).with_name("django-admin"), "up", "--help"),
        (
            sys.executable,
            "-P",
            "-c",
            "import missioncontrol.cli; missioncontrol.cli.main()",
            "check",
        ),
    ],
)
def test_no_command_imports_files_from_the_working_directory(command, folder, ran):
    settings = {"DJANGO_SETTINGS_MODULE": "missioncontrol.settings", "MISSIONCONTROL_DATA": "other"}
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, check=False)

    assert (done.returncode, ran()) == (0, ""), done.stderr.decode()
