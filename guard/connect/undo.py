"""What stood in a file before `guard connect` wrote it, so that `disconnect` puts it back.

Kept beside the keys, readable by its owner alone, for as long as we are connected. A
file that somebody else changed meanwhile is not put back: their change would be lost.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from guard.sdk.keys import keys_path, write_private


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A file as it was.

    Attributes:
        content: Its bytes in base64; None: there was no file.
        mode: Its permissions.
        folders: Those that were made for it, innermost first.
        wrote: The digest of what we wrote last; empty where that does not lead back.
    """

    content: str | None
    mode: int
    folders: tuple[str, ...]
    wrote: str = ""


@contextlib.contextmanager
def undoable(path: Path, *, is_theirs: bool = True) -> Iterator[None]:
    """Remember a file as it is, while it is written.

    `is_theirs`: nothing of ours stood in it, so that going back leads to a state
    without us.
    """
    # Before they are made: `disconnect` removes those that are empty again.
    wanted = (*path.parents, *_file().parents)
    missing = tuple(str(folder) for folder in wanted if not folder.exists())
    if not path.exists():
        # No mode to go back to; a file of ours is its owner's alone, since it may hold a key.
        found = Before(content=None, mode=0o600, folders=missing)
    else:
        content = base64.b64encode(path.read_bytes()).decode()
        found = Before(content=content, mode=path.stat().st_mode & 0o777, folders=missing)
    digest = _digest(path)
    yield
    kept = _kept()
    known = kept.get(str(path))
    # Going back must lead to a state without us, and lose no change of somebody else's.
    leads_back = is_theirs if known is None else known.wrote == digest
    before = replace(known or found, wrote=_digest(path) if leads_back else "")
    _keep(kept | {str(path): before})


def put_back(path: Path) -> bool:
    """Put a file back as it was, byte for byte; False: somebody changed it, or we don't know."""
    before = _kept().get(str(path))
    if before is None or not before.wrote or before.wrote != _digest(path):
        return False
    if before.content is None:
        path.unlink()
    else:
        write_private(path, base64.b64decode(before.content))
        # After it is written: `write_private` gives the file to its owner alone.
        path.chmod(before.mode)
    return True


def is_known(path: Path) -> bool:
    """Whether `guard connect` wrote this file."""
    return str(path) in _kept()


def forget_before(path: Path) -> None:
    """Drop what is remembered of a file, and the folders made for it that are empty."""
    kept = _kept()
    before = kept.pop(str(path), None)
    if before is None:
        return
    _keep(kept)
    for folder in before.folders:
        _remove_empty(Path(folder))
    left = tuple(folder for folder in before.folders if Path(folder).exists())
    if left and kept:  # whoever is disconnected last removes them
        path_of_next, following = kept.popitem()
        _keep(kept | {path_of_next: replace(following, folders=(*following.folders, *left))})


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "no file"


def _file() -> Path:
    return keys_path().with_name("before.json")


def _kept() -> dict[str, Before]:
    try:
        # Unreadable, it only keeps us from going back byte for byte: our hooks still come out.
        rows: Any = json.loads(_file().read_bytes())
        return {
            path: Before(**{**row, "folders": tuple(row["folders"])}) for path, row in rows.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _keep(kept: dict[str, Before]) -> None:
    if kept:
        rows = {path: asdict(before) for path, before in kept.items()}
        write_private(_file(), json.dumps(rows, indent=1).encode())
    else:
        _file().unlink(missing_ok=True)
        _remove_empty(_file().parent)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # something else lies in it by now
        folder.rmdir()
