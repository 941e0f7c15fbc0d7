"""What every small agent shares: a few tools, two prompts, an account at the end.

Nothing here imports a framework: each program beside it does, in its own process.
"""

import json
import os
import sys
import time
from pathlib import Path

from guard.sdk import conversation

# On two busy cores a server may take longer than the SDK gives it. Taken for away, it would not be
# asked: nobody sits at a terminal here, and who loops alone is ended, without a card.
conversation.NETWORK_S = 300.0

GREET = "Greet me."
LOOK = "Which settings are there?"
SURVEY = "Read some files."
"""The prompt of a run beside the one that loops."""
ran: list[str] = []


def read_file(path: str) -> str:
    """Read a file."""
    ran.append(path)
    return f"{path}: no such file"


def list_files(folder: str) -> str:
    """List the files of a folder."""
    ran.append(folder)
    return "settings.py"


def break_down(path: str) -> str:
    """Break down."""
    ran.append(path)
    raise ValueError(f"{path} broke")


def interrupt(path: str) -> str:
    """Do as a person does who presses Ctrl-C in the midst of a tool."""
    ran.append(path)
    raise KeyboardInterrupt


def name(story: str) -> str:
    """The name of a run of this process, known to the test."""
    return f"{os.environ['STORY']}-{story}"


def until(name: str) -> None:
    """Wait for a file of the test's."""
    while not Path(name).exists():
        time.sleep(0.02)


def stay() -> None:
    """Live on, as a server does: nothing but the agent's end may tell that its run is over."""
    until("leave")


def tell(**account: object) -> None:
    """Write what this agent knows of its own story; the test reads the last line."""
    sys.stdout.write(f"{json.dumps({'ran': ran, **account})}\n")
