"""`guard.watch`: one line that puts a function, or a whole loop, under guard.

Its calls are proposed before they run, held while people decide, and reported afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Mapping,
)
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar, cast, overload

from guard.errors import Stopped
from guard.nature import ToolNature
from guard.sdk.aio import AsyncSession
from guard.sdk.base_session import with_messages
from guard.sdk.capture import MAX_ITEMS, KeepArgs, capture_args, capture_result
from guard.sdk.offline_answers import Go
from guard.sdk.session import Session, current_session

logger = logging.getLogger("guard")

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


@overload
def watch(target: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def watch(target: str, /, **opening: Any) -> Watch: ...
@overload
def watch(
    *,
    tool: str | None = None,
    args: KeepArgs = True,
    agent: str | None = None,
    nature: ToolNature | Mapping[str, Any] | None = None,
    append: bool = False,
    skipped: Callable[[str], Any] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def watch(
    target: Any = None,
    /,
    *,
    tool: str | None = None,
    args: KeepArgs = True,
    nature: ToolNature | Mapping[str, Any] | None = None,
    append: bool = False,
    skipped: Callable[[str], Any] | None = None,
    **opening: Any,
) -> Any:
    """Put a function or a loop under guard.

    `@guard.watch` on a function makes each call of it a tool call of the surrounding run: proposed
    before, held while people decide, reported afterwards. Without a surrounding run, the process is
    the run. Results and exceptions pass through unchanged.

        @guard.watch
        def read_file(path): ...

    `guard.watch("name", …)` is a run: a context manager (`with`, `async with`), or a decorator of
    the loop itself; then each call of the loop is a run. It takes the arguments of `guard.Session`.

        @guard.watch("fix-auth", goal="Make the tests pass")
        def agent(): ...

    Functions, coroutine functions, generators and asynchronous generators can be watched; a
    generator is one call, from its first item to its last.

    Args:
        target: The function, or the run's name.
        tool: The call's name; default the function's.
        args: What is reported of the arguments: True: all, bounded and masked, objects by their
            type. False: nothing. Names: only these.
        agent: Who calls; default the session's agent.
        nature: What repeating this call means, as for `Session.before`.
        append: Add messages for the model to a result that is a text. Otherwise they wait in
            `session.unread`.
        skipped: Makes the result of a call that was not run from the text in its place; default:
            the text itself. It may raise.
        opening: For a run: the arguments of `guard.Session`.

    Raises:
        Stopped: From the watched call: the run was ended. Let it end your loop.
    """
    # One name for both uses, as people expect: a string names a run, anything else is a function.
    if isinstance(target, str):
        return Watch(target, opening)
    options = WatchOptions(
        tool=tool,
        keep=args,
        agent=opening.pop("agent", None),
        nature=nature,
        append=append,
        skipped=skipped,
    )
    # Raised at once: otherwise people would believe that the option has an effect here.
    if opening:
        raise TypeError(f"watch() takes {', '.join(opening)} only after a run's name")
    wrap = functools.partial(wrap_function, options=options)
    return wrap if target is None else wrap(target)


class Watch:
    """A run that begins when it is entered, or at each call of the loop that it decorates."""

    def __init__(self, name: str, opening: Mapping[str, Any]) -> None:
        self._name = name
        self._opening = opening
        # `with` or `async with` decides which kind of session it is.
        self._session: Session | None = None
        self._async: AsyncSession | None = None

    def __enter__(self) -> Session:
        self._session = Session(self._name, **self._opening)
        return self._session.__enter__()

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._session is not None:
            self._session.__exit__(kind, *rest)

    async def __aenter__(self) -> AsyncSession:
        self._async = AsyncSession(self._name, **self._opening)
        return await self._async.__aenter__()

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._async is not None:
            await self._async.__aexit__(kind, *rest)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Make every call of a loop a run of its own."""
        # A new session for each call: a loop may be called again while it still runs.
        name, opening = self._name, self._opening

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with Session(name, **opening):
                return function(*args, **kwargs)

        @functools.wraps(function)
        def run_generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with Session(name, **opening):
                return (yield from cast("Generator[Any, Any, Any]", function(*args, **kwargs)))

        @functools.wraps(function)
        async def run_coroutine(*args: Any, **kwargs: Any) -> Any:
            async with AsyncSession(name, **opening):
                return await cast("Awaitable[Any]", function(*args, **kwargs))

        @functools.wraps(function)
        async def run_async_generator(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            source = cast("AsyncGenerator[Any]", function(*args, **kwargs))
            # Closed here: the garbage collector would end the loop only after its run.
            async with AsyncSession(name, **opening), contextlib.aclosing(source) as items:
                async for item in items:
                    yield item

        # The wrapper is the same kind of function as the loop, for callers that use `inspect`.
        if inspect.isasyncgenfunction(function):
            wrapped: Any = run_async_generator
        elif inspect.iscoroutinefunction(function):
            wrapped = run_coroutine
        else:
            wrapped = run_generator if inspect.isgeneratorfunction(function) else run
        return cast("Callable[P, R]", wrapped)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """How the calls of one function are reported; see `guard.watch`."""

    tool: str | None = None
    keep: KeepArgs = True
    agent: str | None = None
    nature: ToolNature | Mapping[str, Any] | None = None
    append: bool = False
    skipped: Callable[[str], Any] | None = None

    def skipped_result(self, go: Go) -> Any:
        """Return the result of a call that was not run."""
        return self.skipped(go.text) if self.skipped else go.text

    def add_messages(
        self, session: Session | AsyncSession, result: Any, messages: list[str]
    ) -> Any:
        """Return the result, unchanged unless messages are to be added to its text."""
        if self.append and isinstance(result, str) and messages:
            return with_messages(result, messages)
        # A result that is not text cannot carry them; without `unread` nobody would see them.
        session.unread.extend(messages)
        return result


def wrap_function(function: Function, *, options: WatchOptions) -> Function:
    """Wrap a function; the wrapper is the same kind of function."""
    if inspect.isasyncgenfunction(function):
        return _wrap_async_generator(function, options)
    if inspect.iscoroutinefunction(function):
        return _wrap_coroutine(function, options)
    return (
        _wrap_generator(function, options)
        if inspect.isgeneratorfunction(function)
        else _wrap_plain(function, options)
    )


def _wrap_plain(function: Function, options: WatchOptions) -> Function:
    before_args = _before_args_of(function, options)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # Looked up at each call: a function is decorated once, but called within many runs.
        session = _sync_session_of(current_session())
        go = session.before(**before_args(args, kwargs))
        if not go.run:
            return options.skipped_result(go)
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            with _defer_stop():
                session.unread.extend([*go.messages, *session.after(go, error=_error_text(error))])
            raise
        notes = session.after(go, result=capture_result(result))
        return options.add_messages(session, result, [*go.messages, *notes])

    return call


def _wrap_coroutine(function: Function, options: WatchOptions) -> Function:
    before_args = _before_args_of(function, options)

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        session = current_session()
        go = await _before(session, before_args(args, kwargs))
        if not go.run:
            return options.skipped_result(go)
        try:
            result = await function(*args, **kwargs)
        except Exception as error:
            with _defer_stop():
                notes = await _after(session, go, error=_error_text(error))
                session.unread.extend([*go.messages, *notes])
            raise
        notes = await _after(session, go, result=capture_result(result))
        return options.add_messages(session, result, [*go.messages, *notes])

    return call


def _wrap_generator(function: Function, options: WatchOptions) -> Function:
    before_args = _before_args_of(function, options)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        # Asked at the first item: a generator that nobody reads makes no call.
        session, items = _sync_session_of(current_session()), _YieldedItems()
        go = session.before(**before_args(args, kwargs))
        if not go.run:
            yield options.skipped_result(go)
            return None
        try:
            result = yield from items.pass_through(function(*args, **kwargs))
        except Exception as error:
            with _defer_stop():
                session.unread.extend([*go.messages, *session.after(go, error=_error_text(error))])
            raise
        except GeneratorExit:  # its reader stopped early: the call ends here
            with _defer_stop():
                session.unread.extend([*go.messages, *session.after(go, result=items.summary())])
            raise
        notes = session.after(go, result=items.summary())
        session.unread.extend([*go.messages, *notes])
        return result

    return call


def _wrap_async_generator(function: Function, options: WatchOptions) -> Function:
    before_args = _before_args_of(function, options)

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        session, items = current_session(), _YieldedItems()
        go = await _before(session, before_args(args, kwargs))
        if not go.run:
            yield options.skipped_result(go)
            return
        source = function(*args, **kwargs)
        try:
            async for item in source:
                items.add(item)
                yield item
        except Exception as error:
            with _defer_stop():
                notes = await _after(session, go, error=_error_text(error))
                session.unread.extend([*go.messages, *notes])
            raise
        finally:
            # If the reader stopped early, the source's own `finally` runs now, not at garbage
            # collection.
            await source.aclose()
        notes = await _after(session, go, result=items.summary())
        session.unread.extend([*go.messages, *notes])

    return call


@dataclass(slots=True)
class _YieldedItems:
    """What a generator yielded: the number of items, and the first of them."""

    count: int = 0
    first: list[Any] = field(default_factory=list)

    def add(self, item: Any) -> None:
        self.count += 1
        if len(self.first) < MAX_ITEMS:
            # Only the first: a generator may yield millions, and all would be kept.
            self.first.append(capture_result(item)[:200])

    def pass_through(self, source: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Pass everything through, in both directions."""
        try:
            # As `yield from`, including `throw` and `close`, but with a look at each item.
            item = next(source)
            while True:
                self.add(item)
                try:
                    sent = yield item
                except GeneratorExit:
                    source.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - the source decides what becomes of it
                    item = source.throw(error)
                else:
                    item = source.send(sent)
        # Around everything: the source may end at its first item, or when something is thrown into
        # it.
        except StopIteration as finished:
            return finished.value

    def summary(self) -> str:
        return capture_result({"items": self.count, "first": self.first})


def _before_args_of(
    function: Function, options: WatchOptions
) -> Callable[[Any, Any], dict[str, Any]]:
    """Prepare the arguments of `before` for a call; an error in it never prevents the call."""
    tool = options.tool or getattr(function, "__name__", type(function).__name__)
    try:
        # Built-ins and some extensions have no signature.
        signature: inspect.Signature | None = inspect.signature(function)
    except (TypeError, ValueError):
        signature = None
    # Once for all calls, like the signature: both belong to the function.
    facts = {"nature": options.nature} if options.nature is not None else {}

    def before_args(args: Any, kwargs: Any) -> dict[str, Any]:
        try:
            captured = capture_args(signature, args, kwargs, options.keep)
        except Exception:
            logger.exception("the arguments of %s could not be read", tool)
            captured = {}
        return {"tool": tool, "args": captured, "agent": options.agent, **facts}

    return before_args


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def _defer_stop() -> Iterator[None]:
    """Leave a stop to the next call: the error that ended this one comes first."""
    try:
        yield
    except Stopped:
        logger.info("the run has been stopped; the next call will say so")


async def _before(session: Session | AsyncSession, call_args: dict[str, Any]) -> Go:
    if isinstance(session, AsyncSession) and session.is_on_running_loop():
        return await session.before(**call_args)
    # In a thread: the call may be held for an hour, and this event loop has other tasks.
    return await asyncio.to_thread(_sync_session_of(session).before, **call_args)


async def _after(session: Session | AsyncSession, go: Go, **facts: Any) -> tuple[str, ...]:
    if isinstance(session, AsyncSession) and session.is_on_running_loop():
        return await session.after(go, **facts)
    return await asyncio.to_thread(_sync_session_of(session).after, go, **facts)


def _sync_session_of(session: Session | AsyncSession) -> Session:
    """Return the session that plain functions use: of an asyncio session, its synchronous one."""
    return session.sync_session() if isinstance(session, AsyncSession) else session
