"""Every process of an installation signs with one secret, or does not start."""

import subprocess
import sys

import pytest

from missioncontrol import env
from missioncontrol.errors import SettingInvalid
from tests.installations import PATIENCE_S, Installation

NAME = "MISSIONCONTROL_SECRET_KEY"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.delenv(NAME)
    return tmp_path / "secret.key"


def test_a_serving_process_without_one_says_what_to_set(kept):
    with pytest.raises(SettingInvalid, match=NAME):
        env.secret_key(NAME, file=kept, serving=True)


def test_a_command_without_one_has_one_of_its_own(kept):
    assert len(env.secret_key(NAME, file=kept, serving=False)) > 32


def test_the_kept_one_is_every_processes(kept):
    kept.write_text("kept\n")

    assert env.secret_key(NAME, file=kept, serving=True) == "kept"


def test_the_environments_comes_first(kept, monkeypatch):
    kept.write_text("kept\n")
    monkeypatch.setenv(NAME, "told")

    assert env.secret_key(NAME, file=kept, serving=True) == "told"


@pytest.mark.parametrize("role", ["worker", "beat"])
def test_a_process_of_celerys_that_is_started_by_hand_makes_none(role, tmp_path):
    environment = Installation(tmp_path).own_environment()
    environment.pop(NAME, None)
    started = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "missioncontrol.celery", role],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert started.returncode != 0
    assert f"{NAME} is ''; expected a secret that every process has" in started.stderr
