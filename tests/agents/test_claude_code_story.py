"""The unmodified Claude Code under a real Mission Control.

Its model is a script that decides from the conversation it receives; everything
else is real: the client, its hooks, the server, its worker, the person's session.
"""

import signal
import uuid

import pytest

from guard.adapters.base import NOT_RUN
from tests.agents.claude_loops import (
    CORRECTION,
    looping_with,
    prints_it_twice_at_once,
    proposed_and_not_run,
    reads_the_missing_file,
    touches_a_file,
)
from tests.agents.messages_api import Reply
from tests.agents.person import Person
from tests.installations import PATIENCE_S, wait_for

pytestmark = pytest.mark.agents


@pytest.fixture
def looping(model, claude):
    return looping_with(model, claude)


def test_a_loop_is_held_corrected_held_again_and_ended(installation, looping, person):
    story = looping(installation, reads_the_missing_file)

    assert story.process.poll() is None
    assert person.run(story.run)["status"] == "held"
    *ran, third = [turn for turn in person.turns(story.run) if turn["tool"] == "Read"]
    assert [turn["phase"] for turn in ran] == ["done", "done"]
    assert proposed_and_not_run(third)
    assert len(story.api.conversations) == 3

    person.tap(story.card, "inject", message=CORRECTION)
    again = wait_for(lambda: len(story.api.conversations) > 3)
    assert again
    assert CORRECTION in story.api.conversations[3].last
    assert not any(CORRECTION in c.text for c in story.api.conversations[:3])

    second = person.open_card(story.run)
    assert second["id"] != story.card["id"]
    asked_so_far = len(story.api.conversations)
    person.tap(second, "terminate")

    assert story.process.wait(PATIENCE_S) is not None
    assert len(story.api.conversations) == asked_so_far == 5
    wait_for(lambda: person.run(story.run)["status"] == "terminated")


def test_the_journal_tells_the_story_in_order(installation, looping, person):
    story = looping(installation, reads_the_missing_file)
    person.tap(story.card, "inject", message=CORRECTION)
    person.tap(person.open_card(story.run), "terminate")
    story.process.wait(PATIENCE_S)

    rows = wait_for(
        lambda: "session.terminated" in (events := person.journal(story.run)) and events
    )
    moments = [
        "run.opened",
        "turn.recorded",
        "detection.raised",
        "decision.opened",
        "intervention.made",
        "decision.opened",
        "intervention.made",
        "session.terminated",
    ]
    rest = iter(rows)
    assert all(moment in rest for moment in moments), rows
    assert person.get("audit/verify/")["ok"] is True


def test_the_judge_knows_the_existing_files(installation, looping, person):
    story = looping(installation, reads_the_missing_file)

    assert story.card["verdict"]["loop"] is True
    assert "settings.py" in story.card["verdict"]["fix"]
    person.tap(story.card, "terminate")


def test_one_tap_releases_two_held_calls_and_its_text_is_given_once(installation, looping, person):
    story = looping(installation, prints_it_twice_at_once)

    def both_held():
        held = [turn for turn in person.turns(story.run) if proposed_and_not_run(turn)]
        return len(held) == 2

    wait_for(both_held)
    person.tap(story.card, "inject", message=CORRECTION)
    story.process.wait(PATIENCE_S)

    answered = story.api.conversations[-1].last
    assert answered.count(CORRECTION) == 1
    assert answered.count(NOT_RUN) == 1
    assert story.process.returncode == 0


def test_a_released_call_runs(installation, looping, person):
    story = looping(installation, reads_the_missing_file)

    person.tap(story.card, "continue")
    wait_for(lambda: len(story.api.conversations) > 3)

    third = [turn for turn in person.turns(story.run) if turn["tool"] == "Read"][2]
    assert third["phase"] == "done"
    assert "does not exist" in third["error"]
    person.tap(person.open_card(story.run), "terminate")


def test_doctor_and_disconnect_work_against_the_real_server(installation, model, claude):
    client = claude(model(touches_a_file))
    client.connect(installation.url, installation.agent_key)

    examined = client.guard("doctor", "claude-code", "--project-dir", ".")
    assert examined.returncode == 0, examined.stdout
    assert "ok  cost" in examined.stdout

    assert client.guard("disconnect", "claude-code", "--project-dir", ".").returncode == 0
    assert client.guard("doctor", "claude-code", "--project-dir", ".").returncode == 1


@pytest.mark.parametrize(("fail", "ran"), [("open", True), ("closed", False)])
def test_without_its_server_tools_run_or_are_blocked_as_agreed(
    own_installation, model, claude, fail, ran
):
    client = claude(model(touches_a_file))
    client.connect(own_installation.url, own_installation.agent_key, "--fail", fail)
    own_installation.stop(by=signal.SIGKILL)

    process = client.start("Touch it.", session=str(uuid.uuid4()))

    assert process.wait(PATIENCE_S) is not None
    assert (client.project / "it-ran").exists() is ran


@pytest.mark.parametrize(("fail", "ran"), [("open", True), ("closed", False)])
def test_a_hold_ends_as_agreed_when_the_server_is_killed(own_installation, looping, fail, ran):
    story = looping(own_installation, reads_the_missing_file, "--fail", fail)

    own_installation.stop(by=signal.SIGKILL)
    wait_for(lambda: len(story.api.conversations) > 3)

    third = story.api.conversations[3].last
    assert ("File does not exist" in third) is ran


def delegates_twice(conversation):
    """Give two sub-agents the same small job at once; each runs one command."""
    if "SUBTASK" in conversation.text and "delegate please" not in conversation.text:
        if conversation.calls():
            return Reply(text="It is done.")
        return Reply(calls=(("Bash", {"command": "echo from a sub-agent"}),))
    if conversation.calls():
        return Reply(text="Both are done.")
    job = {"description": "a job", "prompt": "SUBTASK", "subagent_type": "general-purpose"}
    return Reply(calls=(("Agent", {**job, "run_in_background": False}),) * 2)


def test_the_sub_agents_of_a_session_are_told_apart_in_its_one_run(installation, model, claude):
    client, session = claude(model(delegates_twice)), str(uuid.uuid4())
    client.connect(installation.url, installation.agent_key)
    process = client.start("delegate please", session=session)
    assert process.wait(PATIENCE_S) == 0, client.output()

    person = Person(installation)
    run = person.run_of(f"claude-code:{session}")
    turns = person.turns(run["id"])
    commands = [turn for turn in turns if turn["tool"] == "Bash"]
    assert len({turn["agent"] for turn in commands}) == 2
    assert {turn["agent"].partition(":")[0] for turn in commands} == {"general-purpose"}
    assert {turn["agent"] for turn in turns if turn["tool"] == "Agent"} == {"claude-code"}


def starts_another_agent(conversation):
    if conversation.calls():
        return Reply(text="It has run.")
    return Reply(calls=(("Bash", {"command": "echo $MISSIONCONTROL_PARENT_RUN > parent"}),))


def test_processes_started_from_a_sessions_shell_are_linked_to_it(installation, model, claude):
    client, session = claude(model(starts_another_agent)), str(uuid.uuid4())
    client.connect(installation.url, installation.agent_key)
    process = client.start("start it", session=session)
    assert process.wait(PATIENCE_S) == 0, client.output()

    assert (client.project / "parent").read_text() == f"claude-code:{session}\n"


def test_a_forked_session_belongs_to_the_one_it_was_forked_from(installation, model, claude):
    client, session = claude(model(touches_a_file)), str(uuid.uuid4())
    client.connect(installation.url, installation.agent_key)
    assert client.start("touch it", session=session).wait(PATIENCE_S) == 0, client.output()
    fork = ("--resume", session, "--fork-session")
    assert client.start("and again", session=str(uuid.uuid4()), more=fork).wait(PATIENCE_S) == 0

    person = Person(installation)
    first = person.run_of(f"claude-code:{session}")
    found = wait_for(lambda: person.get(f"runs/?parent={first['id']}")["results"])
    assert [run["relation"] for run in found] == ["forked"]
