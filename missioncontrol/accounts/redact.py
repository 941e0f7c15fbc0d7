"""Keep one-time links out of logs: a link is a secret until it is used."""

from __future__ import annotations

import logging
import re

_LINK = re.compile(r"(/login/)[\w-]{8,}")


class HideLoginLinks(logging.Filter):
    """Rewrite `/login/<secret>` in every record that passes."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if "/login/" in said:
            record.msg, record.args = _LINK.sub(r"\1…", said), ()
        return True
