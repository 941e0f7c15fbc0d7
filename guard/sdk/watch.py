"""`guard.watch`: one line that puts a function, or a whole loop, under guard."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from typing import Any, ParamSpec, TypeVar, cast, overload

from guard.nature import ToolNature
from guard.sdk.aio import AsyncSession
from guard.sdk.capture import Keep
from guard.sdk.session import Session
from guard.sdk.watched import Telling, watched

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
    args: Keep = True,
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
    args: Keep = True,
    nature: ToolNature | Mapping[str, Any] | None = None,
    append: bool = False,
    skipped: Callable[[str], Any] | None = None,
    **opening: Any,
) -> Any:
    """Put a function or a loop under guard.

    `@guard.watch` on a function makes each call of it a tool call of the run around
    it: proposed before, held while people decide, told of after. Without a run
    around it, the process is the run. Results and exceptions pass through unchanged.

        @guard.watch
        def read_file(path): ...

    `guard.watch("name", …)` is a run: a context manager (`with`, `async with`), or a
    decorator of the loop itself, whose every call is then a run. It takes what
    `guard.Session` takes.

        @guard.watch("fix-auth", goal="Make the tests pass")
        def agent(): ...

    Functions, coroutine functions, generators and asynchronous generators are all
    watched; a generator is one call, from its first item to its last.

    Args:
        target: The function, or the run's name.
        tool: The call's name; default the function's.
        args: What is told of the arguments: True: all, bounded and masked, objects
            by their type. False: nothing. Names: only these.
        agent: Who calls; default the session's agent.
        nature: What repeating this call means, as for `Session.before`.
        append: Add messages for the model to a result that is text. Otherwise they
            wait in `session.unread`.
        skipped: Makes the result of a call that was not run from the text that takes
            its place; default: the text itself. It may raise.
        opening: For a run: what `guard.Session` takes.

    Raises:
        Stopped: From the watched call: the run was ended. Let it end your loop.
    """
    # One name for both, as people try it: a text names a run, anything else is to be called.
    if isinstance(target, str):
        return Watch(target, opening)
    how = Telling(
        tool=tool,
        keep=args,
        agent=opening.pop("agent", None),
        nature=nature,
        append=append,
        skipped=skipped,
    )
    # Said at once: an option that has no effect on a function would be believed to have one.
    if opening:
        raise TypeError(f"watch() takes {', '.join(opening)} only after a run's name")
    wrap = functools.partial(watched, how=how)
    return wrap if target is None else wrap(target)


class Watch:
    """A run to be: enter it, or decorate the loop that is one."""

    def __init__(self, name: str, opening: Mapping[str, Any]) -> None:
        self._name = name
        self._opening = opening
        # Which kind it is shows when it is entered: `with` or `async with`.
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
        # A session for each call: a loop may be called again while it is still at work.
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
            # Closed here: left to the collector, the loop would end after its run.
            async with AsyncSession(name, **opening), contextlib.aclosing(source) as items:
                async for item in items:
                    yield item

        # The wrapper is of the loop's own kind: whoever asks `inspect` is not told otherwise.
        if inspect.isasyncgenfunction(function):
            wrapped: Any = run_async_generator
        elif inspect.iscoroutinefunction(function):
            wrapped = run_coroutine
        else:
            wrapped = run_generator if inspect.isgeneratorfunction(function) else run
        return cast("Callable[P, R]", wrapped)
