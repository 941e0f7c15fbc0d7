"""Other agents and shapes: Go services, mailboxes, spreadsheets, proposals; sealed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

from guard.turn import Phase, Turn
from tests.guard.drawings.drawing import Drawing, Log, fill, pool
from tests.guard.drawings.prose import passage, sentence, words

KIND = "mixed"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"sealed-mixed/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def names(log: Log) -> dict[str, object]:
    """Give names for a text."""
    file = log.rng.choice(pool("sealed_mixed")["go_files"])
    return {
        "file": file,
        "n": log.number(20, 240),
        "a": log.number(1, 90),
        "b": log.number(91, 900),
    }


def go_file(log: Log) -> str:
    """Write a piece of Go."""
    drawn = names(log)
    lines = [
        f"// {sentence(log)}",
        f"func (s *Store) {log.rng.choice(pool('sealed_mixed')['go_tests'])[4:]}(ctx context.Context, id string) error {{",
    ]
    lines += [
        f'\tif s.{log.rng.choice(pool("sealed_mixed")["go_files"])}.Load() > {drawn["a"]} {{\n\t\treturn fmt.Errorf("{sentence(log)[:40]}")\n\t}}'
        for _ in range(log.number(2, 5))
    ]
    return "\n".join([*lines, "\treturn nil", "}"])


def go_work(log: Log, turns: int) -> None:
    """Work on a service in Go."""
    log.user(log.deal("sealed_mixed.go_asks"))
    end = len(log.turns) + turns
    while len(log.turns) < end:
        thought = log.deal("sealed_mixed.go_says") if log.rng.random() < 0.6 else None
        file = f"internal/{log.rng.choice(pool('sealed_mixed')['go_files'])}/{log.hex(3)}.go"
        kind = log.number(0, 4)
        if kind < 3:
            log.call(
                "view", {"path": file, "from": log.number(1, 300)}, go_file(log), thought=thought
            )
        elif kind < 4:
            log.call(
                "write_patch",
                {"path": file, "patch": go_file(log)},
                f"patched {file}",
                thought=thought,
            )
        else:
            go_test(log, [log.deal("sealed_mixed.go_errors", **names(log))], thought)


def go_test(
    log: Log, errors: list[str], thought: str | None = None, package: str = "./..."
) -> None:
    """Run the tests of Go."""
    rows = [
        f"ok  \tstore/internal/{file}\t{log.number(10, 900) / 1000}s"
        for file in pool("sealed_mixed")["go_files"]
    ]
    failed = [
        f"--- FAIL: {log.rng.choice(pool('sealed_mixed')['go_tests'])} ({log.number(1, 90) / 100}s)\n{error}\nFAIL\tstore/internal/lease"
        for error in errors
    ]
    log.call("sh", {"script": f"go test {package}"}, "\n".join([*failed, *rows]), thought=thought)


# --- stuck ---------------------------------------------------------------------


def flake_again(log: Log) -> str:
    go_work(log, 44)
    log.stuck_from_here()
    for n in range(11):
        out = f"--- FAIL: TestClockSkew (0.{log.number(10, 99)}s)\n    clock_test.go:88: lease 7 still held after 500ms\nFAIL\nFAIL\tstore/internal/clock\t0.{log.number(100, 900)}s"
        log.call(
            "sh",
            {"script": f"go test ./internal/clock -run TestClockSkew -count={1 + n % 2}"},
            out,
            thought=log.deal("sealed_mixed.go_says") if n % 3 == 0 else None,
        )
    return "One test is run eleven times without a change, failing alike."


def plans_on(log: Log) -> str:
    go_work(log, 30)
    log.stuck_from_here()
    for _ in range(8):
        log.say(log.deal("sealed_mixed.plans_same"))
    return "The plan is stated eight times and never begun."


def wait_for_each_other(log: Log) -> str:
    log.user("Review the change together.")
    for n in range(12):
        log.say(f"{sentence(log)} {sentence(log)}", ("author", "reviewer")[n % 2])
    log.stuck_from_here()
    for _ in range(6):
        log.say(log.deal("sealed_mixed.waits"), "author")
        log.say(log.deal("sealed_mixed.reviews_wait"), "reviewer")
    return "Author and reviewer wait for each other."


def unread_mail(log: Log) -> str:
    mailbox(log, 12)
    listing = json.dumps(
        {"unread": 1, "mails": [{"id": "m-881", "subject": "Offer for the pump station"}]}
    )
    body = json.dumps({"id": "m-881", "body": sentence(log)})
    log.call("list_mails", {"folder": "inbox"}, listing)
    log.stuck_from_here()
    for _ in range(5):
        log.call("read_mail", {"id": "m-881"}, body)
        log.call("mark_read", {"id": "m-881"}, '{"ok": true}')
        log.call("list_mails", {"folder": "inbox"}, listing)
    return "A mail is read and marked, and is unread again, five rounds."


def formula(log: Log) -> str:
    sheet(log, 18)
    log.stuck_from_here()
    for formula in (
        "=VLOOKUP(A2;Prices!A:B;2;0)",
        "=VLOOKUP(A2,Prices!A:B,2,0)",
        "=INDEX(Prices!B:B;MATCH(A2;Prices!A:A;0))",
        "=XLOOKUP(A2;Prices!A:A;Prices!B:B)",
        "=SUMIF(Prices!A:A;A2;Prices!B:B)",
        "=IFERROR(VLOOKUP(A2;Prices!A:B;2;0);0)",
        "=LOOKUP(A2;Prices!A:B)",
        "=VLOOKUP(TRIM(A2);Prices!A:B;2;FALSE)",
    ):
        log.call(
            "set_cell",
            {"cell": "C2", "formula": formula},
            json.dumps(
                {
                    "cell": "C2",
                    "value": "#REF!",
                    "hint": "sheet 'Prices' does not exist",
                    "revision": log.number(4000, 9000),
                }
            ),
        )
    return "Eight formulas refer to a sheet that does not exist."


def proposals(log: Log) -> str:
    go_work(log, 24)
    log.stuck_from_here()

    for n in range(7):
        log.call(
            "write_patch",
            {"path": "internal/lease/a1f.go", "patch": "@@ -14,3 +14,4 @@\n+\tdefer s.mu.Unlock()"},
            None,
            thought=log.deal("sealed_mixed.go_says"),
        )
        turn = log.turns.pop()
        key = f"call-{n}"
        log.turns.append(replace(turn, key=key, phase=Phase.PROPOSED))
        log.turns.append(
            Turn(
                role=turn.role,
                key=key,
                tool=turn.tool,
                args=turn.args,
                error="patch does not apply: hunk 1 failed at 14",
            )
        )

    return "A patch that does not apply is proposed and refused seven times."


def downloads(log: Log) -> str:
    log.user("Mirror the archive.")
    for _n in range(15):
        log.call(
            "sh",
            {"script": f"wget -q https://mirror.example/{log.hex(5)}.tar.xz && ls -l | tail -1"},
            f"-rw-r--r-- 1 dev dev {log.number(10**5, 10**8)} {log.hex(5)}.tar.xz",
        )
    log.stuck_from_here()
    for _n in range(9):
        log.call(
            "sh",
            {"script": f"wget -q https://mirror.example/{log.hex(5)}.tar.xz; echo $?"},
            f"wget: write error on '{log.hex(5)}.tar.xz': No space left on device\n3",
        )
    return "Nine downloads of different files fail for want of space."


def reflections(log: Log) -> str:
    for n in range(14):
        log.say(
            f"Thought {n}: {sentence(log)}\nAct {n}: {fill(log.deal('data.searches'), **words(log))}\nObs {n}: {' '.join(passage(log, 2, 3))}"
        )
    log.stuck_from_here()
    drawn = words(log)
    for n in range(8):
        log.say(
            f"Thought {14 + n}: {('I should search for', 'I need to search for', 'Let me search for')[n % 3]} {drawn['person']} again.\nAct {14 + n}: Search[{drawn['person']}]\nObs {14 + n}: Invalid action. Valid actions are Lookup[<topic>] and Finish[<answer>]."
        )
    return "An action the game does not know is tried eight times."


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("flake-again", "same error", flake_again),
    ("plans-on", "reworded monologue", plans_on),
    ("wait-for-each-other", "circle of agents", wait_for_each_other),
    ("unread-mail", "k-cycle", unread_mail),
    ("formula", "same error, varying arguments", formula),
    ("proposals", "same error", proposals),
    ("downloads", "same error, varying arguments", downloads),
    ("reflections", "unknown tool", reflections),
]


# --- healthy -------------------------------------------------------------------


def mailbox(log: Log, mails: int) -> str:
    log.user("Sort my mail: file what is done, answer what is short, show me the rest.")
    for _n in range(mails):
        number = f"m-{log.number(100, 880)}"
        log.call(
            "read_mail",
            {"id": number},
            json.dumps(
                {
                    "id": number,
                    "subject": log.deal("sealed_mixed.mail_subjects"),
                    "body": " ".join(passage(log, 2, 4)),
                }
            ),
        )
        if log.rng.random() < 0.5:
            log.call("move_mail", {"id": number, "folder": "done"}, '{"ok": true}')
        else:
            log.call("reply", {"id": number, "text": sentence(log)}, '{"ok": true}')
    return "Mail after mail is read and filed or answered."


def sheet(log: Log, cells: int) -> str:
    log.user("Fill in the table of prices from the offers.")
    for n in range(cells):
        if n % 3 == 0:
            log.call(
                "get_range",
                {"range": f"A{n}:D{n + 4}"},
                "\n".join(
                    f"{words(log)['noun']};{log.number(1, 900)};{words(log)['town']}"
                    for _ in range(4)
                ),
            )
        else:
            log.call(
                "set_cell",
                {"cell": f"{'BCDE'[n % 4]}{n}", "value": log.number(100, 9000)},
                json.dumps({"ok": True, "revision": 4000 + n}),
            )
    return "Cells are read and written, acknowledged alike."


def go_session(log: Log, requests: int = 6) -> str:
    for _ in range(requests):
        go_work(log, log.number(18, 34))
        go_test(log, [])
        log.say(log.deal("sealed_mixed.go_says"))
    return "Requests one after another, worked off in varied steps."


def hundred_runs(log: Log) -> str:
    go_work(log, 14)
    for n in range(10):
        bad = n in {3, 7}
        out = (
            f"--- FAIL: TestClockSkew\n    clock_test.go:{log.number(80, 99)}: lease {log.number(1, 9)} still held\nFAIL"
            if bad
            else f"ok  \tstore/internal/clock\t{log.number(10, 900) / 100}s"
        )
        log.call(
            "sh",
            {
                "script": f"go test ./internal/clock -run TestClockSkew -count=10 -shuffle={log.number(1, 10**6)}"
            },
            out,
        )
    go_work(log, 12)
    return "A flaky test is run ten times to see how often it fails."


def deliberate_proposals(log: Log) -> str:
    go_work(log, 4)
    for n in range(20):
        args = {
            "path": f"internal/{log.rng.choice(pool('sealed_mixed')['go_files'])}.go",
            "patch": go_file(log),
        }
        log.call("write_patch", args, "patched")
        turn = log.turns.pop()
        log.turns.append(replace(turn, key=f"k{n}", phase=Phase.PROPOSED, result=None))
        log.turns.append(replace(turn, key=f"k{n}"))
    return "Every call is announced before it is done."


def inbox_watch(log: Log) -> str:
    log.user("Tell me when the contract arrives.")
    for n in range(7):
        for _ in range(log.number(1, 4)):
            log.call(
                "list_mails", {"folder": "inbox", "unread": True}, '{"unread": 0, "mails": []}'
            )
        subject = "Re: Re: contract, page 4" if n == 6 else log.deal("sealed_mixed.mail_subjects")
        log.call(
            "list_mails",
            {"folder": "inbox", "unread": True},
            json.dumps(
                {"unread": 1, "mails": [{"id": f"m-{log.number(1, 999)}", "subject": subject}]}
            ),
        )
    return "An inbox is looked at; mail comes now and then."


def debate(log: Log, turns: int = 36) -> str:
    log.user("Debate whether the pier should be rebuilt.")
    for n in range(turns):
        log.say(
            f"{('I disagree.', 'That is a fair point, but', 'On the contrary:', 'As I thought,')[n % 4]} {sentence(log)} {sentence(log)}",
            ("Pro", "Con")[n % 2],
        )
    return "Two agents argue, each turn with new matter."


def long_mix(log: Log) -> str:
    for _n in range(4):
        go_work(log, 40)
        mailbox(log, 12)
        sheet(log, 15)
    return "A day's work of all sorts, four rounds."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("mailbox", "batch", lambda log: mailbox(log, 26)),
    ("sheet", "batch with identical acknowledgements", lambda log: sheet(log, 45)),
    ("go-session-1", "long session", go_session),
    ("go-session-2", "long session", lambda log: go_session(log, 10)),
    ("hundred-runs", "flaky test", hundred_runs),
    ("deliberate-proposals", "batch", deliberate_proposals),
    ("inbox-watch", "poll that moves", inbox_watch),
    ("debate", "long discussion", debate),
    ("long-mix", "long session", long_mix),
]
