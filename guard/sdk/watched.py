"""A function whose calls are told: proposed before, held while people decide, told of after."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from guard.errors import Stopped
from guard.nature import ToolNature
from guard.sdk.aio import AsyncSession
from guard.sdk.capture import MOST_ITEMS, Keep, captured_args, captured_result
from guard.sdk.current import current_session
from guard.sdk.offline_answers import Go
from guard.sdk.opening import with_messages
from guard.sdk.session import Session

logger = logging.getLogger("guard")

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """How the calls of one function are told; see `guard.watch`."""

    tool: str | None = None
    keep: Keep = True
    agent: str | None = None
    nature: ToolNature | Mapping[str, Any] | None = None
    append: bool = False
    skipped: Callable[[str], Any] | None = None

    def instead(self, go: Go) -> Any:
        """Return what takes the place of a call that was not run."""
        return self.skipped(go.text) if self.skipped else go.text

    def result(self, session: Session | AsyncSession, result: Any, messages: list[str]) -> Any:
        """Return the result, untouched unless messages were to be added to its text."""
        if self.append and isinstance(result, str) and messages:
            return with_messages(result, messages)
        # A result that is no text cannot carry them; left out, nobody would ever read them.
        session.unread.extend(messages)
        return result


def watched(function: Function, *, how: Telling) -> Function:
    """Wrap a function; what kind of function it is, it stays."""
    if inspect.isasyncgenfunction(function):
        return _async_generator(function, how)
    if inspect.iscoroutinefunction(function):
        return _coroutine(function, how)
    return (
        _generator(function, how) if inspect.isgeneratorfunction(function) else _call(function, how)
    )


def _call(function: Function, how: Telling) -> Function:
    asks = _asking(function, how)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # Looked up at each call: a function is decorated once, and called within many runs.
        session = _plain(current_session())
        go = session.before(**asks(args, kwargs))
        if not go.run:
            return how.instead(go)
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            with _stop_waits():
                session.unread.extend([*go.messages, *session.after(go, error=_error(error))])
            raise
        notes = session.after(go, result=captured_result(result))
        return how.result(session, result, [*go.messages, *notes])

    return call


def _coroutine(function: Function, how: Telling) -> Function:
    asks = _asking(function, how)

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        session = current_session()
        go = await _before(session, asks(args, kwargs))
        if not go.run:
            return how.instead(go)
        try:
            result = await function(*args, **kwargs)
        except Exception as error:
            with _stop_waits():
                notes = await _after(session, go, error=_error(error))
                session.unread.extend([*go.messages, *notes])
            raise
        notes = await _after(session, go, result=captured_result(result))
        return how.result(session, result, [*go.messages, *notes])

    return call


def _generator(function: Function, how: Telling) -> Function:
    asks = _asking(function, how)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        # When the first item is asked for: a generator that nobody reads calls nothing.
        session, items = _plain(current_session()), _Items()
        go = session.before(**asks(args, kwargs))
        if not go.run:
            yield how.instead(go)
            return None
        try:
            result = yield from items.passed(function(*args, **kwargs))
        except Exception as error:
            with _stop_waits():
                session.unread.extend([*go.messages, *session.after(go, error=_error(error))])
            raise
        except GeneratorExit:  # its reader has had enough: that is its end
            with _stop_waits():
                session.unread.extend([*go.messages, *session.after(go, result=items.shown())])
            raise
        notes = session.after(go, result=items.shown())
        session.unread.extend([*go.messages, *notes])
        return result

    return call


def _async_generator(function: Function, how: Telling) -> Function:
    asks = _asking(function, how)

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        session, items = current_session(), _Items()
        go = await _before(session, asks(args, kwargs))
        if not go.run:
            yield how.instead(go)
            return
        source = function(*args, **kwargs)
        try:
            async for item in source:
                items.note(item)
                yield item
        except Exception as error:
            with _stop_waits():
                notes = await _after(session, go, error=_error(error))
                session.unread.extend([*go.messages, *notes])
            raise
        finally:
            # Where the reader has stopped early, the source's own `finally` runs now, not when
            # collected.
            await source.aclose()
        notes = await _after(session, go, result=items.shown())
        session.unread.extend([*go.messages, *notes])

    return call


@dataclass(slots=True)
class _Items:
    """What a generator gave: how many, and the first of them."""

    count: int = 0
    first: list[Any] = field(default_factory=list)

    def note(self, item: Any) -> None:
        self.count += 1
        if len(self.first) < MOST_ITEMS:
            # The beginning alone: a generator may give millions, and all of them would be kept.
            self.first.append(captured_result(item)[:200])

    def passed(self, source: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Pass everything through, both ways."""
        try:
            # What `yield from` does, throwing and closing too, but seeing each item.
            item = next(source)
            while True:
                self.note(item)
                try:
                    sent = yield item
                except GeneratorExit:
                    source.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - the source decides what becomes of it
                    item = source.throw(error)
                else:
                    item = source.send(sent)
        # Around all of it: the source may end at its first item, or when something is thrown
        # into it.
        except StopIteration as finished:
            return finished.value

    def shown(self) -> str:
        return captured_result({"items": self.count, "first": self.first})


def _asking(function: Function, how: Telling) -> Callable[[Any, Any], dict[str, Any]]:
    """Prepare what `before` is told of a call; whatever fails in it stands in no call's way."""
    tool = how.tool or getattr(function, "__name__", type(function).__name__)
    try:
        # Built-ins and some extensions have none.
        signature: inspect.Signature | None = inspect.signature(function)
    except (TypeError, ValueError):
        signature = None
    # Once for all calls, as the signature: both are the function's.
    facts = {"nature": how.nature} if how.nature is not None else {}

    def asks(args: Any, kwargs: Any) -> dict[str, Any]:
        try:
            shown = captured_args(signature, args, kwargs, how.keep)
        except Exception:
            logger.exception("the arguments of %s could not be read", tool)
            shown = {}
        return {"tool": tool, "args": shown, "agent": how.agent, **facts}

    return asks


def _error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def _stop_waits() -> Iterator[None]:
    """Leave a stop to the next call: what ended this one comes first."""
    try:
        yield
    except Stopped:
        logger.info("the run has been stopped; the next call will say so")


async def _before(session: Session | AsyncSession, asked: dict[str, Any]) -> Go:
    if isinstance(session, AsyncSession) and session.is_here():
        return await session.before(**asked)
    # In a thread: it may be held for an hour, and this event loop has other tasks.
    return await asyncio.to_thread(_plain(session).before, **asked)


async def _after(session: Session | AsyncSession, go: Go, **facts: Any) -> tuple[str, ...]:
    if isinstance(session, AsyncSession) and session.is_here():
        return await session.after(go, **facts)
    return await asyncio.to_thread(_plain(session).after, go, **facts)


def _plain(session: Session | AsyncSession) -> Session:
    """The session as a plain function speaks to it: an asyncio one by its twin."""
    return session.twin() if isinstance(session, AsyncSession) else session
