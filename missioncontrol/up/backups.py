"""Back up a whole installation into one file, and restore it elsewhere.

A backup is a zip file: `manifest.json`, the database (`dump_database`), the audit log's files of
heads, the public keys it trusts and, unless they are left out, the secrets. SQLite is copied by its
online backup, PostgreSQL with its own client programs `pg_dump` and `pg_restore`.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import zipfile
import zlib
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader

from missioncontrol import env
from missioncontrol.accounts.models import Project
from missioncontrol.audit import signing
from missioncontrol.up.data_dir import PRIVATE_DIR, PRIVATE_FILE, DataDir, clear_schema_stamp
from missioncontrol.up.errors import BackupFailed, NotBackedUp, RestoreRefused, first_line

FORMAT = 1
MANIFEST_NAME = "manifest.json"
# Left out on request. Without the first, the audit log cannot be signed any further.
SECRETS = ("secret.key", "secret.key.old", "vapid.key", "agent.key", "https/ca.key", "https/ca.crt")
# What reading a file raises if it is not a complete backup.
READ_ERRORS = (
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    RuntimeError,  # an encrypted file, or an unknown compression
    LookupError,
    TypeError,
    ValueError,
    AttributeError,  # a manifest of another shape
)
# In the data directory: backups made before a migration.
FOLDER = "backups"
# The dump's file name, by kind of database.
DUMP_NAMES = {"sqlite": "database.sqlite3", "postgresql": "database.pgdump"}
# How long a restoration waits for others who use the database.
LOCK_TIMEOUT = "5s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content of a backup's manifest."""

    made_at: str
    version: str
    vendor: str
    migrations: list[list[str]]
    public_key: str
    """Of the installation that signed the audit log when it was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """The result of a restoration."""

    backup: Manifest
    replaced: Path | None = None
    """Where the former data was moved."""
    has_older_heads: bool = False
    """Whether the files of heads here know more than the backup."""
    is_signed_elsewhere: bool = False
    """Whether the audit log was signed with another secret than the one here."""


def write_backup(path: Path, *, at: datetime, with_secrets: bool = True) -> Manifest:
    """Write a backup, readable by its owner only; Mission Control may be running.

    Raises:
        BackupFailed: the database cannot be copied, or the file cannot be written.
    """
    # The heads before the database, so that the database includes all of them.
    heads = sorted(Path(settings.AUDIT_HEADS).glob("*.jsonl"))
    files_beside = [(f"audit/{path.name}", path.read_bytes()) for path in heads]
    beside = (signing.KEYS_FILE, *(SECRETS if with_secrets else ()))
    files = ((name, settings.DATA_DIR / name) for name in beside)
    files_beside += [(name, file.read_bytes()) for name, file in files if file.is_file()]
    try:
        loader = MigrationLoader(connection)
    except DatabaseError as fault:
        raise BackupFailed(f"The database does not answer: {fault}.") from None
    applied = [list(key) for key in loader.applied_migrations if key[0] in loader.migrated_apps]
    backup = Manifest(
        made_at=at.isoformat(),
        version=settings.VERSION,
        vendor=connection.vendor,
        migrations=sorted(applied),
        public_key=signing.public_key(),
    )
    manifest = {"format": FORMAT, **asdict(backup)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIR)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".backup-") as place:
            dump, archive_file = Path(place, "copy"), Path(place, "made")
            dump_database(dump)
            # Made private while it is empty, and in the target's folder, where a move is atomic.
            archive_file.touch(PRIVATE_FILE)
            with zipfile.ZipFile(
                archive_file, "w", zipfile.ZIP_DEFLATED, compresslevel=1
            ) as archive:
                archive.writestr(MANIFEST_NAME, json.dumps(manifest, indent=1))
                for name, text in files_beside:
                    archive.writestr(name, text)
                archive.write(dump, DUMP_NAMES[connection.vendor])
            archive_file.replace(path)
    except OSError as fault:
        raise BackupFailed(f"{path} could not be written: {fault.strerror or fault}.") from None
    return backup


def restore_backup(path: Path, *, at: datetime, replace: bool = False) -> RestoreResult:
    """Replace this installation's database and files with a backup's.

    Files of heads that are here stay: they may know more. With `replace`, the former data
    is moved aside.

    Raises:
        DataInUse: Mission Control runs on this data directory.
        RestoreRefused: it is no backup, of newer code or another kind of database, or would
            replace somebody's data.
        BackupFailed: it cannot be read.
    """
    backup = _read_manifest(path)
    try:
        with zipfile.ZipFile(path) as archive, DataDir(settings.DATA_DIR).locked():
            if not replace:
                _check_nothing_is_lost(archive)
            replaced = _load_dump(archive, at=at)
            has_older_heads = _restore_files(archive, at=at)
    except OSError as fault:
        raise BackupFailed(f"{path} could not be restored: {fault.strerror or fault}.") from None
    # Otherwise the next start would take the restored database for the one it last migrated.
    clear_schema_stamp(settings.DATA_DIR)
    # The secret that the next start signs with.
    here = env.text("MISSIONCONTROL_SECRET_KEY") or DataDir(settings.DATA_DIR).read_secret(
        "secret.key"
    )
    return RestoreResult(
        backup=backup,
        replaced=replaced,
        has_older_heads=has_older_heads,
        is_signed_elsewhere=signing.public_key_of(here) != backup.public_key,
    )


def back_up_before_migrating(*, at: datetime, max_kept: int) -> Path | None:
    """Back up a database before it is migrated; keep the last `max_kept`. None if it is new.

    Raises:
        NotBackedUp: it could not be backed up.
    """
    # A database without projects contains nobody's data.
    if not max_kept or not has_projects():
        return None
    # Beside the data: where another copy should go, only the operator knows.
    folder = settings.DATA_DIR / FOLDER
    path = folder / f"before-migrating-{at:%Y%m%dT%H%M%SZ}.zip"
    try:
        write_backup(path, at=at)
    except BackupFailed as fault:
        raise NotBackedUp(str(fault)) from None
    # Their names sort by time.
    for old in sorted(folder.glob("before-migrating-*.zip"))[:-max_kept]:
        old.unlink()
    return path


def _read_manifest(path: Path) -> Manifest:
    """Read a whole file before anything is changed because of it; return its manifest."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest: dict[str, Any] = json.loads(archive.read(MANIFEST_NAME))
            if manifest.pop("format", None) != FORMAT:
                raise RestoreRefused("This version does not support backups of this kind.")
            backup = Manifest(**manifest)
            # An intact file without a database is no backup either.
            archive.getinfo(DUMP_NAMES[backup.vendor])
            damaged = archive.testzip()
    except READ_ERRORS as fault:
        raise RestoreRefused(f"{path} cannot be read as a backup: {fault}.") from None
    if damaged:
        raise RestoreRefused(f"{path} cannot be read as a backup: {damaged} in it is damaged.")
    known = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    unknown = [name for name in backup.migrations if tuple(name) not in known]
    if unknown:
        raise RestoreRefused(
            f"The backup was made by a newer Mission Control (it knows the migration "
            f"{'.'.join(unknown[-1])}, this code does not): update the code."
        )
    if backup.vendor != connection.vendor:
        raise RestoreRefused(
            f"The backup holds a {backup.vendor} database, and this installation uses "
            f"{connection.vendor}: move projects by export_project and import_project."
        )
    return backup


def _check_nothing_is_lost(archive: zipfile.ZipFile) -> None:
    """Refuse to replace data that somebody may want back."""
    if has_projects():
        raise RestoreRefused("There is data here already: use --replace to move it aside.")
    for name in set(SECRETS) & set(archive.namelist()):
        here = settings.DATA_DIR / name
        if here.is_file() and here.read_bytes() != archive.read(name):
            raise RestoreRefused(
                f"There is another {name} here already: use --replace to move it aside."
            )


def _load_dump(archive: zipfile.ZipFile, *, at: datetime) -> Path | None:
    name = DUMP_NAMES[connection.vendor]
    saved = None
    # Beside the database, because a move within a file system is atomic.
    with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix=".restore-") as place:
        copy = Path(place, name)
        with archive.open(name) as packed, copy.open("wb") as out:
            shutil.copyfileobj(packed, out)
        # SQLite's file is moved aside; what PostgreSQL drops is saved in a backup first.
        if connection.vendor == "postgresql" and has_projects():
            saved = settings.DATA_DIR / FOLDER / f"before-restore-{at:%Y%m%dT%H%M%SZ}.zip"
            write_backup(saved, at=at)
        return load_database(copy, at=at) or saved


def _restore_files(archive: zipfile.ZipFile, *, at: datetime) -> bool:
    """Write the files beside the database; say whether a file of heads here was kept instead."""
    has_older_heads = False
    for name in archive.namelist():
        if name.startswith("audit/") and name.endswith(".jsonl"):
            here, text = Path(settings.AUDIT_HEADS, Path(name).name), archive.read(name)
            if here.is_file():
                has_older_heads |= not text.startswith(here.read_bytes())
            else:
                _write_private(here, text)
        elif name == signing.KEYS_FILE:
            signing.trust_keys(archive.read(name).decode().split())
        elif name in SECRETS:
            place = settings.DATA_DIR / name
            if place.is_file() and place.read_bytes() != archive.read(name):
                # Another secret than the dump's: what it signed or sealed may be needed again.
                place.rename(place.with_name(f"{place.name}.before-restore-{at:%Y%m%dT%H%M%SZ}"))
            _write_private(settings.DATA_DIR / name, archive.read(name))
    return has_older_heads


def _write_private(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIR)
    path.touch(PRIVATE_FILE)
    path.write_bytes(text)


def dump_database(to: Path) -> None:
    """Write a consistent copy of the database; others may write meanwhile.

    Raises:
        BackupFailed: it cannot be read or written, or a program is missing.
    """
    if connection.vendor == "postgresql":
        _run_postgresql_program(
            "pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={to}"
        )
        return
    # By SQLite itself, page by page: a copy of the file would lack what is still in its log.
    connection.ensure_connection()
    copy = sqlite3.connect(to)
    try:
        connection.connection.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # everything in this one file
    except sqlite3.Error as fault:
        raise BackupFailed(f"The database could not be copied: {fault}.") from None
    finally:
        copy.close()


def load_database(path: Path, *, at: datetime) -> Path | None:
    """Load a dump into the database's place; return where a replaced SQLite file was moved.

    Nobody may be using the database.

    Raises:
        BackupFailed: a program is missing, or the dump cannot be read.
        RestoreRefused: somebody uses the database.
    """
    if connection.vendor == "postgresql":
        # Before anything is dropped for it.
        _run_postgresql_program("pg_restore", "--list", str(path))
        _drop_tables()
        # In one transaction: a dump that fails leaves an empty database, not half of one.
        connection.close()
        _run_postgresql_program(
            "pg_restore",
            "--no-owner",
            "--no-privileges",
            "--single-transaction",
            "--exit-on-error",
            f"--dbname={connection.settings_dict['NAME']}",
            str(path),
        )
        return None
    check_sqlite(path)
    connection.close()
    # The former file is kept beside it, so that restoring the wrong file can be undone.
    database = Path(str(connection.settings_dict["NAME"]))
    aside = database.with_name(f"{database.name}.before-restore-{at:%Y%m%dT%H%M%SZ}")
    is_replaced = database.exists()
    for suffix in ("", "-wal", "-shm"):  # the old file's log would be applied to the new one
        if (part := database.with_name(database.name + suffix)).exists():
            part.rename(aside.with_name(aside.name + suffix))
    shutil.move(path, database)
    database.chmod(0o600)
    return aside if is_replaced else None


def has_projects() -> bool:
    """Return whether the database contains somebody's data; a broken one counts as such."""
    if connection.vendor == "sqlite" and not Path(str(connection.settings_dict["NAME"])).exists():
        return False
    try:
        is_migrated = Project._meta.db_table in connection.introspection.table_names()
        # A database that was never migrated has no such table.
        return is_migrated and Project.objects.exists()
    except DatabaseError:
        return True
    finally:
        connection.close()


def check_sqlite(path: Path) -> None:
    """Raise BackupFailed unless SQLite finds nothing wrong with a file."""
    try:
        copy = sqlite3.connect(path)
        try:
            # Unlike integrity_check it does not compare indexes with their tables, the slowest
            # part.
            (verdict,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            copy.close()
    except sqlite3.Error as fault:
        verdict = str(fault)
    if verdict != "ok":
        raise BackupFailed(f"The copy of the database is damaged: {verdict}.")


def _drop_tables() -> None:
    """Drop our tables and functions, also those of a newer version: a dump creates its own."""
    # By prefix, because the schema may contain tables of others.
    labels = (*(f"{config.label}_" for config in apps.get_app_configs()), "django_")
    with connection.cursor() as cursor:
        # DROP would wait for ever for a process that still reads a table.
        cursor.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        found = connection.introspection.table_names(cursor)
        tables = [connection.ops.quote_name(name) for name in found if name.startswith(labels)]
        cursor.execute(
            "SELECT proname, oid::regprocedure::text FROM pg_proc"
            " WHERE pronamespace = current_schema()::regnamespace"
        )
        functions = [called for name, called in cursor.fetchall() if name.startswith(labels)]
        try:
            if tables:
                cursor.execute(f"DROP TABLE {', '.join(tables)} CASCADE")
            if functions:
                cursor.execute(f"DROP FUNCTION {', '.join(functions)} CASCADE")
        except DatabaseError as fault:
            raise RestoreRefused(
                f"The database is in use ({first_line(str(fault))}): end every process that uses "
                "it first."
            ) from None


def _run_postgresql_program(program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's programs on the configured database."""
    if shutil.which(program) is None:
        raise BackupFailed(
            f"{program} was not found on PATH: install PostgreSQL's client programs, as new as "
            "the server."
        )
    # In libpq's environment variables: others could read a password on a command line.
    configured = connection.settings_dict
    names = ("HOST", "PORT", "USER", "PASSWORD", "NAME")
    variables = ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE")
    settings = zip(names, variables, strict=True)
    reached = {variable: str(configured[name]) for name, variable in settings if configured[name]}
    for name, value in configured["OPTIONS"].items():
        if name.startswith("ssl"):
            reached[f"PG{name.upper()}"] = str(value)
    done = subprocess.run(
        [program, *arguments],
        env={**os.environ, **reached},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BackupFailed(f"{program} failed: {first_line(done.stderr)}")
