"""A coding agent at work in a repository."""

from __future__ import annotations

from typing import Any

from tests.guard.drawings.drawing import Log
from tests.guard.drawings.harness import HARNESSES, Call
from tests.guard.drawings.repository import Repository


class Coder:
    """Deeds of a coding agent, each a turn or a few; all bring something."""

    def __init__(self, log: Log, harness: str = "claude", thinks: float = 0.7) -> None:
        self.log, self.repo = log, Repository(log)
        self.hand = HARNESSES[harness]()
        self.thinks = thinks
        self._read: dict[str, int] = {}
        self._queue = sorted(self.repo.sources(), key=lambda _: log.rng.random())
        self._grepped: set[str] = set()

    def do(
        self, call: Call, result: str | None, *, thought: str | None = None, **rest: Any
    ) -> None:
        """Call a tool of the harness."""
        self.log.call(call[0], call[1], result, thought=thought, **rest)

    def thought(self, deck: str, path: str | None = None, **names: object) -> str | None:
        """Give a thought for a call, or none."""
        if self.log.rng.random() > self.thinks:
            return None
        return self.log.deal(f"code.{deck}", **(self.repo.names(path) | names))

    def ask(self, text: str | None = None) -> None:
        """Let the person ask for something."""
        self.log.user(text or self.log.deal("code.asks", **self.repo.names()))

    def read(self, path: str | None = None, count: int = 40) -> str:
        """Read the next unread part of a file."""
        path = path or self._next_path()
        first = self._read.get(path, 1)
        lines = self.repo.files[path][first - 1 : first - 1 + count]
        self._read[path] = first + len(lines)
        call = self.hand.read(path, first, count)
        self.do(call, self.hand.shown(path, lines, first), thought=self.thought("look", path))
        return path

    def view(self, path: str, first: int = 1, count: int = 40, thought: str | None = None) -> None:
        """Read a given part of a file, known or not."""
        lines = self.repo.files[path][first - 1 : first - 1 + count]
        self.do(
            self.hand.read(path, first, count), self.hand.shown(path, lines, first), thought=thought
        )

    def grep(self) -> None:
        """Search for a name that was not searched before."""
        names = [
            name
            for path in self.repo.sources()
            for name in [*self.repo.functions(path), *self.repo.fields]
            if name not in self._grepped
        ]
        word = self.log.rng.choice(names or ["import"])
        self._grepped.add(word)
        self.do(
            self.hand.grep(word, "src"),
            self.repo.grep(word),
            thought=self.thought("grep", word=word),
        )

    def listing(self) -> None:
        """List the tree."""
        rows = "\n".join(f"./{path}" for path in sorted(self.repo.files))
        self.do(self.hand.shell("find . -name '*.py' -not -path './.venv/*' | sort"), rows)

    def edit(self, path: str | None = None, thought: str | None = None) -> str:
        """Change a file for good."""
        path = path or self.log.rng.choice(self.repo.sources())
        old, new, place = self.repo.edit(path)
        first = max(1, place - 3)
        snippet = self.repo.files[path][first - 1 : place + 5]
        aloud = thought or self.thought("edit", path)
        self.do(
            self.hand.edit(path, old, new), self.hand.edited(path, snippet, first), thought=aloud
        )
        return path

    def test(
        self, only: str | None = None, *, quiet: bool = False, thought: str | None = None
    ) -> None:
        """Run the tests."""
        flag = " -q" if quiet else ""
        command = f"python -m pytest{flag} {only}" if only else f"python -m pytest{flag}"
        report = self.repo.pytest(quiet=quiet, only=only)
        self.do(
            self.hand.shell(command, "Run the tests"),
            report,
            thought=thought or self.thought("test"),
        )

    def fix_one(self) -> None:
        """Fix the first failure: read, change, test."""
        if not self.repo.failing:
            self.repo.break_test()
        failure = self.repo.failing[0]
        path = failure.path.replace("tests/test_", f"src/{self.repo.package}/")
        if self.log.rng.random() < 0.6:
            self.read(path, 25)
        self.edit(path)
        self.repo.failing.remove(failure)
        self.test(quiet=self.log.rng.random() < 0.4)

    def status(self) -> None:
        """Ask git what changed."""
        rows = "\n".join(f" M {path}" for path in sorted(self.repo.changed)) or ""
        result = rows or "nothing to commit, working tree clean"
        self.do(self.hand.shell("git status --short"), result)

    def diff(self) -> None:
        """Ask git for the size of the changes."""
        rows = [
            f" {path} | {2 * n} {'+' * n}{'-' * n}" for path, n in sorted(self.repo.changed.items())
        ]
        tail = f" {len(rows)} files changed, {sum(self.repo.changed.values())} insertions(+)"
        self.do(self.hand.shell("git diff --stat"), "\n".join([*rows, tail]))

    def commit(self) -> None:
        """Commit what changed."""
        subject = self.log.deal("code.commit", **self.repo.names())
        count = max(1, len(self.repo.changed))
        output = f"[main {self.log.hex(7)}] {subject}\n {count} file{'s' * (count > 1)} changed, {self.log.number(2, 40)} insertions(+)"
        self.do(
            self.hand.shell(f'git add -A && git commit -q -m "{subject}" && git log -1 --stat'),
            output,
        )
        self.repo.changed.clear()

    def plan(self, items: list[str], done: int) -> None:
        """Update the list of things to do."""
        states = ["completed"] * done + ["in_progress"] + ["pending"] * len(items)
        call, thought = self.hand.plan(list(zip(items, states, strict=False)))
        self.do(call, thought)

    def lint(self, problems: int) -> None:
        """Run the linter."""
        rows = []
        for _ in range(problems):
            names = self.repo.names(self.log.rng.choice(self.repo.sources()))
            code, text = self.log.rng.choice(_LINT)
            rows.append(
                f"{names['path']}:{names['line']}:{self.log.number(1, 60)}: {code} {text}".format(
                    **names
                )
            )
        tail = f"Found {problems} errors." if problems else "All checks passed!"
        self.do(self.hand.shell("ruff check src tests"), "\n".join([*rows, tail]))

    def work(self, turns: int) -> None:
        """Work varied and for real until about so many turns are written."""
        end = len(self.log.turns) + turns
        if not self.log.turns:
            self.ask()
            self.listing()
        while len(self.log.turns) < end:
            self.log.rng.choice(_DEEDS)(self)

    def _next_path(self) -> str:
        if not self._queue:
            self._queue = list(self.repo.tests)
            self._read = {}
        path = self._queue[0]
        if self._read.get(path, 1) > len(self.repo.files[path]) - 20 or self.log.rng.random() < 0.5:
            self._queue.pop(0)
        return path


_LINT = (
    ("F401", "`csv` imported but unused"),
    ("E501", "Line too long (118 > 100)"),
    ("B008", "Do not perform function call `{func}` in argument defaults"),
    ("SIM102", "Use a single `if` statement instead of nested `if` statements"),
    ("UP006", "Use `list` instead of `List` for type annotation"),
    ("F841", "Local variable `{field}` is assigned to but never used"),
    ("N806", "Variable `{Noun}` in function should be lowercase"),
    ("PLR2004", "Magic value used in comparison, consider replacing `{n}` with a constant"),
)
_DEEDS = (
    Coder.read,
    Coder.read,
    Coder.read,
    Coder.grep,
    Coder.grep,
    Coder.fix_one,
    Coder.edit,
)
