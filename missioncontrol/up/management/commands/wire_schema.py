"""Write the OpenAPI document that the front end's types are generated from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from drf_spectacular.generators import SchemaGenerator

PLACE = settings.BASE_DIR / "frontend" / "src" / "wire" / "openapi.json"


class Command(BaseCommand):
    """`manage.py wire_schema`, then `npm run types` in frontend/."""

    help = __doc__

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--file", type=Path, default=PLACE)

    def handle(self, *args: Any, **options: Any) -> None:
        options["file"].write_text(document())


def document() -> str:
    """Return the OpenAPI document as stable text."""
    generator: Any = SchemaGenerator
    schema = generator().get_schema(request=None, public=True)
    return json.dumps(schema, indent=1, sort_keys=True) + "\n"
