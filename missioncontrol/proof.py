"""Verify an exported audit log, without the server and without its database.

    python proof.py audit.jsonl --key 5f0c… --heads PROJECT.jsonl

Needs Python 3.11 and `cryptography`, and nothing else of Mission Control: copy this one
file. The server verifies its database with the same classes. `docs/audit.md` explains what
a chain, a checkpoint and the file of heads are, and what they do not protect against.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

GENESIS = "0" * 64
ANCHOR_EVENT, AMENDMENT_EVENT = "chain.anchored", "audit.amended"
# Rows that may name a person: they may be blank, if a signed erasure lists them.
ACCESS_EVENT = "access.changed"
# What an erasure keeps: figures without words, so that costs can still be checked.
COST_EVENT = "cost.attributed"
# In any order: the JSON text of a mapping is sorted by its keys.
HEADER_FIELDS = ("project", "run", "seq", "type", "at", "by", "version", "status")
ANCHOR_FIELDS = ("heads", "key", "head", "head_seq", "predecessor", "number")
TURN_FIELDS = ("agent", "role", "phase", "tool", "args", "content", "result", "error", "files")
# How long an event may take from its time to its commit, including differences between clocks.
CLOCK_TOLERANCE = timedelta(minutes=5)

# Every fault that a verification can find, in plain words.
FAULTS = {
    "changed": "row {seq} was changed: it does not fit its own hash",
    "blanked": "row {seq} lost its payload or salt, and no signed erasure allows it",
    "missing": "rows before row {seq} are missing",
    "unlinked": "row {seq} does not follow the row before it: it, or what stood before, is not"
    " what was written",
    "cut": "the rows after row {seq} are missing, or its end was rewritten",
    "unsigned": "the checkpoint in row {seq} is not signed with a trusted key",
    "rewritten": "row {seq} is not the row that was signed: the chain was rewritten",
    "dropped": "checkpoints before the one in row {seq} were removed",
    "run_missing": "the run was signed up to row {seq} and is gone",
    "unanchored": "row {seq} is older than the last checkpoint, which does not know it: it was"
    " put in afterwards",
    "erasure": "the erasure or restoration in row {seq} is not signed with a trusted key",
    "run_row": "the run's {what} is {found}; its events tell {expected}",
    "turn_changed": "turn {what} is not what was recorded: its digest differs",
    "turn_missing": "turn {what} is missing",
    "turn_added": "turn {what} is one that no event tells of",
    "older_copy": "the signed file of heads knows checkpoint {what}, the database does not:"
    " checkpoints were dropped, or an older copy was put back",
    "other_history": "checkpoint {what} is not the one in the signed file of heads: the"
    " history was rewritten, or an older copy was put back",
    "heads_file": "line {what} of the file of heads is not signed with a trusted key",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that does not hold, and where."""

    kind: str
    project: str
    run: str | None = None
    seq: int | None = None
    row: str | None = None
    what: str = ""
    found: str = ""
    expected: str = ""

    @property
    def words(self) -> str:
        """Return the fault as a sentence."""
        where = f"run {self.run}" if self.run else f"project {self.project}"
        text = FAULTS[self.kind].format(
            seq=self.seq, what=self.what, found=self.found, expected=self.expected
        )
        return f"{where}: {text}"


# A tuple, not a dataclass: an export may have millions, and they are only read.
class Link(NamedTuple):
    """One row of a chain, as plain values; `at` is the text that was hashed."""

    id: str
    project: str
    run: str | None
    seq: int
    type: str
    at: str
    by: str
    version: int
    status: str | None
    payload: str | None
    salt: str | None
    digest: str
    previous: str
    hash: str


# Hashed as text: the same value must give the same bytes in every program that verifies it.
canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
"""Return the canonical JSON text of a value."""


def sha256(text: str) -> str:
    """Hash a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# The salt is erased with the payload: a short text alone could be found by trying.
def payload_digest(payload: str, salt: str) -> str:
    """Hash a payload with its salt, so that an erased one cannot be guessed."""
    return sha256(salt + payload)


def turn_digest(fields: Mapping[str, Any]) -> str:
    """Hash what a turn says, as its event records it."""
    return sha256(canonical(fields))


def row_hash(header: Mapping[str, Any], *, previous: str, digest: str) -> str:
    """Hash one link of a chain."""
    return sha256(canonical({**header, "digest": digest, "previous": previous}))


def anchor_statement(project: str, at: str, fields: Mapping[str, Any]) -> str:
    """Return what a checkpoint's signature covers: runs' heads, the chain before it, its number."""
    place = {"type": ANCHOR_EVENT, "project": project, "at": at}
    return canonical({**place, **{name: fields[name] for name in ANCHOR_FIELDS}})


def amendment_statement(project: str, at: str, by: str, fields: Mapping[str, Any]) -> str:
    """Return what the signature of an erasure or a restoration covers: all known fields."""
    place = {"type": AMENDMENT_EVENT, "project": project, "at": at, "by": by}
    # All known fields, not a fixed list, so that a later version's field is covered by its
    # signature too.
    known = {k: v for k, v in fields.items() if k != "signature" and v is not None}
    return canonical({**place, **known})


def head_statement(line: Mapping[str, Any]) -> str:
    """Return what the signature of a line in the file of heads covers."""
    return canonical({name: value for name, value in line.items() if name != "signature"})


def is_signed(statement: str, signature: str, key: str) -> bool:
    """Return whether the holder of an Ed25519 key signed a statement; both in hex."""
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), statement.encode("utf-8", "surrogatepass"))
    except (InvalidSignature, ValueError):
        return False
    return True


class Chain:
    """One chain, read row by row from its beginning."""

    def __init__(self) -> None:
        self.head = GENESIS
        self.length = 0
        self.last: Link | None = None

    def check_row(self, link: Link, *, may_be_blank: bool = False) -> Iterator[Fault]:
        """Read the next row; yield what does not hold of it."""
        if link.seq != self.length:
            yield fault_at(link, "missing")
        elif link.previous != self.head:
            yield fault_at(link, "unlinked")
        # Its position is hashed too: a row that is valid by itself cannot be moved elsewhere.
        header = {name: getattr(link, name) for name in HEADER_FIELDS}
        is_blank = link.payload is None or link.salt is None
        # An erased payload leaves its digest, so that the row's own hash can still be checked.
        if row_hash(header, previous=link.previous, digest=link.digest) != link.hash or (
            not is_blank and payload_digest(link.payload or "", link.salt or "") != link.digest
        ):
            yield fault_at(link, "changed")
        if is_blank and not may_be_blank:
            yield fault_at(link, "blanked")
        # Continue from what the row says of itself, so that one fault is not reported for each row
        # after it.
        self.head, self.length, self.last = link.hash, link.seq + 1, link

    def check_end(
        self, *, head: str, length: int, project: str, run: str | None
    ) -> Iterator[Fault]:
        """Compare the end with where the database says that the chain ends."""
        # A chain without its last rows still holds: what is stored beside it shows that they are
        # gone.
        if (self.head, self.length) != (head, length):
            row = self.last.id if self.last else None
            yield Fault(kind="cut", project=project, run=run, seq=self.length - 1, row=row)


class Head(NamedTuple):
    """Where a run's chain ended at its last checkpoint, and the row that signs it."""

    seq: int
    hash: str
    row: str


def heads_in(link: Link, payload: Mapping[str, Any]) -> dict[str, Head]:
    """Return the heads that a checkpoint names, by run."""
    return {run: Head(seq, hash_, link.id) for run, (seq, hash_) in payload["heads"].items()}


class ErasedExtent(NamedTuple):
    """How far a run's words were erased, according to a signed event: rows and turns."""

    rows: int = -1
    turns: int = -1


class ProjectChain(Chain):
    """A project's own chain, which also collects what its signed rows say of its runs.

    `trusted`: the public keys that may sign; None: whichever signs first. `check_old_anchor`
    checks checkpoints from before there were keys; None: they are only counted. For a project
    that was imported nobody here can check them: there, the first one with a key ties them.
    """

    def __init__(
        self,
        *,
        trusted: Collection[str] | None,
        check_old_anchor: Callable[[Any], bool] | None = None,
    ) -> None:
        super().__init__()
        self.trusted = trusted
        self.check_old_anchor = check_old_anchor
        self.heads: dict[str, Head] = {}
        self.erased: dict[str, ErasedExtent] = {}
        self.anchors = 0
        self.old_anchors = 0
        self.retired: set[str] = set()
        # Separate from `trusted`, which is set as soon as the first key is seen.
        self._follows_keys = trusted is None
        self.first_key_at: str | None = None
        self.anchored_at: str | None = None
        self._last_anchor = ""
        self._is_rewritten = False
        # A person's erasure lists the rows that it blanked, and follows them in the chain.
        self._blank_rows: dict[int, Fault] = {}
        # Only the secret that made them can check checkpoints without a key: it may be elsewhere.
        self._unchecked_anchors: list[tuple[Link, Mapping[str, Any]]] = []

    def check_row(self, link: Link, *, may_be_blank: bool = False) -> Iterator[Fault]:
        """Read the next row; a signed one is checked and remembered."""
        before = self.head
        # A later row may record its erasure: only the end shows whether it was allowed.
        waits = link.type == ACCESS_EVENT and link.payload is None and link.salt is None
        if waits:
            self._blank_rows[link.seq] = fault_at(link, "blanked")
        yield from super().check_row(link, may_be_blank=may_be_blank or waits)
        try:
            if link.type == ANCHOR_EVENT:
                yield from self._take_anchor(link, before)
            elif link.type == AMENDMENT_EVENT and link.payload is not None:
                yield from self._take_amendment(link, json.loads(link.payload))
        # Anybody may have written it: a payload of another shape counts as unsigned.
        except (ValueError, KeyError, TypeError):
            yield fault_at(link, "unsigned")

    def check_pending(self) -> Iterator[Fault]:
        """Yield the blank rows that no later signed row allows; call it at the end of the chain."""
        yield from self._blank_rows.values()
        for link, _ in self._unchecked_anchors:
            yield fault_at(link, "unsigned")

    def _take_anchor(self, link: Link, before: str) -> Iterator[Fault]:
        # Each names the one before it, so that a removed one leaves a gap.
        predecessor, self._last_anchor = self._last_anchor, link.hash
        self.anchors += 1
        if link.payload is None:
            return
        payload = json.loads(link.payload)
        if payload.get("key") is None:
            self.old_anchors += 1
            # From before there were keys: none may follow a checkpoint that was signed by a key.
            if self.first_key_at is not None:
                yield fault_at(link, "unsigned")
            elif self.check_old_anchor and not self.check_old_anchor(payload):
                self._unchecked_anchors.append((link, payload))
            else:
                self._record_heads(link, payload)
            return
        self.first_key_at = self.first_key_at or link.at
        if not self._is_signed(anchor_statement(link.project, link.at, payload), payload):
            yield fault_at(link, "unsigned")
            return
        place = (payload["head_seq"], payload["head"], payload["predecessor"])
        if payload["number"] != self.anchors:
            # Continue from there: one fault for all that are missing, and none for what follows.
            self.anchors = int(payload["number"])
            yield fault_at(link, "dropped")
        elif place != (link.seq - 1, before, predecessor) and not self._is_rewritten:
            self._is_rewritten = True  # every later one would report the same
            yield fault_at(link, "rewritten")
        self._record_heads(link, payload)

    def _record_heads(self, link: Link, payload: Mapping[str, Any]) -> None:
        self.anchored_at = link.at
        # The newest counts: it covers all that the earlier ones signed of this run.
        self.heads |= heads_in(link, payload)

    def _take_amendment(self, link: Link, payload: Mapping[str, Any]) -> Iterator[Fault]:
        statement = amendment_statement(link.project, link.at, link.by, payload)
        if not self._is_signed(statement, payload):
            yield fault_at(link, "erasure")
        elif payload["change"] == "erased":
            # The maximum: an erasure that is recorded again later never takes one back.
            before = self.erased.get(payload["of_run"], ErasedExtent())
            now = ErasedExtent(payload["through_seq"], payload["turns_through"])
            self.erased[payload["of_run"]] = ErasedExtent(*map(max, before, now))
        elif payload["change"] == "person_erased":
            for seq in payload["rows"]:
                self._blank_rows.pop(seq, None)
        elif payload["change"] == "rotated":
            # Retire a key: from here on its successor signs, and the old one may not.
            self.retired.add(payload["key"])
            if self._follows_keys:
                self.trusted = {*(self.trusted or ()), payload["successor"]}
        elif payload["change"] == "imported" and payload.get("former"):
            self.retired.add(payload["former"])
            # What was imported is tied by a checkpoint that its own key signed.
            while self._unchecked_anchors and self.first_key_at is not None:
                self.heads = heads_in(*self._unchecked_anchors.pop()) | self.heads

    def _is_signed(self, statement: str, payload: Mapping[str, Any]) -> bool:
        # If no key was given, the first one to sign is expected from then on, and shown for
        # comparison.
        if self.trusted is None:
            self.trusted = {payload["key"]}
        if payload["key"] not in self.trusted or payload["key"] in self.retired:
            return False
        return is_signed(statement, payload["signature"], payload["key"])


class RunChain(Chain):
    """A run's chain, compared with what its project's checkpoints signed."""

    def __init__(self, project: ProjectChain, run: str) -> None:
        super().__init__()
        # Its project's chain was read before, and says what was signed.
        self._anchor = project.heads.get(run)
        self._erased_through = project.erased.get(run, ErasedExtent()).rows
        self._anchored_at = _parse_time(project.anchored_at)
        self._is_reported = False

    def check_row(self, link: Link, *, may_be_blank: bool = False) -> Iterator[Fault]:
        """Read the next row."""
        is_erased = link.seq <= self._erased_through and link.type != COST_EVENT
        is_blank = link.payload is None and link.salt is None
        yield from super().check_row(link, may_be_blank=may_be_blank or (is_erased and is_blank))
        anchored_seq = self._anchor.seq if self._anchor else -1
        # A chain can be rewritten so that each row fits the next: the signed hash then differs.
        if self._anchor and link.seq == anchored_seq and link.hash != self._anchor.hash:
            yield fault_at(link, "rewritten")
        # The last checkpoint would include a row that old, so it was inserted afterwards.
        anchored_at, at = self._anchored_at, _parse_time(link.at)
        is_old = anchored_at is not None and at is not None and at < anchored_at - CLOCK_TOLERANCE
        if link.seq > anchored_seq and is_old and not self._is_reported:
            self._is_reported = True
            yield fault_at(link, "unanchored")

    def check_signed_end(self, *, project: str, run: str) -> Iterator[Fault]:
        """Compare the end with the last checkpoint."""
        if self._anchor and self.length <= self._anchor.seq:
            row = self.last.id if self.last else self._anchor.row
            yield Fault(kind="cut", project=project, run=run, seq=self.length - 1, row=row)


def fault_at(link: Link, kind: str, **details: str) -> Fault:
    """Return a fault of a row."""
    return Fault(
        kind=kind, project=link.project, run=link.run, seq=link.seq, row=link.id, **details
    )


def missing_runs(project: str, chain: ProjectChain, seen: Collection[str]) -> Iterator[Fault]:
    """Yield the signed runs that are missing."""
    for run, head in chain.heads.items():
        if run not in seen:
            yield Fault(kind="run_missing", project=project, run=run, seq=head.seq, row=head.row)


def _parse_time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


class HeadsFile:
    """A project's file of heads, compared with its chain while that is read.

    Each line names a checkpoint: its number, its row's position and hash, signed. What the
    file knows, the chain must have. Only a line that differs has its signature checked.
    """

    def __init__(
        self, project: str, lines: Iterable[str], *, trusted: Collection[str] | None
    ) -> None:
        self.lines = 0
        self.since: str | None = None
        self.last: dict[str, Any] | None = None
        self._project = project
        self._trusted = trusted
        # Read on demand: a file of heads grows by a line a minute for years.
        self._texts = iter(lines)
        self._next = self._read_next()
        self._differs = False

    def check_row(self, link: Link) -> Iterator[Fault]:
        """Check that a checkpoint in the file for this row is the same as the row."""
        while self._next is not None and self._row_seq(self._next) <= link.seq:
            line, self._next = self._next, self._read_next()
            # A line that agrees with a valid chain needs no check of its signature, which would
            # cost more than all the rest.
            if (self._row_seq(line), line.get("hash")) == (link.seq, link.hash):
                continue
            if not self._is_signed_line(line):
                yield self._unsigned_fault(line)
            elif not self._differs:  # after the first, all differ
                self._differs = True
                yield fault_at(link, "other_history", what=_checkpoint_name(line))

    def check_end(self, last: Link | None) -> Iterator[Fault]:
        """Yield a fault for the checkpoints that only the file knows."""
        known: list[dict[str, Any]] = []
        while self._next is not None:
            line, self._next = self._next, self._read_next()
            if self._is_signed_line(line):
                # Name the first and the last: everything between them is missing.
                known = [known[0] if known else line, line]
            else:
                yield self._unsigned_fault(line)
        if known:
            named = " to ".join(dict.fromkeys(_checkpoint_name(line) for line in known))
            yield Fault(
                kind="older_copy",
                project=self._project,
                seq=known[0]["seq"],
                row=last.id if last else None,
                what=named,
            )

    def _read_next(self) -> dict[str, Any] | None:
        """Read the next line, a line that is no object as an empty one; None at the end."""
        text = next(self._texts, None)
        if text is None:
            return None
        self.lines += 1
        try:
            line: Any = json.loads(text)
        except ValueError:
            line = None
        line = line if isinstance(line, dict) else {}
        self.since, self.last = self.since or line.get("at"), line
        return {**line, "line": self.lines}

    def _row_seq(self, line: Mapping[str, Any]) -> int:
        # -1: a line without a row is checked at the beginning, and reported if nobody signed it.
        seq = line.get("seq")
        return seq if isinstance(seq, int) else -1

    def _is_signed_line(self, line: Mapping[str, Any]) -> bool:
        signed = {name: value for name, value in line.items() if name != "line"}
        # A line may contain anything, because anybody could have written the file.
        key = str(signed.get("key"))
        if self._trusted is not None and key not in self._trusted:
            return False
        is_here = signed.get("project") == self._project
        return is_here and is_signed(head_statement(signed), str(signed.get("signature")), key)

    def _unsigned_fault(self, line: Mapping[str, Any]) -> Fault:
        return Fault(kind="heads_file", project=self._project, what=str(line["line"]))


def _checkpoint_name(line: Mapping[str, Any]) -> str:
    return f"{line.get('number')} of {line.get('at')}"


@dataclass(slots=True, kw_only=True)
class Verification:
    """The result of verifying an export."""

    rows: int = 0
    faults: list[Fault] = field(default_factory=list)
    projects: dict[str, ProjectChain] = field(default_factory=dict)


def verify_export(
    path: Path, *, trusted: Collection[str] | None = None, heads: Collection[Path] = ()
) -> Verification:
    """Verify an export, JSON Lines in any order, and the files of heads beside it.

    Read twice: first what the projects' own rows sign, then the runs' rows.
    """
    verification = Verification()
    heads_files: dict[str, HeadsFile] = {}
    for one in heads:
        lines = one.read_text(encoding="utf-8").splitlines()
        project = json.loads(lines[0])["project"] if lines else one.stem
        heads_files[project] = HeadsFile(project, lines, trusted=trusted)
    # The projects' own chains first: what they sign of a run is needed to check that run.
    for link in _sort_rows(link for link in read_export(path) if link.run is None):
        chain = verification.projects.setdefault(link.project, ProjectChain(trusted=trusted))
        verification.faults += chain.check_row(link)
        if link.project in heads_files:
            verification.faults += heads_files[link.project].check_row(link)
        verification.rows += 1
    for project, heads_file in heads_files.items():
        chain = verification.projects.setdefault(project, ProjectChain(trusted=trusted))
        verification.faults += heads_file.check_end(chain.last)
    runs: dict[tuple[str, str], RunChain] = {}
    for link in _sort_rows(link for link in read_export(path) if link.run is not None):
        key = (link.project, str(link.run))
        # A project without rows has signed nothing: its runs are only checked in themselves.
        of_project = verification.projects.setdefault(link.project, ProjectChain(trusted=None))
        run_chain = runs.setdefault(key, RunChain(of_project, key[1]))
        verification.rows += 1
        verification.faults += run_chain.check_row(link)
    for (project, run), run_chain in runs.items():
        verification.faults += run_chain.check_signed_end(project=project, run=run)
    for project, of_project in verification.projects.items():
        seen = {run for of, run in runs if of == project}
        verification.faults += missing_runs(project, of_project, seen)
        verification.faults += of_project.check_pending()
    return verification


def read_export(path: Path) -> Iterator[Link]:
    """Read the rows of an export."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            payload = row["payload"]
            # The export contains JSON, but what was hashed is its canonical text. Times too:
            # `+00:00` and `Z` are the same time but give different hashes.
            text = None if payload is None else canonical(payload)
            at = datetime.fromisoformat(row["at"]).isoformat()
            yield Link(
                **{name: row.get(name) for name in Link._fields} | {"payload": text, "at": at}
            )


def _sort_rows(links: Iterable[Link]) -> Iterator[Link]:
    """Yield each chain's rows in order: two written in the same millisecond may be swapped."""
    due: dict[tuple[str, str | None], int] = defaultdict(int)
    early: dict[tuple[str, str | None], dict[int, Link]] = defaultdict(dict)
    for link in links:
        chain = (link.project, link.run)
        # Kept until its turn, so that only rows that came too soon are in memory.
        early[chain][link.seq] = link
        while due[chain] in early[chain]:
            yield early[chain].pop(due[chain])
            due[chain] += 1
    for rows in early.values():  # after a gap
        yield from (rows[seq] for seq in sorted(rows))


def main(arguments: list[str] | None = None) -> int:
    """Verify an export; return 0 if it holds, 1 if it does not, 2 if it cannot be read."""
    parser = argparse.ArgumentParser(description="Verify an exported audit log.")
    parser.add_argument("export", type=Path, help="JSON Lines, as /api/v1/audit/export/ gives them")
    parser.add_argument(
        "--key",
        action="append",
        metavar="HEX",
        help="a public key you trust, from `manage.py verify_audit --public-key`; may be repeated",
    )
    parser.add_argument(
        "--heads",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a file of heads, from the data directory or from where they are sent",
    )
    options = parser.parse_args(arguments)
    try:
        verification = verify_export(options.export, trusted=options.key, heads=options.heads)
    # 2, not 1: a file that is no export must not look like one that was tampered with.
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"{options.export} cannot be read: {type(error).__name__}: {error}\n")
        return 2
    lines = [fault.words for fault in verification.faults]
    for name, chain in verification.projects.items():
        signed = chain.anchors - chain.old_anchors
        lines.append(
            f"project {name}: {signed} signed checkpoints, the last of {chain.anchored_at}"
        )
        if chain.old_anchors:
            lines.append(
                f"  {chain.old_anchors} older ones are signed as only the server can check"
            )
        if options.key is None and signed:
            # Whoever rewrote the log could sign it again with their own key.
            key = ", ".join(chain.trusted or ())
            lines.append(f"  signed with {key}: compare it with your server's key")
    lines.append(
        f"{verification.rows} rows: {'they do not hold' if verification.faults else 'they hold'}"
    )
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 1 if verification.faults else 0


if __name__ == "__main__":
    sys.exit(main())
