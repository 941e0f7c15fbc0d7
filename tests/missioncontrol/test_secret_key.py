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


def test_a_serving_process_without_a_secret_says_what_to_set(kept):
    with pytest.raises(SettingInvalid, match=NAME):
        env.secret_key(NAME, file=kept, serving=True)


def test_a_command_without_a_secret_makes_one_for_itself(kept):
    assert len(env.secret_key(NAME, file=kept, serving=False)) > 32


def test_every_process_uses_the_stored_secret(kept):
    kept.write_text("kept\n")

    assert env.secret_key(NAME, file=kept, serving=True) == "kept"


def test_a_secret_in_the_environment_comes_first(kept, monkeypatch):
    kept.write_text("kept\n")
    monkeypatch.setenv(NAME, "told")

    assert env.secret_key(NAME, file=kept, serving=True) == "told"


@pytest.mark.parametrize("role", ["worker", "beat"])
def test_a_celery_process_started_by_hand_makes_no_secret(role, tmp_path):
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
