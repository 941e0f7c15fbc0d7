"""Keep links that are secrets out of logs: one-time ones, and those that share something."""

from __future__ import annotations

import logging
import re

_LINK = re.compile(r"(/(?:login|shared)/)[\w-]{8,}")


class HideLoginLinks(logging.Filter):
    """Rewrite `/login/<secret>` and `/shared/<secret>` in every record that passes."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        # The arguments too: a handler would fill them in again.
        if _LINK.search(text):
            record.msg, record.args = _LINK.sub(r"\1…", text), ()
        return True
