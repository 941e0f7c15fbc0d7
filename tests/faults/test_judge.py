"""A model judges a whole installation: its answers arrive, its silence holds up nobody."""

from decimal import Decimal

import pytest

from tests.guard.chat_endpoint import ChatServer, Reply, a_completion, a_verdict
from tests.installations import an_installation, wait_for

pytestmark = pytest.mark.faults

KEY = "csk-judge-0123456789abcdef0123"
A_QUESTION = Decimal("0.000171")
"""Dollars, at the endpoint's usage and the model's price."""


def judged_by(chat, directory, **fields):
    return an_installation(
        directory,
        MISSIONCONTROL_JUDGE_URL=chat.url,
        MISSIONCONTROL_JUDGE_MODEL="gpt-4o-mini",
        MISSIONCONTROL_JUDGE_KEY=KEY,
        **fields,
    )


def a_run(running, name):
    _, row = running.ask("POST", "/api/v1/runs/", {"name": name, "mode": "flag"})
    return row["id"]


def report(running, run, command, error):
    turn = {"role": "assistant", "tool": "Bash", "args": {"command": command}, "error": error}
    _, answer = running.ask("POST", f"/api/v1/runs/{run}/turns/", {"turns": [turn]}, wait=30)
    return answer["judged"]


def get_stuck(running, name):
    run = a_run(running, name)
    for _ in range(3):
        assert report(running, run, "make", "E1: missing brace")
    return run


def verdict_of(running, run):
    decisions = running.get(f"/api/v1/decisions/?run={run}")["results"]
    mine = [decision for decision in decisions if decision["run"] == run]
    return mine[0]["verdict"] if mine else None


def cost_of(running, run):
    return Decimal(running.get(f"/api/v1/runs/{run}/")["judge_cost_usd"])


def test_a_models_verdict_is_on_the_card_and_its_key_nowhere(tmp_path):
    with (
        ChatServer(a_completion(a_verdict(reasoning="A brace is missing in x.c."))) as chat,
        judged_by(chat, tmp_path / "data") as running,
    ):
        run = get_stuck(running, "stuck")

        verdict = wait_for(lambda: verdict_of(running, run))

        assert (verdict["judge"], verdict["stand_in"]) == ("gpt-4o-mini", False)
        assert chat.headers[0]["Authorization"] == f"Bearer {KEY}"
        # It may be asked before the third failure, and again when that opens the card.
        wait_for(lambda: cost_of(running, run) == len(chat.headers) * A_QUESTION)
        kept = [path for path in running.data.rglob("*") if path.is_file()]
        assert [path for path in kept if KEY.encode() in path.read_bytes()] == []


def test_a_judge_that_hangs_delays_no_detection_and_the_local_judge_stands_in(tmp_path):
    with (
        ChatServer(Reply(hangs=True)) as chat,
        judged_by(chat, tmp_path / "data", MISSIONCONTROL_JUDGE_TIMEOUT="5") as running,
    ):
        stuck = [get_stuck(running, f"stuck {number}") for number in range(6)]
        wait_for(lambda: len(chat.headers) >= len(stuck))

        assert report(running, a_run(running, "healthy"), "ls", "none")

        for run in stuck:
            verdict = wait_for(lambda run=run: verdict_of(running, run))
            assert (verdict["judge"], verdict["stand_in"]) == ("local", True)
