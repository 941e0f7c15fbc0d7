import pytest

from guard.errors import ConnectRefused
from guard.sdk.connections import Connection, resolve_server

EXISTING = Connection(client="codex", place="*", url="http://existing", key="mc_existing")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in ("MISSIONCONTROL_URL", "MISSIONCONTROL_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_arguments_come_before_the_environment_and_that_before_the_stored_connection(monkeypatch):
    assert resolve_server(None, None, EXISTING) == ("http://existing", "mc_existing")

    monkeypatch.setenv("MISSIONCONTROL_URL", "http://set")
    monkeypatch.setenv("MISSIONCONTROL_KEY", "mc_set")

    assert resolve_server(None, None, EXISTING) == ("http://set", "mc_set")
    assert resolve_server("http://given", "mc_given", EXISTING) == ("http://given", "mc_given")


def test_a_setup_code_is_exchanged_at_the_resolved_address():
    asked = []

    def exchange(url):
        asked.append(url)
        return "mc_exchanged"

    assert resolve_server(None, "mc_given", EXISTING, exchange_code=exchange)[1] == "mc_exchanged"
    assert asked == ["http://existing"]


@pytest.mark.parametrize(
    ("url", "key", "why"),
    [
        (None, "mc_k", "--url and --key"),
        ("http://h", None, "--url and --key"),
        ("ftp://h", "mc_k", "no http"),
        ("http://h", "mc_\n", "plain printable"),
    ],
)
def test_an_unusable_address_or_key_is_refused_at_once(url, key, why):
    with pytest.raises(ConnectRefused, match=why):
        resolve_server(url, key, None)


def test_a_stored_key_is_sent_only_to_its_own_address():
    assert resolve_server("http://existing/", None, EXISTING)[1] == "mc_existing"

    with pytest.raises(ConnectRefused, match="--url and --key"):
        resolve_server("http://another", None, EXISTING)
