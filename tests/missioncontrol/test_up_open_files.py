"""As many connections as the system allows, not as few as a shell begins with."""

import resource

import pytest

from missioncontrol.up.processes import MAX_OPEN_FILES, raise_open_files_limit


@pytest.fixture
def limits():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_low_limit_of_open_files_is_raised(limits):
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits))

    raise_open_files_limit()

    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(limits, MAX_OPEN_FILES), limits)


def test_a_higher_limit_is_kept(limits):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[0] < MAX_OPEN_FILES:
        pytest.skip("this machine allows fewer")

    raise_open_files_limit()

    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
