"""What stops saved: never more than the loops that went on bear out."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from missioncontrol.reports.savings import (
    MIN_SAMPLES,
    Stop,
    UnstoppedLoop,
    estimate_savings,
    saving_of,
)

DOLLARS = st.decimals(min_value=0, max_value=50, places=4)
KINDS = st.sampled_from(["exact_repeat", "ping_pong"])
STOPS = st.builds(
    Stop, kind=KINDS, turns=st.integers(1, 500), usd_per_turn=DOLLARS, max_usd=st.none() | DOLLARS
)
LASTED = st.builds(UnstoppedLoop, kind=KINDS, turns=st.integers(1, 500))
ENOUGH_OF_THEM = st.lists(LASTED, min_size=MIN_SAMPLES, max_size=40)
CENT = Decimal("0.01")


def some(*turns, kind="exact_repeat"):
    return [UnstoppedLoop(kind=kind, turns=one) for one in turns]


def a_stop(**fields):
    defaults = {"kind": "exact_repeat", "turns": 4, "usd_per_turn": Decimal("0.10")}
    return Stop(**{**defaults, **fields})


def test_a_stop_saves_the_turns_that_such_loops_take_less_those_it_took():
    made = estimate_savings([a_stop()], some(10, 20, 24, 30, 40))

    assert (made.low_usd, made.likely_usd, made.high_usd) == (
        Decimal("1.60"),
        Decimal("2.00"),
        Decimal("2.60"),
    )
    assert (made.median_turns, made.samples) == (24, 5)


def test_too_few_loops_went_on_to_say():
    made = estimate_savings([a_stop()], some(10, 20, 24, 30))

    assert (made.low_usd, made.likely_usd, made.high_usd, made.samples) == (None, None, None, 4)


def test_nothing_stopped_is_nothing_saved_whatever_is_known():
    made = estimate_savings([], [])

    assert (made.low_usd, made.likely_usd, made.high_usd) == (0, 0, 0)


def test_a_stop_whose_calls_have_no_price_is_counted_and_in_no_amount():
    both = estimate_savings([a_stop(), a_stop(usd_per_turn=None)], some(10, 20, 24, 30, 40))
    alone = estimate_savings([a_stop(usd_per_turn=None)], some(10, 20, 24, 30, 40))

    assert (both.likely_usd, both.stops, both.unpriced_stops) == (Decimal("2.00"), 2, 1)
    assert alone.likely_usd is None


def test_loops_of_its_kind_are_compared_where_there_are_enough():
    unstopped = [*some(10, 10, 10, 10, 10), *some(100, 100, 100, 100, 100, kind="ping_pong")]

    assert estimate_savings([a_stop()], unstopped).likely_usd == Decimal("0.60")
    assert estimate_savings([a_stop(kind="ping_pong")], unstopped).likely_usd == Decimal("9.60")
    assert estimate_savings([a_stop(kind="stall")], unstopped).likely_usd == Decimal("5.10")


def test_no_more_is_saved_than_the_runs_ceiling_had_left():
    assert saving_of(a_stop(max_usd=Decimal("0.25")), 1000) == Decimal("0.25")
    assert saving_of(a_stop(max_usd=Decimal(-3)), 1000) == 0


@given(stops=st.lists(STOPS, max_size=8), unstopped=ENOUGH_OF_THEM)
def test_the_range_is_in_order_and_never_below_nothing(stops, unstopped):
    made = estimate_savings(stops, unstopped)

    assert made.low_usd is not None
    assert 0 <= made.low_usd <= made.likely_usd <= made.high_usd


@given(stops=st.lists(STOPS, max_size=8), unstopped=ENOUGH_OF_THEM)
def test_the_longest_loop_and_the_ceilings_bound_what_is_saved(stops, unstopped):
    longest = max(one.turns for one in unstopped)
    most = sum(
        min(
            longest * stop.usd_per_turn,
            longest * stop.usd_per_turn if stop.max_usd is None else stop.max_usd,
        )
        + CENT
        for stop in stops
    )

    assert estimate_savings(stops, unstopped).high_usd <= most


@given(stop=STOPS, turns=st.integers(0, 600), more=st.integers(0, 100))
def test_a_loop_stopped_sooner_saved_as_much_or_more(stop, turns, more):
    later = Stop(
        kind=stop.kind,
        turns=stop.turns + more,
        usd_per_turn=stop.usd_per_turn,
        max_usd=stop.max_usd,
    )

    assert saving_of(later, turns) <= saving_of(stop, turns)


@given(stops=st.lists(STOPS, max_size=8), unstopped=ENOUGH_OF_THEM)
def test_stops_add_up_in_whatever_order_they_are_told(stops, unstopped):
    one_by_one = sum((estimate_savings([stop], unstopped).likely_usd for stop in stops), Decimal(0))

    assert estimate_savings(stops[::-1], unstopped[::-1]).likely_usd == one_by_one
