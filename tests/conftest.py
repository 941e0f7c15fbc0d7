"""People for every test: an owner, an operator, a viewer and a stranger."""

from __future__ import annotations

from pathlib import Path

import pytest
from asgiref.sync import SyncToAsync
from django.contrib.auth.models import User
from django.db import connections
from hypothesis import HealthCheck, settings
from rest_framework.test import APIClient

from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import Project
from tests.build import NOON, a_person, a_project
from tests.installations import an_installation

# A busy machine is no finding: no test of ours asserts on time.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.fixture
def project(db) -> Project:
    return a_project()


@pytest.fixture
def owner(project) -> User:
    return a_person("ana", project, "owner")


@pytest.fixture
def operator(project) -> User:
    return a_person("olu", project, "operator")


@pytest.fixture
def viewer(project) -> User:
    return a_person("vic", project, "viewer")


@pytest.fixture
def stranger(db) -> User:
    return a_person("sam", a_project("elsewhere"))


@pytest.fixture
def as_person():
    """Return a client that is signed in as somebody."""

    def sign_in(user: User) -> APIClient:
        client = APIClient()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def as_agent(project) -> APIClient:
    """Return a client that sends the project's agent key."""
    secret = accounts.mint_agent_key(project=project, name="test", at=NOON).secret
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begin with what takes long, in any order: else one process ends long after the other."""
    items.sort(key=lambda item: not LONG & set(item.path.parts))


LONG = {"e2e", "contract", "sdk", "property", "otlp", "test_up.py"}
"""Folders and files whose tests wait for servers and browsers, or try many examples."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup):
    """Close the connection of the thread that async tests do their queries in."""
    yield
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Give each test process a database; SQLite's in a file, as threads of a server need it."""
    from django.db import connection

    if connection.vendor == "sqlite":
        from tests.environment import HERE

        settings = connection.settings_dict["TEST"]
        settings["NAME"] = str(Path(HERE) / "test.sqlite3")


@pytest.fixture(scope="session")
def installation(tmp_path_factory):
    """One `manage.py up` for every test that wants a whole server.

    Its channels and pushes may lead to this machine. A start costs ten seconds of a core:
    a test that needs another start restarts this one.
    """
    place = tmp_path_factory.mktemp("up")
    with an_installation(place, MISSIONCONTROL_NOTIFY_HOSTS="127.0.0.1") as running:
        yield running
