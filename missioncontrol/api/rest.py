"""Bodies of REST views as wire classes, without serializers; files of any length."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import urlencode, urlsplit
from uuid import UUID

import segno
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from pydantic import ValidationError
from pydantic_core import to_json
from rest_framework.request import Request

from missioncontrol.api.endpoint import first_fault, read_json_object
from missioncontrol.errors import InvalidRequest, ensure_found
from missioncontrol.wire.rows import adapter_of

T = TypeVar("T")
M = TypeVar("M", bound=Model)

DEFAULT_PAGE_SIZE = 100
MAX_PAGE_SIZE = 500
# No date of ours is outside these years, and databases fail on dates far outside.
YEARS = range(2000, 2201)
DAY_LENGTH = len("2026-11-21 ")
TIME_EXAMPLE = "an RFC 3339 time such as 2026-11-21T10:00:00Z"
DAY_EXAMPLE = "a date such as 2026-11-21"
LIMIT_PATTERN = re.compile(r"[1-9][0-9]{0,5}")


@dataclass(frozen=True, slots=True)
class Depends:
    """In `Annotated`: the function that provides a parameter, called as an operation is.

    `query`: the query parameters that it reads by itself.
    """

    source: Callable[..., Any]
    query: tuple[str, ...] = ()


def read_body(request: Request, kind: type[T]) -> T:
    """Read the body as one wire class.

    Raises:
        InvalidRequest: says which field is wrong and what was expected.
    """
    try:
        # Not `request.data`: this way mends what PostgreSQL cannot store.
        body = read_json_object(request.body)
        read: T = adapter_of(kind).validate_python(body)
    except ValidationError as error:
        # One error at a time, and without the input, which may be a secret.
        where, words, fault = first_fault(error)
        where = where or "body"
        # The kind of error, for screens that show it in another language.
        raise InvalidRequest(f"{where}: {words}", field=where, fault=fault) from None
    return read


def changes_in(patch: Any) -> dict[str, Any]:
    """Return what a patch changes; absent fields stay as they are."""
    return {name: value for name, value in asdict(patch).items() if value is not None}


def json_response(value: Any, *, status: int = 200) -> HttpResponse:
    """Answer a wire row, or any plain value, as JSON."""
    return HttpResponse(to_json(value), status=status, content_type="application/json")


def get_or_404(queryset: QuerySet[M], pk: Any, what: str) -> M:
    """Return one of the rows that the caller may see.

    Raises:
        NotFound: it does not exist, or is not one of them.
    """
    return ensure_found(queryset.filter(pk=pk).first(), what)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows of a list, and the address of the next page."""

    results: Sequence[T]
    next: str | None = None


def page_of(request: Request, queryset: QuerySet[Any], show: Callable[[Any], T]) -> Page[T]:
    """Return one page of rows that sort by `id`."""
    return page_of_batch(request, queryset, lambda rows: [show(row) for row in rows])


def page_of_batch(
    request: Request, queryset: QuerySet[Any], show: Callable[[list[Any]], Iterable[T]]
) -> Page[T]:
    """Return one page of rows, which `show` renders together."""
    # One row more than is shown says whether there is another page.
    limit = page_size(request)
    after = request.query_params.get("cursor")
    if after:
        descending = bool(queryset.query.order_by) and queryset.query.order_by[0] == "-id"
        # Ids are ordered by time: rows added meanwhile move no page.
        cursor = read_id("cursor", after)
        later = {"id__lt": cursor} if descending else {"id__gt": cursor}
        queryset = queryset.filter(**later)
    rows = list(queryset[: limit + 1])
    more = rows[limit - 1].id if len(rows) > limit else None
    return Page(list(show(rows[:limit])), next_page_url(request, more))


def next_page_url(request: Request, cursor: Any) -> str | None:
    """Return the address of the page after `cursor`; None if there is none."""
    # With the filters of this request, so that the next page is of the same list.
    query = {**request.query_params.dict(), "cursor": str(cursor)}
    return f"{address_of(request)}?{urlencode(query)}" if cursor else None


def address_of(request: Request | HttpRequest) -> str:
    """Return the requested address, as the caller knows it.

    A proxy speaks HTTP to us, whatever it speaks to the caller: a caller who used the public host
    also used its scheme.
    """
    if request.get_host() == urlsplit(settings.PUBLIC_URL).netloc:
        return f"{settings.PUBLIC_URL.rstrip('/')}{request.path}"
    return str(request.build_absolute_uri(request.path))


def page_size(request: Request) -> int:
    """Read `?limit=`, 1 to 500."""
    text = request.query_params.get("limit", str(DEFAULT_PAGE_SIZE))
    # `int` would accept `+5`, `1_0` and the digits of every script.
    if not LIMIT_PATTERN.fullmatch(text):
        raise _unexpected("limit", text, f"1 to {MAX_PAGE_SIZE}")
    # A shorter page than requested is no error: `next` leads on.
    return min(int(text), MAX_PAGE_SIZE)


Limit = Annotated[int, Depends(page_size, query=("limit",))]


# Readers of query parameters by name; each raises InvalidRequest for an invalid value.
def read_integer(name: str, text: str) -> int:
    """Read a whole number."""
    return _parse(int, name, text, expected="a whole number")


def read_time(name: str, text: str) -> datetime:
    """Read an RFC 3339 time, with a `T` or a space after the day; without a zone it is UTC."""
    read = _parse(_parse_rfc3339, name, text, expected=TIME_EXAMPLE)
    if read.year not in YEARS:
        raise _unexpected(name, text, "a year from 2000 to 2200")
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def _parse_rfc3339(text: str) -> datetime:
    # A space after the day is the `+` of a zone that was not percent-encoded.
    return datetime.fromisoformat(text[:DAY_LENGTH] + text[DAY_LENGTH:].replace(" ", "+"))


def read_day(name: str, text: str) -> date:
    """Read a date."""
    read = _parse(date.fromisoformat, name, text, expected=DAY_EXAMPLE)
    if read.year not in YEARS:
        raise _unexpected(name, text, DAY_EXAMPLE)
    return read


def read_id(name: str, text: str) -> UUID:
    """Read an id."""
    return _parse(UUID, name, text, expected="an id")


def read_choice(name: str, text: str, known: tuple[str, ...]) -> str:
    """Read one of a few words; the first, which may be empty, if the text is empty."""
    if (chosen := text or known[0]) in known:
        return chosen
    raise _unexpected(name, text, f"one of {', '.join(filter(None, known))}")


def read_word(name: str, text: str) -> str:
    """Read the name of something stored; no such name contains a NUL."""
    if "\0" in text:
        raise InvalidRequest(f"{name}: expected a text without NUL characters.", field=name)
    return text


def read_words(name: str, text: str) -> list[str]:
    """Read names separated by commas; an empty list asks for all."""
    return [word for word in read_word(name, text).split(",") if word]


def read_choices(name: str, text: str, known: tuple[str, ...]) -> list[str]:
    """Read some of a few words with commas between them; none: it asks for all."""
    return [read_choice(name, word, known) for word in read_words(name, text)]


def read_text(name: str, text: str) -> str:
    """Read a text to search for, as it would be stored; an empty one asks for all."""
    return text.replace("\0", "")


def _parse(parse: Callable[[str], T], name: str, text: str, *, expected: str) -> T:
    try:
        return parse(text)
    except ValueError:
        raise _unexpected(name, text, expected) from None


def _unexpected(name: str, text: str, expected: str) -> InvalidRequest:
    return InvalidRequest(f"{name}: expected {expected}, got {text!r}.", field=name)


QUERY_READERS: Mapping[Any, Callable[[str, str], Any]] = {
    UUID | None: read_id,
    datetime | None: read_time,
    date | None: read_day,
    int | None: read_integer,
    str | None: read_word,
    list[str]: read_words,
    str: read_text,
}
"""Readers by the type of a query parameter. A parameter that may be None is None if absent."""


def qr_code(url: str) -> str:
    """Return a QR code in a data URL, so that no second request carries the address's secret."""
    picture: str = segno.make(url, error="m", micro=False).svg_data_uri(border=2)
    return picture


def file_response(content: str | bytes, *, kind: str, name: str) -> HttpResponse:
    """Answer a file of this media type, to be saved under this name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=kind, headers=headers)


# With one frame per line there would be more headers than text.
CHUNK_BYTES = 64 * 1024
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}


def stream_file(
    request: Request, lines: Iterator[bytes], *, kind: str, name: str
) -> StreamingHttpResponse:
    """Answer lines as a file, as fast as the client takes them.

    Under ASGI Django would first collect an ordinary iterator in memory.
    """
    chunks = _chunked(lines)

    @sync_to_async
    def next_chunk() -> bytes | None:
        try:
            # With a default: a StopIteration cannot be raised into a future.
            return next(chunks, None)
        finally:
            # The thread belongs to this answer: a connection pool would never get its connection
            # back.
            close_old_connections()

    async def chunks_async() -> AsyncIterator[bytes]:
        while (chunk := await next_chunk()) is not None:
            yield chunk

    is_async = isinstance(request._request, ASGIRequest)  # noqa: SLF001 - what DRF wraps
    response = StreamingHttpResponse(
        chunks_async() if is_async else chunks, content_type=MEDIA_TYPES[kind]
    )
    response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return response


def _chunked(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines in chunks that are large enough for a frame each."""
    chunk = bytearray()
    for line in lines:
        chunk += line
        if len(chunk) >= CHUNK_BYTES:
            yield bytes(chunk)
            chunk.clear()
    if chunk:
        yield bytes(chunk)
