"""Which Codex commands can be driven through its app-server: `codex exec PROMPT`.

The app-server (0.169.0) takes a prompt, steers and interrupts a running turn, and reports what is
used. If it cannot do what a command needs, the reason is printed and the command runs as it is:
then a text reaches the model at its next tool, and a signal ends it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

SCREEN_NOT_STEERED = (
    "Codex's own screen cannot be steered from here. It runs as it is: texts arrive at its "
    "next tool, and it is ended by a signal. `codex exec PROMPT` is steered at once."
)
NOT_STEERED = "This `codex exec` is not steered ({why}); texts arrive at its next tool."

# Subcommands of `codex exec`, in the place of a prompt.
OTHER_COMMANDS = frozenset({"resume", "fork", "review", "help"})
FULL_ACCESS = "danger-full-access"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexTask:
    """One prompt for the app-server.

    Attributes:
        program: The `codex` to call.
        prompt: What to do.
        options: What `codex app-server` takes as well: `-c`, `--enable`, `--disable`.
        thread: Fields of `thread/start`.
        as_json: Print events as JSON Lines.
        last_message: Write the last message into this file.
    """

    program: str
    prompt: str
    options: tuple[str, ...]
    thread: dict[str, object]
    as_json: bool = False
    last_message: Path | None = None


def read_command(command: Sequence[str]) -> CodexTask | str:
    """Read a `codex` command line; return a sentence if it cannot be driven."""
    if command[1:2] not in (["exec"], ["e"]):
        return SCREEN_NOT_STEERED
    try:
        # An unknown option prevents driving: it could mean anything.
        parser = _Parser(add_help=False, allow_abbrev=False)
        for names in (("-c", "--config"), ("--enable",), ("--disable",)):
            parser.add_argument(*names, action="append", default=[])
        parser.add_argument("-m", "--model")
        parser.add_argument("-s", "--sandbox")
        parser.add_argument("-C", "--cd", type=Path)
        parser.add_argument("-o", "--output-last-message", type=Path)
        parser.add_argument("--color")
        for flag in (
            "--json",
            "--ephemeral",
            "--skip-git-repo-check",
            "--dangerously-bypass-hook-trust",
            "--dangerously-bypass-approvals-and-sandbox",
        ):
            parser.add_argument(flag, action="store_true")
        parser.add_argument("prompt", nargs="?")
        options = parser.parse_args(command[2:])
        return _task_of(command[0], options)
    except _CannotDrive as why:
        return NOT_STEERED.format(why=why)


class _CannotDrive(Exception):
    """The reason why a command cannot be driven."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _CannotDrive(message)


def _task_of(program: str, options: argparse.Namespace) -> CodexTask:
    if options.prompt in OTHER_COMMANDS:
        raise _CannotDrive(f"`{options.prompt}` is a command of its own")
    # Codex itself would ask for one at the terminal, where nobody is expected.
    if options.prompt in (None, "-") and sys.stdin.isatty():
        raise _CannotDrive("it has no prompt")
    cwd = (options.cd or Path.cwd()).resolve()
    # The app-server does not refuse what `codex exec` refuses: work that cannot be undone.
    in_repository = any((folder / ".git").exists() for folder in (cwd, *cwd.parents))
    if not (options.skip_git_repo_check or in_repository):
        raise _CannotDrive("Codex itself has to say that this is no git repository")
    flags = {"-c": options.config, "--enable": options.enable, "--disable": options.disable}
    pairs = ((name, value) for name, values in flags.items() for value in values)
    # `codex exec` asks nobody: what needs an approval is not done.
    bypass = options.dangerously_bypass_approvals_and_sandbox
    fields: dict[str, object | None] = {
        "cwd": str(cwd),
        "approvalPolicy": "never",
        "model": options.model,
        "sandbox": FULL_ACCESS if bypass else options.sandbox,
        "ephemeral": options.ephemeral or None,
        "config": {"bypass_hook_trust": True} if options.dangerously_bypass_hook_trust else None,
    }
    # As `codex exec` reads it: piped text replaces a prompt, or follows it.
    stands_in = options.prompt in (None, "-")
    # A log may hold bytes that are not text; it must start all the same.
    raw = sys.stdin.buffer.read() if stands_in or not sys.stdin.isatty() else b""
    prompt = piped = raw.decode("utf-8", "replace")
    if not stands_in:
        prompt = (
            f"{options.prompt}\n\n<stdin>\n{piped}\n</stdin>"
            if piped.strip()
            else str(options.prompt)
        )
    return CodexTask(
        program=program,
        prompt=prompt,
        options=tuple(word for pair in pairs for word in pair),
        thread={name: value for name, value in fields.items() if value is not None},
        as_json=options.json,
        last_message=options.output_last_message,
    )
