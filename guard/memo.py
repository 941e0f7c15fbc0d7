"""Small caches: of recent results, and of values that follow from an object alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801 - a decorator, as `property` is
    """A property that is computed when it is first read, and then kept.

    `functools.cached_property` takes a lock in Python 3.11 and needs a dictionary in each
    object, which costs more than most of the values computed here.

    >>> class Name(str):
    ...     @lazy
    ...     def parts(self):
    ...         return self.split("_")
    >>> name = Name("read_file")
    >>> name.parts, name.parts is name.parts
    (['read', 'file'], True)
    """

    def __init__(self, work_out: Callable[[Any], Value]) -> None:
        self._work_out, self._name = work_out, work_out.__name__
        self.__doc__ = work_out.__doc__

    def __get__(self, owner: object, _: type | None = None) -> Value:
        value = self._work_out(owner)
        setattr(owner, self._name, value)  # from now on it shadows this descriptor
        return value


class Memo(Generic[Key, Value]):
    """A cache of the last results: at least `most` of them, and at most twice that.

    Only for values that follow from their key alone, so that caching changes nothing
    but the time. Threads may share it: at worst a value is computed twice.

    >>> squares = Memo[int, int](2)
    >>> squares.keep(3, 9), squares.find(3), squares.find(4)
    (9, 9, None)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # Two generations instead of an order of use: a lookup moves nothing.
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def find(self, key: Key) -> Value | None:
        """Return the cached value; None: there is none."""
        value = self._young.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.keep(key, value)
        return value

    def keep(self, key: Key, value: Value) -> Value:
        """Store a value and return it."""
        if len(self._young) >= self._most:
            # Values not used since the last switch are dropped, all at once.
            self._young, self._old = {}, self._young
        self._young[key] = value
        return value

    def clear(self) -> None:
        """Forget everything."""
        self._young, self._old = {}, {}
