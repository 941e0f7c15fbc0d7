"""Which session a watched call belongs to."""

from __future__ import annotations

import atexit
import os
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from guard.sdk.forking import ProcessLock

if TYPE_CHECKING:
    from guard.sdk.aio import AsyncSession
    from guard.sdk.session import Session

    AnySession: TypeAlias = Session | AsyncSession

_current: ContextVar[AnySession | None] = ContextVar("missioncontrol_session", default=None)
_open: list[AnySession] = []
# With the process that opened it: a fork takes the value along, but not the run.
_default: tuple[int, Session] | None = None
_process = ProcessLock()


def enter(session: AnySession) -> AnySession | None:
    """Make a session the one of this context; gives the one it was before."""
    before = _current.get()
    _current.set(session)
    with _process.lock:
        _open.append(session)
    return before


def leave(session: AnySession, before: AnySession | None) -> None:
    """Undo `enter`."""
    _current.set(before)
    with _process.lock:
        # One that is left twice stands here no more.
        if session in _open:
            _open.remove(session)


def current_session() -> AnySession:
    """Return the session of this context, else the newest that is open in this process.

    Where none is open, one of the process's own is opened, for all its calls; it ends with it.
    """
    global _default  # noqa: PLW0603 - one for the process, or for a child it forked
    here = _current.get()
    if here is not None:
        return here
    with _process.lock:
        if _open:
            return _open[-1]
        # Where a fork left the parent's behind, two processes would write one run.
        if _default is None or _default[0] != os.getpid():
            from guard.sdk.session import Session

            _default = (os.getpid(), Session(Path(sys.argv[0] or "python").stem or "python"))
            atexit.register(end_own)
        return _default[1]


def end_own() -> None:
    """End the process's own run, if there is one."""
    global _default
    # Ended by hand, there is nothing left to do at exit.
    atexit.unregister(end_own)
    own, _default = _default, None
    if own is not None and own[0] == os.getpid():
        own[1].close()
