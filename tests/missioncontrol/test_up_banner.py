"""What a start prints."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from missioncontrol.accounts import services
from missioncontrol.accounts.selectors import find_agent_key
from missioncontrol.clock import now
from missioncontrol.errors import SettingInvalid
from missioncontrol.up import banner as banner_module
from missioncontrol.up import options
from missioncontrol.up.banner import Banner
from missioncontrol.up.data_dir import DataDir


def a_banner(**more):
    given = {
        "url": "http://127.0.0.1:8765",
        "project": "0198",
        "agent_key": "mc_k",
        "login_url": "http://127.0.0.1:8765/login/s/",
        "data": Path("/data"),
    }
    return Banner(**{**given, **more})


def printed(banner):
    out = io.StringIO()
    banner.write_for_person(out)
    return out.getvalue()


def test_the_line_for_scripts_has_exactly_the_documented_fields():
    line = a_banner().as_json()

    assert "\n" not in line
    assert json.loads(line) == {
        "url": "http://127.0.0.1:8765",
        "project": "0198",
        "agent_key": "mc_k",
        "login_url": "http://127.0.0.1:8765/login/s/",
        "pid": os.getpid(),
    }


def test_a_person_reads_where_how_and_how_to_stop():
    text = printed(a_banner())

    for part in ("http://127.0.0.1:8765/login/s/", "guard connect claude-code", "mc_k", "Ctrl-C"):
        assert part in text


def test_a_browser_that_cannot_resolve_our_name_has_an_alternative():
    named = a_banner(login_url="http://mission-control.localhost:8765/login/s/")

    assert "put 127.0.0.1 for mission-control.localhost" in printed(named)
    assert "put 127.0.0.1" not in printed(a_banner())


def test_a_phone_gets_a_qr_code_and_a_warning():
    text = printed(a_banner(phone_url="http://10.0.0.7:8765/login/p/"))

    assert "http://10.0.0.7:8765/login/p/" in text
    assert "\u2588" in text
    assert "others in it can read" in text


def test_https_does_not_hide_that_http_is_open_too():
    phone = {"phone_url": "https://10.0.0.7:8443/login/p/", "fingerprint": "AB:CD"}

    assert "HTTP on port 8765 is open" in printed(a_banner(is_open=True, **phone))
    assert "is open" not in printed(a_banner(**phone))


def test_the_connect_command_says_where_to_run_it(monkeypatch):
    assert "in this folder, once" in printed(a_banner())
    monkeypatch.setattr(banner_module, "is_checkout", lambda: False)
    assert f"  Connect   {Path(sys.executable).parent}/guard connect" in printed(a_banner())
    assert "anywhere, once" in printed(a_banner())


def test_without_lan_phones_are_not_mentioned():
    assert "phone" not in printed(a_banner())


def test_it_listens_on_loopback_unless_told():
    assert options.parse([]).host == "127.0.0.1"


def test_lan_listens_everywhere():
    assert options.parse(["--lan"]).host == options.EVERYWHERE


def test_a_demo_model_asks_for_the_demo():
    assert options.parse(["--demo-model", "http://127.0.0.1:1/v1"]).demo


@pytest.mark.parametrize("word", ["abc", "-1", "65536", "1_0", "٣"])
def test_an_invalid_port_is_refused_in_one_sentence(word, capsys):
    with pytest.raises(SystemExit):
        options.parse([f"--port={word}"])

    assert "a port is a number from 0 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize(
    "word",
    [
        "foo",
        "mc.example.org",
        "ftp://mc.example.org",
        "https://mc.example.org/x",
        "http://a:b",
        "https://user:word@mc.example.org",
        "https://mc example.org",
    ],
)
def test_an_invalid_public_url_is_refused(word, capsys, monkeypatch):
    with pytest.raises(SystemExit):
        options.parse(["--public-url", word])
    assert "an address like https://" in capsys.readouterr().err

    monkeypatch.setenv("MISSIONCONTROL_PUBLIC_URL", word)
    with pytest.raises(SettingInvalid, match="MISSIONCONTROL_PUBLIC_URL"):
        options.parse([])


@pytest.mark.parametrize("word", ["https://mc.example.org", "HTTPS://MC.example.org:8443"])
def test_a_public_address_loses_its_slash(word):
    assert options.parse(["--public-url", f"{word}/"]).public_url == word


def started(tmp_path):
    chosen = options.parse(["--data", str(tmp_path), "--json"])
    return banner_module.make_banner(DataDir(tmp_path), chosen, "http://h", page_url="http://h")


@pytest.mark.django_db
def test_the_key_in_the_file_stays_valid_with_another_database(tmp_path):
    (tmp_path / "agent.key").write_text("mc_kept\n")

    keys = {started(tmp_path).agent_key for _ in range(2)}

    assert keys == {"mc_kept"}
    assert find_agent_key("mc_kept", at=now()).name == "agent.key"


@pytest.mark.django_db
def test_a_key_that_was_revoked_is_replaced_and_stays_revoked(tmp_path):
    first = started(tmp_path).agent_key
    services.revoke(find_agent_key(first, at=now()), at=now())

    second = started(tmp_path).agent_key

    assert second != first
    assert find_agent_key(first, at=now()) is None
    assert (tmp_path / "agent.key").read_text().strip() == second
