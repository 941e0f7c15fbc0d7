import subprocess
from contextlib import ExitStack

import pytest

from tests.agents import claude_code
from tests.agents import codex as codex_cli
from tests.agents import gemini as gemini_cli
from tests.agents.claude_code import ClaudeCode
from tests.agents.codex import Codex
from tests.agents.frameworks.environments import Program, python_of
from tests.agents.gemini import GeminiCli
from tests.agents.gemini_api import ScriptedGeminiApi
from tests.agents.messages_api import ScriptedMessagesApi
from tests.agents.person import Person
from tests.agents.responses_api import ScriptedResponsesApi
from tests.installations import an_installation

CLIENTS = {
    "claude": (claude_code.binary, "Claude Code"),
    "codex": (codex_cli.binary, "Codex CLI"),
    "gemini": (gemini_cli.binary, "Gemini CLI"),
}
"""Fixture -> where the client it drives is installed, and its name."""


def pytest_collection_modifyitems(items):
    """Skip the stories of a client that is not installed, and say how to install it."""
    for fixture, (binary, title) in CLIENTS.items():
        if binary() is not None:
            continue
        absent = pytest.mark.skip(reason=f"{title} is not installed: run .ci/install-agents")
        for item in items:
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(absent)


@pytest.fixture
def own_installation(tmp_path):
    """A real server that this test may stop, kill and start again."""
    with an_installation(tmp_path / "data") as running:
        yield running


@pytest.fixture
def person(installation):
    return Person(installation)


def scripted(kind):
    """Give a fixture that makes scripted models of one API: `model(script)`."""

    @pytest.fixture
    def serve():
        with ExitStack() as serving:
            yield lambda script: serving.enter_context(kind(script))

    return serve


model = scripted(ScriptedMessagesApi)
responses = scripted(ScriptedResponsesApi)
gemini_model = scripted(ScriptedGeminiApi)


def settled(kind):
    """Give a fixture that makes clients in scratch homes: `claude(api, files={...})`."""

    @pytest.fixture
    def move_in(tmp_path):
        running = []

        def settle(api, *, files=None, name="tidepool"):
            (tmp_path / name).mkdir()
            client = kind(tmp_path / name / "home", tmp_path / name / "tidepool", api.url)
            for path, text in (files or {}).items():
                (client.project / path).parent.mkdir(parents=True, exist_ok=True)
                (client.project / path).write_text(text)
            running.append(client)
            return client

        yield settle
        for client in running:
            client.end()

    return move_in


claude = settled(ClaudeCode)
codex = settled(Codex)
gemini = settled(GeminiCli)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A person's own folder, of which no variable tells another."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in (
        "MISSIONCONTROL_URL",
        "MISSIONCONTROL_KEY",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "GEMINI_CLI_TRUST_WORKSPACE",
    ):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def project(tmp_path, home):
    # With a space: what is written into a shell's command must be quoted.
    project = tmp_path / "tide pool"
    project.mkdir()
    return project


@pytest.fixture
def repository(project):
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return project


@pytest.fixture
def play(installation, tmp_path):
    """Start a small agent in its framework: `play("langgraph", "langgraph_agent", **env)`."""
    playing = []

    def start(framework, module, *arguments, **env):
        if python_of(framework) is None:
            pytest.skip(f"{framework} is not installed: run .ci/install-frameworks")
        server = {
            "MISSIONCONTROL_URL": installation.url,
            "MISSIONCONTROL_KEY": installation.agent_key,
        }
        program = Program(framework, module, *arguments, home=tmp_path, **server, **env)
        playing.append(program)
        return program

    yield start
    for program in playing:
        program.end()
