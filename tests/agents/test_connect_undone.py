"""`guard disconnect` leaves an agent's files as `guard connect` found them, byte for byte."""

import json

import pytest

from guard.connect import command as connect
from guard.connect import disconnect
from tests.agents.command_line import call

KEY = "mc_secret_key_1234567890"
URL = "http://127.0.0.1:9"
FILES = {
    "claude-code": (".claude/settings.local.json", ".claude/settings.json"),
    "codex": (".codex/hooks.json", ".codex/hooks.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "cursor": (".cursor/hooks.json", ".cursor/hooks.json"),
}
"""Of a project, and of the person."""
BEFORE_A_TOOL = ("PreToolUse", "BeforeTool", "preToolUse")
"""As these agents call it."""
AGENTS = pytest.mark.parametrize("agent", FILES)
TEXTS = [
    '{"b":1,\t"a": [1,2,  3]}',
    '{\n    "zeta": "é",\n    "alpha": {"x":1}\n}',
    '{\r\n\t"hooks": {}\r\n}\r\n',
    "{}\n",
    "",
    '\ufeff{"a": 1}\n',
    '{"cut": "\\ud83d"}',
]


pytestmark = pytest.mark.usefixtures("home")


def connect_to(agent, *words):
    assert call(connect, agent, "--url", URL, "--key", KEY, *words) == 0


def everything(folder):
    """Every file's bytes and mode, every folder."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes())
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


def a_file(folder, name, text):
    file = folder / name
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    file.chmod(0o644)
    return file


@AGENTS
@pytest.mark.parametrize("text", TEXTS)
def test_a_projects_file_is_put_back_byte_for_byte(agent, text, repository, tmp_path):
    file = a_file(repository, FILES[agent][0], text)
    before = everything(tmp_path)

    connect_to(agent, "--project-dir", repository)
    assert file.read_bytes() != text.encode()
    connect_to(agent, "--project-dir", repository, "--fail", "closed")
    assert call(disconnect, agent, "--project-dir", repository) == 0

    assert everything(tmp_path) == before


@AGENTS
@pytest.mark.parametrize("text", TEXTS)
def test_the_persons_file_is_put_back_byte_for_byte(agent, text, home):
    a_file(home, FILES[agent][1], text)
    before = everything(home)

    connect_to(agent)
    assert call(disconnect, agent) == 0

    assert everything(home) == before


@AGENTS
def test_folders_made_by_connecting_are_removed(agent, repository, tmp_path):
    before = everything(tmp_path)

    connect_to(agent)
    connect_to(agent, "--project-dir", repository)
    call(disconnect, agent)
    call(disconnect, agent, "--project-dir", repository)

    assert everything(tmp_path) == before


@AGENTS
def test_changes_made_meanwhile_are_kept(agent, repository):
    file = a_file(repository, FILES[agent][0], '{\n    "mine": 1\n}')
    connect_to(agent, "--project-dir", repository)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"later": 2}, indent=4))

    call(disconnect, agent, "--project-dir", repository)

    left = json.loads(file.read_text())
    assert (left["mine"], left["later"]) == (1, 2)
    assert KEY not in file.read_text()
    assert "hooks" not in left or not any(left["hooks"].values())
    assert '\n    "mine": 1,\n' in file.read_text()


@AGENTS
def test_connecting_keeps_the_files_style(agent, repository):
    file = a_file(repository, FILES[agent][0], '{\n\t"mine": 1\n}')

    connect_to(agent, "--project-dir", repository)

    assert '\n\t"mine": 1,\n' in file.read_text()
    assert file.read_text().endswith("}")


@AGENTS
@pytest.mark.parametrize(
    "text",
    ['{"version": 1}', '{"hooks": {}}', '{"hooks":{"Stop": [], "stop":[]}}', '{"hooks": [1]}'],
)
def test_disconnecting_an_unconnected_agent_changes_nothing(agent, text, home):
    a_file(home, FILES[agent][1], text)
    before = everything(home)

    assert call(disconnect, agent) == 0

    assert everything(home) == before


@AGENTS
@pytest.mark.parametrize("hooks", [[1], None, {event: {} for event in BEFORE_A_TOOL}])
def test_settings_that_our_hooks_do_not_fit_into_are_left_alone(agent, hooks, home, capsys):
    a_file(home, FILES[agent][1], json.dumps({"hooks": hooks}))
    before = everything(home)

    assert call(connect, agent, "--url", URL, "--key", KEY) == 1

    assert everything(home) == before
    assert "it stays as it is" in capsys.readouterr().err


def test_exclude_entries_of_others_are_kept(repository):
    exclude = repository / ".git" / "info" / "exclude"
    theirs = exclude.read_text()
    connect_to("claude-code", "--project-dir", repository)
    exclude.write_text(exclude.read_text() + "/notes\n")

    call(disconnect, "claude-code", "--project-dir", repository)

    assert exclude.read_text() == theirs + "/notes\n"


@AGENTS
def test_a_windows_file_keeps_its_line_ends(agent, repository):
    file = a_file(repository, FILES[agent][0], '\ufeff{\r\n    "mine": 1\r\n}\r\n')
    connect_to(agent, "--project-dir", repository)
    text = file.read_bytes().decode()
    file.write_bytes(text.replace('"mine": 1', '"mine": 2').encode())

    call(disconnect, agent, "--project-dir", repository)

    left = file.read_bytes()
    assert left.startswith("\ufeff{\r\n    ".encode())
    assert b'"mine": 2' in left
    assert left.count(b"\n") == left.count(b"\r\n")
