"""The `guard` command. A subcommand's module is loaded only when it is called."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from guard.errors import GuardError

# Name -> (module with `add_arguments(parser)` and `run(args) -> int`, help).
COMMANDS: dict[str, tuple[str, str]] = {
    "replay": ("guard.replay", "run the engine over recorded runs, no server"),
    "explain": ("guard.explain.command", "explain why a turn was or was not flagged"),
    "report": ("guard.report.command", "find loops in past sessions, and what they cost"),
    "bench": ("guard.bench.command", "measure policies on labelled runs"),
    "fit": ("guard.bench.fit", "fit the weights of the stuck score on labelled runs"),
    "connect": ("guard.connect.command", "write the hook settings of an agent"),
    "disconnect": ("guard.connect.disconnect", "remove the hook settings of an agent"),
    "key": ("guard.connect.setup_code", "exchange a set-up code for an agent key"),
    "doctor": ("guard.connect.doctor", "check the hook settings of an agent"),
    "run": (
        "guard.running.command",
        "run an agent command so that it can be paused, steered and ended",
    ),
    "outbox": ("guard.sdk.outbox_command", "list or send the turns queued for a server"),
    "hook": ("guard.hooks.command", "forward an agent's hook call; agents call this"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    called = given[0] if given else ""
    parser = argparse.ArgumentParser(prog="guard", description="Notice agents that are stuck.")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=text, description=text)
        # A hook runs before every tool call, so only the called command is loaded.
        if name == called:
            importlib.import_module(module).add_arguments(subparser)
    args = parser.parse_args(given)
    command = importlib.import_module(COMMANDS[args.command][0])
    try:
        return int(command.run(args))
    except GuardError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except BrokenPipeError:
        # `guard replay … | head` closes the pipe early, which is not an error. Closing stderr keeps
        # Python from reporting one when it flushes stdout at exit.
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
