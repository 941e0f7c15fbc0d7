"""What a person does to the unmodified Claude Code, and what becomes of it.

Taps twice, taps too late, restarts, parked and resting sessions, permission: each
with the real client, a real server and a scripted model.
"""

import signal
import threading
import uuid

import pytest

from tests.agents.claude_loops import (
    CORRECTION,
    LOOP,
    MOST_REQUESTS,
    looping_with,
    prints_it_twice_at_once,
    reads_the_missing_file,
)
from tests.agents.messages_api import Reply
from tests.agents.person import Person
from tests.installations import PATIENCE_S, wait_for

pytestmark = pytest.mark.agents

TOUCH = (("Bash", {"command": "touch it-ran"}),)
NEWS = "The flag is called --dry-run."


@pytest.fixture
def looping(model, claude):
    return looping_with(model, claude)


def says_it_is_done(conversation):
    return Reply(text="Thank you." if NEWS in conversation.last else "Done.")


def reads_until_corrected(conversation):
    if CORRECTION in conversation.text or len(conversation.calls()) > MOST_REQUESTS:
        return Reply(text="Thank you.")
    return Reply(calls=LOOP)


def writes_a_file_then_misses_it(conversation):
    if not conversation.calls():
        return Reply(calls=(("Bash", {"command": "touch lagoon.toml"}),))
    if len(conversation.calls()) > MOST_REQUESTS:
        return Reply(text="I give up.")
    return Reply(calls=(("Read", {"file_path": "lagon.toml"}),))


# --- taps ------------------------------------------------------------------------


def test_a_repeated_tap_has_no_second_effect(installation, looping, person):
    story = looping(installation, reads_until_corrected)
    key = uuid.uuid4().hex

    first = person.tap(story.card, "inject", message=CORRECTION, key=key)
    again = person.tap(story.card, "inject", message=CORRECTION, key=key)
    story.process.wait(PATIENCE_S)

    assert again["id"] == first["id"]
    assert sum(c.last.count(CORRECTION) for c in story.api.conversations) == 1
    assert person.journal(story.run).count("intervention.made") == 1


def test_a_second_answer_to_a_card_is_refused_as_stale(installation, looping, person):
    story = looping(installation, reads_until_corrected)
    person.tap(story.card, "inject", message=CORRECTION)

    with pytest.raises(AssertionError, match="409"):
        person.tap(story.card, "terminate")

    story.process.wait(PATIENCE_S)
    assert story.process.returncode == 0


def test_one_tap_releases_two_held_calls(installation, looping, person):
    story = looping(installation, prints_it_twice_at_once)

    def held():
        return [t for t in person.turns(story.run) if t["phase"] == "proposed"]

    wait_for(lambda: len(held()) == 2)
    person.tap(story.card, "continue")
    wait_for(lambda: not [t for t in person.turns(story.run)[:8] if t["phase"] == "proposed"])

    person.tap(person.open_card(story.run), "terminate")
    assert story.process.wait(PATIENCE_S) is not None


@pytest.mark.parametrize("via", ["http", "command"])
def test_a_tap_after_the_agent_was_killed_reaches_nobody(installation, looping, person, via):
    story = looping(installation, reads_the_missing_file, "--via", via)
    story.process.kill()

    wait_for(lambda: person.any_card(story.card["id"])["gave_up_at"])
    assert "hold.abandoned" in person.journal(story.run)
    person.tap(person.any_card(story.card["id"]), "continue")

    assert person.answer_to(story.card) == "unreachable"


def test_a_tap_at_the_moment_the_agent_dies_reaches_nobody_either(installation, looping, person):
    story = looping(installation, reads_the_missing_file)
    story.process.kill()
    story.process.wait(PATIENCE_S)

    person.tap(story.card, "inject", message=CORRECTION)

    wait_for(lambda: person.answer_to(story.card) in {"unreachable", "acknowledged"})
    assert person.answer_to(story.card) == "unreachable"


# --- a server that goes away -------------------------------------------------------


def test_the_forwarder_keeps_waiting_across_a_restart(own_installation, looping):
    story = looping(own_installation, reads_until_corrected, "--via", "command")
    before = Person(own_installation)
    assert before.run(story.run)["capabilities"]["away"] == "waits"

    own_installation.restart(by=signal.SIGKILL)

    person = Person(own_installation)
    card = person.open_card(story.run)
    assert card["id"] == story.card["id"]
    assert len(story.api.conversations) == 3
    person.tap(card, "inject", message=CORRECTION)
    assert story.process.wait(PATIENCE_S) == 0
    assert CORRECTION in story.api.conversations[3].last


@pytest.mark.parametrize(("fail", "away"), [("open", "runs"), ("closed", "blocked")])
def test_the_run_shows_what_its_hooks_do_during_an_outage(
    installation, looping, person, fail, away
):
    story = looping(installation, reads_until_corrected, "--fail", fail)

    assert person.run(story.run)["capabilities"]["away"] == away
    person.tap(story.card, "terminate")


# --- permission ----------------------------------------------------------------------


def deny_until_held(person, run):
    """Deny what it asks permission for, until the guard holds its loop; return that card."""

    def held():
        for card in person.get("decisions/?status=open&limit=500")["results"]:
            if card["run"] == run and card["kind"] != "permission":
                return person.waiting_on(run)
            if card["run"] == run:
                person.act(run, "deny", decision=card["id"], version=card["version"])
        return None

    return wait_for(held)


def test_an_allowlisted_call_is_a_rule_the_agent_itself_honours(
    installation, model, claude, person
):
    is_taken_back = threading.Event()

    def touches_again_and_again(conversation):
        if len(conversation.calls()) > MOST_REQUESTS:
            return Reply(text="I give up.")
        if (client.project / "it-ran").exists():
            is_taken_back.wait(PATIENCE_S)
        return Reply(calls=TOUCH)

    client, session = claude(model(touches_again_and_again)), str(uuid.uuid4())
    client.connect(installation.url, installation.agent_key)
    process = client.start("Touch it.", session=session, allowed="Read")
    run = wait_for(lambda: person.run_of(f"claude-code:{session}"))["id"]
    card = deny_until_held(person, run)
    assert not (client.project / "it-ran").exists()

    person.tap(card, "allowlist", scope="run")
    wait_for((client.project / "it-ran").exists)
    for entry in person.get("allowlist/")["results"]:
        if entry["run"] == run:
            person.delete(f"allowlist/{entry['id']}/")
    (client.project / "it-ran").unlink()
    is_taken_back.set()

    wait_for((client.project / "it-ran").exists)  # by the agent's own rule: ours is gone
    person.tap(person.open_card(run), "terminate")
    assert process.wait(PATIENCE_S) is not None


# --- at rest ---------------------------------------------------------------------------


def test_a_message_wakes_a_session_at_rest(installation, model, claude, person):
    api = model(says_it_is_done)
    client, session = claude(api), str(uuid.uuid4())
    client.connect(installation.url, installation.agent_key)
    client.env["MISSIONCONTROL_WAKE"] = "1"
    process = client.open("Do it.", session=session)
    run = wait_for(lambda: person.run_of(f"claude-code:{session}"))["id"]
    wait_for(lambda: "when_idle" in person.run(run)["capabilities"]["inject"])
    asked = len(api.conversations)

    person.say(run, NEWS)

    wait_for(lambda: len(api.conversations) > asked)
    assert NEWS in api.conversations[asked].last
    assert process.poll() is None


def test_a_session_that_ends_with_its_answer_is_not_kept_waiting(
    installation, model, claude, person
):
    client = claude(model(says_it_is_done))
    client.connect(installation.url, installation.agent_key)
    session = str(uuid.uuid4())

    assert client.start("Do it.", session=session).wait(PATIENCE_S) == 0

    run = wait_for(lambda: person.run_of(f"claude-code:{session}"))
    assert run["capabilities"]["inject"] == ["at_next_tool", "at_stop"]


# --- longer than a hook should live ------------------------------------------------------


def test_a_long_hold_parks_the_session_until_it_is_resumed(installation, looping, person):
    story = looping(installation, reads_until_corrected, "--defer-after", "2")

    assert story.process.wait(PATIENCE_S) == 0
    parked = wait_for(lambda: (card := person.any_card(story.card["id"]))["parked"] and card)
    assert (parked["status"], person.run(story.run)["status"]) == ("open", "holding")
    assert len(story.api.conversations) == 3

    person.tap(parked, "inject", message=CORRECTION)
    resumed = story.client.resume(story.session)

    assert resumed.wait(PATIENCE_S) == 0
    assert CORRECTION in story.api.conversations[3].last
    assert person.answer_to(story.card) in {"delivered", "acknowledged"}


# --- the judge ---------------------------------------------------------------------------


def test_the_judge_learns_of_a_file_that_came_after_the_start(installation, looping, person):
    story = looping(installation, writes_a_file_then_misses_it)

    assert "lagoon.toml" in story.card["verdict"]["fix"]
    person.tap(story.card, "terminate")
