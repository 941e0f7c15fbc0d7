"""The proxy recipes of docs/operating.md, as a person copies them: nginx and Caddy for real."""

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.contract.conversation import an_agent_of
from tests.installations import an_installation
from tests.proxies import NAME, Visitor, a_proxy, program

pytestmark = pytest.mark.https

PUBLIC = f"https://{NAME}"
LARGE = 7 * 1024 * 1024


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    data = tmp_path_factory.mktemp("house")
    with an_installation(data, "--port", "0", "--public-url", PUBLIC) as running:
        yield running


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def proxy(request, house, tmp_path_factory):
    if program(request.param) is None:
        pytest.skip(f"no {request.param} on this machine")
    folder = tmp_path_factory.mktemp(request.param)
    with a_proxy(request.param, folder, house.url) as running:
        yield running


@pytest.fixture(scope="module")
def person(proxy, house):
    visitor = Visitor(proxy)
    visitor.ask("POST", urlsplit(house.login_link()).path)
    return visitor


@pytest.fixture
def agent(house):
    return an_agent_of(house)


def test_cookies_are_for_https_alone_and_browsers_are_told_to_stay_there(proxy, house):
    visitor = Visitor(proxy)

    response = visitor.ask("POST", urlsplit(house.login_link()).path)

    assert (response.status, response.headers["Location"]) == (302, "/")
    cookies = response.headers.get_all("Set-Cookie")
    assert {cookie.partition("=")[0] for cookie in cookies} == {
        "__Host-mc_browser",
        "__Host-mc_csrf",
        "__Host-mc_session",
    }
    assert all("Secure" in cookie for cookie in cookies)
    assert response.headers["Strict-Transport-Security"] == "max-age=31536000"


def test_plain_http_leads_to_https(proxy):
    wire = http.client.HTTPConnection("127.0.0.1", proxy.plain, timeout=30)
    wire.request("GET", "/history", headers={"Host": NAME})
    response = wire.getresponse()
    wire.close()

    assert response.status in {301, 308}
    where = urlsplit(response.headers["Location"])
    assert (where.scheme, where.hostname, where.path) == ("https", NAME, "/history")


def test_a_link_of_a_script_shows_the_button_to_who_comes_from_elsewhere(proxy, house):
    response = Visitor(proxy).ask("GET", urlsplit(house.line["login_url"]).path)

    assert (response.status, "Sign in" in response.text) == (200, True)


def test_a_page_writes_and_pages_on_under_the_public_name(person, agent):
    for name in ("one", "two"):
        agent.open_run(name=name)
    kept = person.write("POST", "/api/v1/views/", {"name": "mine", "q": "status:held"})

    listed = json.loads(person.ask("GET", "/api/v1/runs/?limit=1").text)

    assert kept.status == 201
    assert listed["next"].startswith(f"{PUBLIC}/api/v1/runs/?")
    assert person.ask("GET", listed["next"].removeprefix(PUBLIC)).status == 200


def test_the_board_socket_accepts_only_our_own_origin(person, house):
    def listen(origin):
        return connect(
            f"wss://{NAME}/ws/projects/{house.project}/",
            sock=person.wire(),
            ssl=person.context,
            origin=origin,
            additional_headers={"Cookie": person.cookie},
        )

    with listen(PUBLIC) as socket:
        assert json.loads(socket.recv(timeout=60))["type"] == "snapshot"
    with listen("https://elsewhere.example") as socket, pytest.raises(ConnectionClosed) as closed:
        socket.recv(timeout=60)
    assert closed.value.rcvd.code == 4401


def test_an_agent_that_waits_is_told_at_once(proxy, person, house, agent):
    run = agent.open_run(name="waits")
    version = json.loads(person.ask("GET", f"/api/v1/runs/{run}/").text)["version"]
    theirs = Visitor(proxy, Authorization=f"Bearer {house.agent_key}")
    address = f"/api/v1/runs/{run}/directive/?wait=60&after={version}"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(theirs.ask, "GET", address)
        person.write("POST", f"/api/v1/runs/{run}/interventions/", {"key": "k", "action": "pause"})
        answer = waiting.result(timeout=60)

    assert json.loads(answer.text)["action"] == "hold"


def test_a_hook_is_answered(proxy, house):
    theirs = Visitor(proxy, Authorization=f"Bearer {house.agent_key}")
    body = {
        "hook_event_name": "SessionStart",
        "session_id": "s1",
        "cwd": "/app",
        "source": "startup",
    }

    assert theirs.ask("POST", "/api/v1/hooks/claude-code/", body).status == 200


def test_a_large_batch_of_telemetry_passes(proxy, house):
    theirs = Visitor(proxy, Authorization=f"Bearer {house.agent_key}")
    large = json.dumps({"resourceLogs": [], "padding": "x" * LARGE}).encode()

    assert theirs.ask("POST", "/v1/logs", large).status == 200


def test_no_sign_in_link_is_in_the_proxys_log(proxy, person, house):
    used = urlsplit(house.login_link()).path
    person.ask("GET", used)
    person.ask("GET", "/api/v1/me/")

    logged = "".join(path.read_text() for path in proxy.folder.glob("*") if path.is_file())

    assert used not in logged
