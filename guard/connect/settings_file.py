"""An agent's settings file: find it, show a change, keep it out of git, restore it.

Its content before `guard connect` is kept beside the keys, readable by its owner alone, while we
are connected. A file that somebody else changed meanwhile is not restored: their change would be
lost.
"""

from __future__ import annotations

import base64
import contextlib
import difflib
import hashlib
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from guard.adapters.base import HookSettings
from guard.errors import ConnectRefused
from guard.sdk.connections import USER_WIDE, connections_path, write_private


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """An agent's settings file for one project, or for the user.

    `place` is the project's directory, or `USER_WIDE`.
    """

    path: Path
    place: str

    def read(self) -> dict[str, Any]:
        """Read it; empty if it does not exist.

        Raises:
            ConnectRefused: Its content is unreadable, and writing would destroy it.
        """
        try:
            # Windows editors may begin a file with a byte order mark; a file may also be empty.
            settings = json.loads(self.path.read_text("utf-8-sig").strip() or "{}")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ConnectRefused(
                f"{self.path} cannot be read ({error}); it stays as it is."
            ) from error
        if not isinstance(settings, dict):
            raise ConnectRefused(f"{self.path} holds no JSON object; it stays as it is.")
        return settings

    def read_to_connect(self, events: Iterable[str]) -> dict[str, Any]:
        """Read it, and check that our hooks fit beside its entries for these events.

        Raises:
            ConnectRefused: They do not, or the content is unreadable.
        """
        settings = self.read()
        hooks = settings.get("hooks", {})
        if not isinstance(hooks, dict):
            raise ConnectRefused(f'{self.path}: "hooks" is no object; it stays as it is.')
        for event in events:
            if not isinstance(hooks.get(event, []), list):
                raise ConnectRefused(f"{self.path}: {event} is no list; it stays as it is.")
        return settings

    def write(self, settings: dict[str, Any]) -> None:
        """Write it, readable by its owner alone; remove the file if nothing is left."""
        if settings:
            write_private(self.path, _encode(self._json_text(settings)))
        else:
            self.path.unlink(missing_ok=True)

    def _json_text(self, settings: dict[str, Any]) -> str:
        """Write it in its own style: with the same indentation and the same end."""
        # A file under version control should differ only by our hooks.
        theirs = self.path.read_bytes().decode() if self.path.exists() else ""
        indent = _INDENT.search(theirs)
        text = json.dumps(settings, indent=indent[1] if indent else 2, ensure_ascii=False)
        text = text if theirs and not theirs.endswith("\n") else text + "\n"
        mark = _BYTE_ORDER_MARK if theirs.startswith(_BYTE_ORDER_MARK) else ""
        return mark + (text.replace("\n", "\r\n") if "\r\n" in theirs else text)


_INDENT = re.compile(r'\n([ \t]{1,8})"')
# The byte order mark of Windows editors.
_BYTE_ORDER_MARK = "\ufeff"


def settings_file(agent: HookSettings, project_dir: str | None) -> SettingsFile:
    """Return the file that an agent reads: the project's, or the user's.

    Raises:
        ConnectRefused: The project directory does not exist.
    """
    # A dotfiles repository may link it in: its real place counts.
    if project_dir is None:
        return SettingsFile(path=agent.path(None).resolve(), place=USER_WIDE)
    project = Path(project_dir).resolve()
    if not project.is_dir():
        raise ConnectRefused(f"{project} is no directory.")
    return SettingsFile(path=agent.path(project).resolve(), place=str(project))


def diff_of(path: Path, before: dict[str, Any], after: dict[str, Any]) -> str:
    """Show a change as a diff, with keys masked; empty if nothing changes."""
    lines = difflib.unified_diff(
        # A missing file is shown as no lines, not as an empty object.
        _json_text(before).splitlines() if before else [],
        _json_text(after).splitlines() if after else [],
        fromfile=str(path),
        tofile=str(path),
        lineterm="",
    )
    return BEARER.sub(r"\1…", "\n".join(lines))


# A key in a header; its first letters, which identify it, are kept.
BEARER = re.compile(r'(Bearer [^"\s]{0,6})[^"\s]*')


def exclude_file(root: Path) -> Path | None:
    """Return the file that keeps files out of git for this clone alone."""
    where = _run_git(root, "rev-parse", "--git-path", "info/exclude")
    return (root / where.strip()).resolve() if where else None


def undo_keep_out_of_git(path: Path) -> None:
    """Undo `keep_out_of_git`, even if more was added since."""
    root = _repository_root(path)
    exclude = exclude_file(root) if root else None
    if exclude is None or root is None or not has_original(exclude):
        return
    line = f"/{path.relative_to(root).as_posix()}"
    if not restore_file(exclude) and exclude.exists():
        lines = exclude.read_text("utf-8").splitlines(keepends=True)
        exclude.write_text("".join(one for one in lines if one.strip() != line), "utf-8")
    forget_original(exclude)


def keep_out_of_git(path: Path) -> str | None:
    """Make sure that git will not take this file; return what was done for that.

    Raises:
        ConnectRefused: Git already tracks it, or cannot be asked.
    """
    root = _repository_root(path)
    if root is None:
        return None
    if _run_git(root, "ls-files", "--error-unmatch", "--", str(path)) is not None:
        raise ConnectRefused(
            f"Git tracks {path}, and the agent key must not be committed. "
            f"Run `git rm --cached {path}` first, or connect another place."
        )
    # Already ignored, by whatever rule: nothing to add.
    if _run_git(root, "check-ignore", "-q", "--", str(path)) is not None:
        return None
    # Not .gitignore, which belongs to the project and would be committed.
    exclude, line = exclude_file(root), f"/{path.relative_to(root).as_posix()}"
    if exclude is None:
        raise ConnectRefused(f"Git would take up {path}, and its exclude file cannot be found.")
    with undoable(exclude):
        exclude.parent.mkdir(parents=True, exist_ok=True)
        content = exclude.read_text("utf-8") if exclude.exists() else ""
        ended = content if not content or content.endswith("\n") else content + "\n"
        exclude.write_text(f"{ended}{line}\n", "utf-8")
    return f"added {line} to {exclude}"


def _repository_root(path: Path) -> Path | None:
    """Find the root of the repository around a file that may not exist yet."""
    marked = [folder for folder in path.parents if (folder / ".git").exists()]
    if not marked:
        return None
    # Without an answer from git, a key might be committed: better not to connect.
    if _run_git(marked[0], "rev-parse", "--is-inside-work-tree") is None:
        raise ConnectRefused(
            f"{marked[0]} is a git repository, but git cannot be asked whether it tracks {path}."
        )
    return marked[0]


def _run_git(root: Path, *command: str) -> str | None:
    """Run git; return None if it failed or is missing."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *command],
            capture_output=True,
            timeout=10,
            check=True,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _json_text(settings: dict[str, Any]) -> str:
    return _encode(json.dumps(settings, indent=2, ensure_ascii=False) + "\n").decode()


def _encode(text: str) -> bytes:
    # A lone surrogate, from a text that was cut, stays the escape that JSON has for it.
    return text.encode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalFile:
    """A file as it was.

    Attributes:
        content: Its bytes in base64; None: there was no file.
        mode: Its permissions.
        folders: The folders that were created for it, innermost first.
        wrote: The digest of what we wrote last; empty if that cannot be undone.
    """

    content: str | None
    mode: int
    folders: tuple[str, ...]
    wrote: str = ""


@contextlib.contextmanager
def undoable(path: Path, *, is_theirs: bool = True) -> Iterator[None]:
    """Remember a file's content while it is written.

    `is_theirs`: it held nothing of ours, so restoring it leads to a state without us.
    """
    # Before they are created: `disconnect` removes them again if they are empty.
    wanted = (*path.parents, *_originals_path().parents)
    missing = tuple(str(folder) for folder in wanted if not folder.exists())
    if not path.exists():
        # No mode to restore; our file is readable by its owner alone, since it may hold a key.
        found = OriginalFile(content=None, mode=0o600, folders=missing)
    else:
        content = base64.b64encode(path.read_bytes()).decode()
        found = OriginalFile(content=content, mode=path.stat().st_mode & 0o777, folders=missing)
    digest = _digest(path)
    yield
    originals = _read_originals()
    known = originals.get(str(path))
    # Restoring must lead to a state without us, and must not lose anybody else's change.
    leads_back = is_theirs if known is None else known.wrote == digest
    before = replace(known or found, wrote=_digest(path) if leads_back else "")
    _write_originals(originals | {str(path): before})


def restore_file(path: Path) -> bool:
    """Restore a file byte for byte; False: somebody changed it, or its old content is unknown."""
    before = _read_originals().get(str(path))
    if before is None or not before.wrote or before.wrote != _digest(path):
        return False
    if before.content is None:
        path.unlink()
    else:
        write_private(path, base64.b64decode(before.content))
        # After writing: `write_private` makes the file readable by its owner alone.
        path.chmod(before.mode)
    return True


def has_original(path: Path) -> bool:
    """Whether `guard connect` wrote this file."""
    return str(path) in _read_originals()


def forget_original(path: Path) -> None:
    """Forget a file's old content; remove the empty folders that were created for it."""
    originals = _read_originals()
    before = originals.pop(str(path), None)
    if before is None:
        return
    _write_originals(originals)
    for folder in before.folders:
        _remove_empty(Path(folder))
    left = tuple(folder for folder in before.folders if Path(folder).exists())
    if left and originals:  # the last agent that is disconnected removes them
        path_of_next, following = originals.popitem()
        _write_originals(
            originals | {path_of_next: replace(following, folders=(*following.folders, *left))}
        )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "no file"


def _originals_path() -> Path:
    return connections_path().with_name("before.json")


def _read_originals() -> dict[str, OriginalFile]:
    try:
        # If unreadable, files cannot be restored byte for byte, but our hooks can be removed.
        rows: Any = json.loads(_originals_path().read_bytes())
        return {
            path: OriginalFile(**{**row, "folders": tuple(row["folders"])})
            for path, row in rows.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _write_originals(originals: dict[str, OriginalFile]) -> None:
    if originals:
        rows = {path: asdict(before) for path, before in originals.items()}
        write_private(_originals_path(), json.dumps(rows, indent=1).encode())
    else:
        _originals_path().unlink(missing_ok=True)
        _remove_empty(_originals_path().parent)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # it contains something else by now
        folder.rmdir()
