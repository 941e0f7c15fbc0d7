"""Loops the scripted model goes round in, and a Claude Code that is held in one."""

import uuid

from tests.agents.messages_api import Reply
from tests.agents.person import Person
from tests.installations import wait_for

CORRECTION = "The file is settings.py; there is one t too few in what you read."
LOOP = (("Read", {"file_path": "setings.py"}),)
MOST_REQUESTS = 30
"""A script that nobody stops ends by itself, so that a failing test does too."""


def reads_the_missing_file(conversation):
    """Read it again and again; when corrected, thank and then do it again."""
    if len(conversation.calls()) > MOST_REQUESTS:
        return Reply(text="I give up.")
    if CORRECTION in conversation.last:
        return Reply(calls=(("Bash", {"command": "echo thanks"}),))
    return Reply(calls=LOOP)


def prints_it_twice_at_once(conversation):
    """The third time in two calls: whichever comes first is held, and the other one with it."""
    made = len(conversation.calls())
    if CORRECTION in conversation.text or made > MOST_REQUESTS:
        return Reply(text="Thank you.")
    why = ("Look at it.",) if made < 2 else ("Look at it.", "To be sure.")
    return Reply(
        calls=tuple(("Bash", {"command": "cat setings.py", "description": one}) for one in why)
    )


def touches_a_file(conversation):
    if conversation.calls():
        return Reply(text="Done.")
    return Reply(calls=(("Bash", {"command": "touch it-ran"}),))


def proposed_and_not_run(turn):
    return turn["phase"] == "proposed" and turn["result"] is None and turn["error"] is None


class Looping:
    """A connected Claude Code that has just been held in its loop."""

    def __init__(self, server, api, client, *connecting):
        self.session = str(uuid.uuid4())
        self.api, self.client = api, client
        client.connect(server.url, server.agent_key, *connecting)
        self.process = client.start("Which settings are there?", session=self.session)
        person, key = Person(server), f"claude-code:{self.session}"
        self.run = wait_for(lambda: person.run_of(key))["id"]
        self.card = person.open_card(self.run)


def looping_with(model, claude):
    """Make a connected Claude Code that gets held: `looping(server, script, *connecting)`."""

    def start(server, script, *connecting):
        api = model(script)
        client = claude(api, files={"settings.py": "A = 1\n", "app/main.py": ""})
        return Looping(server, api, client, *connecting)

    return start
