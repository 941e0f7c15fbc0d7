"""Addresses of our own pages, as somebody outside can open them."""

from __future__ import annotations

from django.conf import settings


def link(path: str) -> str | None:
    """Return a page's full address; None: nobody said how this site is reached."""
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}" if settings.PUBLIC_URL else None
