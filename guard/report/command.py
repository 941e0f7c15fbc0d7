"""`guard report`: loops in past sessions, and what they cost."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from guard.adapters.installed import agent_session_folders
from guard.errors import GuardError
from guard.formats import read_recording
from guard.policy import DEFAULT_POLICY, Policy
from guard.printing import printable, progress
from guard.replay import add_policy_arguments, choose_policy
from guard.report.page import as_page
from guard.report.totals import EarlierFiles, Totals, counted, dollars, look_through

_ENDINGS = (".jsonl", ".json")
_USUAL_FOLDERS = ", ".join(f"~/{place}" for place in agent_session_folders())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help=f"folders or files (default: {_USUAL_FOLDERS})",
    )
    add_policy_arguments(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object")
    form.add_argument("--html", type=Path, metavar="FILE", help="a page with charts, in one file")


def run(args: argparse.Namespace) -> int:
    """Report on every session; return 2 for a wrong policy or path, 1 if there are no sessions."""
    try:
        policy = choose_policy(args.preset, args.policy)
    except GuardError as error:
        sys.stderr.write(f"guard report: {error}\n")
        return 2
    for path in args.paths:
        if not path.exists():
            sys.stderr.write(f"guard report: {printable(str(path))}: no such file or folder\n")
            return 2
    paths = args.paths or session_folders(Path.home())
    totals = add_up(paths, policy)
    if args.html:
        try:
            # A transcript may contain half a surrogate pair, which UTF-8 cannot encode.
            args.html.write_text(as_page(totals), encoding="utf-8", errors="replace")
        except OSError as error:
            sys.stderr.write(f"guard report: {printable(str(args.html))}: {error.strerror}\n")
            return 2
        sys.stdout.write(f"Written to {printable(str(args.html))}\n")
    elif args.json:
        sys.stdout.write(json.dumps(totals.as_mapping(), indent=1) + "\n")
    else:
        sys.stdout.write(as_text(totals))
    return 0 if totals.sessions else 1


def add_up(paths: list[Path], policy: Policy = DEFAULT_POLICY) -> Totals:
    """Analyse the sessions in folders and files one at a time, and add them up."""
    totals = Totals()
    # The folders are listed twice, so that progress can show the total.
    total = sum(len(folder) for folder in find_sessions(paths))
    # Per folder: a resumed session repeats only files in its own folder.
    sessions = (
        (path, earlier)
        for folder in find_sessions(paths)
        for earlier in [EarlierFiles()]
        for path in folder
    )
    for path, earlier in progress(sessions, total=total, what="sessions"):
        try:
            recording = read_recording(path)
        # Folders also hold other files, which are counted but do not stop the report.
        except GuardError:
            totals.skipped += 1
            continue
        totals.add(look_through(recording, policy, earlier), path)
    return totals


def session_folders(home: Path) -> list[Path]:
    """Return the agents' transcript folders that exist in a home directory."""
    return [folder for where in agent_session_folders() if (folder := home / where).is_dir()]


def find_sessions(paths: Iterable[Path]) -> Iterator[list[Path]]:
    """Yield the session files of each folder, the oldest first.

    A resumed session is repeated in a later file of its folder, so the files of
    one folder belong together.
    """

    def written_at(path: Path) -> tuple[float, str]:
        # A file may be deleted in the meantime; it then just sorts first.
        try:
            return path.stat().st_mtime, path.name
        except OSError:
            return 0.0, path.name

    for path in paths:
        if not path.is_dir():
            yield [path]
            continue
        for folder, below, names in os.walk(path):
            below.sort()  # os.walk visits these in order: the same on every file system
            found = [Path(folder, name) for name in names if name.endswith(_ENDINGS)]
            if found:
                yield sorted(found, key=written_at)


def as_text(totals: Totals) -> str:
    """Return the report as a page of text."""
    if not totals.sessions:
        where = f"Agents keep them in {_USUAL_FOLDERS}; name another place: guard report PATH\n"
        return f"No sessions found.\n{_not_counted(totals)}{where}"
    lines = f"{counted(totals.sessions, 'session')}, {counted(totals.turns, 'turn')}"
    lines += f", {dollars(totals.usd)}\n" if totals.priced else "\n"
    if not totals.loops:
        headline = lines + "No loops found.\n"
    else:
        place = f"{counted(totals.loops, 'loop')} in {counted(totals.looping, 'session')}"
        lines += (
            f"{place}: {counted(totals.wasted_turns, 'turn')} wasted ({totals.wasted_share:.1%})"
        )
        headline = lines + (f", {dollars(totals.wasted_usd)}\n" if totals.priced else "\n")
    parts = [headline, _not_counted(totals)]
    if totals.loops:
        heading = f"The {len(totals.worst)} worst" if len(totals.worst) > 1 else "It was"
        parts.append(f"\n{heading}:\n")
    for number, found in enumerate(totals.worst, 1):
        loop = found.loop
        cost = "" if loop.usd is None else f", {dollars(loop.usd)}"
        when = "" if loop.at is None else f" on {loop.at:%Y-%m-%d %H:%M}"
        call = f"     {printable(loop.call)}\n" if loop.call else ""
        path = printable(str(found.path), max_length=400)
        parts.append(
            f"{number:3}. {counted(loop.turns, 'turn')}{cost}: {printable(loop.summary)}\n{call}"
            f"     turns {loop.first} to {loop.alarm}{when}: {path}\n"
        )
    return "".join(parts)


def _not_counted(totals: Totals) -> str:
    return "".join(f"  {line}\n" for line in totals.left_out())
