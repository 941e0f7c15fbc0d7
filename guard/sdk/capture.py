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
from guard.sdk.turn_json import cut_middle, text_of

# True: every argument. False: none. A collection: the arguments with these names.
KeepArgs = bool | Sequence[str]

MAX_CHARS = 2_000
MAX_RESULT_CHARS = 20_000
MAX_ITEMS = 50
MAX_DEPTH = 6
_SELF_NAMES = frozenset({"self", "cls"})
_TEXT_TYPES = (decimal.Decimal, uuid.UUID, dt.date, dt.time, dt.timedelta, os.PathLike)


def capture_args(
    signature: inspect.Signature | None,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    keep: KeepArgs,
) -> dict[str, Any]:
    """Return a call's arguments by name, as they may leave the process.

    >>> import inspect
    >>> def connect(host, *, password): ...
    >>> capture_args(inspect.signature(connect), ["db"], {"password": "x1y2"}, True)
    {'host': 'db', 'password': '[masked]'}
    """
    if keep is False:
        return {}
    try:
        bound = signature.bind_partial(*args, **kwargs).arguments if signature else None
    except TypeError:
        bound = None  # the call is wrong; the function itself will raise
    # Without a usable signature, arguments are named by position, so that calls still differ.
    by_name = {**{f"arg{n}": value for n, value in enumerate(args)}, **kwargs}
    if bound is not None and signature is not None:
        by_name = {}
        for position, (name, value) in enumerate(bound.items()):
            # The content of **kwargs is placed among the other arguments, as the caller wrote it.
            if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                by_name |= value
            elif position > 0 or name not in _SELF_NAMES:
                by_name[name] = value
    wanted = by_name if keep is True else {name: by_name[name] for name in keep if name in by_name}
    plain = {name: plain_data(value, MAX_CHARS) for name, value in wanted.items()}
    # Masked here, before it leaves the process: the server may be somebody else's machine.
    masked: dict[str, Any] = redact_json(plain)
    return masked


def capture_result(value: Any) -> str:
    """Return a result as text.

    >>> capture_result({"ok": True, "db": object()})
    '{"ok": true, "db": "<object>"}'
    """
    plain = plain_data(value, MAX_RESULT_CHARS)
    text = plain if isinstance(plain, str) else json.dumps(plain, default=str)
    return cut_middle(text, MAX_RESULT_CHARS) or ""


def plain_data(value: Any, max_chars: int, depth: int = 0) -> Any:
    """Return a value as plain data; keep the ends of a long text, `max_chars` characters in all."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _cut_text(value, max_chars)
    if isinstance(value, enum.Enum):
        return (
            plain_data(value.value, max_chars, depth + 1)
            if depth < MAX_DEPTH
            else _type_name(value)
        )
    if isinstance(value, _TEXT_TYPES):
        return text_of(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    return _plain_collection(value, max_chars, depth)


def _plain_collection(value: Any, max_chars: int, depth: int) -> Any:
    """Look into built-in collections only: others may be slow, endless or a query."""
    if depth >= MAX_DEPTH:
        return _type_name(value)
    if isinstance(value, dict):
        shown = {}
        # Copied first: the host may change it in another thread meanwhile.
        for key, item in list(value.items())[:MAX_ITEMS]:
            if isinstance(key, str):
                name = _cut_text(key, MAX_CHARS)
            else:
                name = str(key) if isinstance(key, int) else _type_name(key)
            shown[name] = plain_data(item, max_chars, depth + 1)
        return shown | _omitted_note(value, {})
    if isinstance(value, list | tuple):
        return [plain_data(v, max_chars, depth + 1) for v in value[:MAX_ITEMS]] + _omitted_note(
            value, []
        )
    if isinstance(value, set | frozenset):
        # A set has no order; sorted, equal sets look equal.
        texts = (json.dumps(plain_data(v, max_chars, depth + 1), default=str) for v in value)
        return sorted(texts)[:MAX_ITEMS] + _omitted_note(value, [])
    return _type_name(value)


def _omitted_note(group: Any, kind: Any) -> Any:
    """Add how many items were left out, in the collection's own form."""
    left = len(group) - MAX_ITEMS
    if left <= 0:
        return kind
    return {"…": f"{left} more"} if isinstance(kind, dict) else [f"… {left} more"]


def _cut_text(text: str, max_chars: int) -> str:
    # Not str(): a subclass's `__str__` may run the host's code.
    return str(cut_middle(str.__str__(text), max_chars))


def _type_name(value: object) -> str:
    return f"<{type(value).__qualname__}>"
