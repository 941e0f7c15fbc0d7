"""What a run's row says of its money, whenever it is read."""

from datetime import timedelta
from decimal import Decimal

import pytest

from missioncontrol.costs.ledger import Call
from missioncontrol.costs.telemetry import count_calls
from missioncontrol.runs.rows import burn_rate
from tests.build import NOON, a_call, a_run, after, report

pytestmark = pytest.mark.django_db


def burning(cost, *, minutes=0):
    """Return what a run that spent so much is said to burn, so long after its last turn."""
    run = report(a_run(), a_call("ls", cost_usd=Decimal(cost)))
    return burn_rate(run, NOON + timedelta(minutes=minutes))


def test_a_page_that_is_opened_later_says_what_the_board_was_told():
    assert burning("0.01", minutes=4) == burning("0.01") == Decimal("0.6")


def test_a_cheap_model_has_a_burn_rate_above_zero():
    assert burning("0.00005") == Decimal("0.003")


def test_a_run_without_recent_turns_has_no_burn_rate():
    assert burning("5", minutes=6) == 0


def test_what_telemetry_tells_of_after_the_last_turn_is_spent_over_the_time_it_took():
    run = report(a_run(), a_call("ls"))
    told = Call(call_id="c", source="spans", cost_usd=Decimal(4))
    count_calls({run.id: [told]}, at=after(180))
    run.refresh_from_db()

    assert burn_rate(run, after(180)) == 60  # $4 in four minutes
