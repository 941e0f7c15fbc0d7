"""A repository that can be read, searched, edited and tested."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.guard.drawings.drawing import Log, fill, pool


@dataclass
class Failure:
    """One failing test and what it prints."""

    test: str
    path: str
    lines: str


@dataclass
class Repository:
    """Files by path, the tests' names by file, what fails now."""

    log: Log
    package: str = ""
    nouns: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    files: dict[str, list[str]] = field(default_factory=dict)
    tests: dict[str, list[str]] = field(default_factory=dict)
    failing: list[Failure] = field(default_factory=list)
    changed: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        theme = self.log.rng.choice(pool("code")["themes"])
        self.package, nouns, fields = theme.split("|")
        self.nouns, self.fields = nouns.split(","), fields.split(",")
        for noun in self.nouns:
            self._write_module(noun)
        for number in range(self.log.number(2, 3)):
            self.break_test(number)

    def names(self, path: str | None = None) -> dict[str, object]:
        """Give names to fill a text with, fitting the path if there is one."""
        rng = self.log.rng
        path = path or rng.choice(sorted(self.sources()))
        noun = next((noun for noun in self.nouns if noun in path), self.nouns[0])
        first, second = rng.sample(self.fields, 2)
        return {
            "path": path,
            "module": noun,
            "noun": noun,
            "Noun": noun.title(),
            "NOUN": noun.upper()[:3],
            "field": first,
            "other": second,
            "OTHER": second.upper(),
            "package": self.package,
            "func": rng.choice(self.functions(path) or [f"load_{noun}s"]),
            "word": rng.choice(pool("code")["words"]),
            "n": rng.randint(3, 90),
            "m": rng.randint(91, 180),
            "line": rng.randint(12, 140),
            "hex": self.log.hex(10),
        }

    def functions(self, path: str) -> list[str]:
        """Give the names that a file defines."""
        return [
            found[1]
            for line in self.files.get(path, ())
            if (found := re.match(r"(?:async )?(?:def|class) (\w+)", line))
        ]

    def sources(self) -> list[str]:
        """Give the paths below src."""
        return [path for path in self.files if path.startswith("src/")]

    def grep(self, word: str, limit: int = 14) -> str:
        """Give the lines that hold a word, as grep does."""
        hits = [
            f"{path}:{number}:{line}"
            for path, lines in sorted(self.files.items())
            for number, line in enumerate(lines, 1)
            if word in line
        ]
        return "\n".join(hits[:limit])

    def edit(self, path: str) -> tuple[str, str, int]:
        """Change a line for good; give the old text, the new one, and the place."""
        lines = self.files[path]
        places = [n for n, line in enumerate(lines) if line.startswith("    ") and len(line) > 12]
        place = self.log.rng.choice(places)
        old = lines[place]
        text = fill(self.log.deal("code.lines"), **self.names(path))
        added = old[: len(old) - len(old.lstrip())] + text.strip()
        lines[place : place + 1] = [added, old]
        self.changed[path] = self.changed.get(path, 0) + 1
        return old, f"{added}\n{old}", place + 1

    def break_test(self, number: int = 0) -> Failure:
        """Let one more test fail."""
        noun = self.log.rng.choice(self.nouns)
        path = f"tests/test_{noun}.py"
        names = self.names(f"src/{self.package}/{noun}.py")
        known = {failure.test for failure in self.failing}
        test = self.log.rng.choice([name for name in self.tests[path] if name not in known])
        failure = Failure(test, path, self.log.deal("code.failures", **names))
        self.failing.append(failure)
        return failure

    def pytest(self, *, quiet: bool = False, only: str | None = None) -> str:
        """Run the tests: what fails now, with a time that differs each run."""
        return _report(self, quiet=quiet, only=only)

    def _write_module(self, noun: str) -> None:
        log, path = self.log, f"src/{self.package}/{noun}.py"
        first, second = log.rng.sample(self.fields, 2)
        names = {
            "noun": noun,
            "Noun": noun.title(),
            "NOUN": noun.upper()[:3],
            "field": first,
            "other": second,
            "OTHER": second.upper(),
        }
        blocks = log.rng.sample(pool("code")["functions"], log.number(6, 9))
        text = f'"""What the program knows of a {noun}."""\n\nimport logging\n'
        text += "\n\n" + "\n\n\n".join(fill(block, **names) for block in blocks)
        self.files[path] = text.splitlines()
        functions = self.functions(path)
        cases = [f"test_{name.lower()}_{end}" for name in functions for end in _ENDS]
        chosen = log.rng.sample(cases, min(len(cases), log.number(7, 14)))
        self.tests[f"tests/test_{noun}.py"] = chosen
        body = [
            f"def {test}():\n    {noun} = make_{noun}({first}={log.number(1, 99)})\n"
            f"    assert {functions[n % len(functions)]}({noun}).{second} == {log.number(1, 99)}\n"
            for n, test in enumerate(chosen)
        ]
        self.files[f"tests/test_{noun}.py"] = "\n\n".join(body).splitlines()


_ENDS = ("keeps_order", "of_nothing", "twice", "with_unicode", "ignores_case", "raises", "is_fast")


def _report(repo: Repository, *, quiet: bool, only: str | None) -> str:
    rng = repo.log.rng
    tests = {only: repo.tests[only]} if only else repo.tests
    failing = [failure for failure in repo.failing if failure.path in tests]
    total = sum(len(names) for names in tests.values())
    bad = {(failure.path, failure.test) for failure in failing}
    spent = f"{rng.uniform(0.2, 4.8):.2f}s"
    tally = f"{len(bad)} failed, {total - len(bad)} passed" if bad else f"{total} passed"
    rows = []
    done = 0
    for path, names in sorted(tests.items()):
        done += len(names)
        dots = "".join("F" if (path, name) in bad else "." for name in names)
        rows.append(f"{path} {dots}".ljust(72) + f"[{100 * done // total:>3}%]")
    if quiet:
        head = "".join(row.split()[1] for row in rows) + " [100%]"
    else:
        head = (
            f"{' test session starts ':=^78}\nplatform linux -- Python 3.11.9, pytest-8.3.2, "
            f"pluggy-1.5.0\nrootdir: /home/dev/project\nconfigfile: pyproject.toml\n"
            f"collected {total} items\n\n" + "\n".join(rows)
        )
    if not bad:
        return (
            f"{head}\n\n{f' {tally} in {spent} ':=^78}"
            if not quiet
            else f"{head}\n{tally} in {spent}"
        )
    details = "\n\n".join(
        f"{f' {failure.test} ':_^78}\n\n{failure.lines}\n\n{failure.path}:{_line(failure)}: "
        f"{_error_name(failure.lines)}"
        for failure in failing
    )
    summary = "\n".join(
        f"FAILED {failure.path}::{failure.test} - {_first_error(failure.lines)}"
        for failure in failing
    )
    return (
        f"{head}\n\n{' FAILURES ':=^78}\n{details}\n{' short test summary info ':=^78}\n"
        f"{summary}\n{f' {tally} in {spent} ':=^78}"
    )


def _line(failure: Failure) -> int:
    return 10 + sum(map(ord, failure.test)) % 120


def _error_name(lines: str) -> str:
    found = re.search(r"\b(\w+Error|Failed)\b", lines)
    return found[1] if found else "AssertionError"


def _first_error(lines: str) -> str:
    return next(
        (line.removeprefix("E").strip() for line in lines.splitlines() if line.startswith("E")), ""
    )[:70]
