"""What a model may call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function a model may call, and what it is told of it.

    Attributes:
        name: What the model calls it.
        description: What it does, for the model.
        run: Called with the arguments by name; answers the text the model reads, or
            raises `guard.errors.ToolFailed` with a sentence for it.
        parameters: Each parameter with its meaning; all are required texts.
    """

    name: str
    description: str
    run: Callable[..., str]
    parameters: Mapping[str, str] = field(default_factory=dict)

    def declared(self) -> dict[str, Any]:
        """Write it as a chat endpoint wants tools declared."""
        properties = {
            parameter: {"type": "string", "description": meaning}
            for parameter, meaning in self.parameters.items()
        }
        accepted = {
            "type": "object",
            "properties": properties,
            "required": list(self.parameters),
        }
        function = {"name": self.name, "description": self.description, "parameters": accepted}
        return {"type": "function", "function": function}
