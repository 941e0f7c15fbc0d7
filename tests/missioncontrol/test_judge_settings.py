"""Which model judges is said in the environment; a mistake is told by its name."""

from __future__ import annotations

import pytest

from missioncontrol import env
from missioncontrol.errors import SettingInvalid

PREFIX = "MISSIONCONTROL_JUDGE"
URL = "https://api.cerebras.ai/v1"
KEY = "csk-judge-0123456789abcdef0123"


@pytest.fixture
def judge(monkeypatch):
    """Read the settings from these variables alone."""

    def reading(**fields):
        for name, value in fields.items():
            monkeypatch.setenv(f"{PREFIX}_{name}", value)
        return env.judge(PREFIX)

    return reading


def test_an_empty_environment_means_the_local_judge(judge):
    assert judge() is None


def test_a_url_a_model_and_a_key_make_a_judge(judge):
    found = judge(URL=URL, MODEL="gpt-oss-120b", KEY=KEY, TIMEOUT="9")

    assert (found.name, found.timeout_s) == ("gpt-oss-120b", 9)
    assert KEY not in repr(vars(found))


def test_a_second_model_adds_its_timeout(judge):
    found = judge(URL=URL, MODEL="small", SECOND_MODEL="large", SECOND_TIMEOUT="30")

    assert found.timeout_s == 50


def test_a_second_model_elsewhere_does_not_get_the_first_ones_key(judge):
    found = judge(
        URL=URL,
        MODEL="small",
        KEY=KEY,
        SECOND_MODEL="large",
        SECOND_URL="http://127.0.0.1:11434/v1",
    )

    assert (found._first.key, found._second.key) == (KEY, "")


def test_a_second_model_at_the_same_address_shares_the_key(judge):
    assert judge(URL=URL, MODEL="a", KEY=KEY, SECOND_MODEL="b")._second.key == KEY


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"URL": URL}, "_MODEL"),
        ({"MODEL": "m"}, "_MODEL"),
        ({"URL": "api.cerebras.ai", "MODEL": "m"}, "_URL"),
        ({"URL": "https://ana:hunter2@x/v1", "MODEL": "m"}, "_URL"),
        ({"URL": URL, "MODEL": "m", "TIMEOUT": "soon"}, "_TIMEOUT"),
        ({"URL": URL, "MODEL": "m", "TIMEOUT": "0"}, "_TIMEOUT"),
        ({"URL": URL, "MODEL": "m", "SECOND_BELOW": "2"}, "_SECOND_BELOW"),
    ],
)
def test_an_invalid_setting_is_named_and_shows_no_secret(judge, fields, name):
    with pytest.raises(SettingInvalid, match=f"{PREFIX}{name}") as refused:
        judge(**fields)

    assert "hunter2" not in str(refused.value)
