"""An agent's settings file on disk: found, shown as a change, kept out of git, put back.

What stood in it before `guard connect` wrote it is kept beside the keys, readable by its owner
alone, for as long as we are connected. A file that somebody else changed meanwhile is not put
back: their change would be lost.
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
from guard.sdk.keys import USER_WIDE, keys_path, write_private


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """An agent's settings of one project, or of the person.

    `place` is the project's directory, or `USER_WIDE`.
    """

    path: Path
    place: str

    def read(self) -> dict[str, Any]:
        """Read it; empty where there is none.

        Raises:
            ConnectRefused: It holds something that we could only destroy.
        """
        try:
            # Editors of Windows begin a file with a mark; one that was only touched is empty.
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
        """Read it, where hooks of ours can stand beside what it holds for these events.

        Raises:
            ConnectRefused: They cannot, or it holds something that we could only destroy.
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
        """Write it, readable by its owner alone; nothing left to say: no file."""
        if settings:
            write_private(self.path, _bytes(self._text(settings)))
        else:
            self.path.unlink(missing_ok=True)

    def _text(self, settings: dict[str, Any]) -> str:
        """Write it as its owner does: indented alike, ended alike."""
        # A file that people keep under version control should differ by our hooks alone.
        theirs = self.path.read_bytes().decode() if self.path.exists() else ""
        indent = _INDENT.search(theirs)
        text = json.dumps(settings, indent=indent[1] if indent else 2, ensure_ascii=False)
        text = text if theirs and not theirs.endswith("\n") else text + "\n"
        mark = _MARK if theirs.startswith(_MARK) else ""
        return mark + (text.replace("\n", "\r\n") if "\r\n" in theirs else text)


_INDENT = re.compile(r'\n([ \t]{1,8})"')
# With which editors of Windows begin a file.
_MARK = "\ufeff"


def settings_file(agent: HookSettings, project_dir: str | None) -> SettingsFile:
    """Name the file an agent reads: the project's, or the person's.

    Raises:
        ConnectRefused: The project directory does not exist.
    """
    # A dotfiles repository may link it in: what counts is where it really lies.
    if project_dir is None:
        return SettingsFile(path=agent.path(None).resolve(), place=USER_WIDE)
    project = Path(project_dir).resolve()
    if not project.is_dir():
        raise ConnectRefused(f"{project} is no directory.")
    return SettingsFile(path=agent.path(project).resolve(), place=str(project))


def change(path: Path, before: dict[str, Any], after: dict[str, Any]) -> str:
    """Show a change as a diff, keys masked; empty where nothing changes."""
    lines = difflib.unified_diff(
        # A file that is not there is shown as no lines, not as an empty object.
        _text(before).splitlines() if before else [],
        _text(after).splitlines() if after else [],
        fromfile=str(path),
        tofile=str(path),
        lineterm="",
    )
    return BEARER.sub(r"\1…", "\n".join(lines))


# A key in a header; its first letters tell which one it is.
BEARER = re.compile(r'(Bearer [^"\s]{0,6})[^"\s]*')


def exclude_file(root: Path) -> Path | None:
    """Name the file in which this repository's owner keeps files out of git."""
    where = _git(root, "rev-parse", "--git-path", "info/exclude")
    return (root / where.strip()).resolve() if where else None


def take_into_git(path: Path) -> None:
    """Undo `keep_out_of_git`, whatever else was added since."""
    root = _work_tree(path)
    exclude = exclude_file(root) if root else None
    if exclude is None or root is None or not is_known(exclude):
        return
    line = f"/{path.relative_to(root).as_posix()}"
    if not put_back(exclude) and exclude.exists():
        lines = exclude.read_text("utf-8").splitlines(keepends=True)
        exclude.write_text("".join(one for one in lines if one.strip() != line), "utf-8")
    forget_before(exclude)


def keep_out_of_git(path: Path) -> str | None:
    """Make sure that git will not take up this file; tells what it did for it.

    Raises:
        ConnectRefused: Git tracks it already, or cannot be asked.
    """
    root = _work_tree(path)
    if root is None:
        return None
    if _git(root, "ls-files", "--error-unmatch", "--", str(path)) is not None:
        raise ConnectRefused(
            f"Git tracks {path}, and the agent key must not be committed. "
            f"Run `git rm --cached {path}` first, or connect another place."
        )
    # Ignored already, by whatever rule: nothing is to be added.
    if _git(root, "check-ignore", "-q", "--", str(path)) is not None:
        return None
    # Not .gitignore, which is the project's own and would be committed.
    exclude, line = exclude_file(root), f"/{path.relative_to(root).as_posix()}"
    if exclude is None:
        raise ConnectRefused(f"Git would take up {path}, and its exclude file cannot be found.")
    with undoable(exclude):
        exclude.parent.mkdir(parents=True, exist_ok=True)
        kept = exclude.read_text("utf-8") if exclude.exists() else ""
        ended = kept if not kept or kept.endswith("\n") else kept + "\n"
        exclude.write_text(f"{ended}{line}\n", "utf-8")
    return f"added {line} to {exclude}"


def _work_tree(path: Path) -> Path | None:
    """Find the repository's root around a file that may not exist yet."""
    marked = [folder for folder in path.parents if (folder / ".git").exists()]
    if not marked:
        return None
    # Without git's word a key might be committed: better not connected.
    if _git(marked[0], "rev-parse", "--is-inside-work-tree") is None:
        raise ConnectRefused(
            f"{marked[0]} is a git repository, but git cannot be asked whether it tracks {path}."
        )
    return marked[0]


def _git(root: Path, *command: str) -> str | None:
    """Ask git; None: it said no, or is not there."""
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


def _text(settings: dict[str, Any]) -> str:
    return _bytes(json.dumps(settings, indent=2, ensure_ascii=False) + "\n").decode()


def _bytes(text: str) -> bytes:
    # Half a character, cut off somewhere, stays the escape that JSON has for it.
    return text.encode("utf-8", "backslashreplace")


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
