"""Back up a whole installation into one file, and restore it elsewhere.

A backup is a zip file: `manifest.json`, the database (`dumps`), the audit log's files of
heads, the public keys it trusts and, unless they are left out, the secrets.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
import zlib
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader

from missioncontrol import env
from missioncontrol.audit import signing
from missioncontrol.up import dumps, schema_stamp
from missioncontrol.up.data_dir import PRIVATE_DIR, PRIVATE_FILE, DataDir
from missioncontrol.up.errors import BackupFailed, NotBackedUp, RestoreRefused

FORMAT = 1
MANIFEST = "manifest.json"
# What is left out on demand. Without the first the audit log cannot be signed on.
SECRETS = ("secret.key", "secret.key.old", "vapid.key", "agent.key", "https/ca.key", "https/ca.crt")
# What reading a file raises that is no whole backup.
UNREADABLE = (
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    RuntimeError,  # a file with a password, or packed in a way that is not known
    LookupError,
    TypeError,
    ValueError,
    AttributeError,  # a manifest of another form
)
# In the data directory: what is kept before a migration.
FOLDER = "backups"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """What a backup says of itself."""

    made_at: str
    version: str
    vendor: str
    migrations: list[list[str]]
    public_key: str
    """Of whoever signed the audit log when it was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came of a restoration."""

    backup: Backup
    replaced: Path | None = None
    """Where what stood there before was put."""
    has_older_heads: bool = False
    """The files of heads here know of more than the backup."""
    is_signed_elsewhere: bool = False
    """The secret here is not the one the audit log was signed with."""


def make(path: Path, *, at: datetime, with_secrets: bool = True) -> Backup:
    """Write a backup, readable by its owner only; Mission Control may be running.

    Raises:
        BackupFailed: the database cannot be copied, or the file not be written.
    """
    # The heads before the database, which then knows them all.
    heads = sorted(Path(settings.AUDIT_HEADS).glob("*.jsonl"))
    kept = [(f"audit/{path.name}", path.read_bytes()) for path in heads]
    beside = (signing.KEYS_FILE, *(SECRETS if with_secrets else ()))
    files = ((name, settings.DATA_DIR / name) for name in beside)
    kept += [(name, file.read_bytes()) for name, file in files if file.is_file()]
    try:
        loader = MigrationLoader(connection)
    except DatabaseError as fault:
        raise BackupFailed(f"The database does not answer: {fault}.") from None
    applied = [list(key) for key in loader.applied_migrations if key[0] in loader.migrated_apps]
    backup = Backup(
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
            copy, made = Path(place, "copy"), Path(place, "made")
            dumps.dump(copy)
            # Made private before anything is in it, and beside its place, where a move is one step.
            made.touch(PRIVATE_FILE)
            with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
                for name, text in kept:
                    archive.writestr(name, text)
                archive.write(copy, dumps.NAMES[connection.vendor])
            made.replace(path)
    except OSError as fault:
        raise BackupFailed(f"{path} could not be written: {fault.strerror or fault}.") from None
    return backup


def restore(path: Path, *, at: datetime, replace: bool = False) -> Restored:
    """Put a backup's database and files in the place of this installation's.

    Files of heads that are here stay: they may know more. With `replace`, what stood here
    is moved aside.

    Raises:
        DataInUse: Mission Control runs on this data directory.
        RestoreRefused: it is no backup, of newer code or another kind of database, or would
            replace somebody's data.
        BackupFailed: it cannot be read.
    """
    backup = _read_whole(path)
    try:
        with zipfile.ZipFile(path) as archive, DataDir(settings.DATA_DIR).held():
            if not replace:
                _check_free(archive)
            replaced = _load(archive, at=at)
            has_older_heads = _restore_files(archive, at=at)
    except OSError as fault:
        raise BackupFailed(f"{path} could not be restored: {fault.strerror or fault}.") from None
    # Else the next start would take the restored database for the one it migrated last.
    schema_stamp.forget(settings.DATA_DIR)
    # What the next start signs with.
    here = env.text("MISSIONCONTROL_SECRET_KEY") or DataDir(settings.DATA_DIR).read_secret(
        "secret.key"
    )
    return Restored(
        backup=backup,
        replaced=replaced,
        has_older_heads=has_older_heads,
        is_signed_elsewhere=signing.public_key_of(here) != backup.public_key,
    )


def keep_before_migrating(*, at: datetime, most: int) -> Path | None:
    """Back up a database that is to be migrated; keep the last so many. None: it is new.

    Raises:
        NotBackedUp: it could not be.
    """
    # A database without projects is nobody's data.
    if not most or not dumps.has_projects():
        return None
    # Beside the data: a copy elsewhere is for the operator to make, who knows where.
    folder = settings.DATA_DIR / FOLDER
    path = folder / f"before-migrating-{at:%Y%m%dT%H%M%SZ}.zip"
    try:
        make(path, at=at)
    except BackupFailed as fault:
        raise NotBackedUp(str(fault)) from None
    # Their names sort by time.
    for old in sorted(folder.glob("before-migrating-*.zip"))[:-most]:
        old.unlink()
    return path


def _read_whole(path: Path) -> Backup:
    """Read all of a file before anything is touched for it; return what it says of itself."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
            if manifest.pop("format", None) != FORMAT:
                raise RestoreRefused("The backup is of a kind that this version does not read.")
            backup = Backup(**manifest)
            # A file without a database is no backup, however whole it is.
            archive.getinfo(dumps.NAMES[backup.vendor])
            damaged = archive.testzip()
    except UNREADABLE as fault:
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
            f"{connection.vendor}: projects move between them by export_project and import_project."
        )
    return backup


def _check_free(archive: zipfile.ZipFile) -> None:
    """Refuse to replace what somebody may want back."""
    if dumps.has_projects():
        raise RestoreRefused("There is data here already: --replace moves it aside.")
    for name in set(SECRETS) & set(archive.namelist()):
        here = settings.DATA_DIR / name
        if here.is_file() and here.read_bytes() != archive.read(name):
            raise RestoreRefused(f"There is another {name} here already: --replace moves it aside.")


def _load(archive: zipfile.ZipFile, *, at: datetime) -> Path | None:
    name = dumps.NAMES[connection.vendor]
    saved = None
    # Beside the database: on one file system a move is one step.
    with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix=".restore-") as place:
        copy = Path(place, name)
        with archive.open(name) as packed, copy.open("wb") as out:
            shutil.copyfileobj(packed, out)
        # SQLite's file is moved aside; what PostgreSQL drops is kept in a backup first.
        if connection.vendor == "postgresql" and dumps.has_projects():
            saved = settings.DATA_DIR / FOLDER / f"before-restore-{at:%Y%m%dT%H%M%SZ}.zip"
            make(saved, at=at)
        return dumps.load(copy, at=at) or saved


def _restore_files(archive: zipfile.ZipFile, *, at: datetime) -> bool:
    """Write the files beside the database; tell whether a file of heads here was kept instead."""
    has_older_heads = False
    for name in archive.namelist():
        if name.startswith("audit/") and name.endswith(".jsonl"):
            here, text = Path(settings.AUDIT_HEADS, Path(name).name), archive.read(name)
            if here.is_file():
                has_older_heads |= not text.startswith(here.read_bytes())
            else:
                _write(here, text)
        elif name == signing.KEYS_FILE:
            signing.trust(archive.read(name).decode().split())
        elif name in SECRETS:
            place = settings.DATA_DIR / name
            if place.is_file() and place.read_bytes() != archive.read(name):
                # Another secret than the dump's: what it signed or sealed may be wanted back.
                place.rename(place.with_name(f"{place.name}.before-restore-{at:%Y%m%dT%H%M%SZ}"))
            _write(settings.DATA_DIR / name, archive.read(name))
    return has_older_heads


def _write(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIR)
    path.touch(PRIVATE_FILE)
    path.write_bytes(text)
