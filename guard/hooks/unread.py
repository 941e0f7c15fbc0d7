"""End with the agent: when it was killed, nobody reads our answer any more."""

from __future__ import annotations

import os
import select
import threading


def end_when_unread() -> threading.Event:
    """Watch standard output from now on; end this process once its reader is gone.

    The event, once set, ends the watch: who has the answer may have work left that
    is not for the reader.

    A forwarder whose agent was killed would otherwise hold its request open, and
    a card would show an agent that waits. Where the system cannot tell (Windows;
    a file, a terminal), nothing happens.
    """
    answered = threading.Event()

    def watch() -> None:
        reader = select.poll()
        reader.register(1, 0)  # no readiness is asked for: only hang-up and error come
        reader.poll()
        if not answered.is_set():
            os._exit(0)  # the main thread sits in a read that nothing else would end

    if hasattr(select, "poll"):
        threading.Thread(target=watch, daemon=True).start()
    return answered
