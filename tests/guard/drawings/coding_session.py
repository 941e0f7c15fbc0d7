"""Long interactive coding sessions, open."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guard.drawings.coder import Coder
from tests.guard.drawings.drawing import Drawing, Log, fill

KIND = "coding-session"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"coding/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


# --- stuck ---------------------------------------------------------------------


def edit_not_found(log: Log) -> str:
    coder = Coder(log)
    coder.work(24)
    path = coder.read()
    old, new, _ = coder.repo.edit(path)
    log.stuck_from_here()
    for n in range(9):
        call = coder.hand.edit(path, old.replace(" ", "  ", 1 + n % 2), new)
        error = (
            "<tool_use_error>String to replace not found in file.\nString: "
            f"{call[1]['old_string']}</tool_use_error>"
        )
        said = log.deal("stuck.again") if n else None
        log.call(*call, error, error=error, thought=said)
    return "The same replacement is refused nine times, the text differing by a blank."


def edit_test_stall(log: Log, harness: str = "claude") -> str:
    coder = Coder(log, harness)
    coder.work(32)
    coder.repo.failing.clear()
    failure = coder.repo.break_test()
    path = failure.path.replace("tests/test_", f"src/{coder.repo.package}/")
    coder.test(failure.path)
    log.stuck_from_here()
    for _ in range(11):
        said = log.deal("stuck.hypotheses", **coder.repo.names(path))
        coder.edit(path, thought=said)
        coder.test(failure.path)
    return "Eleven edits of one file, and the one test fails in the same words each time."


def edit_revert(log: Log) -> str:
    coder = Coder(log, "openhands")
    coder.work(20)
    failure = coder.repo.break_test()
    path = failure.path.replace("tests/test_", f"src/{coder.repo.package}/")
    coder.test(failure.path)
    old, new, place = coder.repo.edit(path)
    snippet = coder.repo.files[path][place - 3 : place + 4]
    log.stuck_from_here()
    for n in range(6):
        pair = (old, new) if n % 2 == 0 else (new, old)
        said = log.deal("stuck.hypotheses", **coder.repo.names(path))
        coder.do(
            coder.hand.edit(path, *pair), coder.hand.edited(path, snippet, place - 2), thought=said
        )
        coder.test(failure.path)
    return "It puts a line in and takes it out again, the test failing alike."


def cycle_of_three(log: Log) -> str:
    coder = Coder(log, "codex")
    coder.work(30)
    coder.repo.break_test()
    path, failure = coder.repo.sources()[0], coder.repo.failing[0]
    coder.view(path, 1, 30)
    log.stuck_from_here()
    for _ in range(6):
        coder.test(failure.path, quiet=True)
        coder.view(path, 1, 30)
        coder.do(coder.hand.grep("class .*Error", "src"), coder.repo.grep("Error"))
    return "Test, read and search in turn six times, every answer known."


def missing_binary(log: Log) -> str:
    coder = Coder(log)
    coder.work(18)
    log.stuck_from_here()
    for flags in (
        "-T 1C clean verify",
        "clean verify",
        "verify",
        "-q verify",
        "-o verify",
        "-DskipITs verify",
        "--batch-mode verify",
        "-f pom.xml verify",
    ):
        call = coder.hand.shell(f"mvn {flags}", "Build")
        log.call(*call, "/bin/bash: line 1: mvn: command not found", error="exit code 127")
    return "Eight ways to call a program that is not installed."


def growing_command(log: Log) -> str:
    coder = Coder(log, "openhands")
    coder.work(22)
    parts = ["export PYTHONPATH=src", f"cd /workspace/{coder.repo.package}"]
    log.stuck_from_here()
    for _ in range(8):
        command = " && ".join(parts) + " && python -m cli report --format table"
        result = (
            "Traceback (most recent call last):\n"
            f'  File "/workspace/src/{coder.repo.package}/cli.py", line {log.number(20, 90)}, in main\n'
            "    config = load_config(args.config)\n"
            "FileNotFoundError: [Errno 2] No such file or directory: 'settings.toml'"
        )
        coder.do(coder.hand.shell(command), result)
        parts.append(log.rng.choice(_PREFIXES))
    return "The command only grows; the missing file stays missing."


_PREFIXES = (
    "export PYTHONPATH=src:$PYTHONPATH",
    "source .venv/bin/activate",
    "export LANG=C.UTF-8",
    "export CONFIG_DIR=.",
    "cd .",
    "unset VIRTUAL_ENV",
    "export PYTHONDONTWRITEBYTECODE=1",
)


def condensed_rereading(log: Log) -> str:
    coder = Coder(log)
    coder.work(36)
    paths = log.rng.sample(coder.repo.sources(), 4)
    for path in paths:
        coder.view(path, 1, 60)
    log.stuck_from_here()
    for round_ in range(4):
        log.say(fill(_CONDENSED[round_ % len(_CONDENSED)], **coder.repo.names(paths[0])))
        for path in paths:
            coder.view(path, 1, 60, coder.thought("look", path))
    return "After each condensation it reads the same four files again and does nothing with them."


_CONDENSED = (
    "This session is being continued from a previous conversation that ran out of context. I was "
    "about to change {func}; first I re-read the files involved.",
    "Context was compacted. Remaining work: {func} and its callers. I'll start by reading the files.",
    "Summary so far: the {noun} module was explored. Next step: read the relevant files again.",
    "(conversation compacted) I need the contents of the {noun} files in order to go on.",
)


def unknown_tool(log: Log) -> str:
    coder = Coder(log, "codex")
    coder.work(14)
    log.stuck_from_here()
    for n in range(6):
        name = ("str_replace_editor", "edit_file", "write_file")[n % 3]
        log.call(
            name,
            {
                "path": coder.repo.sources()[n % 4],
                "content": coder.repo.edit(coder.repo.sources()[n % 4])[1],
            },
            f"unsupported call: {name}",
            error=f"unsupported call: {name}",
        )
    return "It calls tools that do not exist, six times."


def monologue(log: Log) -> str:
    coder = Coder(log)
    coder.work(26)
    names = coder.repo.names()
    log.stuck_from_here()
    for _ in range(10):
        log.say(log.deal("stuck.musings", **names))
    return "Ten turns of one thought in other words, without a call."


def same_todo(log: Log) -> str:
    coder = Coder(log)
    coder.work(28)
    items = [log.deal("code.commit", **coder.repo.names()) for _ in range(4)]
    coder.plan(items, 1)
    log.stuck_from_here()
    for n in range(7):
        coder.plan(items, 1)
        if n % 3 == 1:
            coder.do(coder.hand.shell("git status --short"), "")
    return "The list of things to do is written again and again, nothing ticked, nothing done."


def pages_past_the_end(log: Log) -> str:
    coder = Coder(log)
    coder.work(20)
    path = coder.repo.sources()[1]
    length = len(coder.repo.files[path])
    coder.view(path, 1, length)
    log.stuck_from_here()
    for first in range(length + 1, length + 801, 100):
        said = coder.thought("look", path)
        warning = (
            "<system-reminder>Warning: the file exists but is shorter than the provided offset "
            f"({first}). The file has {length} lines.</system-reminder>"
        )
        coder.do(coder.hand.read(path, first, 100), warning, thought=said)
    return "It pages on, eight times, past the end of a file."


def dead_server(log: Log) -> str:
    coder = Coder(log)
    coder.work(30)
    coder.do(coder.hand.shell("npm run dev &"), f"[1] {log.number(2000, 60000)}")
    log.stuck_from_here()
    for n in range(10):
        wait = ("sleep 2 && ", "sleep 5; ", "")[n % 3]
        said = "Let me check whether the server is up." if n % 2 else None
        call = coder.hand.shell(f"{wait}curl -s -o /dev/null -w '%{{http_code}}' localhost:5173/")
        coder.do(call, "000", thought=said)
        if n % 3 == 2:
            coder.do(coder.hand.shell("npm run dev &"), f"[1] {log.number(2000, 60000)}")
    return "A server that never comes up is started and asked again and again."


def unmoved_build(log: Log) -> str:
    coder = Coder(log, "codex")
    coder.work(34)
    run = log.number(10**9, 10**10)
    log.stuck_from_here()
    for _ in range(13):
        coder.do(
            coder.hand.shell(f"sleep 60; gh run view {run} --json status,conclusion"),
            '{"conclusion":"","status":"queued"}',
        )
    return "Thirteen looks at a build that stays queued."


def interleaved(log: Log) -> str:
    coder = Coder(log)
    coder.work(25)
    failing = coder.hand.shell("docker compose up -d db", "Start the database")
    error = (
        "Error response from daemon: driver failed programming external connectivity on endpoint "
        "work-db-1: Bind for 0.0.0.0:5432 failed: port is already allocated"
    )
    known = coder.repo.sources()[:3]
    for path in known:
        coder.view(path, 1, 30)
    log.stuck_from_here()
    for n in range(7):
        log.call(*failing, error, error=error, thought=log.deal("stuck.again"))
        coder.view(known[n % 3], 1, 30)
    return "Between reading known files it starts the same container, whose port is taken."


def grind(log: Log) -> str:
    coder = Coder(log, "openhands")
    coder.work(30)
    package = log.rng.choice(("lxml", "psycopg2", "pyarrow"))
    log.stuck_from_here()
    for command in _INSTALLS:
        result = (
            f"  error: subprocess-exited-with-error\n  × Building wheel for {package} (pyproject.toml) "
            f"did not run successfully.\n  │ exit code: 1\n  ╰─> [{log.number(30, 60)} lines of output]\n"
            f"      fatal error: {package}/config.h: No such file or directory\n"
            f"ERROR: Failed building wheel for {package}"
        )
        coder.do(coder.hand.shell(command.format(p=package)), result)
    return "Many different commands to install one package, all ending at the same missing header."


_INSTALLS = (
    "pip install {p}",
    "pip install --no-cache-dir {p}",
    "pip install --upgrade pip && pip install {p}",
    "python -m pip install {p} --no-build-isolation",
    "pip install --no-binary :all: {p}",
    "CFLAGS='-O0' pip install {p}",
    "pip install {p} --use-pep517",
    "uv pip install {p}",
    "pip install wheel setuptools && pip install {p}",
    "pip install '{p}<99'",
    "pip download {p} && pip install ./{p}*",
    "python -m venv /tmp/v && /tmp/v/bin/pip install {p}",
)


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("edit-not-found", "same error", edit_not_found),
    ("edit-test-stall", "edit-test stall", edit_test_stall),
    ("edit-test-stall-swe", "edit-test stall", lambda log: edit_test_stall(log, "swe")),
    ("edit-revert", "edit-revert", edit_revert),
    ("cycle-of-three", "k-cycle", cycle_of_three),
    ("missing-binary", "same error, varying arguments", missing_binary),
    ("growing-command", "growing command", growing_command),
    ("condensed-rereading", "re-reading after condensation", condensed_rereading),
    ("unknown-tool", "unknown tool", unknown_tool),
    ("monologue", "reworded monologue", monologue),
    ("same-todo", "stagnation", same_todo),
    ("pages-past-the-end", "paging past the end", pages_past_the_end),
    ("dead-server", "slow drift", dead_server),
    ("unmoved-build", "poll unchanged", unmoved_build),
    ("interleaved", "interleaved repeats", interleaved),
    ("grind", "grind", grind),
]


# --- healthy -------------------------------------------------------------------


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
