"""What a person types on the run's page reaches the model of an unmodified Claude Code,
and the page says how far it came.
"""

import uuid

import pytest
from playwright.sync_api import expect

from tests.agents import messages_api
from tests.e2e.conftest import browser, open_page
from tests.installations import PATIENCE_S, wait_for

__all__ = ["browser", "open_page"]

pytestmark = pytest.mark.agents

TEXT = "Read notes/rounding.md before anything else."
WAITING = "until [ -e told ]; do sleep 0.1; done; echo seen"


def does_as_told(conversation):
    """Wait for a file, then read what the message names; nothing where none came."""
    ran = conversation.calls()
    if not ran:
        return messages_api.Reply(calls=(("Bash", {"command": WAITING}),))
    if len(ran) == 1 and TEXT in conversation.text:
        return messages_api.Reply(calls=(("Read", {"file_path": "notes/rounding.md"}),))
    return messages_api.Reply(text="Done.")


def test_a_message_typed_on_the_page_is_read_by_the_model_and_acted_on(
    installation, model, claude, person, open_page
):
    api, session = model(does_as_told), str(uuid.uuid4())
    client = claude(api, files={"notes/rounding.md": "Half up."})
    client.connect(installation.url, installation.agent_key)
    process = client.start("Do it.", session=session)
    run = wait_for(lambda: person.run_of(f"claude-code:{session}"))
    page = open_page(f"/runs/{run['id']}")
    thread = page.get_by_role("log", name="Conversation")

    page.get_by_role("textbox", name="Message the agent").fill(TEXT)
    page.get_by_role("button", name="Send").click()
    wait_for(lambda: person.get(f"runs/{run['id']}/conversation/")["messages"])
    (client.project / "told").touch()

    assert process.wait(PATIENCE_S) == 0
    assert TEXT in api.conversations[-1].text
    (message,) = person.get(f"runs/{run['id']}/conversation/")["messages"]
    assert (message["state"], message["text"]) == ("acted_on", TEXT)
    turn = person.get(f"runs/{run['id']}/turns/{message['acted_seq']}/")
    assert turn["args"]["file_path"].endswith("notes/rounding.md")
    expect(thread).to_contain_text("acted on")
