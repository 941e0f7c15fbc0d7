"""The server's secret is changed: what it sealed is read, what it signed is trusted."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.test import Client

from missioncontrol.accounts import credentials
from missioncontrol.audit import signing
from missioncontrol.audit.anchors import anchor_heads
from missioncontrol.audit.checking import verify
from missioncontrol.notify.models import Channel
from missioncontrol.projects import rules as projects
from missioncontrol.proof import verify_export
from missioncontrol.runs.models import JournalRow
from missioncontrol.sealing import seal, unseal
from tests.build import NOON, a_call, a_run, after, put
from tests.missioncontrol.accounts.credentials import (
    EVERY_WAY,
    code_of,
    is_signed_in,
    type_code,
    type_password,
    with_app,
    with_password,
)
from tests.missioncontrol.audit.attacker import append

pytestmark = pytest.mark.django_db

FORMER = "only for tests"


@pytest.fixture
def kept(tmp_path, settings, project, monkeypatch):
    """A project with an anchored run and a channel; its secret is in the data directory."""
    monkeypatch.delenv("MISSIONCONTROL_SECRET_KEY")
    settings.DATA_DIR, settings.AUDIT_KEYS = tmp_path, []
    (tmp_path / "secret.key").write_text(FORMER + "\n")
    put(a_run(project), a_call("ls"))
    Channel.objects.create(
        project=project,
        kind="webhook",
        name="ours",
        address=seal("https://example.com/secret"),
        created_by="ana",
        created_at=NOON,
    )
    anchor_heads(at=after(60))
    return project


def rotated(by="ana", reason="yearly"):
    call_command("rotate_secret", by=by, reason=reason)


def faults_of(project):
    return [fault.kind for fault in verify(projects=[project.id]).faults]


def test_the_audit_log_holds_and_says_who_changed_it(kept):
    rotated()
    put(a_run(kept), a_call("pwd"))
    anchor_heads(at=after(120))

    assert faults_of(kept) == []
    payload = json.loads(JournalRow.objects.get(type="audit.amended").payload)
    assert payload["change"] == "rotated"
    assert payload["key"] == signing.public_key_of(FORMER)
    assert payload["successor"] == signing.public_key()


def test_one_project_and_one_address_are_told_of_as_one(kept):
    out = StringIO()

    call_command("rotate_secret", by="ana", reason="yearly", stdout=out)

    assert "1 project says so, 1 address was sealed anew" in out.getvalue()


def test_what_was_sealed_is_read_without_the_former_secret(kept, settings):
    rotated()
    settings.SECRET_KEY_FALLBACKS = []

    assert unseal(Channel.objects.get().address) == "https://example.com/secret"


def test_an_app_and_recovery_codes_sign_in_without_the_former_secret(kept, settings, owner):
    settings.SIGN_IN = EVERY_WAY
    with_password(owner)
    secret = with_app(owner)
    (recovery, *_) = credentials.renew_recovery_codes(owner)
    rotated()
    settings.SECRET_KEY_FALLBACKS = []

    for code in (code_of(secret), recovery):
        browser = Client()
        type_password(browser, "ana")
        type_code(browser, code)
        assert is_signed_in(browser)


def test_a_process_that_knows_the_former_secret_reads_what_is_not_sealed_anew_yet(settings):
    sealed = seal("secret")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another one", [FORMER]

    assert unseal(sealed) == "secret"


def test_the_former_key_is_trusted_for_what_came_before_only(kept, settings):
    rotated()
    new = settings.SECRET_KEY
    settings.SECRET_KEY = FORMER  # somebody found the old one
    projects.change_project(kept.id, {"mode": "auto"}, by="ana", at=after(100))
    anchor_heads(at=after(120))
    settings.SECRET_KEY = new

    assert faults_of(kept) == ["unsigned"]


def test_what_no_secret_reads_is_counted_and_left(kept, settings):
    settings.SECRET_KEY = "yet another"
    Channel.objects.update(address=seal("x"))
    settings.SECRET_KEY = FORMER

    done = signing.rotate_secret(former=FORMER, by="ana", reason="yearly", at=NOON)

    assert (done.resealed, done.unreadable) == (0, 1)


def test_the_last_but_one_secret_is_forgotten_and_its_signatures_are_not(kept, tmp_path):
    rotated()
    rotated()

    assert FORMER not in (tmp_path / "secret.key.old").read_text()
    assert signing.public_key_of(FORMER) in (tmp_path / "audit.keys").read_text()
    assert faults_of(kept) == []


def cut_off():
    """Change the secret, and lose the database on the way."""
    with connection.execute_wrapper(lose_the_database), pytest.raises(OperationalError):
        rotated()


def lose_the_database(execute, sql, *rest):
    if sql.startswith("INSERT") and JournalRow._meta.db_table in sql:
        raise OperationalError("the server went away")
    return execute(sql, *rest)


def test_a_change_that_failed_twice_is_done_again_and_nothing_is_lost(kept, settings, tmp_path):
    cut_off()
    cut_off()
    assert FORMER in (tmp_path / "secret.key.old").read_text().splitlines()

    rotated()

    settings.SECRET_KEY_FALLBACKS = []
    assert unseal(Channel.objects.get().address) == "https://example.com/secret"
    assert faults_of(kept) == []
    assert len((tmp_path / "secret.key.old").read_text().splitlines()) == 1


def test_after_a_change_that_failed_the_next_start_reads_everything(kept, settings, tmp_path):
    cut_off()
    cut_off()

    settings.SECRET_KEY = (tmp_path / "secret.key").read_text().strip()
    settings.SECRET_KEY_FALLBACKS = (tmp_path / "secret.key.old").read_text().splitlines()
    assert unseal(Channel.objects.get().address) == "https://example.com/secret"
    anchor_heads(at=after(100))
    assert faults_of(kept) == []


def test_a_secret_of_the_environment_is_changed_where_both_are_named(kept, monkeypatch, settings):
    monkeypatch.setenv("MISSIONCONTROL_SECRET_KEY", "the new one")
    with pytest.raises(CommandError, match="MISSIONCONTROL_SECRET_KEY_FALLBACKS"):
        rotated()

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the new one", [FORMER]
    rotated()

    assert faults_of(kept) == []


def test_an_export_follows_the_signature_from_key_to_key(kept, tmp_path, as_person, owner):
    rotated()
    projects.change_project(kept.id, {"mode": "auto"}, by="ana", at=after(100))
    anchor_heads(at=after(120))
    export = tmp_path / "audit.jsonl"
    export.write_bytes(b"".join(as_person(owner).get("/api/v1/audit/export/").streaming_content))

    assert verify_export(export).faults == []


def test_somebody_without_a_key_cannot_retire_ours(kept):
    payload = {
        "change": "rotated",
        "reason": "mine",
        "key": signing.public_key(),
        "successor": "00" * 32,
        "signature": "00" * 64,
    }
    append(kept, "audit.amended", payload, at=after(90))
    anchor_heads(at=after(120))

    assert faults_of(kept) == ["erasure"]


def test_keys_that_cannot_be_written_leave_those_that_were_trusted(kept, tmp_path, monkeypatch):
    signing.trust_keys(["one"])

    def full(path, text):
        with path.open("w") as file:
            file.write(text[:2])
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        signing.trust_keys(["two"])

    assert (tmp_path / "audit.keys").read_text() == "one\n"
