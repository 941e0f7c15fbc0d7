"""What a start prints."""

import io
import json
import os
from pathlib import Path

from missioncontrol.up import greeting as greeting_module
from missioncontrol.up import options
from missioncontrol.up.greeting import Greeting


def a_greeting(**more):
    given = {
        "url": "http://127.0.0.1:8765",
        "project": "0198",
        "agent_key": "mc_k",
        "login_url": "http://127.0.0.1:8765/login/s/",
        "data": Path("/data"),
    }
    return Greeting(**{**given, **more})


def printed(greeting):
    out = io.StringIO()
    greeting.write_for_person(out)
    return out.getvalue()


def test_the_line_for_scripts_has_exactly_the_contracts_fields():
    line = a_greeting().as_line()

    assert "\n" not in line
    assert json.loads(line) == {
        "url": "http://127.0.0.1:8765",
        "project": "0198",
        "agent_key": "mc_k",
        "login_url": "http://127.0.0.1:8765/login/s/",
        "pid": os.getpid(),
    }


def test_a_person_reads_where_how_and_how_to_stop():
    text = printed(a_greeting())

    for part in ("http://127.0.0.1:8765/login/s/", "guard connect claude-code", "mc_k", "Ctrl-C"):
        assert part in text


def test_a_phone_gets_a_qr_code_and_a_warning():
    text = printed(a_greeting(phone_url="http://10.0.0.7:8765/login/p/"))

    assert "http://10.0.0.7:8765/login/p/" in text
    assert "\u2588" in text
    assert "others in it can read" in text


def test_https_does_not_hide_that_http_is_open_too():
    told = {"phone_url": "https://10.0.0.7:8443/login/p/", "fingerprint": "AB:CD"}

    assert "HTTP on port 8765 is open" in printed(a_greeting(is_open=True, **told))
    assert "is open" not in printed(a_greeting(**told))


def test_a_line_that_is_to_be_typed_says_where(monkeypatch):
    assert "in this folder, once" in printed(a_greeting())
    monkeypatch.setattr(greeting_module, "is_checkout", lambda: False)
    assert "  guard connect" in printed(a_greeting())
    assert "anywhere, once" in printed(a_greeting())


def test_without_lan_nothing_is_said_of_phones():
    assert "phone" not in printed(a_greeting())


def test_it_listens_on_loopback_unless_told():
    assert options.parse([]).host == "127.0.0.1"


def test_lan_listens_everywhere():
    assert options.parse(["--lan"]).host == options.EVERYWHERE


def test_a_demo_model_asks_for_the_demo():
    assert options.parse(["--demo-model", "http://127.0.0.1:1/v1"]).demo
