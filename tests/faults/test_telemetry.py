"""Telemetry and shared sums under kills and freezes: each call counted once, whoever told of it."""

import os
import random
import signal
import threading
from contextlib import contextmanager, suppress
from decimal import Decimal
from uuid import uuid4

import pytest

from tests.contract.conversation import an_agent_of, the_person_of
from tests.faults.fleet import PRICE, Fleet, keep_trying
from tests.faults.test_oversight import PARTS, is_whole, read, unjudged
from tests.installations import an_installation, wait_for
from tests.otlp.build import a_span, spans

pytestmark = pytest.mark.faults

BATCHES, TOKENS = 12, 1_000


@pytest.fixture
def running(tmp_path):
    with an_installation(tmp_path) as installation:
        wait_for(lambda: installation.pid_of("=detector-0@"))
        yield installation


class Exporter(threading.Thread):
    """One session that tells of its calls as exporters do: again, until somebody answers."""

    def __init__(self, agent):
        super().__init__(daemon=True)
        self.agent, self.session, self.sent = agent, uuid4().hex, 0

    def run(self):
        for _ in range(BATCHES):
            batch = spans(*self._call())
            wait_for(lambda batch=batch: self._is_taken(batch))
            # Its answer may be lost on the way too: every record may come twice.
            wait_for(lambda batch=batch: self._is_taken(batch))
            self.sent += 1

    def _call(self):
        about = {"gen_ai.conversation.id": self.session, "gen_ai.provider.name": "anthropic"}
        yield a_span(
            "chat",
            about
            | {
                "gen_ai.operation.name": "chat",
                "gen_ai.response.id": uuid4().hex,
                "gen_ai.response.model": "claude-sonnet-4-5",
                "gen_ai.usage.input_tokens": TOKENS,
            },
            trace=uuid4().hex,
        )
        yield a_span(
            "execute_tool Bash",
            about
            | {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "Bash",
                "gen_ai.tool.call.id": uuid4().hex,
            },
            trace=uuid4().hex,
        )

    def _is_taken(self, batch):
        answer = keep_trying(lambda: self.agent.ask("POST", "/v1/traces", batch))
        assert answer.status in {200, 503}, (answer.status, answer.json)
        return answer.status == 200


def disturb(running, dice, over):
    """Kill or freeze one part after the other until it is over."""
    while not over.wait(dice.uniform(0.5, 2.0)):
        pid = running.pid_of(dice.choice(PARTS))
        if pid is None:
            continue
        with suppress(ProcessLookupError):
            if dice.random() < 0.5:
                os.kill(pid, signal.SIGKILL)
            else:
                os.kill(pid, signal.SIGSTOP)
                over.wait(dice.uniform(0.2, 3.0))
                os.kill(pid, signal.SIGCONT)


@contextmanager
def disturbed(running, seed):
    over, dice = threading.Event(), random.Random(seed)  # noqa: S311 - it only picks who suffers
    disturbing = threading.Thread(target=disturb, args=(running, dice, over))
    disturbing.start()
    try:
        yield
    finally:
        over.set()
        disturbing.join()


def callers(running, **ceiling):
    """Return an agent and a person of a project with this ceiling."""
    person = the_person_of(running)
    body = {"budgets": {"project": ceiling, "day": {"usd": "1000"}}}
    assert person.ask("PATCH", f"/api/v1/projects/{running.project}/", body).status == 200
    return an_agent_of(running), person


def spent(running, scope):
    sums = read(running, f"SELECT sum(usd) FROM oversight_spend WHERE scope = '{scope}'")  # noqa: S608
    return round(Decimal(sums[0][0]), 6)


@pytest.mark.parametrize("seed", range(2))
def test_each_call_is_stored_and_counted_once_in_all_sums(running, seed):
    agent, person = callers(running, usd="1000")
    lead = agent.open_run(name="lead")
    exporters = [Exporter(agent) for _ in range(3)]
    fleet = Fleet(
        agent, person, name="spend", looping=2, healthy=4, loops=2, turns=12, under=lead
    ).start()
    fleet.person.start()
    with disturbed(running, seed):
        for one in exporters:
            one.start()
        fleet.finish()
        wait_for(lambda: not any(one.is_alive() for one in exporters))

    is_whole(running, fleet)
    assert [one.sent for one in exporters] == [BATCHES] * 3
    kept = read(running, "SELECT count(*), count(DISTINCT key) FROM runs_telemetryrecord")
    assert kept == [(3 * BATCHES * 2,) * 2]
    calls = "SELECT count(*), sum(input_tokens) FROM runs_modelcall WHERE source = 'spans'"
    assert read(running, calls) == [(3 * BATCHES, 3 * BATCHES * TOKENS)]
    ((of_runs,),) = read(running, "SELECT sum(cost_usd) FROM runs_runmeters")
    assert spent(running, "project") == spent(running, "day") == round(Decimal(of_runs), 6)
    turns = {key for one in fleet.agents for key in one.acknowledged}
    assert spent(running, "tree") == len(turns) * Decimal(PRICE)


@pytest.mark.parametrize("seed", range(2))
def test_a_ceiling_that_agents_share_holds_all_of_them_at_what_was_under_way(running, seed):
    agent, person = callers(running, usd="0.30")
    fleet = Fleet(agent, person, name="ceiling", looping=0, healthy=5, loops=0, turns=40).start()
    with disturbed(running, seed):
        wait_for(lambda: len(fleet.held()) == len(fleet.agents))

    wait_for(lambda: not unjudged(running))
    over = spent(running, "project") - Decimal("0.30")
    for one in fleet.agents:
        assert person.tap(one.run_id, "terminate").status == 201
    assert 0 <= over < len(fleet.agents) * Decimal(PRICE)
