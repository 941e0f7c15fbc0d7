from __future__ import annotations

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
    f"ghp_{'AbcDefGh' * 4}": MASK,
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
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE+x/y\n-----END RSA PRIVATE KEY-----": f"-----BEGIN RSA PRIVATE KEY-----{MASK}-----END RSA PRIVATE KEY-----",  # noqa: E501 - a text, in one piece
    "https://hooks.slack.com/services/T0/B0/abcDEF123": f"https://hooks.slack.com/services/{MASK}",
    "https://discord.com/api/webhooks/123456789012345678/aB-c_dEfGhIjKlMnOpQrSt": f"https://discord.com/api/webhooks/123456789012345678/{MASK}",
    "https://discordapp.com/api/v10/webhooks/123456789012345678/aB-c_dEfGhIjKlMnOpQrSt": f"https://discordapp.com/api/v10/webhooks/123456789012345678/{MASK}",
    "https://api.telegram.org/bot123456789:AAF-abcdefghijklmnopqrstuvwxyz12345/sendMessage": f"https://api.telegram.org/bot123456789:{MASK}/sendMessage",
    "TELEGRAM=123456789:AAF-abcdefghijklmnopqrstuvwxyz12345": f"TELEGRAM=123456789:{MASK}",
    "curl -s -u admin:swordfish https://x.example": f"curl -s -u admin:{MASK} https://x.example",
    "curl -X POST \\\n  --user 'admin:swordfish' x": f"curl -X POST \\\n  --user 'admin:{MASK}' x",
    "curl -uadmin:swordfish x": f"curl -uadmin:{MASK} x",
    f"curl -uadmin:swordfish x\n{'a plain word ' * 60}": f"curl -uadmin:{MASK} x\n{'a plain word ' * 60}",  # noqa: E501 - a text, in one piece
    "Password: swordfish": f"Password: {MASK}",
    "user: app\n  password: swordfish\nport: 1": f"user: app\n  password: {MASK}\nport: 1",
    "host=db user=app password=swordfish dbname=x": f"host=db user=app password={MASK} dbname=x",
    "https://x.example/?user=a&password=swordfish&b=1": f"https://x.example/?user=a&password={MASK}",
    "password = 'swordfish'": f"password = '{MASK}'",
    "{'password': 'correct horse'}": f"{{'password': '{MASK}'}}",
    r'"{\"password\": \"correct horse\"}"': rf'"{{\"password\": \"{MASK}\"}}"',
    "Server=db;User Id=sa;Password=swordfish;Encrypt=yes": f"Server=db;User Id=sa;Password={MASK};Encrypt=yes",  # noqa: E501 - a text, in one piece
    "Password=swordfish;Server=db": f"Password={MASK};Server=db",
    "Server=db;Uid=sa;Pwd=fish": f"Server=db;Uid=sa;Pwd={MASK}",
    "postgres://app:p@ss@db/main": f"postgres://app:{MASK}@db/main",
    "AccountName=x;AccountKey=abcdEFGH/ijkl+mnop==;EndpointSuffix=y": f"AccountName=x;AccountKey={MASK};EndpointSuffix=y",  # noqa: E501 - a text, in one piece
    "https://x.blob.example/y?sv=1&sig=abcdEFGH%2Bijklmnop%3D": f"https://x.blob.example/y?sv=1&sig={MASK}",
    "machine x.example login me password swordfish": f"machine x.example login me password {MASK}",
    "machine x.example\n  login me\n  password swordfish": f"machine x.example\n  login me\n  password {MASK}",  # noqa: E501 - a text, in one piece
    "mysql -u root -pswordfish db": f"mysql -u root -p{MASK} db",
    "docker exec -i db mysqldump -uroot -p'swordfish' x": f"docker exec -i db mysqldump -uroot -p'{MASK}' x",  # noqa: E501 - a text, in one piece
    "sshpass -p swordfish ssh me@x": f"sshpass -p {MASK} ssh me@x",
    "MYSQL_PWD=fish mysql": f"MYSQL_PWD={MASK} mysql",
    "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,X\nMIIE": f"-----BEGIN PRIVATE KEY-----{MASK}",
}
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
    "find / -name mysql -print",
    "docker run --name mysql -p3306:3306 mysql:8",
    "mysql -p db < x.sql",
    "grep -u a:b file; curl https://x.example",
    "curl https://x.example; grep -u a:b file",
    "docker run -u 1000:1000 curlimages/curl",
    "interface Login {\n  password: string\n}",
    "password: str",
    "Password: required",
    "this.password = options.password",
    "password = hashed_password",
    "connect(password=password)",
    "login(user, password=form.password)",
    "password=settings.password",
    "password: vault.password\n",
    "t.user=e;t.password=n;",
    "let password = ask();\nfor (;;) x = 1",
    "the machine will login with a password",
    "the password: it is kept elsewhere",
    '{"token": "string", "password": "string"}',
    "password: ********",
    "http://localhost:8000?mail=me@x.example",
    "https://discord.com/developers/docs/resources/webhook",
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


LISTED = [
    (["curl", "-u", "ana:hunter2", "https://x.example"], ["curl", "-u", f"ana:{MASK}"]),
    (["/usr/bin/curl", "-s", "--user", "a:b"], ["/usr/bin/curl", "-s", "--user", f"a:{MASK}"]),
    (["sudo", "curl", "--proxy-user", "ana:x"], ["sudo", "curl", "--proxy-user", f"ana:{MASK}"]),
    (["curl", "-uana:hunter2"], ["curl", f"-uana:{MASK}"]),
    (["curl", "--user=ana:hunter2"], ["curl", f"--user=ana:{MASK}"]),
    (["mysql", "-uroot", "-phunter2", "db"], ["mysql", "-uroot", f"-p{MASK}", "db"]),
    (("mariadb", "-h", "db", "-phunter2"), ["mariadb", "-h", "db", f"-p{MASK}"]),
    (["sshpass", "-p", "hunter2", "ssh", "x"], ["sshpass", "-p", MASK, "ssh", "x"]),
    (["deploy", "--token", "hunter2"], ["deploy", "--token", MASK]),
]


@pytest.mark.parametrize(("words", "masked"), LISTED)
def test_a_command_given_word_by_word_is_masked_like_one_in_a_line(words, masked):
    assert redact_json({"command": words})["command"][: len(masked)] == masked


@pytest.mark.parametrize(
    "words",
    [
        ["docker", "run", "-u", "1000:1000", "-p", "3306:3306"],
        ["mysql", "-p", "shop"],
        ["curl", "-u", "$LOGIN", "-o", "a:b"],
        ["-u", "a:b"],
        ["curl", 3, "a:b"],
        ["--token", ["hunter2"], "hunter2"],
        ["--token", "--verbose"],
    ],
)
def test_other_words_of_a_command_stay(words):
    assert redact_json(words) == words


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


def test_a_text_is_masked_as_by_itself_whatever_stands_beside_it():
    texts = ["sk-" + "a1B2c3D4" * 6, "Bearer abcdefgh12345678", "password: hunter2x", "plain words"]

    found = redact_json({str(n): [text, {"inner": text}] for n, text in enumerate(texts)})

    assert list(found.values()) == [[redact(one), {"inner": redact(one)}] for one in texts]
    assert redact_json(["curl", "-H", "Bearer", "-u", "me:hunter22"])[-1] == f"me:{MASK}"
