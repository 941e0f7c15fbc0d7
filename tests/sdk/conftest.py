import pytest

from guard.sdk import background, conversation, session
from tests.sdk.server import LoopbackServer


@pytest.fixture
def server():
    serving = LoopbackServer()
    serving.start()
    yield serving
    serving.stop()
    background._lingering.clear()  # its port may be the next one's


@pytest.fixture
def environment(server, monkeypatch):
    """The environment names the server, and the process's own run ends with the test."""
    monkeypatch.setenv("MISSIONCONTROL_URL", server.url)
    monkeypatch.setenv("MISSIONCONTROL_KEY", "mc_k")
    yield
    session.close_process_session()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    """A server that is away is looked for again at once."""
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 0.05)
    monkeypatch.setattr(background, "MAX_PAUSE_S", 0.1)
    monkeypatch.setattr(conversation, "FIRST_PAUSE_S", 0.05)


@pytest.fixture
def outbox(tmp_path):
    return tmp_path / "outbox"


@pytest.fixture
def session_options(server, outbox):
    return {"url": server.url, "key": "mc_k", "agent": "coder", "outbox": outbox}
