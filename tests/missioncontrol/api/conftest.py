import pytest

from missioncontrol.api.views import instance


@pytest.fixture(autouse=True)
def nobody_waits_for_a_worker(monkeypatch):
    """There is none in a test process: to be sure of it takes the whole time."""
    monkeypatch.setattr(instance, "WORKER_TIMEOUT_S", 0.01)
