"""What the machine and this process have."""

from missioncontrol import memory


def test_the_memory_of_this_process_includes_what_it_just_allocated():
    before = memory.of_process()

    taken = b"x" * 64_000_000

    assert memory.of_process() - before > 0.9 * len(taken)


def test_a_process_uses_less_than_the_machine_has():
    assert 0 < memory.of_process() < memory.of_machine()


def test_a_container_has_its_limit_as_memory(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_LIMITS", (limit, tmp_path / "none"))
    whole = memory.of_machine()

    limit.write_text("512000000\n")
    assert memory.of_machine() == 512_000_000

    limit.write_text("max\n")
    assert memory.of_machine() == whole
