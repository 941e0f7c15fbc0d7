"""People for every test: an owner, an operator, a viewer and a stranger."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from asgiref.sync import SyncToAsync
from django.conf import settings as django_settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.db import connection, connections
from hypothesis import settings
from rest_framework.test import APIClient
from xdist.scheduler import LoadFileScheduling

import tests.examples  # noqa: F401 - the profiles
from missioncontrol import broadcast
from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import Project, Reach
from missioncontrol.accounts.sessions import SessionStore
from tests.build import NOON, a_person, a_project
from tests.installations import an_installation

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
        # One row, where Django's `force_login` makes two sessions and writes four times.
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = django_settings.AUTHENTICATION_BACKENDS[0]
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        client = APIClient()
        client.cookies[django_settings.SESSION_COOKIE_NAME] = str(session.session_key)
        return client

    return sign_in


@pytest.fixture
def as_agent(project) -> APIClient:
    """Return a client that sends an agent key for the whole project."""
    made = accounts.mint_agent_key(project=project, name="test", at=NOON, reach=Reach.PROJECT)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {made.secret}")
    return client


NOT_SLOW = "not slow and "
"""How the marks of `addopts` begin."""


def pytest_configure(config):
    """Run what somebody names, slow or not; passwords in this process cost little.

    And a file of the front end is looked for when it is asked for: else each client of each
    test reads all of them first, which was most of what a test of the API took.
    """
    # What a shell begins in the background ignores Ctrl-C, and so does all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    django_settings.PASSWORD_HASHERS = ["tests.hashing.FastArgon2Hasher"]
    django_settings.WHITENOISE_AUTOREFRESH = True
    if config.args_source is config.ArgsSource.ARGS:
        config.option.markexpr = config.option.markexpr.removeprefix(NOT_SLOW)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while ten thousand tests are made: all of them stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


OWN_PASS = {"faults", "agents", "bench", "long", "screens", "https"}
"""Marks of what runs in a pass of its own (pyproject.toml)."""


def pytest_itemcollected(item):
    """Mark as slow what starts a whole server or a browser, and has no pass of its own."""
    whole = "installation" in item.fixturenames or "e2e" in item.path.parts
    if whole and not marks_of(item) & OWN_PASS:
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return NoRetryScheduling(config, log)


class NoRetryScheduling(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """xdist's own, but a test that ended its process has failed: xdist begins with it again.

    What hangs is ended so (.ci/run).
    """

    def remove_node(self, node):
        for unit in self.assigned_work[node].values():
            for name, is_done in unit.items():
                if not is_done:
                    unit[name] = True
                    super().remove_node(node)
                    return name
        return super().remove_node(node)


NO_PASS = {"bench", "long"}
"""Marks of what only a person starts."""


def pytest_deselected(items):
    """Tell .ci/skips.py what this pass leaves to the others; each process leaves the same."""
    results = os.environ.get("CI_RESULTS")
    if results and os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0":
        left = {junit_name(item) for item in items if not marks_of(item) & NO_PASS}
        with (Path(results) / "deselected.txt").open("a") as file:
            # At once: another pass may write there at the same time.
            file.write("".join(f"{name}\n" for name in sorted(left)))


def marks_of(item):
    return {mark.name for mark in item.iter_markers()}


def junit_name(item):
    """Return its name as a JUnit report has it, without parameters."""
    path, *names = item.nodeid.partition("[")[0].split("::")
    return ".".join([path.removesuffix(".py").replace("/", "."), *names[:-1]]) + f"::{names[-1]}"


def pytest_addoption(parser):
    parser.addoption(
        "--database", action="store_true", help="only what uses the database or the broker"
    )


USES_A_SERVER = {"db", "transactional_db", "installation", "broker"}
SERVER_NAMES = {"a_database", "an_installation", "Installation", "broadcast"}
"""Fixtures, and names a file imports, by which its tests reach the database or the broker."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Begin with what takes long, in any order: else one process ends long after the others.

    In the browser one file has a fifth of the tests: the fullest come first.
    """
    if config.getoption("database"):
        config.hook.pytest_deselected(items=[item for item in items if not uses_a_server(item)])
        items[:] = [item for item in items if uses_a_server(item)]
    in_a_browser = Counter(item.path for item in items if "e2e" in item.path.parts)
    items.sort(key=lambda item: (-in_a_browser[item.path], not LONG & set(item.path.parts)))


def uses_a_server(item):
    return (
        "django_db" in marks_of(item)
        or not USES_A_SERVER.isdisjoint(item.fixturenames)
        or not SERVER_NAMES.isdisjoint(vars(item.module))
    )


LONG = {"attack", "e2e", "contract", "sdk", "property", "otlp", "test_up.py"}
"""Folders and files whose tests wait for servers and browsers, or try many examples."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Close the connections of threads: a database that somebody reads is not dropped."""
    if connection.vendor == "postgresql":
        connection.ops.sql_flush = delete_statements
    yield
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


def delete_statements(style, tables, **_):
    """Empty tables by deleting: to truncate makes files anew of each, full or not."""
    names = map(connection.ops.quote_name, tables)
    return [f"DELETE FROM {name}" for name in names]  # noqa: S608 - our own tables


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Give each test process a database; SQLite's in a file, as threads of a server need it."""
    if connection.vendor == "sqlite":
        from tests.environment import HERE

        settings = connection.settings_dict["TEST"]
        settings["NAME"] = str(Path(HERE) / "test.sqlite3")


@pytest.fixture(scope="session", autouse=True)
def publishers():
    """Close their connections at the end: a server's are closed with its process."""
    yield
    for publisher in (broadcast._screen_publisher, broadcast._agent_publisher):
        if publisher._pid == os.getpid():
            closing = publisher._broker.aclose()
            asyncio.run_coroutine_threadsafe(closing, publisher._loop).result()


@pytest.fixture(scope="session")
def installation(tmp_path_factory):
    """One `manage.py up` for every test that wants a whole server.

    Its channels and pushes may lead to this machine. A start costs ten seconds of a core:
    a test that needs another start restarts this one.
    """
    place = tmp_path_factory.mktemp("up")
    with an_installation(place, MISSIONCONTROL_NOTIFY_HOSTS="127.0.0.1") as running:
        yield running
