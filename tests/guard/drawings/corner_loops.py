"""Loops in forms that a rule too narrow would miss; open."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.guard.drawings.drawing import Drawing, Log, pool
from tests.guard.drawings.look_alikes import at_work, bash, edit
from tests.guard.drawings.prose import passage, sentence

KIND = "corner-loop"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK:
        log = Log(f"corner/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def other_pagers(log: Log) -> str:
    at_work(log, 18)
    log.stuck_from_here()
    for command in ("cat", "head", "less", "bat", "sed -n 1,20p", "tail", "more"):
        bash(log, f"{command} config/app.toml", "cat: config/app.toml: No such file or directory")
    return "A missing file is shown by seven programs."


def checks(log: Log) -> str:
    at_work(log, 22)
    edit(log, "/src/app.py")
    log.stuck_from_here()
    answers = (
        "None",
        "ok",
        "1 passed in 0.2s",
        "check passed",
        "0",
        "fine",
        "None",
        "None",
        "1 passed in 0.1s",
        "done",
    )
    for command, answer in zip(pool("corner")["checks"], answers, strict=True):
        bash(log, command, answer)
    return "One fact is checked by ten little commands, nothing changed between."


def farewells(log: Log) -> str:
    log.user("Agree on a title.")
    for n in range(14):
        log.say(sentence(log), "AB"[n % 2])
    log.stuck_from_here()
    for n, text in enumerate(pool("corner")["farewells"]):
        log.say(text, "AB"[n % 2])
    return "Two agents cannot stop taking leave."


def resets(log: Log) -> str:
    at_work(log, 16)
    log.stuck_from_here()
    for _ in range(6):
        log.call(
            "reset_line",
            {"line": "+44 20"},
            json.dumps({"ok": True, "ticket": f"T{log.number(10**5, 10**6)}"}),
        )
        state = {
            "state": "no signal",
            "sync_ms": log.number(900, 1400),
            "at": log.tick().isoformat(),
        }
        log.call("test_line", {"line": "+44 20"}, json.dumps(state))
    return "Reset and test; ticket, duration and hour differ, the state does not."


def no_matches(log: Log) -> str:
    at_work(log, 16)
    log.stuck_from_here()
    for query in pool("corner")["sublet"]:
        answer = json.dumps({"matches": [], "took_ms": log.number(8, 60)})
        log.call("query_document", {"document": "lease", "query": query}, answer)
    return "A document is asked ten times for what it does not hold."


def crash_poll(log: Log) -> str:
    at_work(log, 20)
    log.stuck_from_here()
    for n in range(14):
        rows = f"NAME READY STATUS RESTARTS AGE\nmailer-7c9d-x2x4p 0/1 CrashLoopBackOff {6 + n // 3} {14 + n}m"
        bash(log, "kubectl get pods -l app=mailer", rows)
    return "A pod that crashes on and on is looked at fourteen times."


def date_formats(log: Log) -> str:
    at_work(log, 15)
    page = "[14]<input name=date/>\n[15]<p>Please choose a valid date</p>\n[16]<button>Continue</button>"
    log.stuck_from_here()
    for text in (
        "12.06.2026",
        "2026-06-12",
        "06/12/2026",
        "12 June 2026",
        "June 12",
        "12/6/26",
        "12.6.",
        "Fri 12 June",
    ):
        log.call("fill", {"index": 14, "text": text}, page)
    return "A date in eight formats, the same complaint each time."


def counted_again(log: Log) -> str:
    at_work(log, 15)
    log.stuck_from_here()
    for query in (
        "SELECT COUNT(*) FROM orders WHERE status = 'returned'",
        "SELECT COUNT(id) FROM orders WHERE status = 'returned'",
        "SELECT SUM(status = 'returned') FROM orders",
        "WITH r AS (SELECT * FROM orders WHERE status = 'returned') SELECT COUNT(*) FROM r",
        "SELECT COUNT(DISTINCT id) FROM orders WHERE status LIKE 'returned'",
        "SELECT TOTAL(status = 'returned') FROM orders",
        "SELECT COUNT(1) FROM orders WHERE lower(status) = 'returned'",
        "SELECT n FROM (SELECT status, COUNT(*) n FROM orders GROUP BY 1) WHERE status = 'returned'",
    ):
        log.call("sql", {"query": query}, "[(97,)]")
    return "The same number is counted in eight ways."


def refused_edits(log: Log) -> str:
    at_work(log, 17)
    log.stuck_from_here()
    for _ in range(8):
        body = "\n".join(f"{n}: {line}" for n, line in enumerate(passage(log), 30))
        log.call(
            "edit",
            {"command": f"edit 31:33\n{sentence(log)}\nend_of_edit"},
            "Your proposed edit has introduced new syntax error(s). Please read this error message carefully.\n\n"
            f"ERRORS:\n- E999 IndentationError: unexpected indent\n\nThis is how your edit would have looked if applied\n{body}",
        )
    return "Eight edits are refused for the same indentation."


def compiler_stall(log: Log) -> str:
    at_work(log, 20)
    log.stuck_from_here()
    for n in range(10):
        edit(log, "/src/cart.ts")
        bash(
            log,
            "npx tsc --noEmit",
            f"src/cart.ts({18 + n},31): error TS2345: Argument of type 'A | undefined' is not assignable to parameter of type 'A'.",
        )
    return "Ten edits, one compiler error; its line moves with the edits."


def new_scripts(log: Log) -> str:
    at_work(log, 18)
    log.stuck_from_here()
    for n in range(8):
        path = f"attempts/try_{n}.py"
        log.call(
            "Write",
            {"file_path": path, "content": "\n".join(passage(log))},
            f"File created successfully at: {path}",
        )
        bash(
            log,
            f"python {path}",
            f'Traceback (most recent call last):\n  File "{path}", line {n + 4}, in <module>\n    connect()\n'
            '  File "/lib/db.py", line 88, in connect\n    raise OperationalError(message)\n'
            "psycopg2.OperationalError: could not connect to server: Connection refused",
        )
    return "Script after script, all end at the database that is not there."


def apologies(log: Log) -> str:
    for _ in range(8):
        log.user(sentence(log))
        log.say(sentence(log))
    log.stuck_from_here()
    for text in pool("corner")["apologies"]:
        log.say(text)
    return "Seven apologies, nothing corrected."


def cycle_of_eight(log: Log) -> str:
    at_work(log, 14)
    pages = [(f"/src/part_{n}.py", "\n".join(passage(log))) for n in range(8)]
    for path, page in pages:
        log.call("Read", {"file_path": path}, page)
    log.stuck_from_here()
    for _ in range(4):
        for path, page in pages:
            log.call("Read", {"file_path": path}, page)
    return "Eight files are read in turn, four more rounds."


def ageing_job(log: Log) -> str:
    at_work(log, 18)
    log.stuck_from_here()
    for n in range(14):
        log.call(
            "job_status", {"id": 7}, json.dumps({"state": "queued", "age_s": 30 * n, "position": 7})
        )
    return "A job stays queued at place seven; only its age grows."


def two_desks(log: Log) -> str:
    at_work(log, 14)
    log.stuck_from_here()
    for n in range(8):
        here, there = ("sales", "billing") if n % 2 == 0 else ("billing", "sales")
        reason = (
            "it is about a bill",
            "the plan comes first",
            "please see the bill",
            "plan question",
        )[n % 4]
        log.call(f"transfer_to_{there}", {"reason": reason}, f"Transferred to {there}.", agent=here)
    return "Two desks transfer the customer to each other, with other reasons."


def dead_page(log: Log) -> str:
    at_work(log, 14)
    page = "RootWebArea\n\t[12] link Home\n\t[14] textbox Search\n\t[15] button Go"
    log.stuck_from_here()
    for _ in range(3):
        log.call("click", {"bid": "15"}, page)
        log.call("press", {"bid": "14", "key": "Enter"}, page)
        log.call("fill", {"bid": "14", "value": log.rng.choice(("rug", "rugs", "jute rug"))}, page)
        log.call("dblclick", {"bid": "15"}, page)
    return "Whatever it does, the page stays the same."


def chanting_thought(log: Log) -> str:
    at_work(log, 16)
    log.stuck_from_here()
    for _ in range(3):
        log.call("Bash", {"command": "ls"}, "src tests", thought="Wait, let me check again. " * 80)
    return "A thought that repeats itself eighty times."


def missing_parameter(log: Log) -> str:
    at_work(log, 14)
    log.stuck_from_here()
    error = "InputValidationError: Edit failed due to the following issue:\nThe required parameter `old_string` is missing"
    for _ in range(7):
        log.call(
            "Edit", {"file_path": "/src/fare.py", "new_string": sentence(log)}, error, error=error
        )
    return "The same parameter is missing seven times."


def closed_sites(log: Log) -> str:
    at_work(log, 14)
    log.stuck_from_here()
    for n in range(9):
        url = f"https://{'abc'[n % 3]}.example/{log.hex(5)}"
        error = f"Error: 403 Forbidden for url: {url}"
        log.call("visit", {"url": url}, error, error=error)
    return "Nine pages of three sites, all forbidden."


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("other-pagers", "same error, varying arguments", other_pagers),
    ("checks", "same verification in new words", checks),
    ("farewells", "circle of agents", farewells),
    ("resets", "volatile results", resets),
    ("no-matches", "stagnation", no_matches),
    ("crash-poll", "poll unchanged", crash_poll),
    ("date-formats", "same error, varying arguments", date_formats),
    ("counted-again", "same verification in new words", counted_again),
    ("refused-edits", "same error, varying arguments", refused_edits),
    ("compiler-stall", "edit-test stall", compiler_stall),
    ("new-scripts", "grind", new_scripts),
    ("apologies", "reworded monologue", apologies),
    ("cycle-of-eight", "k-cycle", cycle_of_eight),
    ("ageing-job", "poll unchanged", ageing_job),
    ("two-desks", "circle of agents", two_desks),
    ("dead-page", "same request, page unchanged", dead_page),
    ("chanting-thought", "chanting", chanting_thought),
    ("missing-parameter", "same error, varying arguments", missing_parameter),
    ("closed-sites", "same error, varying arguments", closed_sites),
]
