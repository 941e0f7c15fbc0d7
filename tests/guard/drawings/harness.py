"""How different coding agents name the same deeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Call = tuple[str, dict[str, Any]]


class ClaudeCode:
    """Tools of an interactive terminal agent."""

    name = "claude"

    def read(self, path: str, first: int, count: int) -> Call:
        args: dict[str, Any] = {"file_path": f"/home/dev/project/{path}"}
        if first > 1:
            args |= {"offset": first, "limit": count}
        return "Read", args

    def shown(self, path: str, lines: Sequence[str], first: int) -> str:
        return "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(lines, first))

    def edit(self, path: str, old: str, new: str) -> Call:
        file = f"/home/dev/project/{path}"
        return "Edit", {"file_path": file, "old_string": old, "new_string": new}

    def edited(self, path: str, lines: Sequence[str], first: int) -> str:
        head = f"The file /home/dev/project/{path} has been updated. Here's the result of running"
        return f"{head} `cat -n` on a snippet:\n{self.shown(path, lines, first)}"

    def shell(self, command: str, why: str = "") -> Call:
        args = {"command": command}
        return "Bash", args | ({"description": why} if why else {})

    def grep(self, pattern: str, where: str) -> Call:
        return "Grep", {"pattern": pattern, "path": where, "output_mode": "content", "-n": True}

    def plan(self, items: Sequence[tuple[str, str]]) -> tuple[Call, str]:
        todos = [{"content": text, "status": state, "activeForm": text} for text, state in items]
        note = (
            "Todos have been modified successfully. Ensure that you continue to use the todo "
            "list to track your progress. Please proceed with the current tasks if applicable"
        )
        return ("TodoWrite", {"todos": todos}), note


class Codex(ClaudeCode):
    """A shell as a list of words, patches, a plan."""

    name = "codex"

    def read(self, path: str, first: int, count: int) -> Call:
        return self.shell(f"sed -n '{first},{first + count - 1}p' {path}")

    def shown(self, path: str, lines: Sequence[str], first: int) -> str:
        return "\n".join(lines)

    def edit(self, path: str, old: str, new: str) -> Call:
        minus = "\n".join(f"-{line}" for line in old.splitlines())
        plus = "\n".join(f"+{line}" for line in new.splitlines())
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{minus}\n{plus}\n*** End Patch"
        return "apply_patch", {"input": patch}

    def edited(self, path: str, lines: Sequence[str], first: int) -> str:
        return f"Success. Updated the following files:\nM {path}"

    def shell(self, command: str, why: str = "") -> Call:
        return "shell", {"command": ["bash", "-lc", command], "workdir": "/home/dev/project"}

    def grep(self, pattern: str, where: str) -> Call:
        return self.shell(f"rg -n '{pattern}' {where}")

    def plan(self, items: Sequence[tuple[str, str]]) -> tuple[Call, str]:
        plan = [{"step": text, "status": state} for text, state in items]
        return ("update_plan", {"plan": plan}), "Plan updated"


class OpenHands(ClaudeCode):
    """One editor tool with sub-commands, one shell."""

    name = "openhands"

    def read(self, path: str, first: int, count: int) -> Call:
        args: dict[str, Any] = {"command": "view", "path": f"/workspace/{path}"}
        return "str_replace_editor", args | {"view_range": [first, first + count - 1]}

    def shown(self, path: str, lines: Sequence[str], first: int) -> str:
        head = f"Here's the result of running `cat -n` on /workspace/{path}:\n"
        return head + super().shown(path, lines, first)

    def edit(self, path: str, old: str, new: str) -> Call:
        args = {"command": "str_replace", "path": f"/workspace/{path}"}
        return "str_replace_editor", args | {"old_str": old, "new_str": new}

    def edited(self, path: str, lines: Sequence[str], first: int) -> str:
        return (
            f"The file /workspace/{path} has been edited. Here's the result of running `cat -n` "
            f"on a snippet of /workspace/{path}:\n{ClaudeCode.shown(self, path, lines, first)}\n"
            "Review the changes and make sure they are as expected. Edit the file again if "
            "necessary."
        )

    def shell(self, command: str, why: str = "") -> Call:
        return "execute_bash", {"command": command}

    def grep(self, pattern: str, where: str) -> Call:
        return self.shell(f'grep -rn "{pattern}" /workspace/{where}')

    def plan(self, items: Sequence[tuple[str, str]]) -> tuple[Call, str]:
        mark = {"completed": "x", "in_progress": "~", "pending": " "}
        lines = "\n".join(f"- [{mark[state]}] {text}" for text, state in items)
        return ("task_tracker", {"command": "plan", "task_list": lines}), (
            f"Task list has been updated with {len(items)} items. Stored in session directory."
        )


class SweAgent(ClaudeCode):
    """A windowed file viewer driven by text commands."""

    name = "swe"

    def read(self, path: str, first: int, count: int) -> Call:
        return "open", {"command": f"open {path} {first + count // 2}"}

    def shown(self, path: str, lines: Sequence[str], first: int) -> str:
        body = "\n".join(f"{n}:{line}" for n, line in enumerate(lines, first))
        above = f"({first - 1} more lines above)\n" if first > 1 else ""
        return (
            f"[File: /{path} (412 lines total)]\n{above}{body}\n"
            f"(Open file: /{path})\n(Current directory: /repo)\nbash-$"
        )

    def edit(self, path: str, old: str, new: str) -> Call:
        first = 20 + sum(map(ord, old)) % 180
        last = first + len(old.splitlines()) - 1
        return "edit", {"command": f"edit {first}:{last}\n{new}\nend_of_edit"}

    def edited(self, path: str, lines: Sequence[str], first: int) -> str:
        return f"{self.shown(path, lines, first)}\nFile updated. Please review the changes."

    def shell(self, command: str, why: str = "") -> Call:
        return command.split(maxsplit=1)[0], {"command": command}

    def grep(self, pattern: str, where: str) -> Call:
        return "search_dir", {"command": f'search_dir "{pattern}" {where}'}

    def plan(self, items: Sequence[tuple[str, str]]) -> tuple[Call, str]:
        lines = "\n".join(f"{state}: {text}" for text, state in items)
        return ("think", {"thought": lines}), "Your thought has been logged."


HARNESSES = {kind.name: kind for kind in (ClaudeCode, Codex, OpenHands, SweAgent)}
