"""`manage.py` before anything is installed: it says what helps."""

import subprocess
import sys

from tests.installations import ROOT

AS_PYTHON_39 = "import sys; sys.version_info = (3, 9, 18); exec(open('manage.py').read())"


def told(*command):
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    return done.stderr


def test_an_old_python_is_told_which_one_it_takes():
    said = told("-c", AS_PYTHON_39)

    assert said.startswith("mission control: this is Python 3.9, and it takes 3.11 or newer")
    assert "uv run --no-dev manage.py up" in said


def test_a_python_without_the_packages_is_told_how_they_come():
    said = told("-S", "-E", "manage.py", "up")

    assert "is not installed for" in said
    assert "pip install uv" in said
    assert "Traceback" not in said
