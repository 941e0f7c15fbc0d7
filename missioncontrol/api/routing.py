"""Routes: an operation is a function, and its signature is its schema.

A function's name is the operation's id, its docstring the description. Its parameters are read in
order: those in the path, `request`, what it `Depends` on, a wire class as the body, and anything
else as a query parameter by its type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import is_dataclass
from functools import partial, wraps
from inspect import Parameter, signature
from types import NoneType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.permissions import AllowAny, BasePermission
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from missioncontrol.api.rest import (
    QUERY_READERS,
    Page,
    json_response,
    read_body,
    read_choice,
    read_choices,
)
from missioncontrol.wire.decisions import Problem

F = TypeVar("F", bound=Callable[..., Any])
Reader = Callable[[Request, Mapping[str, Any]], Any]
Check = Callable[..., None]

PROBLEM_MEDIA_TYPE = "application/problem+json"
SCHEMA_REF = "#/components/schemas/{model}"
# Filled while the views are imported: every class that an operation takes as input.
INPUT_CLASSES: dict[str, type[Any]] = {}
PEOPLE_ONLY = cast(type[BasePermission], api_settings.DEFAULT_PERMISSION_CLASSES[0])
ROUTE_PARAMETERS = re.compile(r"<\w+:(\w+)>")


class BoundFunction:
    """How a function is called for a request, and what it takes from it."""

    def __init__(self, function: Callable[..., Any], path_names: Collection[str]) -> None:
        self._function, self._path_names = function, path_names
        self.body_class: type[Any] | None = None
        self.query_names: list[str] = []
        hints = get_type_hints(function, include_extras=True)
        self._readers = {
            name: self._reader(name, hints[name])
            for name, parameter in signature(function).parameters.items()
            # A keyword-only parameter is for other callers, and keeps its default here.
            if parameter.kind is not Parameter.KEYWORD_ONLY
        }

    def __call__(self, request: Request, path_values: Mapping[str, Any]) -> Any:
        """Read what the function takes, in order, and call it."""
        return self._function(
            **{name: read(request, path_values) for name, read in self._readers.items()}
        )

    def _reader(self, name: str, kind: Any) -> Reader:
        if name in self._path_names:
            return lambda _, path_values: path_values[name]
        if name == "request":
            return lambda request, _: request
        if get_origin(kind) is Annotated:
            (depends,) = kind.__metadata__
            call = BoundFunction(depends.source, self._path_names)
            self.query_names += [*depends.query, *call.query_names]
            self.body_class = self.body_class or call.body_class
            return call
        if is_dataclass(kind) and isinstance(kind, type):
            self.body_class = kind
            return lambda request, _: read_body(request, kind)
        # `with_`: a keyword of Python.
        query_name = name.rstrip("_")
        self.query_names.append(query_name)
        read = _query_reader(kind)
        is_optional = NoneType in get_args(kind)

        def read_query(request: Request, _: Mapping[str, Any]) -> Any:
            text = request.query_params.get(query_name, "")
            return read(query_name, text) if text or not is_optional else None

        return read_query


def _query_reader(kind: Any) -> Callable[[str, str], Any]:
    """Return what reads a parameter of the query of this type."""
    is_list = get_origin(kind) is list
    words = get_args(kind)[0] if is_list else kind
    if get_origin(words) is not Literal:
        return QUERY_READERS[kind]
    return partial(read_choices if is_list else read_choice, known=get_args(words))


class ResponseBuilder:
    """How a function's return value is answered, according to its annotation.

    A row, a `Page` or a list of rows, a row and whether it is new (201, or 200 if it had been made
    before), nothing (204), or a response.
    """

    def __init__(self, returned: Any, *, status: int | None, files: tuple[str, ...]) -> None:
        self._may_exist = get_origin(returned) is tuple
        default = 201 if self._may_exist else 204 if returned is NoneType else 200
        self._status = status or default
        body = OpenApiTypes.BINARY if files else _response_schema(returned)
        self.responses: dict[Any, Any] = {
            (self._status, *files): body,
            **({200: body} if self._may_exist else {}),
            # `default`: every error has this shape, whatever its status.
            ("default", PROBLEM_MEDIA_TYPE): schema_reference(Problem, "serialization"),
        }

    def __call__(self, returned: Any) -> HttpResponseBase:
        """Answer what was returned."""
        row, is_new = returned if self._may_exist else (returned, True)
        if isinstance(row, HttpResponseBase):
            return row
        if row is None:
            return HttpResponse(status=self._status)
        body = Page(row) if isinstance(row, list) else row
        return json_response(body, status=self._status if is_new else 200)


class RawParser(BaseParser):
    """Leaves any body to the view, because the check of a session's token asks for a form."""

    media_type = "*/*"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        return {}


class RawJSONParser(RawParser):
    """Leaves JSON to `read_body`, the one reader for all."""

    media_type = "application/json"


class Resource(APIView):
    """One address: its methods are operations, each with its own kind of callers."""

    # DRF's own parser reads a body as soon as a session's token is checked, and fails on deep
    # nesting.
    parser_classes = [RawJSONParser]
    callers: ClassVar[dict[str, type[BasePermission]]]

    def get_permissions(self) -> list[Any]:
        # A caller who may call nothing here does not learn which methods exist.
        first, *_ = self.callers.values()
        method = "GET" if self.request.method == "HEAD" else str(self.request.method)
        return [self.callers.get(method, first)()]

    # Each address has one format: DRF would answer 404 or 406 where `?format=` or `Accept` asks for
    # another one, even the CSV of an export.
    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[Any, str]:
        renderer = self.get_renderers()[0]
        return renderer, renderer.media_type


class Router:
    """The operations of one module; `checks` apply to each, before anything of it is read."""

    def __init__(self, *checks: Check) -> None:
        self._checks = checks
        self._resources: dict[str, type[Resource]] = {}

    @property
    def urls(self) -> list[URLPattern]:
        """The addresses, in the order in which they were added."""
        return [path(route, resource.as_view()) for route, resource in self._resources.items()]

    def get(self, route: str, **options: Any) -> Callable[[F], F]:
        """Answer GET; for options see `_operation`."""
        return lambda view: self._operation("get", route, view, **options)

    def post(self, route: str, **options: Any) -> Callable[[F], F]:
        """Answer POST."""
        return lambda view: self._operation("post", route, view, **options)

    def patch(self, route: str, **options: Any) -> Callable[[F], F]:
        """Answer PATCH."""
        return lambda view: self._operation("patch", route, view, **options)

    def delete(self, route: str, **options: Any) -> Callable[[F], F]:
        """Answer DELETE."""
        return lambda view: self._operation("delete", route, view, **options)

    def _operation(
        self,
        method: str,
        route: str,
        view: F,
        *,
        caller: type[BasePermission] | None = None,
        checks: tuple[Check, ...] = (),
        status: int | None = None,
        files: tuple[str, ...] = (),
        takes_file: bool = False,
        query: tuple[str, ...] = (),
    ) -> F:
        """Describe a view and register it; return it unchanged.

        `caller`: who may call it, if not people. `checks` refuse before anything is read.
        `takes_file`: the body is a file as it is; `files`: the answer is a file of these media
        types. `query`: query parameters that the view reads by itself, beyond its signature.
        """
        path_names = ROUTE_PARAMETERS.findall(route)
        call = BoundFunction(view, path_names)
        bound_checks = [BoundFunction(check, path_names) for check in (*self._checks, *checks)]
        build_response = ResponseBuilder(get_type_hints(view)["return"], status=status, files=files)

        @wraps(view)
        def operation(self: APIView, request: Request, **path_values: Any) -> HttpResponseBase:
            for check in bound_checks:
                check(request, path_values)
            return build_response(call(request, path_values))

        body: Any = {"application/octet-stream": OpenApiTypes.BINARY} if takes_file else None
        if call.body_class:
            body = {"application/json": schema_reference(call.body_class, "validation")}
        described = extend_schema(
            operation_id=view.__name__,
            # Added for all operations in one place (`complete_schema`).
            auth=[],
            request=body,
            responses=build_response.responses,
            parameters=[OpenApiParameter(name, str) for name in (*call.query_names, *query)],
        )
        resource = self._resources.setdefault(route, type("Resource", (Resource,), {"callers": {}}))
        setattr(resource, method, described(operation))
        resource.callers[method.upper()] = caller or PEOPLE_ONLY
        if caller is AllowAny:
            resource.authentication_classes = []
        if takes_file:
            resource.parser_classes = [RawParser]
        return view


def schema_reference(kind: type[Any], mode: str) -> dict[str, str]:
    """Refer to a class's schema; in validation mode, register the class as an input."""
    if mode == "validation":
        # An input has optional fields, an answer has none: two schemas of one class.
        INPUT_CLASSES[kind.__name__] = kind
    return {"$ref": SCHEMA_REF.format(model=kind.__name__)}


def _response_schema(returned: Any) -> dict[str, Any] | None:
    """Describe what a view returns; None if nothing, or a response of its own."""
    row = (get_args(returned) or (returned,))[0]
    if not is_dataclass(row):
        return None
    body: dict[str, Any] = schema_reference(cast(type[Any], row), "serialization")
    if get_origin(returned) not in {Page, list}:
        return body
    # Every list is a page, so that a short one can grow without a change of shape.
    results = {"type": "array", "items": body}
    following = {"type": ["string", "null"]}
    return {
        "type": "object",
        "required": ["results", "next"],
        "properties": {"results": results, "next": following},
    }
