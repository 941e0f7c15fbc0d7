"""Typed readers of environment variables. An empty environment works; an invalid value
raises an error that names its variable.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from missioncontrol.errors import SettingInvalid

if TYPE_CHECKING:
    from guard.judge import JudgeModel, LLMJudge

MAX_DAYS = 36_500
_YES = {"1", "true", "yes", "on"}
_NO = {"0", "false", "no", "off", ""}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityProvider:
    """An OpenID Connect provider that vouches for who somebody is."""

    issuer: str
    client: str
    secret: str
    name: str
    """Its name on the sign-in page."""
    groups_claim: str


def text(name: str, default: str = "") -> str:
    """Read a string."""
    return os.environ.get(name, default)


def web_address(name: str) -> str:
    """Read the URL at which people reach this server, without a final slash; empty if unknown."""
    value = text(name).rstrip("/")
    if value and not is_web_address(value):
        raise SettingInvalid(name, value, "an address like https://mc.example.org")
    return value


def is_web_address(value: str) -> bool:
    """Return whether it is a scheme and a host with nothing after them, as in an Origin."""
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018 - says whether it is a number
    except ValueError:
        return False
    return (
        value.lower() == f"{parts.scheme}://{parts.netloc}".lower()
        and parts.scheme in {"http", "https"}
        and bool(parts.hostname)
        and not any(each.isspace() or each == "@" for each in value)
    )


def flag(name: str) -> bool:
    """Read a yes or no; an empty value is no."""
    value = text(name)
    # Only known words count: `MISSIONCONTROL_DEBUG=nein` must not switch it on.
    if value.lower() in _YES:
        return True
    if value.lower() in _NO:
        return False
    raise SettingInvalid(name, value, "1 or 0")


def number(name: str, default: int) -> int:
    """Read a whole number."""
    value = os.environ.get(name)
    if value is None:
        return default
    try:
        return int(value)
    except ValueError:
        raise SettingInvalid(name, value, "a whole number") from None


def days(name: str, default: int) -> timedelta | None:
    """Read how many days something is kept, at most a hundred years; None (0): for ever."""
    count = number(name, default)
    if not 0 <= count <= MAX_DAYS:
        raise SettingInvalid(name, str(count), f"days, 1 to {MAX_DAYS}, or 0: for ever")
    return timedelta(days=count) if count else None


def fraction(name: str, default: float) -> float:
    """Read a number from 0 to 1."""
    value = os.environ.get(name)
    try:
        parsed = default if value is None else float(value)
    except ValueError:
        parsed = -1.0
    if not 0.0 <= parsed <= 1.0:
        raise SettingInvalid(name, str(value), "a number from 0 to 1")
    return parsed


def words(name: str) -> list[str]:
    """Read a comma-separated list."""
    return [word.strip() for word in text(name).split(",") if word.strip()]


def choices(name: str, offered: Collection[str]) -> frozenset[str]:
    """Read a comma-separated list of words; an unknown word is an error."""
    chosen = frozenset(words(name))
    # The first one is enough: the error names it and ends the start.
    for word in sorted(chosen - set(offered)):
        raise SettingInvalid(name, word, f"any of {', '.join(offered)}")
    return chosen


def identity_provider(prefix: str) -> IdentityProvider:
    """Read the provider whose people may sign in; plain http only on this machine."""
    issuer, client = text(f"{prefix}_ISSUER").rstrip("/"), text(f"{prefix}_CLIENT")
    parts = urlsplit(issuer)
    # Whoever answers in the provider's place can sign in as anybody: only TLS, or this machine
    # itself, proves that it is the provider.
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not is_safe or not parts.hostname or parts.username is not None:
        raise SettingInvalid(f"{prefix}_ISSUER", issuer, "the https:// address of the provider")
    if not client:
        raise SettingInvalid(f"{prefix}_CLIENT", client, "the id that the provider knows us by")
    return IdentityProvider(
        issuer=issuer,
        client=client,
        secret=text(f"{prefix}_SECRET"),
        name=text(f"{prefix}_NAME") or parts.hostname,
        groups_claim=text(f"{prefix}_GROUPS_CLAIM", "groups"),
    )


def read_lines(path: Path) -> list[str]:
    """Read the lines of a file; none if it does not exist."""
    return path.read_text().split() if path.is_file() else []


def secret(name: str, *, file: Path) -> str:
    """Read a secret, or the stored one; empty if there is none."""
    return text(name) or (file.read_text().strip() if file.is_file() else "")


def secret_key(name: str, *, file: Path, serving: bool) -> str:
    """Read the secret that signs sessions and the audit log, or the stored one, or make one.

    A process that serves makes none: each would sign with another, which nobody could verify.
    """
    found = secret(name, file=file)
    if not found and serving:
        raise SettingInvalid(name, "", f"a secret that every process has, or the file {file}")
    return found or secrets.token_urlsafe(48)


def counts(name: str, defaults: Mapping[str, int]) -> dict[str, int]:
    """Read `word=number,…` on top of the defaults; a word that they lack is an error."""
    values = dict(defaults)
    for part in words(name):
        word, _, value = part.partition("=")
        if word not in defaults or not value.isdecimal():
            raise SettingInvalid(name, part, f"one of {', '.join(defaults)}, =, a whole number")
        values[word] = int(value)
    return values


def networks(name: str) -> list[IPv4Network | IPv6Network]:
    """Read addresses and networks, `127.0.0.1,10.0.0.0/8`."""
    try:
        return [ip_network(word) for word in words(name)]
    except ValueError as error:
        raise SettingInvalid(name, text(name), f"addresses or networks ({error})") from None


def directory(name: str, default: Path) -> Path:
    """Read a path, absolute and with ~ expanded."""
    return Path(text(name) or default).expanduser().absolute()


# Seconds after which PostgreSQL ends the transaction of a process that went silent in it.
IDLE_TRANSACTION_S = 15
# How long libpq waits for a host that is silent, under libpq's option names: while connecting (s),
# and after that (idle s, s between probes, number of probes; ms without an acknowledgement). With
# the system's defaults, a machine that went away keeps each process waiting for minutes or hours.
CONNECTION_TIMEOUTS = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}
# How long a request waits for a connection, and the pool tries to make one. The pool tries at
# growing intervals: with its own 300 s, it would find a database that was away for two minutes only
# two minutes after its return. A request after it gave up makes it start again.
POOL_TIMEOUT_S = 10


def database(
    name: str, *, sqlite: Path, pooled: bool, serving: bool, durable: bool
) -> dict[str, Any]:
    """Read a database address; empty means SQLite at `sqlite`.

    `pooled` belongs to web processes only: Celery destroys a pool under prefork.
    `serving`: agents wait for this process, which may hold no lock for long.
    """
    value = text(name)
    if not value:
        return sqlite_database(sqlite, durable=durable)
    url = urlsplit(value)
    if url.scheme == "sqlite":
        return sqlite_database(Path(unquote(url.path)), durable=durable)
    if url.scheme not in {"postgres", "postgresql"}:
        raise SettingInvalid(name, url.scheme, "postgres://… or sqlite:///…")
    # libpq's own parameters, such as `sslmode`, are passed on; `options=` replaces ours.
    given = dict(parse_qsl(url.query, keep_blank_values=True))
    options: dict[str, Any] = CONNECTION_TIMEOUTS | given
    # Our parameter, not libpq's: for a pooler that gives each transaction another connection.
    prepared = options.pop("prepared", "yes")
    if prepared.lower() not in _YES | _NO:
        raise SettingInvalid(name, f"prepared={prepared}", "prepared=yes or prepared=no")
    if prepared.lower() in _NO:
        options["prepare_threshold"] = None
    if serving:
        # A process that froze, or whose machine went away, would keep the runs it locked, and all
        # turns stored together with theirs, for as long as PostgreSQL considers its connection
        # alive.
        frozen = f"-c idle_in_transaction_session_timeout={IDLE_TRANSACTION_S}s"
        # Plan a repeated query once: PostgreSQL would otherwise plan it each time when it estimates
        # its lists as shorter than they may be.
        options.setdefault("options", f"{frozen} -c plan_cache_mode=force_generic_plan")
    if pooled:
        timeouts = {"timeout": POOL_TIMEOUT_S, "reconnect_timeout": POOL_TIMEOUT_S}
        options["pool"] = {"min_size": 2, "max_size": 24, **timeouts}
    return {
        "ENGINE": "missioncontrol.postgresql",
        # Percent-encoded in the URL, where `/`, `@` and `:` have another meaning.
        "NAME": unquote(url.path.lstrip("/")),
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "HOST": url.hostname or "",
        "PORT": str(url.port or ""),
        # The pool keeps the connections; Django does not allow its own persistence beside it.
        "CONN_MAX_AGE": 0 if pooled else None,
        # For a pool our backend does this: the pool runs `SELECT 1` whenever it lends a connection.
        "CONN_HEALTH_CHECKS": not pooled,
        "OPTIONS": options,
    }


# The size of the write-ahead log, in pages of 4 kB, from which a commit checkpoints it instead of
# leaving that to the sweeper.
AUTOCHECKPOINT_PAGES = 16_384


def sqlite_database(path: Path, *, durable: bool) -> dict[str, Any]:
    """Describe a SQLite file with the settings that proved fastest."""
    synchronous = "FULL" if durable else "NORMAL"
    return {
        "ENGINE": "missioncontrol.sqlite",
        "NAME": str(path),
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "timeout": 20,
            # A transaction that begins with a read could not start to write while another one
            # writes: SQLite fails it at once, whatever the time-out.
            "transaction_mode": "IMMEDIATE",
            "init_command": (
                f"PRAGMA journal_mode=WAL;PRAGMA synchronous={synchronous};"
                # The sweeper checkpoints beside the writers; without a sweeper, they do it
                # themselves.
                f"PRAGMA wal_autocheckpoint={AUTOCHECKPOINT_PAGES};"
            ),
        },
    }


def judge(prefix: str) -> LLMJudge | None:
    """Read the model that judges, and the stronger one behind it; None if no URL is set."""
    from guard.judge import LLMJudge

    if not text(f"{prefix}_URL"):
        if model := text(f"{prefix}_MODEL"):
            raise SettingInvalid(f"{prefix}_MODEL", model, f"{prefix}_URL beside it")
        return None
    first = _judge_model(prefix, url=text(f"{prefix}_URL"), key=text(f"{prefix}_KEY"))
    second = None
    if text(f"{prefix}_SECOND_MODEL"):
        url = text(f"{prefix}_SECOND_URL", first.url)
        # A key is only sent to the URL it was given for.
        shared = first.key if url == first.url else ""
        key = text(f"{prefix}_SECOND_KEY", shared)
        second = _judge_model(f"{prefix}_SECOND", url=url, key=key)
    return LLMJudge(first, second, second_below=fraction(f"{prefix}_SECOND_BELOW", 0.7))


def _judge_model(prefix: str, *, url: str, key: str) -> JudgeModel:
    from guard.judge import JudgeModel

    model = text(f"{prefix}_MODEL")
    if not model:
        raise SettingInvalid(f"{prefix}_MODEL", "", "a model's name, since there is a URL")
    timeout_s = number(f"{prefix}_TIMEOUT", 20)
    if timeout_s < 1:
        raise SettingInvalid(f"{prefix}_TIMEOUT", str(timeout_s), "seconds, 1 or more")
    try:
        return JudgeModel(
            url=url,
            model=model,
            key=key,
            provider=text(f"{prefix}_PROVIDER") or None,
            timeout_s=timeout_s,
        )
    except ValueError as error:
        raise SettingInvalid(f"{prefix}_URL", "what it holds", str(error)) from None
