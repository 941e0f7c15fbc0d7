"""`manage.py` before anything is installed: it says what helps."""

import subprocess
import sys

from tests.installations import ROOT

AS_PYTHON_39 = "import sys; sys.version_info = (3, 9, 18); exec(open('manage.py').read())"


def output_of(*command):
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    return done.stderr


def test_an_old_python_is_told_which_version_is_needed():
    printed = output_of("-c", AS_PYTHON_39)

    assert printed.startswith("mission control: this is Python 3.9, and it takes 3.11 or newer")
    assert "uv run --no-dev manage.py up" in printed


def test_a_python_without_the_packages_is_told_how_to_install_them():
    printed = output_of("-S", "-E", "manage.py", "up")

    assert "is not installed for" in printed
    assert "pip install uv" in printed
    assert "Traceback" not in printed
