"""A person's tap goes before what the machine has to write."""

import contextlib
import fcntl
import threading
from pathlib import Path

import pytest

from missioncontrol.sqlite import write_lock
from missioncontrol.sqlite.write_lock import exclusive, is_person_waiting, with_priority
from tests.installations import wait_for


class Writer(threading.Thread):
    """Waits for its turn, notes it, and leaves when it is let go."""

    def __init__(self, place, turns, name, *, ahead=False):
        super().__init__(name=name, daemon=True)
        self._file, self._turns, self._ahead = str(place / "db"), turns, ahead
        self.may_leave = threading.Event()

    def run(self):
        with with_priority(self._ahead), exclusive(self._file):
            self._turns.append(self.name)
            self.may_leave.wait()


@pytest.fixture
def begin(tmp_path):
    """Start writers that take turns; returns them with the order of their turns."""
    turns, writers = [], []

    def start(name, **how):
        writers.append(Writer(tmp_path, turns, name, **how))
        writers[-1].start()
        return writers[-1]

    yield start, turns
    for writer in writers:
        writer.may_leave.set()
        writer.join(timeout=60)


def test_a_tap_goes_before_the_work_that_waited_longer(begin, tmp_path):
    start, turns = begin
    detection = start("detection")
    wait_for(lambda: turns == ["detection"])
    start("storing").may_leave.set()
    wait_for(lambda: waiters_at(tmp_path / "db-queue") == 1)
    start("tap", ahead=True).may_leave.set()
    wait_for(lambda: waiters_at(tmp_path / "db-turnstile") == 1)

    detection.may_leave.set()

    wait_for(lambda: len(turns) == 3)
    assert turns == ["detection", "tap", "storing"]


def test_a_writer_learns_that_a_tap_waits(begin, tmp_path):
    start, turns = begin
    start("detection")
    wait_for(lambda: turns == ["detection"])
    assert not is_person_waiting(str(tmp_path / "db"))

    start("tap", ahead=True).may_leave.set()

    wait_for(lambda: is_person_waiting(str(tmp_path / "db")))


def test_work_checks_at_intervals_whether_a_tap_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(write_lock, "POLL_S", 3600)
    name = str(tmp_path / "db")
    with (tmp_path / "db-people").open("w") as announced, exclusive(name):
        assert not is_person_waiting(name)
        fcntl.flock(announced, fcntl.LOCK_SH)

        assert not is_person_waiting(name)


def test_two_taps_do_not_write_at_once(begin, tmp_path):
    start, turns = begin
    first = start("first", ahead=True)
    wait_for(lambda: turns == ["first"])
    start("second", ahead=True)
    wait_for(lambda: waiters_at(tmp_path / "db-turnstile") == 1)

    assert turns == ["first"]
    first.may_leave.set()
    wait_for(lambda: turns == ["first", "second"])


def test_endless_taps_do_not_keep_the_machine_from_writing(begin, tmp_path):
    start, turns = begin
    with (tmp_path / "db-people").open("w") as announced:
        fcntl.flock(announced, fcntl.LOCK_SH)
        start("storing").may_leave.set()

        wait_for(lambda: turns == ["storing"])


def test_work_that_has_yielded_long_enough_is_not_interrupted(tmp_path):
    with (tmp_path / "db-people").open("w") as announced:
        fcntl.flock(announced, fcntl.LOCK_SH)
        with exclusive(str(tmp_path / "db")):
            assert not is_person_waiting(str(tmp_path / "db"))


def test_a_thread_that_ends_leaves_no_descriptor_open(begin, tmp_path):
    start, turns = begin
    for name in ("storing", "tap"):
        writer = start(name, ahead=name == "tap")
        writer.may_leave.set()
        writer.join(timeout=60)

    assert (len(turns), open_under(tmp_path)) == (2, [])


def open_under(place):
    """List this process's descriptors of files below a directory."""
    named = []
    for number in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            named.append(str(number.readlink()))
    return [name for name in named if name.startswith(str(place))]


def waiters_at(path):
    """Count who waits for a file's lock, as the kernel tells."""
    if not path.exists():
        return 0
    lines = Path("/proc/locks").read_text().splitlines()
    return sum(
        "->" in line and line.split()[-3].endswith(f":{path.stat().st_ino}") for line in lines
    )
