import pytest

from tests.sdk.server import LoopbackServer


@pytest.fixture
def server():
    serving = LoopbackServer()
    serving.start()
    yield serving
    serving.stop()
