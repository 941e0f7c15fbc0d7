"""An unmodified Claude Code asks at its terminal, and somebody who is not there answers.

Its own dialog stands on the screen all the while; the first answer wins.
"""

import uuid

import pytest

from tests.agents import messages_api
from tests.installations import PATIENCE_S, wait_for

pytestmark = pytest.mark.agents

COMMAND = "touch it-ran"
REASON = "Use the build folder."


def calls_once(conversation):
    if conversation.calls():
        return messages_api.Reply(text="Done.")
    return messages_api.Reply(calls=(("Bash", {"command": COMMAND}),))


class TerminalSession:
    """A Claude Code whose dialog is open, with its card."""

    def __init__(self, client, api, person, installation):
        session = str(uuid.uuid4())
        client.connect(installation.url, installation.agent_key)
        self.client, self.api, self.person = client, api, person
        self.key = f"claude-code:{session}"
        self.screen = client.sit_at("Do it.", session=session)
        wait_for(lambda: "Do you want to proceed" in self.screen.shown())
        self.card = wait_for(self.open_card)

    def run(self):
        return self.person.run_of(self.key)

    def cards(self):
        run = self.run()
        return [row for row in self.person.cards() if run and row["run"] == run["id"]]

    def open_card(self):
        return next((row for row in self.cards() if row["status"] == "open"), None)

    def tap(self, action, **fields):
        body = {"decision": self.card["id"], "version": self.card["version"], **fields}
        self.person.act(self.card["run"], action, **body)

    def came_to(self, field, value):
        wait_for(lambda: self.cards()[-1][field] == value)

    @property
    def ran(self):
        return (self.client.project / "it-ran").exists()

    def rests(self):
        wait_for(lambda: self.run()["presence"] == "idle")


@pytest.fixture
def terminal_session(installation, model, claude, person):
    api = model(calls_once)
    return TerminalSession(claude(api), api, person, installation)


def test_allowing_it_once_from_elsewhere_lets_the_call_run(terminal_session):
    assert terminal_session.run()["presence"] == "waiting"
    assert terminal_session.card["evidence"]["asks"]["text"] == COMMAND
    assert not terminal_session.ran

    terminal_session.tap("allow_once")

    wait_for(lambda: terminal_session.ran)
    terminal_session.came_to("intervention", "acknowledged")
    terminal_session.rests()


def test_a_denial_from_elsewhere_refuses_it_and_its_reason_is_read(terminal_session):
    terminal_session.tap("deny", message=REASON)

    terminal_session.rests()
    assert REASON in terminal_session.api.conversations[-1].last
    assert not terminal_session.ran
    assert terminal_session.cards()[-1]["resolution"] == "deny"


def test_a_permission_at_the_terminal_closes_the_card(terminal_session):
    terminal_session.screen.press("1")

    terminal_session.came_to("resolution", "answered")
    assert terminal_session.ran


def test_a_denial_at_the_terminal_closes_the_card(terminal_session):
    terminal_session.screen.press("\x1b")

    terminal_session.came_to("resolution", "answered")
    terminal_session.rests()
    assert not terminal_session.ran


def test_a_claude_that_is_killed_asks_nothing_any_more(terminal_session):
    terminal_session.screen.kill()

    wait_for(lambda: terminal_session.cards()[-1]["status"] != "open")


def test_a_headless_claude_may_be_allowed_what_it_would_deny_itself(
    installation, model, claude, person
):
    client, session = claude(model(calls_once)), str(uuid.uuid4())
    client.connect(installation.url, installation.agent_key)
    key = f"claude-code:{session}"
    process = client.start("Do it.", session=session, allowed="Read")

    def asked():
        run = person.run_of(key)
        rows = person.get("decisions/?status=open&limit=500")["results"]
        return next((row for row in rows if run and row["run"] == run["id"]), None)

    card = wait_for(asked)
    fields = {"decision": card["id"], "version": card["version"]}
    person.act(card["run"], "allow_once", **fields)

    assert process.wait(PATIENCE_S) == 0
    assert (client.project / "it-ran").exists()
