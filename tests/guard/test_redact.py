from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.redact import MASK, redact, redact_json

LONG = "A1b2C3d4" * 6
SECRETS = {
    f"key sk-ant-api03-{LONG} end": f"key {MASK} end",
    f"sk-proj-{LONG}": MASK,
    f"mc_{LONG}": MASK,
    f"mcu_{LONG}": MASK,
    f"ghp_{LONG[:36]}": MASK,
    "glpat-a1b2c3d4e5f6g7h8i9j0": MASK,
    "xoxb-123456789012-abcdef": MASK,
    "AKIAIOSFODNN7EXAMPLE": MASK,
    f"AIza{LONG[:35]}": MASK,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl": MASK,
    "Authorization: Bearer abcdef1234567890": f"Authorization: Bearer {MASK}",
    "postgres://app:hunter2@db/main": f"postgres://app:{MASK}@db/main",
    "export OPENAI_API_KEY=hunter": f"export OPENAI_API_KEY={MASK}",
    "AWS_SECRET_ACCESS_KEY='wJalrXUtn/K7'": f"AWS_SECRET_ACCESS_KEY='{MASK}'",
    "db_password: s3cret!": f"db_password: {MASK}",
    '{"password": "correct horse"}': f'{{"password": "{MASK}"}}',
    "mysql --password=hunter2 -u x": f"mysql --password={MASK} -u x",
    "Cookie: sessionid=abc123; x=1": f"Cookie: {MASK}",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE+x/y\n-----END RSA PRIVATE KEY-----":
        f"-----BEGIN RSA PRIVATE KEY-----{MASK}-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,X\nMIIE": f"-----BEGIN PRIVATE KEY-----{MASK}",
}  # fmt: skip
HARMLESS = [
    "the token count grew to 4096",
    "max_tokens=4096",
    "token: str = None",
    "password = get_password()",
    "for key, value in items:",
    "API_KEY=$OPENAI_API_KEY",
    "api_key: ${{ secrets.KEY }}",
    "https://example.org/a:b/c@d",
    "mc_run_started_handler_name",
    "see sk-learn for details",
    "class SecretStr(str): ...",
    "",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_masked_and_its_surroundings_stay(text):
    assert redact(text) == SECRETS[text]


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays(text):
    assert redact(text) == text


@pytest.mark.parametrize("text", SECRETS)
def test_masking_twice_changes_nothing_more(text):
    assert redact(redact(text)) == redact(text)


def test_every_text_of_a_json_value_is_masked():
    value = {"a": [f"ghp_{LONG[:36]}", {"b": ("mysql --password=hunter2",)}], "n": 1, "x": None}

    masked = {"a": [MASK, {"b": [f"mysql --password={MASK}"]}], "n": 1, "x": None}
    assert redact_json(value) == masked


@pytest.mark.parametrize("name", ["password", "Authorization", "client_secret", "apiKey"])
def test_a_field_that_says_secret_is_masked_whatever_it_holds(name):
    assert redact_json({name: "x"}) == {name: MASK}


@pytest.mark.parametrize("name", ["tokens", "key", "max_tokens", "secretary", "path"])
def test_a_field_that_does_not_stays(name):
    assert redact_json({name: "x"}) == {name: "x"}


def test_what_is_nested_past_looking_is_not_kept():
    value: object = "ghp_secret"
    for _ in range(2000):
        value = [value]

    assert MASK in repr(redact_json(value))


@given(st.text())
def test_any_text_can_be_masked(text):
    assert isinstance(redact(text), str)


@pytest.mark.parametrize(
    "unit", ["sk-", "token=", "a://", "a://b:", "bearer ", "eyJa.", "-----BEGIN PRIVATE KEY-----",
             "_secret", "password: ", '"api_key": "'],
)  # fmt: skip
def test_hostile_text_takes_no_more_than_linear_time(unit):
    started = time.process_time()

    redact(unit * (200_000 // len(unit)))

    assert time.process_time() - started < 2.0
