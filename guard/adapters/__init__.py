"""How each agent speaks: its hook bodies in, its hook answers out. Pure.

The files of frameworks (langchain, …) need their framework; nothing here imports one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from guard.adapters.base import Adapter

# Client -> the module that holds its `ADAPTER`; a hook loads only the one it needs.
ADAPTERS: dict[str, str] = {
    "claude-code": "guard.adapters.claude_code.adapter",
    "gemini": "guard.adapters.gemini.adapter",
    "codex": "guard.adapters.codex.adapter",
    "cursor": "guard.adapters.cursor.adapter",
}


def adapter_of(client: str) -> Adapter:
    """Return a client's adapter.

    Raises:
        KeyError: There is none of this name.
    """
    adapter: Adapter = importlib.import_module(ADAPTERS[client]).ADAPTER
    return adapter
