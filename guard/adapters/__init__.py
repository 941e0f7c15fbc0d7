"""How each agent speaks: reads its hook bodies, writes its hook answers. Pure.

The modules for frameworks (langchain, …) need their framework; nothing here imports them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from guard.adapters.base import Adapter

# Client -> the module with its `ADAPTER`; a hook loads only the one it needs.
ADAPTERS: dict[str, str] = {
    "claude-code": "guard.adapters.claude_code.adapter",
    "gemini": "guard.adapters.gemini.adapter",
    "codex": "guard.adapters.codex.adapter",
    "cursor": "guard.adapters.cursor.adapter",
}


def adapter_of(client: str) -> Adapter:
    """Return a client's adapter.

    Raises:
        KeyError: There is no client with this name.
    """
    adapter: Adapter = importlib.import_module(ADAPTERS[client]).ADAPTER
    return adapter
