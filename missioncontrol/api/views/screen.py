"""The one page: the built front end, which fetches everything it shows."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

NOT_BUILT = "The screens are not built. Run `npm ci && npm run build` in frontend/, or `up`."


@require_safe
def screen(request: HttpRequest) -> HttpResponse:
    """Answer the page for every address of the app."""
    index = settings.FRONTEND_DIST / "index.html"
    if not index.is_file():
        return HttpResponse(NOT_BUILT, status=503, content_type="text/plain")
    response = HttpResponse(index.read_bytes(), content_type="text/html; charset=utf-8")
    response.headers["Cache-Control"] = "no-cache"
    return response
