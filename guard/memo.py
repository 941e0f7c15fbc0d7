"""Small memories: of what was worked out last, and of what follows from an object alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801 - a decorator, as `property` is
    """A property that is worked out when it is first asked for, and kept.

    `functools.cached_property` takes a lock for it in Python 3.11, and makes each object a
    dictionary: more than what is mostly worked out here costs.

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
        setattr(owner, self._name, value)  # from now on it stands before this
        return value


class Memo(Generic[Key, Value]):
    """The last things worked out, at least `most` of them and at most twice that.

    For what follows from its key alone, so that whether it is remembered changes
    nothing but the time. Threads may share it: the worst is to work something out again.

    >>> squares = Memo[int, int](2)
    >>> squares.keep(3, 9), squares.find(3), squares.find(4)
    (9, 9, None)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # Two generations in place of an order of use: nothing is moved at each look.
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def find(self, key: Key) -> Value | None:
        """Give what is remembered; None: nothing."""
        value = self._young.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.keep(key, value)
        return value

    def keep(self, key: Key, value: Value) -> Value:
        """Remember, and give back what is remembered."""
        if len(self._young) >= self._most:
            # What was not asked for since the last change goes, all at once.
            self._young, self._old = {}, self._young
        self._young[key] = value
        return value

    def clear(self) -> None:
        """Forget all."""
        self._young, self._old = {}, {}
