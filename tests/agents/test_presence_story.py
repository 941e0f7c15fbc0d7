"""What the unmodified clients do between their turns, as people are told of it.

Each sits at its own screen, in a pseudo-terminal; the server and the models' scripts
are as in the other stories.
"""

import uuid

import pytest

from tests.agents import gemini_api, messages_api
from tests.installations import wait_for

pytestmark = pytest.mark.agents


def calls_once(kind, tool, command):
    """Call a tool, then say so: the script of a session that comes to rest."""

    def script(conversation):
        if conversation.calls():
            return kind.Reply(text="Done.")
        return kind.Reply(calls=((tool, {"command": command}),))

    return script


def claude_calls(command):
    return calls_once(messages_api, "Bash", command)


def presence_of(person, key):
    run = person.run_of(key)
    return run and (run["status"], run["presence"])


@pytest.fixture
def terminal_session(installation, model, claude, person):
    """Sit at Claude Code's screen while it does one thing."""

    def sit(command):
        client, session = claude(model(claude_calls(command))), str(uuid.uuid4())
        client.connect(installation.url, installation.agent_key)
        screen = client.sit_at("Do it.", session=session)
        return client, screen, f"claude-code:{session}"

    return sit


def say_yes(screen):
    """Answer the dialog, which the server may hear of before it stands there."""
    wait_for(lambda: "Do you want to proceed" in screen.shown())
    screen.press("1")


def test_claude_waits_for_its_person_then_works_then_rests(terminal_session, person):
    client, screen, key = terminal_session("touch it-ran")

    wait_for(lambda: presence_of(person, key) == ("running", "waiting"))
    say_yes(screen)
    wait_for((client.project / "it-ran").exists)

    wait_for(lambda: presence_of(person, key) == ("running", "idle"))


def test_a_claude_that_is_killed_is_lost(terminal_session, person):
    _, screen, key = terminal_session("touch it-ran")
    wait_for(lambda: presence_of(person, key) == ("running", "waiting"))

    screen.kill()

    wait_for(lambda: presence_of(person, key) == ("lost", "gone"))


def test_a_claude_that_is_ended_at_its_prompt_does_not_stay_stopping(terminal_session, person):
    _, screen, key = terminal_session("touch it-ran")
    wait_for(lambda: presence_of(person, key) == ("running", "waiting"))
    say_yes(screen)
    wait_for(lambda: presence_of(person, key) == ("running", "idle"))

    person.act(person.run_of(key)["id"], "terminate")

    wait_for(lambda: person.run_of(key)["status"] == "terminated")


def test_gemini_waits_for_its_person_and_is_missed_when_killed(
    installation, gemini_model, gemini, person
):
    script = calls_once(gemini_api, "run_shell_command", "touch it-ran")
    client = gemini(gemini_model(script))
    client.connect(installation.url, installation.agent_key)
    before = person.get("runs/?agent=gemini&limit=1")["results"]
    newest = max((run["id"] for run in before), default="")
    screen = client.sit_at("Do it.")

    def runs():
        rows = person.get("runs/?agent=gemini")["results"]
        return [(row["status"], row["presence"]) for row in rows if row["id"] > newest]

    wait_for(lambda: runs() == [("running", "waiting")])
    screen.kill()

    wait_for(lambda: runs() == [("lost", "gone")])
