"""Twenty agents of several kinds at once, tapped at random: nothing crossed, nothing lost.

The two minutes of it are `python -m tests.bench.bench_mixed_fleet`.
"""

import pytest

from tests.agents.mixed_fleet import (
    ClaudeHooks,
    Fleet,
    GeminiHooks,
    PythonAgent,
    RealAgent,
    circling_model,
)
from tests.contract.conversation import the_person_of

pytestmark = pytest.mark.agents

TAPS = 60


@pytest.fixture
def fleet(installation):
    person = the_person_of(installation)
    fleet = Fleet(installation.url, installation.agent_key, person, seed=20)
    yield fleet
    fleet.calm.set()
    fleet.over.set()


def test_twenty_agents_of_three_kinds_cross_no_directive_and_lose_none(fleet, gemini_model, gemini):
    for name in ("one", "two"):
        api = gemini_model(circling_model("read_file", fleet))
        client = gemini(api, name=name)
        client.connect(fleet.url, fleet.agent_key)
        fleet.add(RealAgent.of(client, api))
    fleet.start((PythonAgent, 6), (ClaudeHooks, 6), (GeminiHooks, 6))

    fleet.play(taps=TAPS)

    figures = fleet.figures()
    assert (figures["lost"], figures["crossed"], figures["delivered_twice"]) == (0, 0, 0), figures
    assert (figures["ended_amiss"], figures["faults"]) == (0, []), figures
    assert figures["texts_delivered"] > 0
    assert sum(figures["agents"].values()) == 20
