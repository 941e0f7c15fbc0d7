"""What the tests of the server share."""

from __future__ import annotations

import pytest

from tests.receiver import a_receiver


@pytest.fixture
def server():
    """A server of somebody else's."""
    with a_receiver() as running:
        yield running
