"""Long interactive coding sessions, open: those that get stuck, and healthy ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guard.drawings.coder import Coder
from tests.guard.drawings.coding_loops import STUCK
from tests.guard.drawings.drawing import Drawing, Log, fill

KIND = "coding-session"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"coding/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def twelve_fixes(log: Log, harness: str = "claude") -> str:
    coder = Coder(log, harness)
    coder.ask()
    for n in range(12):
        coder.repo.break_test(n)
    coder.test()
    for _ in range(12):
        coder.fix_one()
    coder.commit()
    return "Twelve distinct fixes, each followed by the same test command with one failure less."


def long_session(log: Log, harness: str = "claude", requests: int = 6) -> str:
    coder = Coder(log, harness)
    for _ in range(requests):
        coder.ask()
        items = [log.deal("code.commit", **coder.repo.names()) for _ in range(log.number(3, 5))]
        coder.plan(items, 0)
        coder.work(log.number(8, 16))
        for done in range(1, len(items)):
            coder.edit()
            coder.test(quiet=True)
            coder.plan(items, done)
            coder.status()
        coder.diff()
        coder.commit()
        log.say(log.deal("code.summary", **coder.repo.names()))
    return "Several requests of a person; lists ticked, edits tested, status asked between."


def linter_converges(log: Log) -> str:
    coder = Coder(log, "codex")
    coder.ask()
    for left in (23, 19, 14, 11, 8, 6, 4, 3, 1, 0):
        coder.lint(left)
        if left:
            coder.edit()
    coder.test()
    coder.commit()
    return "A linter is run ten times, its findings falling to none."


def moving_ci(log: Log) -> str:
    coder = Coder(log)
    coder.work(14)
    coder.commit()
    jobs = ["lint", "unit (3.11)", "unit (3.12)", "unit (3.13)", "docs", "wheels", "e2e"]
    for done in range(len(jobs) + 1):
        for _ in range(2):
            rows = [
                f"{'✓' if n < done else '*' if n == done else '-'} {job} "
                f"{f'in {log.number(12, 250)}s' if n < done else ''}".rstrip()
                for n, job in enumerate(jobs)
            ]
            coder.do(
                coder.hand.shell("sleep 45; gh run view --exit-status | tail -8"), "\n".join(rows)
            )
    coder.do(coder.hand.shell("gh pr merge --squash --delete-branch"), "✓ Squashed and merged")
    return "A build is watched sixteen times while one job after another passes."


def same_command_many_places(log: Log) -> str:
    coder = Coder(log, "openhands")
    coder.ask("Run npm audit fix in each of the packages and report what is left.")
    for place in log.rng.sample(_PLACES, 12):
        coder.do(
            coder.hand.shell(
                f"cd /workspace/packages/{place} && npm audit fix --silent; echo done"
            ),
            "done",
        )
    log.say("All twelve packages are fixed, nothing is left.")
    return "One command in twelve directories, each answered with the same word."


_PLACES = (
    "web",
    "mobile",
    "api-client",
    "design-tokens",
    "icons",
    "forms",
    "charts",
    "auth",
    "i18n",
    "router",
    "sandbox",
    "docs",
    "cli",
    "eslint-config",
    "storybook",
    "worker",
)


def flaky_test(log: Log) -> str:
    coder = Coder(log)
    coder.work(12)
    for n in range(9):
        coder.repo.failing.clear()
        if n in {2, 6}:
            coder.repo.break_test()
        coder.test(thought="Again: one of these is flaky.")
        if n % 2:
            coder.edit()
    coder.commit()
    return "A flaky test is run again, with edits between and different outcomes."


def reread_after_edit(log: Log) -> str:
    coder = Coder(log, "swe")
    coder.work(10)
    path = coder.repo.sources()[2]
    for n in range(9):
        coder.edit(path)
        coder.view(path, 1, 200)
        if n % 4 == 3:
            coder.test(quiet=True)
    return "A file is looked at again after each of nine edits."


def searching_without_hits(log: Log) -> str:
    coder = Coder(log, "codex")
    coder.work(8)
    for word in (
        "RETRY_LIMIT",
        "retry_limit",
        "max_retries",
        "MAX_ATTEMPTS",
        "backoff",
        "tenacity",
    ):
        coder.do(coder.hand.grep(word, "src"), "", thought=f"Perhaps it is called {word}.")
    coder.grep()
    coder.work(12)
    return "Six searches find nothing, the seventh does."


def asked_again(log: Log) -> str:
    coder = Coder(log)
    coder.work(10)
    for _ in range(5):
        coder.ask("Run the tests again please.")
        coder.test(quiet=True)
        log.say("Same result as before.")
    coder.work(8)
    return "A person asks for the same command five times."


def pip_install(log: Log) -> str:
    coder = Coder(log)
    coder.work(9)
    coder.do(coder.hand.shell("pip install -r requirements/ml.txt > pip.log 2>&1 &"), "[1] 8123")
    for package in ("torch", "nvidia-cublas-cu12", "triton", "pandas", "pyarrow", "scipy"):
        megabytes = log.number(20, 900)
        coder.do(
            coder.hand.shell("sleep 30; tail -n 2 pip.log"),
            f"Downloading {package}-{log.number(1, 12)}.{log.number(0, 9)}-cp311-manylinux.whl "
            f"({megabytes} MB)\n   ━━━━━━━━━━━━━ {log.number(1, megabytes)}/{megabytes} MB 31.4 MB/s",
        )
    coder.do(
        coder.hand.shell("sleep 30; tail -n 2 pip.log"),
        "Successfully installed torch-2.6.0 triton-3.2.0",
    )
    coder.work(10)
    return "A long installation is watched, package by package."


def compares_two_files(log: Log) -> str:
    coder = Coder(log)
    coder.work(6)
    one, other = coder.repo.sources()[:2]
    for first in range(1, 90, 15):
        coder.view(one, first, 15)
        coder.view(other, first, 15)
    coder.edit(other)
    coder.test()
    return "Two files are read side by side, part by part."


def subagents(log: Log) -> str:
    coder = Coder(log)
    coder.ask("Review every module for error handling, use subagents.")
    for path in coder.repo.sources():
        names = coder.repo.names(path)
        report = fill(
            "Reviewed {path}. {func} swallows ValueError when {field} is empty (line {line}); {Noun} has "
            "no upper bound on {other}. Nothing else of note. Suggested order: {func} first.",
            **names,
        )
        prompt = (
            f"Read {path} and its tests. List swallowed errors and missing bounds. Do not edit."
        )
        args = {
            "description": "Review a module",
            "prompt": prompt,
            "subagent_type": "general-purpose",
        }
        log.call("Task", args, report)
        coder.edit(path)
        coder.test(quiet=True)
    coder.commit()
    return "One subagent a module, each with a report of its own, then a fix."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("twelve-fixes", "same test after real edits", twelve_fixes),
    ("twelve-fixes-swe", "same test after real edits", lambda log: twelve_fixes(log, "swe")),
    (
        "twelve-fixes-openhands",
        "same test after real edits",
        lambda log: twelve_fixes(log, "openhands"),
    ),
    ("long-session-1", "long session", long_session),
    ("long-session-2", "long session", lambda log: long_session(log, "codex", 5)),
    ("long-session-3", "long session", lambda log: long_session(log, "openhands", 9)),
    ("long-session-4", "long session", lambda log: long_session(log, "swe", 4)),
    ("linter-converges", "linter converges", linter_converges),
    ("moving-ci", "poll that moves", moving_ci),
    ("many-places", "batch with identical acknowledgements", same_command_many_places),
    ("flaky-test", "flaky test", flaky_test),
    ("reread-after-edit", "re-reading after an edit", reread_after_edit),
    ("no-hits", "searches without hits", searching_without_hits),
    ("asked-again", "the person asks again", asked_again),
    ("pip-install", "poll that moves", pip_install),
    ("compares-two-files", "two files side by side", compares_two_files),
    ("subagents", "sub-agents that progress", subagents),
]
