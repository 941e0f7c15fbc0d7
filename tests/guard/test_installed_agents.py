"""Which agents a home directory shows, and when they were last used."""

import os
from datetime import UTC, datetime

from guard.adapters.installed import installed_agents

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
FRIDAY = datetime(2026, 3, 6, 9, tzinfo=UTC)


def a_session(home, place, *, at):
    file = home / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    os.utime(file, (at.timestamp(), at.timestamp()))


def test_it_finds_an_agent_by_its_folder_and_tells_when_it_was_last_used(tmp_path):
    a_session(tmp_path, ".claude/projects/-shop/one.jsonl", at=FRIDAY)
    a_session(tmp_path, ".claude/projects/-shop/two.jsonl", at=MONDAY)

    (found,) = installed_agents(tmp_path, path="")

    assert (found.client, found.used_at) == ("claude-code", FRIDAY)


def test_the_last_used_one_comes_first_and_one_that_was_never_used_last(tmp_path):
    (tmp_path / ".gemini").mkdir()
    a_session(tmp_path, ".claude/projects/-shop/one.jsonl", at=MONDAY)
    a_session(tmp_path, ".codex/sessions/2026/03/06/rollout.jsonl", at=FRIDAY)

    found = installed_agents(tmp_path, path="")

    assert [agent.client for agent in found] == ["codex", "claude-code", "gemini"]
    assert found[-1].used_at is None


def test_it_finds_an_agent_by_its_program_before_it_was_ever_used(tmp_path):
    program = tmp_path / "bin" / "cursor"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)

    found = installed_agents(tmp_path / "home", path=str(program.parent))

    assert [agent.client for agent in found] == ["cursor"]


def test_files_of_guard_connect_do_not_count_as_use(tmp_path):
    a_session(tmp_path, ".claude/projects/-shop/one.jsonl", at=MONDAY)
    a_session(tmp_path, ".claude/settings.json", at=FRIDAY)

    assert installed_agents(tmp_path, path="")[0].used_at == MONDAY


def test_a_folder_that_cannot_be_read_tells_nothing_and_breaks_nothing(tmp_path):
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/sessions").write_text("not a folder")

    assert installed_agents(tmp_path, path="")[0].used_at is None


def test_an_empty_home_has_none(tmp_path):
    assert installed_agents(tmp_path, path="") == []
