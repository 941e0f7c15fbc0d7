"""`guard run` against a live server: recorded from its start."""

import pytest

from guard.cli import main


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("fail", ["open", "closed"])
def test_a_command_starts_watched_and_nobody_is_called_away(home, installation, capsys, fail):
    args = ["--url", installation.url, "--key", installation.agent_key, "--fail", fail]

    assert main(["run", *args, "--", "touch", "it-ran"]) == 0

    assert (home / "it-ran").exists()
    assert "is away" not in capsys.readouterr().err
