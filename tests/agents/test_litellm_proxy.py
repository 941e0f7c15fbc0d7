"""An agent that knows nothing of us, behind a LiteLLM proxy that does."""

import http.client
import json
import urllib.error
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.agents.chat_api import ScriptedChatApi
from tests.agents.frameworks.play import LOOK
from tests.agents.messages_api import Reply
from tests.agents.test_frameworks import CORRECTION, charged, reads_the_missing_file
from tests.installations import PATIENCE_S, wait_for
from tests.proxies import a_free_port

pytestmark = pytest.mark.agents

MASTER_KEY = f"sk-{uuid.uuid4().hex}"
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("read_file", "list_files")
]


class Agent:
    """A plain loop over Chat Completions."""

    def __init__(self, url, **more):
        self.url, self.more, self.ran = url, more, []
        self.messages = [{"role": "user", "content": LOOK}]

    def work(self):
        """Do what the model asks for until it answers; returns the answer."""
        while calls := (message := self.ask()).get("tool_calls"):
            for call in calls:
                self.ran.append(call["function"]["name"])
                output = "setings.py: no such file"
                self.messages.append(
                    {"role": "tool", "tool_call_id": call["id"], "content": output}
                )
        return message["content"]

    def ask(self):
        """Make one request, and keep what came back."""
        body = {"model": "gpt-4o-mini", "messages": self.messages, "tools": TOOLS} | self.more
        headers = {"content-type": "application/json", "authorization": f"Bearer {MASTER_KEY}"}
        address = f"{self.url}/v1/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            message = json.load(answer)["choices"][0]["message"]
        self.messages.append(message)
        return message

    def is_refused(self):
        """Whether a further request is refused."""
        try:
            self.ask()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code == 403
        return False


@pytest.fixture
def api():
    with ScriptedChatApi(reads_the_missing_file) as serving:
        yield serving


@pytest.fixture
def proxy(play, api):
    """Start the proxy; its address when it serves."""
    port = a_free_port()
    env = {"OPENAI_BASE_URL": api.url, "LITELLM_MASTER_KEY": MASTER_KEY}
    program = play("litellm", "litellm_proxy", str(port), **env)

    def serves():
        assert program.process.poll() is None, program.account()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            connection.request("GET", "/health/liveliness")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    wait_for(serves)
    return f"http://127.0.0.1:{port}"


def test_an_agent_behind_the_proxy_is_held_corrected_and_ended(proxy, api, person):
    agent, before = Agent(proxy), person.run_named("litellm proxy")
    with ThreadPoolExecutor(1) as working:
        answer = working.submit(agent.work)
        wait_for(lambda: person.run_named("litellm proxy") != before)
        run = person.run_named("litellm proxy")

        first = wait_for(lambda: person.waiting_on(run))
        assert agent.ran == ["read_file", "read_file"]
        person.tap(first, "inject", message=CORRECTION)
        person.tap(wait_for(lambda: person.waiting_on(run)), "terminate")

        assert "ended" in answer.result(PATIENCE_S)
    assert agent.ran == [*["read_file"] * 2, "list_files"]
    assert CORRECTION in api.requests[3].last
    assert agent.is_refused()
    assert len(api.requests) == 5
    charged(person.run(run), calls=5)


def test_a_named_session_is_a_run_of_its_own(proxy, api, person):
    api.script = lambda _: Reply(text="Hello.")
    sessions = [uuid.uuid4().hex for _ in range(2)]
    for session in sessions:
        assert Agent(proxy, litellm_session_id=session).work() == "Hello."

    for session in sessions:
        charged(person.run(person.run_of(f"litellm:{session}")["id"]), calls=1)
