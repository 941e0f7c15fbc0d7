"""The hook endpoint's own decisions; its story is played in tests/agents."""

import pytest

from missioncontrol.api.hooks import serving
from missioncontrol.errors import NotFound


def test_a_hook_whose_run_was_deleted_stops_waiting():
    with pytest.raises(NotFound, match="The run"):
        serving._still_there(None)
