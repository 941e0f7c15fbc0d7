"""How a coding session gets stuck."""

from __future__ import annotations

from collections.abc import Callable

from tests.guard.drawings.coder import Coder
from tests.guard.drawings.drawing import Log, fill


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
        thought = log.deal("stuck.again") if n else None
        log.call(*call, error, error=error, thought=thought)
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
        thought = log.deal("stuck.hypotheses", **coder.repo.names(path))
        coder.edit(path, thought=thought)
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
        thought = log.deal("stuck.hypotheses", **coder.repo.names(path))
        coder.do(
            coder.hand.edit(path, *pair),
            coder.hand.edited(path, snippet, place - 2),
            thought=thought,
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
        thought = coder.thought("look", path)
        warning = (
            "<system-reminder>Warning: the file exists but is shorter than the provided offset "
            f"({first}). The file has {length} lines.</system-reminder>"
        )
        coder.do(coder.hand.read(path, first, 100), warning, thought=thought)
    return "It pages on, eight times, past the end of a file."


def dead_server(log: Log) -> str:
    coder = Coder(log)
    coder.work(30)
    coder.do(coder.hand.shell("npm run dev &"), f"[1] {log.number(2000, 60000)}")
    log.stuck_from_here()
    for n in range(10):
        wait = ("sleep 2 && ", "sleep 5; ", "")[n % 3]
        thought = "Let me check whether the server is up." if n % 2 else None
        call = coder.hand.shell(f"{wait}curl -s -o /dev/null -w '%{{http_code}}' localhost:5173/")
        coder.do(call, "000", thought=thought)
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
