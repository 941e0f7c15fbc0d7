"""An agent and a person before one real server."""

import pytest

from tests.contract.conversation import Caller, an_agent_of, the_person_of


@pytest.fixture
def agent(installation) -> Caller:
    return an_agent_of(installation)


@pytest.fixture
def person(installation) -> Caller:
    return the_person_of(installation)


@pytest.fixture
def nobody(installation) -> Caller:
    return Caller(installation.url, {})
