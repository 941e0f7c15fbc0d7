"""The data directory: held by one, with secrets only its owner reads."""

import os
import stat

import pytest

from missioncontrol.up import data_dir
from missioncontrol.up.data_dir import DataDir
from missioncontrol.up.errors import DataInUse, DataUnusable


@pytest.fixture(autouse=True)
def _short_lock_wait(monkeypatch):
    monkeypatch.setattr(data_dir, "LOCK_WAIT_S", 0.1)


def a_locked_dir(path):
    data = DataDir(path)
    data.acquire_lock()
    return data


def test_it_is_made_for_its_owner_alone(tmp_path):
    data = a_locked_dir(tmp_path / "new" / "data")

    assert stat.S_IMODE(data.path.stat().st_mode) == 0o700


def test_a_second_holder_is_told_who_holds_it(tmp_path):
    first = a_locked_dir(tmp_path)
    first.write_status("serving", "http://127.0.0.1:1234")

    with pytest.raises(
        DataInUse, match=rf"process {os.getpid()}.*http://127.0.0.1:1234.*MISSIONCONTROL_DATA"
    ):
        DataDir(tmp_path).acquire_lock()


def test_it_waits_for_a_holder_that_is_stopping(tmp_path):
    first = a_locked_dir(tmp_path)
    first.write_status("stopping")
    os.close(first.lock_fd)

    DataDir(tmp_path).acquire_lock()


def test_a_directory_that_cannot_be_made_is_reported_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(DataUnusable, match="--data"):
        DataDir(tmp_path / "file" / "data").acquire_lock()


def test_a_directory_that_cannot_be_written_is_reported_in_one_sentence(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    # Root may write anywhere: only the kernel's answer can be imitated here.
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)

    with pytest.raises(DataUnusable, match="Permission denied"):
        DataDir(tmp_path).acquire_lock()


def test_a_secret_stays_the_same_and_private(tmp_path):
    data = a_locked_dir(tmp_path)

    first = data.ensure_secret("secret.key")

    assert data.ensure_secret("secret.key") == first
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600


def test_sockets_have_short_paths(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("deep" * 30)))

    path = data_dir.runtime_dir("cafe0123")

    assert len(str(path / "valkey.sock")) < 104
    path.rmdir()


def test_a_planted_runtime_directory_is_not_used(monkeypatch, tmp_path):
    base = tmp_path / "r"
    base.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (base / f"missioncontrol-{os.getuid()}-cafe0124").symlink_to(elsewhere)
    monkeypatch.setattr(data_dir, "MAX_BASE_LENGTH", 500)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(base))

    path = data_dir.runtime_dir("cafe0124")

    assert base not in path.parents
    path.rmdir()
