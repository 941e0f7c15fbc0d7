"""Liveness and readiness, for whoever runs the server."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, JsonResponse

from missioncontrol.celery import app


def healthz(request: HttpRequest) -> JsonResponse:
    """Answer that this process serves."""
    return JsonResponse({"ok": True})


def readyz(request: HttpRequest) -> JsonResponse:
    """Answer whether database, broker and worker do their work."""
    checks = {"database": _database, "broker": _broker, "worker": _worker}
    found = {name: _passes(check) for name, check in checks.items()}
    ready = all(found.values())
    return JsonResponse({"ok": ready, **found}, status=200 if ready else 503)


def _passes(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:  # noqa: BLE001 - whatever is wrong, it is not ready
        return False


def _database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,))


def _broker() -> bool:
    with app.connection_for_read() as broker:
        broker.ensure_connection(max_retries=1, timeout=1)
    return True


def _worker() -> bool:
    """One that detects: a process that only asks a model does not count."""
    answers = app.control.ping(timeout=1.0, limit=1 if settings.JUDGE is None else 2) or []
    return any(not name.startswith("judge@") for answer in answers for name in answer)
