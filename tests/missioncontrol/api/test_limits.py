"""Rate limits of agents and people, on a real server and with a fake clock."""

import pytest

from missioncontrol.api import limits
from missioncontrol.api.limits import ConcurrencyLimit, RateLimiter, TokenBuckets, kind_of
from missioncontrol.errors import TooManyRequests, Unavailable
from tests.contract.conversation import a_turn, an_agent_of
from tests.installations import an_installation

FEW = {"runs": 3, "turns": 4, "otlp": 2, "taps": 2}
PATHS = {
    "/api/v1/runs/": "runs",
    "/api/v1/runs/0198a3d2/turns/": "turns",
    "/api/v1/hooks/claude-code/": "turns",
    "/v1/traces": "otlp",
    "/v1/logs/": "otlp",
    "/api/v1/runs/0198a3d2/interventions/": "taps",
}


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_bucket_holds_a_minutes_tokens_and_refills(clock):
    bucket = TokenBuckets(6, clock)

    assert [bucket.take("ana") for _ in range(6)] == [0.0] * 6
    assert bucket.take("ana") == pytest.approx(10.0)
    clock.now = 10.0
    assert bucket.take("ana") == 0.0
    assert bucket.take("ana") > 0


def test_each_name_has_a_bucket_of_its_own(clock):
    bucket = TokenBuckets(1, clock)

    assert bucket.take("ana") == 0.0
    assert bucket.take("olu") == 0.0
    assert bucket.take("ana") > 0


def test_without_a_limit_nothing_is_refused(clock):
    bucket = TokenBuckets(0, clock)

    assert {bucket.take("ana") for _ in range(10_000)} == {0.0}


def test_without_a_limit_usage_is_forgotten_after_a_minute(clock):
    bucket = TokenBuckets(0, clock)
    bucket.take("ana", 4)

    clock.now = 30.0
    bucket.take("ana", 2)
    assert bucket.usage() == {"ana": 4}
    clock.now = 90.0
    assert bucket.usage() == {}


def test_the_number_of_remembered_names_is_bounded(clock, monkeypatch):
    monkeypatch.setattr(limits, "MAX_NAMES", 100)
    bucket = TokenBuckets(1, clock)

    for number in range(1000):
        bucket.take(f"guess {number}")

    assert len(bucket._spent) <= 100


def test_an_address_is_limited_whatever_keys_it_tries():
    limiter = RateLimiter({"taps": 5}, {"taps": 2})
    for number in range(2):
        limiter.count_request("taps", address="192.0.2.7", key=f"guess {number}")

    with pytest.raises(TooManyRequests) as refused:
        limiter.count_request("taps", address="192.0.2.7", key="another")

    assert int(refused.value.headers()["Retry-After"]) == 30


def test_a_project_is_limited_whatever_keys_it_makes():
    limiter = RateLimiter({"turns": 5}, {}, {"turns": 2})
    for number in range(2):
        limiter.count_authenticated("turns", 1, key=f"key {number}", project="p")

    with pytest.raises(TooManyRequests):
        limiter.count_authenticated("turns", 1, key="another", project="p")
    limiter.count_authenticated("turns", 1, key="theirs", project="another")


def test_keys_and_projects_have_a_byte_limit_per_minute():
    limiter = RateLimiter({"bytes": 100}, {}, {"bytes": 150})
    limiter.count_authenticated("turns", 90, key="one", project="p")

    with pytest.raises(TooManyRequests):
        limiter.count_authenticated("turns", 20, key="one", project="p")
    with pytest.raises(TooManyRequests):
        limiter.count_authenticated("turns", 90, key="two", project="p")
    assert limiter.refused == {("bytes", "one"): 1, ("bytes", "p"): 1}


def test_one_body_above_the_byte_limit_is_accepted_and_the_next_is_refused():
    limiter = RateLimiter({"bytes": 60}, {}, {})
    limiter.count_authenticated("turns", 120, key="one", project="p")

    with pytest.raises(TooManyRequests) as refused:
        limiter.count_authenticated("turns", 60, key="one", project="p")

    assert refused.value.wait_s == 120


def test_a_full_limit_admits_the_next_after_a_release():
    slots = ConcurrencyLimit(1)
    release = slots.acquire()

    with pytest.raises(Unavailable):
        slots.acquire()
    release()
    release()  # an answer that ends and then loses its connection leaves once

    slots.acquire()
    with pytest.raises(Unavailable):
        slots.acquire()


@pytest.mark.parametrize("path", PATHS)
def test_posts_are_counted_by_kind(path):
    assert kind_of("POST", path) == PATHS[path]
    assert kind_of("GET", path) is None


def test_other_addresses_are_not_counted():
    assert kind_of("POST", "/api/v1/runs/0198a3d2/choices/") is None


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    key_limits = ",".join(f"{kind}={most}" for kind, most in FEW.items())
    with an_installation(
        tmp_path_factory.mktemp("strict"), MISSIONCONTROL_KEY_LIMITS=key_limits
    ) as running:
        yield running


@pytest.mark.slow
def test_a_refused_request_has_a_retry_after(strict):
    agent = an_agent_of(strict)
    run = agent.open_run()
    asked = {
        "runs": lambda: agent.ask("POST", "/api/v1/runs/", {"name": "again"}),
        "turns": lambda: agent.post_turns(run, a_turn(), wait=None),
        "otlp": lambda: agent.ask("POST", "/v1/logs", {"resourceLogs": []}),
        "taps": lambda: agent.ask("POST", f"/api/v1/runs/{run}/interventions/", {}),
    }

    for kind, ask in asked.items():
        answers = [ask() for _ in range(FEW[kind] + 1)]

        assert answers[0].status != 429, kind
        assert answers[-1].status == 429, kind
        assert answers[-1].json["code"] == "too_many_requests"
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
    in_other_letters = agent.ask("POST", "/v1/%6Cogs", {"resourceLogs": []})
    assert in_other_letters.status == 429


@pytest.mark.slow
def test_a_request_without_a_free_slot_has_a_retry_after(tmp_path):
    with an_installation(tmp_path, MISSIONCONTROL_MOST_OPENINGS="0") as full:
        agent = an_agent_of(full)
        answer = agent.ask("POST", "/api/v1/runs/", {"name": "late"})

    assert (answer.status, answer.json["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) == limits.RETRY_AFTER_S
