"""Which private functions have one reader: a jump that might be spared.

Run `uv run python -m tests.bench.count_callers [--list] [FOLDER …]`; prints JSON. Counted are
functions of modules and methods whose name begins with one underscore and which our code refers to
once outside their own body; those of them that are called there, and not passed on as values; and
those of these that could stand in their caller, as they are no generators, call not themselves and
bear no decorator (a cache, a context, an abstract method). A method's name is looked for in the
class that refers to it, then in its module, then everywhere; a function's in its module.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.installations import ROOT

PACKAGES = ("missioncontrol", "guard")
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A function, or a name that is read, and where it stands: class and function."""

    name: str
    path: Path
    node: ast.AST
    owner: str
    within: tuple[str, ...]
    called: bool = False
    readers: list[Part] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Its function or its module, as a reader would look for it."""
        return f"{self.path.relative_to(ROOT)}:{'.'.join(self.within) or 'import'}"

    @property
    def is_called(self) -> bool:
        """Its only reader calls it."""
        return self.readers[0].called

    @property
    def could_be_inlined(self) -> bool:
        """It is called, and nothing but its length speaks against its standing there."""
        within = list(ast.walk(self.node))
        names = {getattr(one, "id", None) or getattr(one, "attr", None) for one in within}
        yields = any(isinstance(one, ast.Yield | ast.YieldFrom) for one in within)
        is_bare = not getattr(self.node, "decorator_list", ())
        return self.is_called and is_bare and not yields and self.name not in names


def parts(path: Path) -> Iterator[Part]:
    """Yield a module's functions and the names that it reads."""
    tree = ast.parse(path.read_text())
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}

    def walk(node: ast.AST, owner: str, within: tuple[str, ...]) -> Iterator[Part]:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                within = (*within, name)
                yield Part(name=name, path=path, node=node, owner=owner, within=within)
            case ast.ClassDef(name=name):
                owner, within = name, (*within, name)
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
                is_call = id(node) in called
                yield Part(
                    name=name, path=path, node=node, owner=owner, within=within, called=is_call
                )
        for below in ast.iter_child_nodes(node):
            yield from walk(below, owner, within)

    return walk(tree, "", ())


def is_candidate(part: Part) -> bool:
    """Tell whether it is a module's private function or a private method."""
    depth = 2 if part.owner else 1
    return part.name.startswith("_") and part.name[1:2] != "_" and len(part.within) == depth


def count(packages: Sequence[str]) -> tuple[int, list[Part]]:
    """Return how many functions the packages have, and the private ones with one reader."""
    found = [
        part
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
        if "migrations" not in path.parts
        for part in parts(path)
    ]
    functions = [part for part in found if isinstance(part.node, FUNCTION)]
    named: dict[str, list[Part]] = {}
    for part in filter(is_candidate, functions):
        named.setdefault(part.name, []).append(part)
    for reader in found:
        if not isinstance(reader.node, FUNCTION):
            for part in meant_by(reader, named.get(reader.name, [])):
                if part.path != reader.path or reader.within[: len(part.within)] != part.within:
                    part.readers.append(reader)
    return len(functions), [
        part for same in named.values() for part in same if len(part.readers) == 1
    ]


def meant_by(reader: Part, named: list[Part]) -> list[Part]:
    """Return which of the private functions of that name a reader means."""
    near = [part for part in named if part.path == reader.path]
    own = [part for part in near if part.owner == reader.owner]
    if isinstance(reader.node, ast.Name):
        return [part for part in near if not part.owner] or own
    return own or [part for part in near or named if part.owner]


def main() -> None:
    """Print how many there are, and which."""
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("--list", action="store_true", help="name each, its lines and its caller")
    reading.add_argument("packages", nargs="*", default=PACKAGES, metavar="FOLDER")
    asked = reading.parse_args()
    functions, once = count(asked.packages)
    called = [part for part in once if part.is_called]
    apart = [part for part in called if part.could_be_inlined]
    answer: dict[str, Any] = {"functions": functions}
    for name, some in (("one_reader", once), ("one_call", called), ("could_be_inlined", apart)):
        answer[name] = {"functions": len(some), "share": round(len(some) / functions, 4)}
    if asked.list:
        answer["list"] = [
            {
                "function": part.place,
                "lines": len(ast.unparse(part.node).splitlines()),
                "caller": part.readers[0].place,
            }
            for part in apart
        ]
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
