"""What is reported of a call's arguments and result: bounded, masked, never by `repr`.

An object that is not plain data is represented by its type: a `repr` may be long, hold an address
that makes equal calls look different, or run the host's code.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import inspect
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from guard.redact import redact_json
from guard.sdk.wording import cut, text_of

# True: every argument. False: none. A collection: the arguments with these names.
Keep = bool | Sequence[str]

MOST_CHARS = 2_000
MOST_RESULT_CHARS = 20_000
MOST_ITEMS = 50
DEEPEST = 6
OWN = frozenset({"self", "cls"})
_WORDS = (decimal.Decimal, uuid.UUID, dt.date, dt.time, dt.timedelta, os.PathLike)


def captured_args(
    signature: inspect.Signature | None, args: Sequence[Any], kwargs: Mapping[str, Any], keep: Keep
) -> dict[str, Any]:
    """Return a call's arguments by name, as they may leave the process.

    >>> import inspect
    >>> def connect(host, *, password): ...
    >>> captured_args(inspect.signature(connect), ["db"], {"password": "x1y2"}, True)
    {'host': 'db', 'password': '[masked]'}
    """
    if keep is False:
        return {}
    try:
        bound = signature.bind_partial(*args, **kwargs).arguments if signature else None
    except TypeError:
        bound = None  # the call is wrong; the function itself will raise
    # Without a usable signature, arguments are named by position, so that calls still differ.
    named = {**{f"arg{n}": value for n, value in enumerate(args)}, **kwargs}
    if bound is not None and signature is not None:
        named = {}
        for position, (name, value) in enumerate(bound.items()):
            # The content of **kwargs is placed among the other arguments, as the caller wrote it.
            if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                named |= value
            elif position > 0 or name not in OWN:
                named[name] = value
    wanted = named if keep is True else {name: named[name] for name in keep if name in named}
    plain = {name: plain_data(value, MOST_CHARS) for name, value in wanted.items()}
    # Masked here, before it leaves the process: the server may be somebody else's machine.
    masked: dict[str, Any] = redact_json(plain)
    return masked


def captured_result(value: Any) -> str:
    """Return a result as text.

    >>> captured_result({"ok": True, "db": object()})
    '{"ok": true, "db": "<object>"}'
    """
    plain = plain_data(value, MOST_RESULT_CHARS)
    text = plain if isinstance(plain, str) else json.dumps(plain, default=str)
    return cut(text, MOST_RESULT_CHARS) or ""


def plain_data(value: Any, most: int, depth: int = 0) -> Any:
    """Return a value as plain data; keep the ends of a long text, `most` characters in all."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _word(value, most)
    if isinstance(value, enum.Enum):
        return plain_data(value.value, most, depth + 1) if depth < DEEPEST else _type_of(value)
    if isinstance(value, _WORDS):
        return text_of(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    return _plain_group(value, most, depth)


def _plain_group(value: Any, most: int, depth: int) -> Any:
    """Look into built-in collections only: others may be slow, endless or a query."""
    if depth >= DEEPEST:
        return _type_of(value)
    if isinstance(value, dict):
        shown = {}
        # Copied first: the host may change it in another thread meanwhile.
        for key, item in list(value.items())[:MOST_ITEMS]:
            if isinstance(key, str):
                name = _word(key, MOST_CHARS)
            else:
                name = str(key) if isinstance(key, int) else _type_of(key)
            shown[name] = plain_data(item, most, depth + 1)
        return shown | _rest(value, {})
    if isinstance(value, list | tuple):
        return [plain_data(v, most, depth + 1) for v in value[:MOST_ITEMS]] + _rest(value, [])
    if isinstance(value, set | frozenset):
        # A set has no order; sorted, equal sets look equal.
        texts = (json.dumps(plain_data(v, most, depth + 1), default=str) for v in value)
        return sorted(texts)[:MOST_ITEMS] + _rest(value, [])
    return _type_of(value)


def _rest(group: Any, kind: Any) -> Any:
    """Add how many items were left out, in the collection's own form."""
    left = len(group) - MOST_ITEMS
    if left <= 0:
        return kind
    return {"…": f"{left} more"} if isinstance(kind, dict) else [f"… {left} more"]


def _word(text: str, most: int) -> str:
    # Not str(): a subclass's `__str__` may run the host's code.
    return str(cut(str.__str__(text), most))


def _type_of(value: object) -> str:
    return f"<{type(value).__qualname__}>"
