"""An agent and a person before one real server."""

import pytest

from tests.contract.conversation import Caller


@pytest.fixture
def agent(installation) -> Caller:
    return Caller(installation.url, {"Authorization": f"Bearer {installation.agent_key}"})


@pytest.fixture
def person(installation) -> Caller:
    cookies = installation.cookies()
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return Caller(
        installation.url,
        {"Cookie": cookie, "X-CSRFToken": cookies["csrftoken"], "Origin": installation.url},
    )


@pytest.fixture
def nobody(installation) -> Caller:
    return Caller(installation.url, {})
