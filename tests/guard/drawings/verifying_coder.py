"""Coding agents after the work is done, open: some go on verifying."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guard.drawings.coder import Coder
from tests.guard.drawings.drawing import Drawing, Log

KIND = "verifying-coder"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"verifying/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def _finished(log: Log, harness: str, turns: int) -> tuple[Coder, dict[str, object]]:
    coder = Coder(log, harness)
    coder.work(turns)
    coder.repo.failing.clear()
    path = coder.edit()
    coder.test(quiet=True)
    return coder, coder.repo.names(path)


def _snippet(log: Log, names: dict[str, object], n: int) -> str:
    value = log.rng.choice(("None", '""', "0", "[]", "{}"))
    func, noun, module = names["func"], names["noun"], f"{names['package']}.{names['module']}"
    forms = (
        f'python -c "from {module} import {func}; print({func}({value}))"',
        f"cat > /tmp/check_{n}.py <<'EOF'\nfrom {module} import {func}\n{noun} = {value}\n"
        f"print('ok' if {func}({noun}) is None else 'bad')\nEOF\npython /tmp/check_{n}.py",
        f"python - <<'EOF'\nimport {module} as m\nresult = m.{func}({value})\nassert result is None\n"
        f"print('{func} copes with {value}')\nEOF",
        f"PYTHONPATH=src python -X dev -c 'import {module}; {module}.{func}({value})' && echo fine",
        f"python -m timeit -n 1 -r 1 -s 'from {module} import {func}' '{func}({value})'",
        f"echo 'from {module} import {func}; {func}({value}); print(\"still fine\")' | python",
    )
    return forms[n % len(forms)]


def verifies_on(log: Log, harness: str = "openhands", rounds: int = 14) -> str:
    coder, names = _finished(log, harness, 28)
    log.stuck_from_here()
    for n in range(rounds):
        claim = log.deal("verify.claims")
        coder.do(coder.hand.shell(_snippet(log, names, n)), log.deal("verify.ok"), thought=claim)
    return "The work is done; the one fact is verified over and over by new little scripts."


def reports_on(log: Log) -> str:
    _coder, names = _finished(log, "claude", 22)
    log.stuck_from_here()
    for _ in range(9):
        log.say(log.deal("verify.said", **names))
    return "Nine closing reports of the same finished work."


def green_tests_again(log: Log, harness: str = "codex") -> str:
    coder, _ = _finished(log, harness, 30)
    path = sorted(coder.repo.tests)[2]
    coder.test(path, quiet=True)
    log.stuck_from_here()
    for command in _SAME_TESTS:
        spent = f"{log.rng.uniform(0.1, 2):.2f}s"
        total = len(coder.repo.tests[path])
        result = "." * total + f" [100%]\n{total} passed in {spent}"
        coder.do(
            coder.hand.shell(command.format(p=path)), result, thought=log.deal("verify.claims")
        )
    return "The same green tests are run in nine spellings, nothing changed between."


_SAME_TESTS = (
    "python -m pytest {p} -q",
    "pytest {p} -q",
    "pytest -q {p} --no-header",
    "python3 -m pytest {p} -q",
    "PYTHONPATH=src pytest {p} -q",
    "pytest -q -x {p}",
    "pytest {p} -q --tb=short",
    "pytest -q -p no:cacheprovider {p}",
    "cd /home/dev/project && pytest {p} -q",
    "pytest -q --maxfail=1 {p}",
)


def _tests_and_reports(log: Log) -> str:
    coder, names = _finished(log, "claude", 26)
    log.stuck_from_here()
    for _ in range(7):
        coder.test(quiet=True, thought=log.deal("verify.claims"))
        log.say(log.deal("verify.said", **names))
    return "Green test, closing report, green test, closing report."


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("verifies-on", "same verification in new words", verifies_on),
    (
        "verifies-on-claude",
        "same verification in new words",
        lambda log: verifies_on(log, "claude", 10),
    ),
    ("reports-on", "reworded monologue", reports_on),
    ("green-tests-again", "same verification in new words", green_tests_again),
    ("tests-and-reports", "k-cycle", _tests_and_reports),
]


def verifies_each_case(log: Log) -> str:
    coder = Coder(log, "openhands")
    coder.work(14)
    for _ in range(12):
        path = coder.edit()
        names = coder.repo.names(path)
        command = f'python -c "from {names["package"]}.{names["module"]} import {names["func"]}; print({names["func"]}({names["n"]}))"'
        coder.do(
            coder.hand.shell(command),
            f"{names['Noun']}(id='{names['noun']}-{names['m']}', {names['field']}={names['n']})",
        )
    return "Twelve changes, each verified by a call of its own."


def final_checks(log: Log) -> str:
    coder, _ = _finished(log, "claude", 24)
    coder.test(thought="Full suite once more.")
    coder.lint(0)
    coder.do(
        coder.hand.shell("mypy src"),
        f"Success: no issues found in {log.number(9, 30)} source files",
    )
    coder.status()
    coder.diff()
    coder.commit()
    coder.do(coder.hand.shell("git status --short"), "")
    log.say(log.deal("code.summary", **coder.repo.names()))
    return "The usual closing round: suite, linter, types, status, commit."


def green_series(log: Log, harness: str = "claude") -> str:
    coder = Coder(log, harness)
    coder.work(6)
    coder.repo.failing.clear()
    for n in range(18):
        coder.edit()
        coder.test(quiet=n % 3 > 0)
        if n % 6 == 5:
            coder.commit()
    return "Eighteen refactoring steps, the suite green after each."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("verifies-each-case", "verifying after distinct fixes", verifies_each_case),
    ("final-checks", "closing round", final_checks),
    ("green-series", "same test after real edits", green_series),
    ("green-series-codex", "same test after real edits", lambda log: green_series(log, "codex")),
]
