"""Which conditions no test minds: `uv run python -m tests.bench.mutate guard/budget.py …`.

Changes one condition or number at a time in a copy of the tree, runs the tests that call
the changed function, and prints JSON: what was *killed* (a test failed or ran out of time),
what *survived* and where no test came by (*untested*). A survivor is a question, not a
fault: a condition without a test, a test that cannot fail, or a change without effect.

One process imports and collects everything and builds the database. For each change it
forks, puts the changed function in the old one's place (`tests/bench/forks.py`) and runs
the tests: a second rather than ten. What runs at import is tried in a fresh process.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import copy
import functools
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, cast

import pytest

from tests.bench.calls import AT_IMPORT, Calls
from tests.bench.forks import Change, Forks, Verdict, wait_for
from tests.installations import ROOT

TESTS = (
    "tests/guard",
    "tests/property",
    "tests/missioncontrol/api",
    "tests/missioncontrol/history",
    "tests/missioncontrol/live",
    "tests/missioncontrol/notify",
    "tests/missioncontrol/audit",
    "tests/missioncontrol/costs",
    "tests/missioncontrol/decisions",
    "tests/missioncontrol/detection",
    "tests/missioncontrol/reports",
    "tests/missioncontrol/runs",
)
PYTEST = (
    "-n",
    "0",
    "-q",
    "-p",
    "no:randomly",
    "-p",
    "no:cacheprovider",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)
OTHERS = (
    "apprise",
    "django.db.models",
    "django.test",
    "genai_prices",
    "hypothesis",
    "numpy",
    "psycopg",
    "pydantic",
    "pywebpush",
    "rapidfuzz",
    "redis.asyncio",
    "structlog",
)
START_S, SLOWER = 60, 10
"""A mutant's time: a start, and so many times what its tests took."""

FATES = {0: "survived", 5: "untested"}
"""By pytest's exit code; all others killed."""

NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
LOOSENED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
QUANTIFIERS = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change: what stands where, and what stands there instead."""

    module: str
    line: int
    function: str | None
    span: tuple[int, int]
    was: str
    now: str

    @property
    def place(self) -> str:
        """Name the function as the trace of calls does."""
        return f"{self.module}:{self.function}"

    @property
    def mutation(self) -> str:
        """Say what changes."""
        return f"{self.was}  ->  {self.now}"

    def written_into(self, source: bytes) -> bytes:
        """Give the module's text with the change in it; what follows keeps its line."""
        start, end = self.span
        rows = "\n" * source[start:end].count(b"\n")
        return source[:start] + f"({self.now}{rows})".encode() + source[end:]


def changes(node: ast.AST) -> Iterator[ast.expr]:  # noqa: C901 - a table
    """Give what may stand in a node's place: conditions turned, numbers moved by one."""
    match node:
        case ast.Compare(ops=ops):
            for place, operator in enumerate(ops):
                for table in (NEGATED, LOOSENED):
                    if type(operator) in table:
                        changed = copy.deepcopy(node)
                        changed.ops[place] = table[type(operator)]()
                        yield changed
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(
                op=ast.Or() if isinstance(operator, ast.And) else ast.And(), values=values
            )
            for left_out in values:
                rest = [value for value in values if value is not left_out]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op=operator, values=rest)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(other) for other in (value + 1, value - 1) if other >= 0)
        case ast.Constant(value=float(value)):
            yield from (ast.Constant(value * 1.1 or 0.1), ast.Constant(value * 0.9 or -0.1))
        case ast.Call(func=ast.Name(id=name)) if name in QUANTIFIERS:
            changed_call = copy.deepcopy(node)
            changed_call.func = ast.Name(QUANTIFIERS[name])
            yield changed_call
        case ast.IfExp(test=test, body=body, orelse=orelse) if _is_plain(test):
            yield ast.IfExp(test=ast.UnaryOp(ast.Not(), test), body=body, orelse=orelse)


def _is_plain(test: ast.expr) -> bool:
    """Tell a condition that no other change turns."""
    return not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant)


def conditions(node: ast.AST) -> Iterator[ast.expr]:
    """Give the plain conditions of a statement or comprehension, to be turned as a whole."""
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.While):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    yield from (test for test in tests if _is_plain(test))


def visited(
    node: ast.AST, function: str | None = None, inside: str = ""
) -> Iterator[tuple[ast.AST, str | None]]:
    """Give every node that runs, with the innermost function around it; no annotations."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = f"{inside}{node.name}"
        inside = f"{function}.<locals>."
        inner: list[ast.AST] = [
            *node.body,
            *filter(None, (*node.args.defaults, *node.args.kw_defaults)),
        ]
    elif isinstance(node, ast.ClassDef):
        inside = f"{inside}{node.name}."
        inner = list(node.body)
    elif isinstance(node, ast.AnnAssign):
        inner = [node.value] if node.value else []
    elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        inner = []
    else:
        inner = list(ast.iter_child_nodes(node))
    yield node, function
    for one in inner:
        yield from visited(one, function, inside)


def mutants_of(module: str, source: bytes) -> Iterator[Mutant]:
    """Give every change of a module."""
    starts = [0]
    for row in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    tree = ast.parse(source)
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    # Before Python 3.12 the parts of an f-string do not tell where they stand.
    placeless = {id(part) for text in texts for part in ast.walk(text)}
    for node, function in visited(tree):
        turned = [(test, ast.UnaryOp(ast.Not(), test)) for test in conditions(node)]
        for place, change in (*turned, *((node, change) for change in changes(node))):
            if not isinstance(place, ast.expr) or id(place) in placeless:
                continue
            assert place.end_lineno is not None
            assert place.end_col_offset is not None
            start = starts[place.lineno - 1] + place.col_offset
            end = starts[place.end_lineno - 1] + place.end_col_offset
            was, now = ast.unparse(place), ast.unparse(ast.fix_missing_locations(change))
            yield Mutant(
                module=module,
                line=place.lineno,
                function=function,
                span=(start, end),
                was=was,
                now=now,
            )


def copy_tree(target: Path) -> None:
    """Copy what git knows or would take in, as it lies there now."""
    listing = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and not name.startswith("frontend/"):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def preload() -> None:
    """Import what tests need of others, so that each change starts from here: far faster."""
    for name in OTHERS:
        importlib.import_module(name)


def run_tests(tree: Path, tests: Sequence[str], *, time_s: float | None, **env: str) -> int | None:
    """Run tests in the copy and give pytest's exit code; None: they ran out of time."""
    plugins = ["-p", "tests.bench.calls"] if env else ["-x"]
    return wait_for(_forked(tree, [*plugins, *tests], env=env), time_s)


def _forked(tree: Path, arguments: list[str], *, env: dict[str, str], plugins: Any = ()) -> int:
    """Start pytest in the copy, in a process of its own."""
    child = os.fork()
    if not child:
        try:
            os.environ.update(env)
            code = _test_in_copy(tree, arguments, plugins)
        except BaseException:  # noqa: BLE001 - nothing may escape into the parent's code
            code = 3
        os._exit(code)
    return child


def _test_in_copy(tree: Path, arguments: list[str], plugins: Any) -> int:
    os.setsid()
    atexit._clear()  # the copy is the parent's to remove
    os.chdir(tree)
    output = os.open(tree / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.path.insert(0, str(tree))
    os.environ["PYTHONPATH"] = str(tree)  # for what the tests start
    for name in [*sys.modules]:
        if name.partition(".")[0] in {"tests", "guard", "missioncontrol"}:
            del sys.modules[name]
    code = pytest.main([*PYTEST, *arguments], plugins=[*plugins])
    atexit._run_exitfuncs()
    return int(code)


def read_calls(tree: Path, tests: Sequence[str], kept: Path | None) -> dict[str, Calls]:
    """Find out which test calls what, or read what an earlier run kept."""
    if kept and kept.exists():
        return cast("dict[str, Calls]", json.loads(kept.read_text("utf-8")))
    file = kept.resolve() if kept else tree / "calls.json"
    run_tests(tree, tests, time_s=None, CALLS_FILE=str(file))
    return cast("dict[str, Calls]", json.loads(file.read_text("utf-8")))


def runs_at_import(mutant: Mutant, calls: dict[str, Calls]) -> bool:
    """Tell what a fork would change too late: a rule's check may be built with its module."""
    outermost = (mutant.function or "").partition(".<locals>")[0]
    tests = calls.get(AT_IMPORT)
    return not outermost or bool(tests and f"{mutant.module}:{outermost}" in tests["functions"])


def find_callers(mutant: Mutant, calls: dict[str, Calls], tree: Path) -> set[str]:
    """Find the tests that call the changed function.

    What runs at import is minded by those that call anything of its module, and what
    holds nothing to call, types and bounds, by those that call who imports it.
    """
    places = {
        test: set(covered["functions"]) for test, covered in calls.items() if test != AT_IMPORT
    }
    if found := {test for test, own in places.items() if mutant.place in own}:
        return found
    if not runs_at_import(mutant, calls):
        return set()
    modules = {test: {place.partition(":")[0] for place in own} for test, own in places.items()}
    found = {test for test, own in modules.items() if mutant.module in own}
    importers = set() if found else importers_of(mutant.module, tree)
    return found or {test for test, own in modules.items() if own & importers}


@functools.cache
def importers_of(module: str, tree: Path) -> set[str]:
    """Name the modules of ours that import from this one."""
    name = module.removesuffix(".py").replace("/", ".")
    files = [*(tree / "guard").rglob("*.py"), *(tree / "missioncontrol").rglob("*.py")]
    return {
        str(file.relative_to(tree))
        for file in files
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.ImportFrom)
        and name in {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    }


def choose_tests(
    mutant: Mutant, calls: dict[str, Calls], callers: set[str], most_s: float
) -> list[str]:
    """Give the tests that call the changed function: the module's own first, then the fastest.

    The module's own come last that did not call it: what is remembered between tests
    (`lru_cache`) was called by the first of them alone.
    """
    name = Path(mutant.module).stem
    own = {test for test in calls if name in Path(test.split("::")[0]).stem}
    chosen: list[str] = []
    seconds = 0.0
    for test in sorted(
        own | callers,
        key=lambda test: (test not in callers, test not in own, calls[test]["seconds"]),
    ):
        if chosen and seconds + calls[test]["seconds"] > most_s:
            continue
        seconds += calls[test]["seconds"]
        chosen.append(test)
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Where changes are tried, by which tests."""

    tree: Path
    calls: dict[str, Calls]
    most_s: float
    forks: Forks

    def fate_of(self, mutant: Mutant) -> dict[str, Any]:
        """Write the change, run its tests, put the module back, and say what became of it."""
        verdict = self._tried(mutant)
        while verdict.by and not self._passes(verdict.by):
            print("fails without a change:", verdict.by, file=sys.stderr)
            del self.calls[verdict.by]
            verdict = self._tried(mutant)
        code = verdict.code
        return {
            "module": mutant.module,
            "line": mutant.line,
            "mutation": mutant.mutation,
            "tests": len(self._tests_for(mutant)),
            "fate": "killed" if code is None else FATES.get(code, "killed"),
            "by": verdict.by,
        }

    def _tried(self, mutant: Mutant) -> Verdict:
        file = self.tree / mutant.module
        source = file.read_bytes()
        tests = self._tests_for(mutant)
        time_s = START_S + SLOWER * sum(self.calls[test]["seconds"] for test in tests)
        change = Change(
            file=file,
            before=source,
            line=mutant.line,
            tests=tests,
            time_s=time_s,
            function=None if runs_at_import(mutant, self.calls) else mutant.function,
        )
        if not tests:
            return Verdict(code=5)
        try:
            file.write_bytes(mutant.written_into(source))
            # Same size, same second: Python would take the compiled text for this one's.
            Path(cache_from_source(str(file))).unlink(missing_ok=True)
            return self.forks.ask(change) or Verdict(
                code=run_tests(self.tree, tests, time_s=time_s)
            )
        finally:
            file.write_bytes(source)
            Path(cache_from_source(str(file))).unlink(missing_ok=True)

    def _tests_for(self, mutant: Mutant) -> list[str]:
        callers = find_callers(mutant, self.calls, self.tree)
        return choose_tests(mutant, self.calls, callers, self.most_s)

    def _passes(self, test: str) -> bool:
        """Tell whether a test passes in a fork where nothing is changed."""
        verdict = self.forks.ask(Change(tests=[test], time_s=None))
        return verdict is not None and verdict.code == 0


def main() -> None:
    """Change one thing at a time; print a line each, then the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="+", help="files of guard/ or missioncontrol/")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="tests that are asked")
    parser.add_argument("--sample", type=int, help="so many changes a module, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--line", type=int, help="only changes at this line")
    parser.add_argument("--again", type=Path, help="only what an earlier run printed as survived")
    parser.add_argument("--most", type=float, default=60.0, help="seconds of tests a change")
    parser.add_argument("--calls", type=Path, help="keep here, or read, which test calls what")
    asked = parser.parse_args()
    preload()
    with tempfile.TemporaryDirectory(prefix="mc-mutants-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        calls = read_calls(tree, asked.tests, asked.calls)
        forks = Forks()
        try:
            forks.begin(_forked(tree, asked.tests, env={}, plugins=[forks]))
        except EOFError:
            sys.exit(f"the tests cannot be collected:\n{(tree / 'output').read_text('utf-8')}")
        trials = Trials(tree=tree, calls=calls, most_s=asked.most, forks=forks)
        fates: Counter[str] = Counter()
        try:
            for mutant in drawn(asked, tree):
                fate = trials.fate_of(mutant)
                fates[fate["fate"]] += 1
                print(json.dumps(fate), flush=True)
        finally:
            forks.end()
        print(json.dumps({"mutants": fates.total(), **fates}))


def drawn(asked: argparse.Namespace, tree: Path) -> Iterator[Mutant]:
    """Give the changes to be tried, module by module, from its top."""
    lines = asked.again.read_text("utf-8").splitlines() if asked.again else []
    again = {
        (one["module"], one["line"], one["mutation"])
        for one in map(json.loads, lines)
        if one.get("fate") in {"survived", "untested"}
    }
    for module in asked.modules:
        found = [*mutants_of(module, (tree / module).read_bytes())]
        found = [one for one in found if asked.line in {None, one.line}]
        if asked.again:
            found = [one for one in found if (module, one.line, one.mutation) in again]
        if asked.sample and asked.sample < len(found):
            found = random.Random(f"{asked.seed} {module}").sample(found, asked.sample)  # noqa: S311 - no secret
        yield from sorted(found, key=lambda one: one.span)


if __name__ == "__main__":
    main()
