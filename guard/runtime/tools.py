"""What a model may call: tools, and those that work in the one directory it may touch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guard.errors import ToolFailed

# What the model reads of one file; the rest is cut, and it is told so.
MOST_CHARS = 4000

# A folder of packages has tens of thousands, which no model's context holds.
MOST_FILES = 2000


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
        accepted = {"type": "object", "properties": properties, "required": list(self.parameters)}
        function = {"name": self.name, "description": self.description, "parameters": accepted}
        return {"type": "function", "function": function}


class Workspace:
    """A sandboxed directory with the tools that work in it.

    A path that leads out, by `..`, as an absolute path or over a symbolic link,
    is refused.
    """

    def __init__(self, root: Path) -> None:
        # Once: a path is compared with where the root really lies.
        self.root = root.resolve()

    def tools(self) -> list[Tool]:
        """The tools that work in it."""
        return [
            Tool(
                name="read_file",
                description="Read a text file of the workspace",
                parameters={"path": "path from its root"},
                run=self.read_file,
            ),
            Tool(
                name="list_files",
                description="List all files of the workspace",
                run=self.list_files,
            ),
            Tool(
                name="write_file",
                description="Write a text file of the workspace",
                parameters={"path": "path from its root", "text": "the whole text"},
                run=self.write_file,
            ),
        ]

    def read_file(self, path: str) -> str:
        """Return a file's text.

        Raises:
            ToolFailed: It is outside, missing, or no text.
        """
        try:
            text = self._inside(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ToolFailed(f"{path}: {_reason(error)}") from error
        # Said in the text: a model that sees no end takes what it has for the whole.
        return text if len(text) <= MOST_CHARS else text[:MOST_CHARS] + "\n[cut here]"

    def list_files(self) -> str:
        """Return the paths of all files, one a line."""
        return "\n".join(self.names())

    def write_file(self, path: str, text: str) -> str:
        """Write a file, making its folders.

        Raises:
            ToolFailed: It is outside, or cannot be written.
        """
        target = self._inside(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
        except OSError as error:
            raise ToolFailed(f"{path}: {_reason(error)}") from error
        return f"wrote {len(text)} characters to {path}"

    def names(self) -> list[str]:
        """Paths of all files from the root, in order."""
        files = (path for path in sorted(self.root.rglob("*")) if path.is_file())
        return [path.relative_to(self.root).as_posix() for path in files][:MOST_FILES]

    def _inside(self, path: str) -> Path:
        # Resolved before it is compared: `..` and links would lead out.
        target = (self.root / path).resolve()
        if not target.is_relative_to(self.root):
            raise ToolFailed(f"{path}: outside the workspace")
        return target


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "no text file"
    return (error.strerror or type(error).__name__).lower()
