"""Healthy corner cases, each short: what a rule too eager would flag; open."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.guard.drawings.coder import Coder
from tests.guard.drawings.drawing import Drawing, Log, pool
from tests.guard.drawings.prose import passage, sentence

KIND = "look-alike"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in HEALTHY:
        log = Log(f"look-alike/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def at_work(log: Log, turns: int = 14) -> Coder:
    """Let a coding agent work first."""
    coder = Coder(log)
    coder.work(turns)
    return coder


def bash(log: Log, command: str, result: str | None, *, error: str | None = None) -> None:
    """Run a command."""
    log.call("Bash", {"command": command}, result, error=error)


def edit(log: Log, path: str) -> None:
    """Change a file for good."""
    args = {"file_path": path, "old_string": sentence(log), "new_string": sentence(log)}
    log.call("Edit", args, f"The file {path} has been updated successfully.")


_PARTS = ("api", "core", "db", "web", "jobs", "mail", "auth", "util")


def empty_files(log: Log) -> str:
    at_work(log)
    for part in _PARTS:
        log.call("Read", {"file_path": f"/src/{part}/__init__.py"}, "")
    edit(log, "/src/api/__init__.py")
    return "Eight empty files are read."


def directories(log: Log) -> str:
    at_work(log)
    for part in _PARTS:
        bash(log, f"mkdir -p src/{part}", "")
    return "Eight directories are made in silence."


def invitations(log: Log) -> str:
    log.user("Invite everybody.")
    for person in pool("corner")["people"]:
        args = {"to": person, "subject": "Invitation", "body": "Dear all, please come on Friday."}
        log.call("send_email", args, '{"status": "sent"}')
    return "One letter to twelve people."


def each_test_file(log: Log) -> str:
    coder = at_work(log)
    for path in sorted(coder.repo.tests):
        bash(log, f"pytest -q {path}", f".....  [100%]\n5 passed in 0.{log.number(10, 99)}s")
    return "Every test file is run once, each passes."


def broken_connection(log: Log) -> str:
    at_work(log)
    error = "curl: (56) Recv failure: Connection reset by peer"
    for _ in range(4):
        bash(log, "curl -O https://dl.example/data.tgz", error, error=error)
    bash(log, "curl -O https://dl.example/data.tgz", "saved data.tgz")
    at_work(log, 8)
    return "A download breaks off four times, then it is complete."


def time_outs(log: Log) -> str:
    at_work(log)
    error = "Request timed out. (read timeout=30)"
    for _ in range(4):
        log.call("fetch", {"url": "https://slow.example/report"}, error, error=error)
    log.call("fetch", {"url": "https://slow.example/report"}, "\n".join(passage(log)))
    return "A slow server answers the fifth time."


def overloaded(log: Log) -> str:
    at_work(log)
    error = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    for _ in range(6):
        log.call("ask_model", {"prompt": "Summarise the minutes."}, error, error=error)
    log.call("ask_model", {"prompt": "Summarise the minutes."}, "\n".join(passage(log)))
    return "A model is overloaded six times, then it answers."


def free_dates(log: Log) -> str:
    log.user("Find the first free week-end in July or August.")
    for day in range(5, 27, 3):
        args = {"from": f"2026-07-{day:02d}", "nights": 2}
        log.call("search_rooms", args, '{"rooms": []}')
    log.call("search_rooms", {"from": "2026-08-01", "nights": 2}, '{"rooms": [{"id": 412}]}')
    return "Eight week-ends are taken, the ninth is free."


def four_names(log: Log) -> str:
    at_work(log)
    for name in ("parseConfig", "parse_config", "loadConfig", "load_config"):
        log.call("Grep", {"pattern": name}, "No files found")
    at_work(log, 6)
    return "A function is sought under four names, then the work goes on."


def which_files(log: Log) -> str:
    at_work(log)
    for pattern in ("**/*.toml", "**/*.cfg", "**/*.ini", "**/setup.*", "**/*.yaml"):
        log.call("Glob", {"pattern": pattern}, "No files found")
    at_work(log, 6)
    return "Five kinds of files are sought, none is there."


def which_programs(log: Log) -> str:
    at_work(log)
    for program in ("docker", "podman", "nerdctl", "lxc"):
        bash(log, f"which {program}", "")
    at_work(log, 6)
    return "Four programs are looked for, none is there."


def desktop(log: Log) -> str:
    log.user("Export the report as PDF.")
    for thought in pool("corner")["screens"]:
        args = {
            "action": log.rng.choice(("left_click", "type", "scroll", "key")),
            "coordinate": [log.number(0, 1200), log.number(0, 800)],
        }
        log.call("computer", args, "[screenshot]", thought=thought)
    return "A desktop is driven; every result is a picture nobody here can read."


def desktop_scroll(log: Log) -> str:
    log.user("What is the total of the list?")
    args = {"action": "scroll", "coordinate": [600, 400], "scroll_direction": "down"}
    for thought in pool("corner")["months"]:
        log.call("computer", args, "[screenshot]", thought=thought)
    return "The same scroll ten times; what it says it sees moves on."


def tabs(log: Log) -> str:
    log.user("Fill in the form.")
    for value in ("Ann", "Lee", "Bonn", "53111", "Germany", "a@b.example", "555", "none"):
        log.call("computer", {"action": "key", "text": "Tab"}, "ok")
        log.call("computer", {"action": "type", "text": value}, "ok")
    return "From field to field by the tabulator."


def bisect(log: Log) -> str:
    log.user("Find the commit that broke it.")
    for left in range(9, 0, -1):
        bad = log.rng.random() < 0.5
        bash(
            log,
            "pytest -q tests/test_fare.py",
            f"{'1 failed' if bad else '1 passed'} in 0.{log.number(10, 99)}s",
        )
        line = f"Bisecting: {2**left} revisions left to test after this (roughly {left} steps)"
        bash(
            log,
            f"git bisect {'bad' if bad else 'good'}",
            f"{line}\n[{log.hex(40)}] {sentence(log)}",
        )
    return "The same test at nine commits."


def training(log: Log) -> str:
    at_work(log)
    for epoch in range(1, 25):
        line = f"epoch {epoch}/24 loss {2.4 - 0.05 * epoch:.4f} val {0.4 + 0.01 * epoch:.3f}"
        bash(log, "sleep 60; tail -n1 train.log", line)
    return "A training is watched epoch by epoch."


def quiet_build(log: Log) -> str:
    at_work(log)
    for _ in range(5):
        log.call("BashOutput", {"bash_id": "bash_1"}, "<status>running</status>\n<stdout></stdout>")
    done = "<status>completed</status>\n<exit_code>0</exit_code>\n<stdout>Build ok</stdout>"
    log.call("BashOutput", {"bash_id": "bash_1"}, done)
    at_work(log, 6)
    return "A build says nothing five times, then it is done."


def done_each(log: Log) -> str:
    for _ in range(14):
        log.user(sentence(log))
        log.say("Done.")
    return "Fourteen requests, each answered with one word."


def same_warnings(log: Log) -> str:
    at_work(log)
    for n in range(12):
        edit(log, f"/src/part_{n % 4}.rs")
        bash(
            log,
            "cargo build",
            "warning: unused variable: `x`\n --> src/lib.rs:12:9\n  |\n12 |     let x = 5;\n\n"
            "warning: `app` (lib) generated 1 warning\n    Finished dev [unoptimized] target(s) in "
            f"{log.number(100, 900) / 100}s",
        )
    return "Twelve changes, each builds with the same old warning."


def known_failure(log: Log) -> str:
    at_work(log)
    for n in range(6):
        path = f"/src/new_{n}.py"
        log.call(
            "Write",
            {"file_path": path, "content": "\n".join(passage(log))},
            f"File created successfully at: {path}",
        )
        bash(
            log,
            "pytest -q",
            f"F....\nFAILED tests/test_known.py::test_x - KeyError: 'a'\n1 failed, {10 + 3 * n} passed in 0.4s",
        )
    return "A test known to fail goes on failing while new files and tests are added."


def fourth_try(log: Log) -> str:
    at_work(log)
    for n in range(4):
        edit(log, "/src/fare.py")
        bash(
            log,
            "pytest -q tests/test_fare.py",
            "F\nFAILED tests/test_fare.py::test_x - KeyError: 'a'\n1 failed in 0.4s",
        )
        log.call("Read", {"file_path": f"/src/{_PARTS[n]}.py"}, "\n".join(passage(log)))
    bash(log, "pytest -q tests/test_fare.py", ".\n1 passed in 0.4s")
    at_work(log, 8)
    return "Four honest attempts with reading between, then it passes."


def hosts(log: Log) -> str:
    log.user("Which hosts are up?")
    for n in range(1, 9):
        line = f"PING 10.0.0.{n}: 1 packets transmitted, 0 received, 100% packet loss"
        bash(log, f"ping -c1 -W1 10.0.0.{n}", line)
    bash(log, "ping -c1 -W1 10.0.0.9", "64 bytes from 10.0.0.9: time=0.4 ms")
    return "Eight hosts are down, the ninth is up."


def trees(log: Log) -> str:
    log.user("Each of you: run the tests in your own tree and fix what you find.")
    for _ in range(4):
        for agent in "abcd":
            log.call("Bash", {"command": "pytest -q"}, "4 passed in 0.3s", agent=agent)
        for agent in "abcd":
            args = {
                "file_path": f"/{agent}/fare.py",
                "old_string": sentence(log),
                "new_string": sentence(log),
            }
            log.call("Edit", args, "The file has been updated.", agent=agent)
    return "Four agents side by side run the same command, each in its own tree."


def thinking(log: Log) -> str:
    at_work(log)
    for _ in range(7):
        log.call("think", {"thought": " ".join(passage(log))}, "Your thought has been logged.")
    return "Seven different thoughts, acknowledged alike."


def environments(log: Log) -> str:
    log.user("Deploy everywhere.")
    for name in ("dev", "test", "stage", "eu", "us", "ap"):
        log.call("deploy", {"env": name}, '{"ok": true}')
        log.call("health", {"env": name}, '{"status": "ok"}')
    return "Deploy and look, in six places."


def tickets(log: Log) -> str:
    for n in range(20):
        log.call("next_ticket", {}, json.dumps({"id": 900 + n, "text": sentence(log)}))
        log.call(
            "classify", {"ticket": 900 + n}, json.dumps({"label": log.rng.choice(("bug", "spam"))})
        )
        log.call("ack", {"ticket": 900 + n}, "ok")
    return "A queue is worked off."


def idle_queue(log: Log) -> str:
    for n in range(5):
        for _ in range(3):
            log.call("next_ticket", {}, '{"id": null}')
        log.call("next_ticket", {}, json.dumps({"id": 900 + n, "text": sentence(log)}))
        log.call("ack", {"ticket": 900 + n}, "ok")
    return "A queue is empty now and then."


def clean_rounds(log: Log) -> str:
    for n in range(10):
        edit(log, f"/src/{n}.py")
        bash(log, "ruff format .", "1 file left unchanged")
        bash(log, "ruff check .", "All checks passed!")
        bash(log, f'git commit -qam "{sentence(log)}"', "")
    return "Edit, format, check, commit: ten rounds, all clean."


def overlapping_reads(log: Log) -> str:
    at_work(log)
    lines = passage(log, 60, 60)
    for first in range(0, 48, 6):
        part = "\n".join(f"{n}\t{line}" for n, line in enumerate(lines[first : first + 12], first))
        log.call("Read", {"file_path": "/big.log", "offset": first, "limit": 12}, part)
    return "A file is read in parts that overlap by half."


def short_handoffs(log: Log) -> str:
    for n in range(8):
        log.say(f"Please take task {n}: {sentence(log)}", "lead")
        log.say("On it.", "worker")
        log.say(f"Done: {sentence(log)}", "worker")
        log.say("Thanks.", "lead")
    return "Eight tasks, each with the same short words around it."


def first_screens(log: Log) -> str:
    log.user("Log in.")
    for _ in range(4):
        log.call("screenshot", {}, "[image]")
        log.call("click", {"x": log.number(0, 900), "y": log.number(0, 700)}, "[image]")
    log.call("type", {"text": "hello"}, "[image]")
    return "A picture before each click."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("empty-files", "one question for each", empty_files),
    ("directories", "batch with identical acknowledgements", directories),
    ("invitations", "batch with identical acknowledgements", invitations),
    ("each-test-file", "one question for each", each_test_file),
    ("broken-connection", "retry that succeeds", broken_connection),
    ("time-outs", "retry that succeeds", time_outs),
    ("overloaded", "rate-limit back-off", overloaded),
    ("free-dates", "searches without hits", free_dates),
    ("four-names", "searches without hits", four_names),
    ("which-files", "searches without hits", which_files),
    ("which-programs", "searches without hits", which_programs),
    ("desktop", "form filling", desktop),
    ("desktop-scroll", "paging with new lines", desktop_scroll),
    ("tabs", "form filling", tabs),
    ("bisect", "same test after real edits", bisect),
    ("training", "poll that moves", training),
    ("quiet-build", "poll that moves", quiet_build),
    ("done-each", "the person asks again", done_each),
    ("same-warnings", "same test after real edits", same_warnings),
    ("known-failure", "same test after real edits", known_failure),
    ("fourth-try", "same test after real edits", fourth_try),
    ("hosts", "one question for each", hosts),
    ("trees", "agents side by side", trees),
    ("thinking", "batch with identical acknowledgements", thinking),
    ("environments", "one question for each", environments),
    ("tickets", "batch", tickets),
    ("idle-queue", "poll that moves", idle_queue),
    ("clean-rounds", "same test after real edits", clean_rounds),
    ("overlapping-reads", "paging with new lines", overlapping_reads),
    ("short-handoffs", "hand-offs that progress", short_handoffs),
    ("first-screens", "form filling", first_screens),
]
