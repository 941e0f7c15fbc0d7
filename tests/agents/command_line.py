"""Subcommands of `guard`, called as a person calls them."""

from guard.cli import COMMANDS, main


def call(module, *words):
    """Run the subcommand that a module holds; answers its exit status."""
    name = next(name for name, (path, _) in COMMANDS.items() if path == module.__name__)
    return main([name, *map(str, words)])
