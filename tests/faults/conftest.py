"""What tests of faults share."""

import pytest

from tests.installations import an_installation, wait_for


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """An installation of the module's own, whose detector has begun."""
    with an_installation(tmp_path_factory.mktemp("up")) as installation:
        wait_for(lambda: installation.pid_of("=detector-0@"))
        yield installation
