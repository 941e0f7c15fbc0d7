"""Cursor's hook address on a real server, spoken to as its documentation says."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from tests.installations import wait_for

CORRECTION = "The file is settings.py."


class Session:
    """A Cursor as the server sees it: documented bodies in, answers out."""

    def __init__(self, agent):
        self.agent, self.id, self.calls = agent, str(uuid4()), 0

    def hook(self, event, **fields):
        body = {"conversation_id": self.id, "workspace_roots": ["/tidepool"]} | fields
        response = self.agent.ask(
            "POST", "/api/v1/hooks/cursor/", body | {"hook_event_name": event}
        )
        assert response.status == 200, response.json
        return response.json

    def before(self, path="setings.py"):
        self.calls += 1
        self.call = {
            "tool_name": "Read",
            "tool_input": {"file_path": path},
            "tool_use_id": f"t{self.calls}",
        }
        return self.hook("preToolUse", **self.call)

    def fail(self):
        fields = {"error_message": "no such file", "failure_type": "error"}
        return self.hook("postToolUseFailure", **self.call, **fields)


def test_the_third_equal_call_is_held_and_denied_with_the_correction(agent, person):
    session = Session(agent)
    for _ in range(2):
        assert session.before() == {}
        session.fail()

    def card():
        rows = person.get("/api/v1/runs/?limit=500")["results"]
        run = next(row["id"] for row in rows if row["key"] == f"cursor:{session.id}")
        cards = person.get("/api/v1/decisions/?status=open&limit=500")["results"]
        ours = (row for row in cards if row["run"] == run and row["agent_waiting"])
        return next((row for row in ours if row["status"] == "open"), None)

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(session.before)
        seen = wait_for(card)
        fields = {"decision": seen["id"], "version": seen["version"], "message": CORRECTION}
        assert person.tap(seen["run"], "inject", **fields).status == 201

    denied = held.result()
    assert denied == {"permission": "deny", "user_message": CORRECTION, "agent_message": CORRECTION}
    assert (
        "press Stop in Cursor"
        in person.get(f"/api/v1/runs/{seen['run']}/")["unavailable"]["terminate"]
    )
