from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from guard.budget import Budget, Crossing, Spent, UsageMeter, nearest
from guard.errors import PolicyInvalid
from guard.policy import Policy
from guard.signals import Severity
from guard.turn import Usage
from tests.guard.build import a_call, a_user, first_trip, last_trip, watch

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
USAGE = Usage(input=1200, cache_write_5m=300, cache_read=9000, output=42)
SONNET = {"usage": USAGE, "model": "claude-sonnet-4-5", "provider": "anthropic"}


def steps(count: int, **fields):
    return [a_call("Bash", f"line {n}", command=f"do {n}", **fields) for n in range(count)]


def under(**ceilings) -> Policy:
    return Policy(budget=Budget.from_mapping(ceilings))


def test_no_budget_is_never_crossed():
    assert nearest(None, Spent(usd=Decimal(10**9))) is None


def test_a_ceiling_is_crossed_when_it_is_reached():
    crossing = nearest(Budget(usd=Decimal("2.50")), Spent(usd=Decimal("2.50")))

    assert crossing == Crossing(unit="usd", spent="2.50", ceiling="2.50")


def test_money_is_told_before_turns():
    spent = Spent(usd=Decimal(9), turns=9)

    assert nearest(Budget(usd=Decimal(1), turns=1), spent).unit == "usd"


def test_the_tightest_ceiling_tells_the_share():
    assert nearest(Budget(calls=10, turns=100), Spent(calls=9, turns=9)).share == 0.9


@pytest.mark.parametrize(
    ("mapping", "field"),
    [
        ({"usd": "much"}, "budget.usd"),
        ({"usd": -1}, "budget.usd"),
        ({"usd": "NaN"}, "budget.usd"),
        ({"calls": 1.5}, "budget.calls"),
        ({"calls": True}, "budget.calls"),
        ({"euros": 1}, "budget.euros"),
        ({"turns": [1]}, "budget.turns"),
        ({"usd": "Infinity"}, "budget.usd"),
        ({"usd": "1e-7"}, "budget.usd"),
        ({"tokens": 10**16}, "budget.tokens"),
    ],
)
def test_a_wrong_ceiling_is_named(mapping, field):
    with pytest.raises(PolicyInvalid) as caught:
        Budget.from_mapping(mapping)

    assert caught.value.field == field


@pytest.mark.parametrize("mapping", [5, None, "usd", ["usd"]])
def test_what_is_no_table_of_ceilings_says_so(mapping):
    with pytest.raises(PolicyInvalid, match="'budget': expected a table of ceilings"):
        Budget.from_mapping(mapping)


def test_the_least_and_the_most_of_a_ceiling_are_taken():
    budget = Budget.from_mapping({"usd": "0.000001", "tokens": 10**15, "seconds": 0.5})

    assert (budget.usd, budget.tokens) == (Decimal("0.000001"), 10**15)
    assert budget.seconds == 0.5


def test_a_ceiling_that_is_almost_reached_is_not():
    budget, spent = Budget(tokens=10**9), Spent(tokens=10**9 - 1)

    assert not nearest(budget, spent).reached


def test_money_below_a_cent_is_told_to_the_digit():
    near = nearest(Budget(usd=Decimal("0.01")), Spent(usd=Decimal("0.009")))

    assert (near.spent, near.ceiling) == ("0.009", "0.01")


def test_a_reached_ceiling_is_spoken_of_before_one_that_nears():
    budget = Budget(calls=10, turns=4, agents={"critic": Budget(calls=5)})
    critic = {"critic": Spent(calls=5)}

    assert nearest(budget, Spent(calls=9, turns=4), agent="critic").unit == "turns"
    assert nearest(budget, Spent(calls=9, agents=critic), agent="critic").agent == "critic"
    assert nearest(budget, Spent(calls=9, agents=critic)).unit == "calls"
    assert nearest(budget, Spent(calls=8)).share == 0.8


def test_an_absent_ceiling_may_be_null():
    assert Budget.from_mapping({"usd": None, "calls": 3}) == Budget(calls=3)


def test_calls_trip_when_the_last_allowed_one_is_done():
    assert first_trip(steps(6), under(calls=4)) == 3


def test_it_nudges_from_four_fifths_on():
    assessments = watch(steps(10), under(calls=10))

    assert [bool(a.signals) for a in assessments] == [False] * 7 + [True] * 3
    assert assessments[-2].signals[0].evidence.summary == "It has used 90% of its budget."


def test_turns_count_what_people_say_too():
    assert first_trip([a_user(), *steps(4)], under(turns=3)) == 2


def test_tokens_of_one_model_call_count_once():
    twice = steps(2, call_id="m1", usage=USAGE)

    assert first_trip([*twice, *steps(1, call_id="m2", usage=USAGE)], under(tokens=20_000)) == 2


def test_dollars_are_priced_from_usage():
    turns = [
        a_call(
            "Bash",
            f"{n}",
            command=f"{n}",
            call_id=f"m{n}",
            usage=USAGE,
            model="claude-sonnet-4-5",
            provider="anthropic",
        )
        for n in range(3)
    ]

    trip = last_trip(turns, under(usd="0.02"))

    assert trip.evidence.summary == "It has spent $0.02 of $0.02."


def test_the_callers_own_cost_wins():
    turns = [a_call("Bash", "x", command=f"{n}", key=f"{n}", cost_usd=Decimal(1)) for n in range(2)]

    assert first_trip(turns, under(usd=2)) == 1


def test_run_time_is_counted_between_turns():
    turns = [
        a_call("Bash", f"{n}", command=f"{n}", ts=NOON + timedelta(seconds=40 * n))
        for n in range(3)
    ]

    assert first_trip(turns, under(seconds=60)) == 2


def test_failures_count_in_a_row():
    bad = [a_call("Bash", error=f"error {n}", command=f"{n}") for n in range(5)]

    assert first_trip([*bad[:2], *steps(1), *bad[2:]], under(failures=3)) == 5


def test_a_person_begins_a_new_row_of_failures():
    bad = [a_call("Bash", error=f"error {n}", command=f"{n}") for n in range(4)]

    assert first_trip([*bad[:2], a_user(), *bad[2:]], under(failures=3)) is None


def test_its_evidence_names_unit_spent_and_ceiling():
    evidence = last_trip(steps(3), under(calls=3)).evidence

    assert (evidence.unit, evidence.spent, evidence.ceiling) == ("calls", "3", "3")
    assert evidence.summary == "It has used 3 of 3 calls."


def test_a_spent_budget_is_told_before_a_loop():
    looping = [a_call("Bash", error="boom", command="make")] * 3

    assert last_trip(looping, under(calls=3)).kind == "budget"


def test_a_ceiling_of_nought_is_refused_in_code_too():
    with pytest.raises(PolicyInvalid):
        Budget(calls=0)


def test_without_a_budget_nothing_is_near():
    assert nearest(None, Spent(calls=9)) is None


def test_it_nudges_with_the_ceiling_that_nears():
    nudge = watch(steps(4), under(calls=5))[-1].signals[0]

    assert (nudge.trips, nudge.score) == (False, 0.8)
    assert (nudge.evidence.unit, nudge.evidence.spent, nudge.evidence.ceiling) == (
        "calls",
        "4",
        "5",
    )


def test_a_reached_ceiling_asks_a_person():
    assert last_trip(steps(3), under(calls=3)).severity is Severity.ASK


def test_a_proposed_call_is_judged_with_what_its_model_call_cost():
    paid = {"command": "ls", "phase": "proposed", "key": "a", "cost_usd": Decimal(2)}

    assert first_trip([a_call("Bash", None, **paid)], under(usd=2)) == 0


def test_one_agent_of_a_run_may_have_a_ceiling_of_its_own():
    policy = under(agents={"critic": {"calls": 2}})
    coder, critic = steps(9, agent="coder"), steps(2, agent="critic")

    trip = last_trip([*coder, *critic], policy)

    assert (trip.evidence.scope, trip.evidence.whose) == ("run", "critic")
    assert trip.evidence.summary == "Agent critic of this run has used 2 of 2 calls."


def test_an_agent_goes_on_where_only_another_has_used_its_share():
    policy = under(agents={"critic": {"calls": 2}})
    critic, coder = steps(2, agent="critic"), steps(1, agent="coder")

    assert watch([*critic, *coder], policy)[-1].trip is None


def test_a_star_means_each_agent_that_is_not_named():
    policy = under(agents={"*": {"calls": 2}, "coder": {"calls": 50}})

    assert first_trip(steps(9, agent="coder"), policy) is None
    assert first_trip([*steps(1, agent="planner"), *steps(2, agent="critic")], policy) == 2


def test_an_agent_has_its_own_ceiling_though_it_goes_on_with_anothers_tries():
    policy = under(agents={"coder": {"calls": 2}})
    complaint = a_user("This is still broken, the tests fail.")
    acts = [replace(one, agent=("critic", "coder")[n % 2]) for n, one in enumerate(steps(4))]
    trips = [one.trip for one in watch([p for act in acts for p in (complaint, act)], policy)]

    assert trips[-1].evidence.whose == "coder"


def test_the_failures_of_agents_are_rows_of_their_own():
    bad = [a_call("Bash", error=f"no {n}", command=f"{n}", agent="ab"[n % 2]) for n in range(4)]

    assert first_trip(bad, under(agents={"a": {"failures": 2}})) == 2


@pytest.mark.parametrize(
    ("agents", "field"),
    [
        ([], "budget.agents"),
        ({"critic": 3}, "budget.agents.critic"),
        ({"critic": {"seconds": 3}}, "budget.agents.critic.seconds"),
        ({"critic": {"calls": 0}}, "budget.agents.critic.calls"),
    ],
)
def test_a_wrong_ceiling_of_an_agent_is_named(agents, field):
    with pytest.raises(PolicyInvalid) as caught:
        Budget.from_mapping({"agents": agents})

    assert caught.value.field == field


def test_an_agents_absent_ceiling_may_be_null_even_where_it_has_none():
    budget = Budget.from_mapping({"agents": {"critic": {"seconds": None, "calls": 2}}})

    assert budget.agents["critic"] == Budget(calls=2)


def test_a_policy_with_ceilings_of_agents_reads_back_as_it_was():
    policy = under(usd="2.50", agents={"critic": {"calls": 2}})

    assert Policy.from_mapping(policy.as_mapping()) == policy


def test_a_long_run_remembers_a_bounded_number_of_agents_and_calls():
    meter = UsageMeter(Budget.from_mapping({"agents": {"*": {"calls": 9}}}))
    for number in range(5000):
        meter.take(
            a_call("Bash", "x", agent=f"a{number}", key=f"{number}", usage=USAGE), failed=False
        )

    assert len(meter.spent.agents) == 256
    assert meter.spent.tokens == 5000 * USAGE.total


def test_calls_that_are_priced_later_cost_what_they_would_have_cost():
    budget = Budget.from_mapping({"usd": 1, "agents": {"critic": {"usd": 1}}})
    at_once, later = UsageMeter(budget), UsageMeter(budget, prices_later=True)
    calls = [a_call("Bash", "x", agent=name, key=name, **SONNET) for name in ("critic", "coder")]
    for call in calls:
        at_once.take(call, failed=False)
        later.take(call, failed=False)
    assert later.spent.usd == 0

    later.price_calls()
    for meter in (at_once, later):
        meter.take(a_call("Bash", "x", agent="critic", key="last", **SONNET), failed=False)

    assert later.spent == at_once.spent
    assert later.spent.agents["critic"].usd > 0


def test_an_agent_with_a_ceiling_of_its_own_is_never_forgotten():
    meter = UsageMeter(Budget.from_mapping({"agents": {"critic": {"calls": 9}}}))
    meter.take(a_call("Bash", "x", agent="critic"), failed=False)
    for number in range(300):
        meter.take(a_call("Bash", "x", agent=f"a{number}"), failed=False)

    assert meter.spent.agents["critic"].calls == 1
