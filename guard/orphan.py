"""End a waiting forwarder when its agent has gone: nobody is left to hear the answer.

A killed agent takes no leave of its hooks. A forwarder that went on waiting would keep
its request open, and the card would say that the agent waits.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from guard.ending import is_running

LOOKS_EVERY_S = 1.0


@contextmanager
def leaving_with_agent(agent_pid: int | None = None) -> Iterator[None]:
    """Watch meanwhile for the end of the agent, and end this process with it.

    Args:
        agent_pid: The agent's own process, where it is known; the process that started
            us is watched in any case. A shell between the two may outlive the agent.
    """
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(agent_gone(agent_pid), over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()


def agent_gone(agent_pid: int | None = None) -> Callable[[], bool]:
    """Return what tells whether the agent that started this process has gone."""
    parent = os.getppid()
    return lambda: os.getppid() != parent or (agent_pid is not None and not is_running(agent_pid))


def _watch(is_gone: Callable[[], bool], over: threading.Event) -> None:
    while not over.wait(LOOKS_EVERY_S):
        if is_gone():
            os._exit(0)
