"""Small caches: of recent results, and of values that follow from an object alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class lazy_property(Generic[Value]):  # noqa: N801 - a decorator, as `property` is
    """A property that is computed when it is first read, and then kept.

    `functools.cached_property` takes a lock in Python 3.11 and needs a dictionary in each
    object, which costs more than most of the values computed here.

    >>> class Name(str):
    ...     @lazy_property
    ...     def parts(self):
    ...         return self.split("_")
    >>> name = Name("read_file")
    >>> name.parts, name.parts is name.parts
    (['read', 'file'], True)
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute, self._name = compute, compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, owner: object, _: type | None = None) -> Value:
        value = self._compute(owner)
        setattr(owner, self._name, value)  # from now on it shadows this descriptor
        return value


class RecentCache(Generic[Key, Value]):
    """A cache of the last results: at least `size` of them, and at most twice that.

    Only for values that follow from their key alone, so that caching changes nothing
    but the time. Threads may share it: at worst a value is computed twice.

    >>> squares = RecentCache[int, int](2)
    >>> squares.put(3, 9), squares.get(3), squares.get(4)
    (9, 9, None)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        # Two generations instead of an order of use: a lookup moves nothing.
        self._recent: dict[Key, Value] = {}
        self._older: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        """Return the cached value; None: there is none."""
        value = self._recent.get(key)
        if value is None and (value := self._older.get(key)) is not None:
            self.put(key, value)
        return value

    def put(self, key: Key, value: Value) -> Value:
        """Store a value and return it."""
        if len(self._recent) >= self._size:
            # Values not used since the last switch are dropped, all at once.
            self._recent, self._older = {}, self._recent
        self._recent[key] = value
        return value

    def clear(self) -> None:
        """Forget everything."""
        self._recent, self._older = {}, {}
