"""An agent's settings file on disk: found, shown as a change, kept out of git."""

from __future__ import annotations

import difflib
import json
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guard.adapters.hook_settings import HookSettings
from guard.connect.undo import forget_before, is_known, put_back, undoable
from guard.errors import ConnectRefused
from guard.sdk.keys import USER_WIDE, write_private


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
