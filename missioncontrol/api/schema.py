"""OpenAPI 3.1: the REST views, the thin endpoints and every event, from one place.

Component schemas come from the wire dataclasses through pydantic, so that nothing
is declared twice; drf-spectacular lists the paths.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal

from django.conf import settings
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from guard.adapters import ADAPTERS
from guard.turn import Turn
from guard.wire import Directive, TurnsReply
from missioncontrol import wire
from missioncontrol.api.routing import (
    INPUT_CLASSES,
    PROBLEM_MEDIA_TYPE,
    SCHEMA_REF,
    schema_reference,
)
from missioncontrol.wire.decisions import Problem
from missioncontrol.wire.events import Event

Mode = Literal["validation", "serialization"]


def complete_schema(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Add the wire's components and the thin endpoints (spectacular's hook)."""
    components = result.setdefault("components", {})
    # In one place, so that the screens' types are made from one document.
    components.setdefault("schemas", {}).update(wire_schemas())
    components["securitySchemes"] = SECURITY_SCHEMES
    result["paths"].update(THIN_PATHS)
    # Reading turns is REST, posting them a thin endpoint: one address, two descriptions.
    result["paths"]["/api/v1/runs/{run_id}/turns/"]["post"] = POST_TURNS
    for operations in result["paths"].values():
        for operation in operations.values():
            # The schema says what is enforced: no address is open unless it is named here.
            if operation["operationId"] in PUBLIC_OPERATIONS:
                operation["security"] = []
            elif not operation.get("security"):
                operation["security"] = [{"session": []}, {"token": []}, {"agent": []}]
    # In a fixed order, whatever was imported first: CI compares the types made from it.
    result["paths"] = dict(sorted(result["paths"].items()))
    return result


class WireSchema(GenerateJsonSchema):
    """Requires every field in an answer, and in a request those without a default."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        # Defaults are always serialised, so a literal `type` is never optional.
        return self.mode == "serialization" or super().field_is_required(field, total)


@cache
def wire_schemas() -> dict[str, Any]:
    """Return the JSON Schema of every wire class, by name."""
    # By inspection, not from a list: a forgotten class would be missing from the types.
    modules = [import_module(m.name) for m in iter_modules(wire.__path__, f"{wire.__name__}.")]
    declared = [
        kind
        for module in modules
        for kind in vars(module).values()
        # Each where it is declared, not again in every module that imports it.
        if is_dataclass(kind) and isinstance(kind, type) and kind.__module__ == module.__name__
    ]
    adapters: list[tuple[str, Mode, TypeAdapter[Any]]] = [
        ("Turn", "validation", TypeAdapter(Turn)),
        ("Event", "serialization", TypeAdapter(Event)),
    ]
    adapters += [(name, "validation", TypeAdapter(kind)) for name, kind in INPUT_CLASSES.items()]
    adapters += [
        (kind.__name__, "serialization", TypeAdapter(kind))
        for kind in (*declared, Directive, TurnsReply)
    ]
    # All at once: only then does pydantic give two classes of the same name two names.
    schemas, shared = TypeAdapter.json_schemas(
        adapters, ref_template=SCHEMA_REF, schema_generator=WireSchema
    )
    by_name = {**shared.get("$defs", {})}
    for (name, _), schema in schemas.items():
        # A schema that is referred to is already there under the same name.
        by_name.setdefault(name, schema)
    return dict(sorted(by_name.items()))


def _json_content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


SECURITY_SCHEMES = {
    "agent": {"type": "http", "scheme": "bearer", "description": "a project's agent key, mc_…"},
    "token": {"type": "http", "scheme": "bearer", "description": "a personal token, mcu_…"},
    "session": {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME},
    "operator": {"type": "http", "scheme": "bearer", "description": "the operator's metrics token"},
}

_RUN_PARAMETER = {"name": "run_id", "in": "path", "required": True, "schema": {"type": "string"}}
_OBJECT_SCHEMA = {"type": "object"}
_PROTOBUF_CONTENT = {"application/x-protobuf": {"schema": {"type": "string", "format": "binary"}}}


def _query_parameter(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": kind}}


def _operation(
    name: str,
    text: str,
    answer: dict[str, Any],
    *,
    caller: str = "agent",
    others: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Describe an operation by what it answers; `others`: other answers by status."""
    problems = {PROBLEM_MEDIA_TYPE: {"schema": schema_reference(Problem, "serialization")}}
    return {
        "operationId": name,
        "description": text,
        "security": [{caller: []}],
        "responses": {
            "200": {"description": "", "content": answer},
            **(others or {}),
            "default": {"description": "RFC 9457", "content": problems},
        },
        **more,
    }


def _public_operation(
    name: str, statuses: dict[str, str], kinds: tuple[str, ...] = ("application/json",)
) -> dict[str, Any]:
    """Describe an endpoint that needs no sign-in, by what each status means."""
    content = {kind: {"schema": _OBJECT_SCHEMA} for kind in kinds}
    answered = {
        status: {"description": text, "content": content} for status, text in statuses.items()
    }
    return {"get": {"operationId": name, "security": [], "responses": answered}}


def _otlp_operation(signal: str, rejected: str) -> dict[str, Any]:
    """Describe one of OTLP/HTTP's endpoints."""
    # A string: protobuf's JSON writes 64-bit numbers that way.
    counted = {rejected: {"type": "string"}, "errorMessage": {"type": "string"}}
    partial = {
        "type": "object",
        "properties": {"partialSuccess": {"type": "object", "properties": counted}},
    }
    return {
        "post": _operation(
            f"otlp_{signal}",
            "OTLP/HTTP in JSON or protobuf, plain or gzip. Records that cannot be "
            "read are counted in the answer; the others are stored.",
            {**_json_content(partial), **_PROTOBUF_CONTENT},
            requestBody={
                "required": True,
                "content": {**_json_content(_OBJECT_SCHEMA), **_PROTOBUF_CONTENT},
            },
        )
    }


_OPENAPI = "application/vnd.oai.openapi"
SCHEMA_MEDIA_TYPES = (_OPENAPI, f"{_OPENAPI}+json", "application/yaml", "application/json")
PUBLIC_OPERATIONS = frozenset({"healthz", "readyz", "schema", "setup_codes_exchange"})

# Written by hand: these never pass through Django, so spectacular cannot find them.
THIN_PATHS: dict[str, Any] = {
    "/api/v1/runs/{run_id}/directive/": {
        "get": _operation(
            "runs_directive",
            "The current directive, or the next one newer than `after` within `wait` seconds; "
            "204 if there is none. `call` is the key of the proposed turn in question. With "
            "`keeper=1` the program that started the agent asks: the agent is not waiting.",
            _json_content(schema_reference(Directive, "serialization")),
            others={"204": {"description": "nothing newer"}},
            parameters=[
                _RUN_PARAMETER,
                _query_parameter("wait", "number"),
                _query_parameter("after", "integer"),
                _query_parameter("call", "string"),
                _query_parameter("keeper", "integer"),
            ],
        )
    },
    "/api/v1/runs/{run_id}/presence/": {
        "post": _operation(
            "runs_presence",
            "Report that the agent's process is alive. Repeat it within the answered number "
            "of seconds, or the run is `lost`; without any report it is after 30 silent minutes.",
            _json_content(
                {
                    "type": "object",
                    "required": ["again_within_s"],
                    "properties": {"again_within_s": {"type": "number"}},
                }
            ),
            parameters=[_RUN_PARAMETER],
        )
    },
    "/v1/traces": _otlp_operation("traces", "rejectedSpans"),
    "/v1/logs": _otlp_operation("logs", "rejectedLogRecords"),
    "/v1/metrics": _otlp_operation("metrics", "rejectedDataPoints"),
    "/healthz": _public_operation("healthz", {"200": "this process is up"}),
    "/readyz": _public_operation(
        "readyz", {"200": "database, broker and worker are working", "503": "one of them is not"}
    ),
    "/metrics": {
        "get": _operation(
            "metrics",
            "Metrics for Prometheus, with the operator's token "
            "(`MISSIONCONTROL_METRICS_TOKEN`); 404 without it.",
            {"text/plain": {}},
            caller="operator",
        )
    },
    "/api/schema/": _public_operation("schema", {"200": "this document"}, SCHEMA_MEDIA_TYPES),
    **{
        f"/api/v1/hooks/{client}/": {
            "post": _operation(
                f"hooks_{client.replace('-', '_')}",
                f"The hook body {client} itself writes in, its hook answer out; "
                "held while the run is held.",
                _json_content(_OBJECT_SCHEMA),
                requestBody={"content": _json_content(_OBJECT_SCHEMA)},
            )
        }
        # An agent's adapter adds its hook to the schema.
        for client in ADAPTERS
    },
}

POST_TURNS: dict[str, Any] = _operation(
    "runs_turns_create",
    "Store 1 to 500 turns. With `Prefer: wait=S` (at most 60) the answer comes "
    "once detection has judged them; with `return=minimal` it carries no text for the model.",
    _json_content(schema_reference(TurnsReply, "serialization")),
    parameters=[_RUN_PARAMETER, {"name": "Prefer", "in": "header", "schema": {"type": "string"}}],
    requestBody={
        "required": True,
        "content": _json_content(
            {
                "type": "object",
                "required": ["turns"],
                "properties": {
                    "turns": {
                        "type": "array",
                        "minItems": 1,
                        "maxItems": 500,
                        "items": {"$ref": SCHEMA_REF.format(model="Turn")},
                    }
                },
            }
        ),
    },
)
