"""JSON for our own pages, gzipped: a list of runs is a tenth of its size."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressedAnswers(GZipMiddleware):
    """Compress what a page of this very origin asked for, and nothing else.

    The size of a compressed answer tells of its secrets to who sees it on the line and can have
    it asked again and again with guesses in it (BREACH, Gluck, Harris and Prado 2013). Another
    site cannot ask by itself: browsers say where a request comes from, and no page can say it
    for them. Who opens our pages with guesses in their address, or writes them as an agent, is
    slowed by the up to 100 random bytes that Django adds to each answer (Heal the
    Breach, Palacios and others, IEEE Access 2022): it takes hundreds of tries for one guess.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Leave alone what is no JSON, is streamed, or was asked from elsewhere."""
        is_ours = request.headers.get("Sec-Fetch-Site") == "same-origin"
        is_json = response.headers.get("Content-Type") == "application/json"
        if response.streaming or not (is_ours and is_json):
            return response
        return super().process_response(request, response)
