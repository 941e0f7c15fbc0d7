"""`manage.py backup` and `restore`, as somebody runs them who moves to another machine."""

import json
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.installations import ROOT, Installation, a_database, an_installation

pytestmark = pytest.mark.slow


def managed(installation, *command):
    """Run one command on an installation; returns what it said, and how it ended."""
    done = subprocess.run(
        [sys.executable, "manage.py", *map(str, command)],
        cwd=ROOT,
        env=installation.own_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).strip()


def scripted(installation, script):
    subprocess.run(
        [sys.executable, "-c", f"import django; django.setup()\n{script}"],
        cwd=ROOT,
        env=installation.own_environment(),
        check=True,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A database with a project, and its data directory; nothing runs on it."""
    with a_database() as database:
        installation = Installation(tmp_path_factory.mktemp("made"), **database)
        (installation.data / "secret.key").write_text("the secret that signs\n")
        (installation.data / "agent.key").write_text("mc_agent\n")
        assert managed(installation, "migrate", "--verbosity", "0") == (0, "")
        scripted(
            installation,
            "from missioncontrol.accounts import services\n"
            "from missioncontrol.clock import now\n"
            "from missioncontrol.audit.anchors import anchor_heads\n"
            "from missioncontrol.projects.rules import change_project\n"
            "owner = services.ensure_local_owner()\n"
            "made = services.create_project(name='payments', owner=owner, at=now())\n"
            "change_project(made.id, {'mode': 'auto'}, by='ana', at=now())\n"
            "anchor_heads(at=now())\n",
        )
        yield installation


@pytest.fixture(scope="module")
def backup(made):
    file = made.data / "kept.zip"
    code, printed = managed(made, "backup", file)
    assert (code, printed) == (0, f"Backed up to {file}, with the secrets: keep it safe.")
    return file


@pytest.fixture
def elsewhere(tmp_path):
    with a_database() as database:
        yield Installation(tmp_path / "elsewhere", **database)


def test_only_its_owner_can_read_it(backup):
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_restored_elsewhere_the_chain_verifies(backup, elsewhere):
    elsewhere.data.mkdir()

    code, printed = managed(elsewhere, "restore", backup)

    assert code == 0, printed
    assert (elsewhere.data / "agent.key").read_text() == "mc_agent\n"
    code, printed = managed(elsewhere, "verify_audit")
    assert code == 0
    assert "payments: 2 rows, holds" in printed
    assert "heads on file since" in printed


def test_a_new_folder_is_mentioned(made, tmp_path):
    file = tmp_path / "disk" / "kept.zip"

    code, printed = managed(made, "backup", file)

    assert code == 0
    assert printed == (
        f"Backed up to {file}, with the secrets: keep it safe. The folder {file.parent} was not"
        " there and was made."
    )


@pytest.mark.parametrize("command", [("backup", "kept.zip"), ("project", "list"), ("login_link",)])
@pytest.mark.parametrize("is_folder_there", [True, False])
def test_a_command_says_in_one_sentence_that_nothing_was_ever_started(
    elsewhere, command, is_folder_there
):
    if is_folder_there:
        elsewhere.data.mkdir()

    code, printed = managed(elsewhere, *command)

    assert code == 1
    assert "There is no Mission Control in the database" in printed
    assert len(printed.splitlines()) == 1
    assert not Path(ROOT, "kept.zip").exists()


def test_a_database_that_does_not_answer_is_reported_in_one_sentence(elsewhere):
    elsewhere.environment["DATABASE_URL"] = "postgres://nobody@127.0.0.1:1/none"

    code, printed = managed(elsewhere, "project", "list")

    assert code == 1
    assert printed.startswith("mission control: The database does not answer: ")
    assert len(printed.splitlines()) == 1


def test_a_backup_without_secrets_contains_none(made, elsewhere, tmp_path):
    file = tmp_path / "kept.zip"
    managed(made, "backup", file, "--without-secrets")

    with zipfile.ZipFile(file) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
        assert not [name for name in archive.namelist() if name.endswith(".key")]
    assert b"the secret that signs" not in everything

    code, printed = managed(elsewhere, "restore", file)
    assert code == 0
    assert "The secret here is another" in printed
    key = json.loads(zipfile.ZipFile(file).read("manifest.json"))["public_key"]
    assert f"MISSIONCONTROL_AUDIT_KEYS={key}" in printed


def test_existing_data_is_replaced_only_on_request(made, backup):
    code, printed = managed(made, "restore", backup)
    assert code == 1
    assert "There is data here already" in printed

    code, printed = managed(made, "restore", backup, "--replace")
    assert code == 0, printed
    assert "What was here is in " in printed


def test_a_backup_of_newer_code_is_refused_in_one_sentence(backup, elsewhere, tmp_path):
    newer = tmp_path / "newer.zip"
    with zipfile.ZipFile(backup) as old, zipfile.ZipFile(newer, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                manifest["migrations"].append(["runs", "9999_later"])
                content = json.dumps(manifest).encode()
            new.writestr(name, content)

    code, printed = managed(elsewhere, "restore", newer)

    assert code == 1
    assert printed.startswith("CommandError: The backup was made by a newer Mission Control")
    assert "runs.9999_later" in printed
    assert len(printed.splitlines()) == 1


@pytest.mark.parametrize("content", [b"", b"no backup", b"PK\x05\x06" + b"\0" * 18])
def test_a_file_that_is_not_a_backup_is_refused_in_one_sentence(elsewhere, tmp_path, content):
    (tmp_path / "file").write_bytes(content)

    code, printed = managed(elsewhere, "restore", tmp_path / "file")

    assert code == 1
    assert "cannot be read as a backup" in printed
    assert len(printed.splitlines()) == 1


def test_a_damaged_backup_is_refused(backup, elsewhere, tmp_path):
    damaged = bytearray(backup.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    (tmp_path / "damaged.zip").write_bytes(damaged)

    code, printed = managed(elsewhere, "restore", tmp_path / "damaged.zip")

    assert code == 1
    assert "cannot be read as a backup" in printed


def copied(backup, to, change):
    """Write a backup anew; `change` returns what stands under a name, None: nothing."""
    with zipfile.ZipFile(backup) as old, zipfile.ZipFile(to, "w") as new:
        for name in old.namelist():
            if (content := change(name, old.read(name))) is not None:
                new.writestr(name, content)
    return to


def test_one_flipped_byte_in_a_file_that_is_not_packed_is_refused_by_its_name(
    backup, elsewhere, tmp_path
):
    file = copied(backup, tmp_path / "stored.zip", lambda _, content: content)
    key = zipfile.ZipFile(file).read("secret.key")
    file.write_bytes(file.read_bytes().replace(key, key[::-1]))

    code, printed = managed(elsewhere, "restore", file)

    assert (code, list(elsewhere.data.glob("*.sqlite3"))) == (1, [])
    assert "secret.key in it is damaged" in printed


@pytest.mark.parametrize(
    "manifest", [b"[]", b"{", b"\xff", b'{"format": 1}', b'{"format": 1, "a": 2}']
)
def test_a_manifest_of_another_form_is_refused_in_one_sentence(
    backup, elsewhere, tmp_path, manifest
):
    file = copied(
        backup,
        tmp_path / "other.zip",
        lambda name, content: manifest if name == "manifest.json" else content,
    )

    code, printed = managed(elsewhere, "restore", file)

    assert code == 1
    assert "cannot be read as a backup" in printed
    assert len(printed.splitlines()) == 1


def test_a_backup_without_its_database_is_refused_and_existing_data_stays(made, backup, tmp_path):
    file = copied(
        backup,
        tmp_path / "empty.zip",
        lambda name, content: None if name.startswith("database") else content,
    )

    code, printed = managed(made, "restore", file, "--replace")

    assert code == 1
    assert "cannot be read as a backup" in printed
    assert managed(made, "verify_audit")[0] == 0


def test_a_dump_that_postgresql_cannot_read_leaves_existing_data(made, backup, tmp_path):
    if "DATABASE_URL" not in made.environment:
        pytest.skip("of PostgreSQL")
    file = copied(
        backup,
        tmp_path / "broken.zip",
        lambda name, content: b"no dump" if name.startswith("database") else content,
    )

    code, printed = managed(made, "restore", file, "--replace")

    assert code == 1
    assert "pg_restore failed" in printed
    assert managed(made, "verify_audit")[0] == 0


def test_a_database_is_backed_up_before_it_is_migrated_and_the_last_few_are_kept(made):
    assert managed(made, "migrate", "history", "0001", "--verbosity", "0")[0] == 0
    scripted(made, "from missioncontrol.up import database\ndatabase.ensure_migrated(print)")
    folder = made.data / "backups"
    (first,) = folder.glob("before-migrating-*.zip")
    with zipfile.ZipFile(first) as archive:
        known = json.loads(archive.read("manifest.json"))["migrations"]
    assert ["history", "0002_words"] not in known

    scripted(
        made,
        "from datetime import timedelta\n"
        "from missioncontrol.clock import now\n"
        "from missioncontrol.up import backups\n"
        "for day in (1, 2, 3):\n"
        "    backups.back_up_before_migrating(at=now() + timedelta(days=day), max_kept=3)\n",
    )

    assert len(list(folder.glob("before-migrating-*.zip"))) == 3
    assert not first.exists()


def test_between_restore_and_migrate_a_command_says_what_to_do(elsewhere):
    elsewhere.data.mkdir()
    assert managed(elsewhere, "migrate", "--verbosity", "0")[0] == 0
    # As a version left it that did not know the column yet.
    scripted(
        elsewhere,
        "from django.db import connection\n"
        "from django.db.migrations.recorder import MigrationRecorder\n"
        "connection.cursor().execute('ALTER TABLE accounts_project DROP COLUMN redact_rules')\n"
        "applied = MigrationRecorder(connection).migration_qs.filter(app='accounts')\n"
        "applied.filter(name__gte='0015').delete()\n",
    )

    code, printed = managed(elsewhere, "verify_audit")

    assert code == 1
    assert printed == (
        "mission control: The database is one of an older Mission Control:"
        " run `manage.py migrate` first."
    )


def test_a_migration_that_fails_says_why_and_not_to_migrate(elsewhere):
    elsewhere.data.mkdir()
    assert managed(elsewhere, "migrate", "--verbosity", "0")[0] == 0
    # The column is there already.
    scripted(
        elsewhere,
        "from django.db.migrations.recorder import MigrationRecorder\n"
        "applied = MigrationRecorder.Migration.objects.filter(app='notify')\n"
        "applied.filter(name='0006_signed_out_devices').delete()\n",
    )

    code, printed = managed(elsewhere, "migrate", "--verbosity", "0")

    assert code == 1
    assert "left_at" in printed
    assert "manage.py migrate" not in printed


def test_a_new_database_is_not_backed_up(elsewhere):
    elsewhere.data.mkdir()

    scripted(elsewhere, "from missioncontrol.up import database\ndatabase.ensure_migrated(print)")

    assert not (elsewhere.data / "backups").exists()


def test_no_program_of_postgresqls_is_named_in_a_sentence(made, tmp_path):
    if "DATABASE_URL" not in made.environment:
        pytest.skip("of PostgreSQL")
    without = Installation(made.data, **{**made.environment, "PATH": str(tmp_path)})

    code, printed = managed(without, "backup", tmp_path / "kept.zip")

    assert code == 1
    assert printed == (
        "CommandError: pg_dump was not found on PATH: install PostgreSQL's client programs, as"
        " new as the server."
    )
    assert list(tmp_path.iterdir()) == []


def test_agents_go_on_with_their_keys_where_it_was_restored(tmp_path):
    file = tmp_path / "kept.zip"
    with an_installation(tmp_path / "first") as first:
        _, run = first.ask("POST", "/api/v1/runs/", {"name": "first", "key": "session-1"})
        turns = f"/api/v1/runs/{run['id']}/turns/"
        turn = {"role": "assistant", "tool": "Bash", "args": {"command": "ls"}, "result": "a"}
        first.ask("POST", turns, {"turns": [{**turn, "key": "1"}]}, wait=10)
        assert managed(first, "backup", file)[0] == 0
        first.ask("POST", turns, {"turns": [{**turn, "key": "2"}]}, wait=10)
        key = first.agent_key

    with a_database() as database:
        second = Installation(tmp_path / "second", **database)
        assert managed(second, "restore", file)[0] == 0
        second.start()
        try:
            assert second.agent_key == key
            status, _ = second.ask("POST", turns, {"turns": [{**turn, "key": "2"}]}, wait=10)
            assert status in {200, 201}
            code, printed = managed(second, "verify_audit")
            assert code == 0, printed
            code, printed = managed(second, "restore", file, "--replace")
            assert code == 1
            assert "uses the data directory" in printed
        finally:
            second.stop()
