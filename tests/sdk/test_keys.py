import pytest

from guard.errors import ConnectRefused
from guard.sdk.keys import Connection, address_and_key

STANDING = Connection(client="codex", place="*", url="http://standing", key="mc_standing")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in ("MISSIONCONTROL_URL", "MISSIONCONTROL_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_what_is_given_comes_before_the_environment_and_that_before_what_stands(monkeypatch):
    assert address_and_key(None, None, STANDING) == ("http://standing", "mc_standing")

    monkeypatch.setenv("MISSIONCONTROL_URL", "http://set")
    monkeypatch.setenv("MISSIONCONTROL_KEY", "mc_set")

    assert address_and_key(None, None, STANDING) == ("http://set", "mc_set")
    assert address_and_key("http://given", "mc_given", STANDING) == ("http://given", "mc_given")


def test_a_key_is_exchanged_at_the_address_that_was_found():
    asked = []

    def exchange(url):
        asked.append(url)
        return "mc_exchanged"

    assert address_and_key(None, "mc_given", STANDING, exchange=exchange)[1] == "mc_exchanged"
    assert asked == ["http://standing"]


@pytest.mark.parametrize(
    ("url", "key", "why"),
    [
        (None, "mc_k", "--url and --key"),
        ("http://h", None, "--url and --key"),
        ("ftp://h", "mc_k", "no http"),
        ("http://h", "mc_\n", "plain printable"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(url, key, why):
    with pytest.raises(ConnectRefused, match=why):
        address_and_key(url, key, None)


def test_the_key_that_stands_is_shown_to_its_own_address_alone():
    assert address_and_key("http://standing/", None, STANDING)[1] == "mc_standing"

    with pytest.raises(ConnectRefused, match="--url and --key"):
        address_and_key("http://another", None, STANDING)
