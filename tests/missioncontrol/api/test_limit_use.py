"""The limits, and the callers that reach them, as an owner sees them."""

import pytest

from missioncontrol.accounts import services as accounts
from missioncontrol.accounts.models import Reach
from missioncontrol.accounts.selectors import holder_of
from missioncontrol.accounts.tokens import digest
from missioncontrol.api import endpoint, limits
from missioncontrol.api.limits import RateLimiter, TokenBuckets
from missioncontrol.api.views.instance import limits_row
from missioncontrol.decisions import interventions
from missioncontrol.errors import TooManyOpenRuns, TooManyRequests
from missioncontrol.runs.services import OpenRun, open_run
from tests.build import NOON, a_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def strict_limiter(monkeypatch):
    few = RateLimiter({"runs": 2, "turns": 2}, {"runs": 0, "turns": 0})
    monkeypatch.setattr(limits, "rate_limiter", few)
    return few


def a_key(project, name):
    return accounts.mint_agent_key(project=project, name=name, at=NOON, reach=Reach.OWN)


def asks(secret, path="/api/v1/hooks/claude-code/", *, written="Bearer {}"):
    proof = written.format(secret).encode()
    scope = {"method": "POST", "path": path, "client": ("10.0.0.9", 1)}
    endpoint.apply_rate_limit({**scope, "headers": [(b"authorization", proof)]})


def usage_rows(strict_limiter, project):
    return [
        (use.name, use.kind, use.a_minute, use.refused, use.open_runs)
        for use in limits_row(projects=[project.id], limiter=strict_limiter).users
    ]


def test_refused_callers_are_listed_first_with_their_count(project, strict_limiter):
    busy, quiet = a_key(project, "busy"), a_key(project, "quiet")
    asks(quiet.secret)
    for _ in range(2):
        asks(busy.secret)
    with pytest.raises(TooManyRequests):
        asks(busy.secret)

    assert usage_rows(strict_limiter, project) == [
        ("busy", "turns", 2, 1, 0),
        ("quiet", "turns", 1, 0, 0),
    ]


def test_runs_that_a_key_has_open_are_counted(project, strict_limiter):
    key = a_key(project, "coder")
    for name in ("one", "two"):
        open_run(project, OpenRun(name=name), by="a", at=NOON, opener=holder_of(key.row))
    asks(key.secret)

    assert usage_rows(strict_limiter, project) == [("coder", "turns", 1, 0, 2)]


def test_a_project_as_a_whole_is_shown_beside_its_keys(project):
    strict_limiter = RateLimiter(
        {"turns": 9, "bytes": 999}, {"turns": 9}, {"turns": 1, "bytes": 999}
    )
    key = a_key(project, "coder")
    open_run(project, OpenRun(name="one"), by="a", at=NOON, opener=holder_of(key.row))
    hashed = digest(key.secret)
    strict_limiter.count_authenticated("turns", 7, key=hashed, project=str(project.id))
    with pytest.raises(TooManyRequests):
        strict_limiter.count_authenticated("turns", 7, key=hashed, project=str(project.id))

    assert usage_rows(strict_limiter, project) == [
        ("", "turns", 1, 1, 1),
        ("", "bytes", 14, 0, 1),
        ("coder", "bytes", 14, 0, 1),
    ]


@pytest.mark.parametrize("limits_of", ["KEY_LIMITS", "PROJECT_LIMITS"])
def test_a_run_beyond_the_limit_is_refused_until_another_ends(project, settings, limits_of):
    setattr(settings, limits_of, getattr(settings, limits_of) | {"open_runs": 2})
    holder = holder_of(a_key(project, "coder").row)
    first, _ = open_run(project, OpenRun(key="1"), by="a", at=NOON, opener=holder)
    open_run(project, OpenRun(key="2"), by="a", at=NOON, opener=holder)

    with pytest.raises(TooManyOpenRuns):
        open_run(project, OpenRun(key="3"), by="a", at=NOON, opener=holder)
    assert open_run(project, OpenRun(key="1"), by="a", at=NOON, opener=holder) == (first, False)
    interventions.report_end(first.id, "completed", projects=[project.id], by="agent", at=NOON)

    assert open_run(project, OpenRun(key="3"), by="a", at=NOON, opener=holder)[1]


def test_keys_of_other_projects_are_not_shown(project, strict_limiter):
    asks(a_key(a_project("elsewhere"), "theirs").secret)
    asks("mc_nobodys")

    assert usage_rows(strict_limiter, project) == []


@pytest.mark.parametrize("written", ["Bearer {}", "bearer  {} ", " BEARER {}"])
def test_a_key_is_counted_as_itself_however_it_is_written(project, strict_limiter, written):
    key = a_key(project, "coder")

    asks(key.secret, written=written)

    assert strict_limiter.usage() == {("turns", digest(key.secret)): 1}


def test_usage_is_zero_after_a_minute():
    class Clock:
        now = 0.0

    bucket = TokenBuckets(60, lambda: Clock.now)
    bucket.take("ana")
    assert bucket.usage() == {"ana": 1}
    Clock.now = 60.0

    assert bucket.usage() == {}


def test_an_owner_sees_the_limits(as_person, owner, settings):
    limits = as_person(owner).get("/api/v1/instance/").json()["limits"]

    assert limits["body_bytes"] == settings.BODY_LIMIT
    assert {row["kind"]: row["a_key"] for row in limits["requests"]} == settings.KEY_LIMITS
