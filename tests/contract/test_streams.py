"""State fetched before + events applied == state fetched after.

Each story is played against real services with a real socket open; what the
socket said is kept in frontend/src/sync/streams/, where Vitest replays it through
the reducer. Here we hold the files fresh: run with RECORD_STREAMS=1 to write them.
"""

import asyncio
import json
import os
import re
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator

from guard.turn import Role, Turn, Usage
from missioncontrol import broadcast, live
from missioncontrol.accounts import services as accounts
from missioncontrol.costs import trees
from missioncontrol.decisions import deadlines, interventions, permissions, sessions
from missioncontrol.decisions.actions import Amount, Tap
from missioncontrol.detection import judging
from missioncontrol.live import serve_socket
from missioncontrol.projects.rules import NewPolicy, change_project
from tests.build import NOON, a_call, a_proposal, a_run, after, deliver_messages, report

pytestmark = pytest.mark.django_db(transaction=True)

STREAMS = Path(__file__).resolve().parents[2] / "frontend" / "src" / "sync" / "streams"
LAST = "last"
"""Stands where a run does in what the sockets are told when a story is over."""
UUIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
DIGESTS = re.compile(r'"digest": "[0-9a-f]{64}"')


def tap(run, action, *, by="ana", **fields):
    run.refresh_from_db()
    if run.open_decision:
        fields.setdefault("decision", run.open_decision)
    interventions.intervene(
        run.id,
        Tap(key=f"{action}-{run.version}", action=action, version=run.version, **fields),
        projects=[run.project_id],
        by=by,
        at=after(60),
    )


def get_stuck(run, key="k"):
    report(run, a_call(key=f"{key}1", error="No such file: tokens.py"))
    report(run, a_call(key=f"{key}2", error="No such file: tokens.py"))
    report(run, a_proposal(key=f"{key}3"))
    judge(run)


def judge(run):
    run.refresh_from_db()
    if run.open_decision:
        judging.judge_card(run.open_decision, at=after(1))


def held_and_corrected(run):
    get_stuck(run)
    sessions.record_waiting(run.id, at=after(2))
    tap(run, "inject", message="Use token.py.")
    sessions.record_answer_sent(run.id, run.meters.unconfirmed, at=after(61))
    deliver_messages(run, at=after(61))
    report(run, a_call("cat token.py", key="n", result="class Token: ..."), at=after(70))


def gave_up_then_terminated(run):
    get_stuck(run)
    sessions.record_waiting(run.id, at=after(2))
    deadlines.give_up_abandoned_holds(at=after(20))
    tap(run, "terminate")
    interventions.report_end(run.id, "failed", projects=[run.project_id], by="agent", at=after(62))


def allowed(run):
    get_stuck(run)
    tap(run, "allowlist")
    report(run, a_call(key="k3", error="No such file: tokens.py"), at=after(65))


def paused_and_continued(run):
    report(run, a_call("ls", key="a", result="one\ntwo"))
    tap(run, "pause")
    sessions.record_waiting(run.id, at=after(61))
    tap(run, "continue")
    interventions.set_mode(run.id, "flag", projects=[run.project_id], by="ana", at=after(63))
    get_stuck(run)
    tap(run, "pause")
    tap(run, "continue")


def corrected_by_itself(run):
    interventions.set_mode(run.id, "auto", projects=[run.project_id], by="ana", at=NOON)
    read = {"role": Role.ASSISTANT, "tool": "Read", "args": {"file_path": "src/tokens.py"}}
    for key in "12":
        report(run, Turn(key=key, error="File does not exist: src/tokens.py", **read))
    report(run, Turn(key="3", phase="proposed", **read))
    judge(run)
    for number in range(5):
        report(run, a_call(f"cat {number}", key=f"n{number}", result=f"a new line {number}"))


def spent_and_allowed_more(run):
    usage = Usage(input=1200, cache_read=9000, cache_write_5m=300, output=42)
    call = {"usage": usage, "model": "claude-sonnet-4-5"}
    report(run, a_call("ls", key="a", call_id="m1", **call))
    report(run, a_call("pwd", key="b", call_id="m2", **call))
    report(run, a_call("id", key="c", call_id="m3", **call))
    tap(run, "allow_budget", amount=Amount(calls=4))
    interventions.report_end(
        run.id, "completed", projects=[run.project_id], by="agent", at=after(62)
    )


def finished_at_its_budget(run):
    report(run, *[a_call(f"cat {n}", key=f"{n}", result=f"line {n}") for n in range(4)])
    report(run, a_proposal("cat 4", key="4", cost_usd=Decimal("0.50")))
    sessions.record_waiting(run.id, at=after(2))
    tap(run, "finish")
    sessions.record_answer_sent(run.id, run.meters.unconfirmed, at=after(61))
    deliver_messages(run, at=after(61))
    report(run, Turn(role=Role.ASSISTANT, key="5", content="Half is done."), at=after(70))
    interventions.report_end(
        run.id, "completed", projects=[run.project_id], by="agent", at=after(71)
    )


def shared_budget_raised(run):
    given = {"project": {"calls": 4}, "agents": {"coder": {"usd": "100"}}}
    change_project(run.project_id, {"budgets": given}, by="ana", at=after(1))
    report(run, *[a_call(f"cat {n}", key=f"{n}", result=f"line {n}") for n in range(4)])
    sessions.record_waiting(run.id, at=after(2))
    tap(run, "allow_budget", amount=Amount(calls=6))
    report(run, a_call("cat 4", key="4", result="line 4"), at=after(65))
    change_project(run.project_id, {"budgets": {"project": {}}}, by="ana", at=after(66))


def say(run, times):
    for number in range(times):
        text = f"I will look at the parser once more. {number}"
        report(run, Turn(role=Role.ASSISTANT, key=f"s{run.meters.last_seq}-{number}", content=text))


def warned_then_ended_by_policy(run):
    say(run, 4)
    deliver_messages(run, at=after(3))
    say(run, 2)
    interventions.report_end(run.id, "failed", projects=[run.project_id], by="agent", at=after(62))


def asked_after_a_warning_and_restarted(run):
    for number in range(5):
        report(run, a_call("make", key=f"m{number}", error="no rule to make target"))
    sessions.record_waiting(run.id, at=after(2))
    tap(run, "restart", message="The target is called all.")
    interventions.report_end(run.id, "failed", projects=[run.project_id], by="agent", at=after(62))


def nudged_under_a_newer_policy(run):
    telling = NewPolicy(policy={"ladder": {"every": {"nudge": "tell"}}}, note="tell it first")
    change_project(run.project_id, {"policy": telling}, by="ana", at=after(1))
    for key in "12":
        report(run, a_call(key=key, error="No such file: tokens.py"))
    deliver_messages(run, at=after(3))


def found_out_what_it_can(run):
    get_stuck(run)
    able = {"hold": True, "inject": [], "terminate": "not", "why": {"terminate": "Not here."}}
    sessions.store_capabilities(run.id, able, at=after(2))
    sessions.store_capabilities(run.id, {"terminate": "signal"}, at=after(3))
    sessions.store_capabilities(run.id, {"terminate": "signal"}, at=after(4))
    tap(run, "terminate")


def parked_and_resumed(run):
    get_stuck(run)
    sessions.record_waiting(run.id, at=after(2))
    sessions.park_session(run.id, at=after(20))
    sessions.end_session(run.id, at=after(21))
    sessions.unpark_session(run.id, at=after(40))
    sessions.record_waiting(run.id, at=after(41))
    tap(run, "continue")
    sessions.record_answer_sent(run.id, run.meters.unconfirmed, at=after(61))


def was_killed_and_came_back(run):
    get_stuck(run)
    sessions.record_waiting(run.id, at=after(2))
    deadlines.give_up_abandoned_holds(at=after(20))
    tap(run, "continue")
    report(run, a_call("ls", key="n", result="one"), at=after(70))


def expired_and_lost(run):
    get_stuck(run)
    deadlines.expire_unanswered_holds(at=after(3700))
    deadlines.lose_silent_runs(at=after(9000), listening_since=NOON)


def told_and_taken_back(run):
    get_stuck(run)
    sessions.record_waiting(run.id, at=after(2))
    tap(run, "inject", message="Use token.py.")
    tap(run, "undo", undoes=run.interventions.get().key, decision=None)
    tap(run, "continue")


def ended_in_a_hold_that_was_lifted_and_not(run):
    get_stuck(run)
    sessions.end_session(run.id, at=after(2))
    tap(run, "continue")
    tap(run, "undo", undoes=run.interventions.get().key)
    report(run, a_proposal("ls", key="n"), at=after(70))


def asked_for_permissions(run):
    report(run, a_proposal("rm one", key="a"), a_proposal("rm two", key="b"))
    report(run, a_proposal("rm three", key="c"), a_proposal("rm four", key="d"))
    commands = ("rm one", "rm two", "rm three", "rm four")
    first, _, third, _ = (
        permissions.ask_permission(run.id, a_proposal(text), for_s=60, at=after(2))
        for text in commands
    )
    sessions.store_capabilities(run.id, {"terminate": "not"}, at=after(3))
    tap(run, "pause")
    sessions.record_waiting(run.id, at=after(61))
    tap(run, "allow_once", decision=first)
    permissions.record_delivered(run.id, first, at=after(62))
    tap(run, "continue")
    report(run, a_call("rm one", key="a", result=""), at=after(63))
    permissions.close_answered_cards(run.id, done_seq=1, resting_agent="", at=after(64))
    tap(run, "deny", decision=third, message="Keep it.")
    permissions.time_out_lost_requests(at=after(99))
    sessions.end_session(run.id, at=after(100))


CLIMBING = {
    "detectors": ["repeat"],
    "judged": False,
    "ladder": {"repeat": {"escalate_at": 3, "ask_at": 5}},
}


def linked_then_held_at_its_trees_budget(run):
    above = a_run(run.project, name="lead", budget={"usd": 10})
    trees.link_run(run.id, above.id, projects=[run.project_id], by="agent", at=after(1))
    report(run, a_proposal(key="k1", cost_usd=Decimal(10)), at=after(2))
    tap(run, "allow_budget", amount=Amount(usd=Decimal(5)))
    report(run, a_call(key="k1", result="one file"), at=after(62))
    a_run(run.project, name="reader", parent=run.id)
    tap(above, "terminate")
    sessions.end_session(run.id, at=after(70))


STORIES = {
    story.__name__: (story, rules)
    for story, rules in (
        (held_and_corrected, {}),
        (gave_up_then_terminated, {}),
        (allowed, {}),
        (paused_and_continued, {}),
        (corrected_by_itself, {"workspace": ("src/token.py", "README.md")}),
        (spent_and_allowed_more, {"budget": {"calls": 3}}),
        (finished_at_its_budget, {"budget": {"usd": "0.50", "calls": 5}}),
        (shared_budget_raised, {}),
        (warned_then_ended_by_policy, {"policy": {"preset": "broker"}}),
        (asked_after_a_warning_and_restarted, {"policy": CLIMBING}),
        (nudged_under_a_newer_policy, {}),
        (found_out_what_it_can, {}),
        (parked_and_resumed, {}),
        (was_killed_and_came_back, {}),
        (expired_and_lost, {}),
        (told_and_taken_back, {}),
        (ended_in_a_hold_that_was_lifted_and_not, {}),
        (linked_then_held_at_its_trees_budget, {}),
        (asked_for_permissions, {}),
    )
}


@pytest.fixture(autouse=True)
def on_the_day_of_the_stories(monkeypatch):
    """A board shows what ended within a day, whenever this is run."""
    monkeypatch.setattr(live, "now", lambda: after(3 * 3600))


@pytest.mark.parametrize("name", STORIES)
async def test_the_recorded_stream_equals_what_the_sockets_send(name, project, owner):
    story, rules = STORIES[name]
    run = await sync_to_async(a_run)(project, **rules)
    secret = await sync_to_async(accounts.mint_personal_token)(user=owner, name="t", at=NOON)
    paths = {"run": f"/ws/runs/{run.id}/", "board": f"/ws/projects/{project.id}/"}

    async with AsyncExitStack() as stack:
        opened = [await listen(stack, path, secret.secret) for path in paths.values()]
        await sync_to_async(story)(run)
        tell_the_end(broadcast.run_group(run.id), broadcast.board_group(project.id))
        received = await asyncio.gather(
            *(all_frames(listener, known=before["seq"]) for listener, before in opened)
        )
    for (place, path), (_, before), frames in zip(paths.items(), opened, received, strict=True):
        async with AsyncExitStack() as stack:
            _, fetched = await listen(stack, path, secret.secret)
        stream = normalised({"before": before, "frames": frames, "after": fetched})
        kept = STREAMS / f"{name.replace('_', '-')}.{place}.json"
        if os.environ.get("RECORD_STREAMS"):
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(stream)
        assert kept.read_text() == stream, "the wire changed: RECORD_STREAMS=1, then npm test"


async def listen(stack, path, secret):
    headers = [(b"authorization", f"Bearer {secret}".encode())]
    socket = WebsocketCommunicator(serve_socket, path, headers=[(b"host", b"testserver"), *headers])
    await socket.connect(timeout=60)
    stack.push_async_callback(socket.disconnect)
    return socket, json.loads(await socket.receive_from(timeout=60))


def tell_the_end(*groups):
    """Tell meters of no run: on every socket what was told before comes before them."""
    meters = {LAST: {"turns": 0, "judged_turns": 0, "tape": []}}
    end = {**broadcast.new_frame(), "meters": meters, "at_once": True}
    broadcast.send_to_groups(groups, lambda listened: dict.fromkeys(listened, end))


async def all_frames(socket, *, known):
    """Return events one by one in order, then one meters frame: timing left out."""
    events, meters = [], {}
    while LAST not in meters:
        frame = json.loads(await socket.receive_from(timeout=60))
        if frame["type"] == "meters":
            for run, meter in frame["runs"].items():
                meters[run] = joined(meters.get(run), meter)
        else:
            events += frame.get("events", [frame])
    del meters[LAST]
    events = [event for event in events if event["seq"] > known.get(event["run"], -1)]
    return [
        *sorted(events, key=lambda e: (e["run"] or "", e["seq"])),
        {"type": "meters", "runs": meters},
    ]


def joined(before, now):
    start = now["judged_turns"] - len(now["tape"])
    first = start if before is None else before["judged_turns"] - len(before["tape"])
    points = [] if before is None else before["tape"][: start - first]
    return {**now, "tape": [*points, *now["tape"]]}


def normalised(stream):
    """Number the identifiers by first appearance, and leave digests out."""
    text = json.dumps(stream, indent=1, sort_keys=True)
    names: dict[str, str] = {}
    text = UUIDS.sub(
        lambda found: names.setdefault(found[0], f"00000000-0000-7000-8000-{len(names):012d}"),
        text,
    )
    text = re.sub(r'"at": "20(?!26-11-21T1[2-5])[^"]*"', '"at": "2026-11-21T12:00:00Z"', text)
    text = re.sub(r'"burn_usd_per_hour": "[^"]*"', '"burn_usd_per_hour": "0.00"', text)
    return DIGESTS.sub('"digest": ""', text) + "\n"
