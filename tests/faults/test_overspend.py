"""Sixty-four agents against one budget: nobody spends what was not under way already."""

import pytest

from tests.bench.bench_overspend import one_round

pytestmark = pytest.mark.faults


def test_what_64_agents_overspend_was_in_flight_when_the_budget_was_crossed(tmp_path):
    found = one_round(tmp_path, 0)

    assert found["agents"] == 64
    assert 0 <= found["overspent_calls"] <= found["in_flight_when_crossed"] <= 64
