"""Teams that talk and browse, sealed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.guard.drawings.drawing import Drawing, Log, fill, pool
from tests.guard.drawings.prose import passage, sentence, words

KIND = "web-team"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"sealed-team/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def think(log: Log, reason: str, order: str, *, moving: bool) -> None:
    """Write the lead's notes of a round."""
    notes = {
        "is_request_satisfied": {"answer": False, "reason": reason},
        "is_progress_being_made": {
            "answer": moving,
            "reason": sentence(log) if moving else "No new information.",
        },
        "next_speaker": {"answer": "WebSurfer", "reason": "It can browse."},
        "instruction_or_question": {"answer": order, "reason": "According to the plan."},
    }
    log.say(json.dumps(notes), "MagenticOneOrchestrator")


def round_of_reading(log: Log) -> None:
    """Go one round that brings a page."""
    order = fill(log.deal("sealed_talk.pdf_orders", k=log.number(2, 80)), **words(log))
    think(log, sentence(log), order, moving=True)
    body = "\n".join(passage(log, 5, 11))
    who, act = log.rng.choice(
        (
            ("WebSurfer", f"I clicked '{words(log)['noun']}'."),
            (
                "FileSurfer",
                f"Address: file:///workdir/report.pdf\nViewport position: Showing page {log.number(2, 90)} of 94.",
            ),
        )
    )
    log.report(f"{act}\n\n{body}", who)


def _begun(log: Log, rounds: int) -> None:
    log.tools_report = log.rng.random() < 0.5
    log.user(
        fill(
            "How much did the {body} spend on the {noun} of {town} in the year it {fate}?",
            **words(log),
        )
    )
    log.say(
        "Plan:\n"
        + "\n".join(
            f"- {fill(log.deal('sealed_talk.pdf_orders', k=7), **words(log))}" for _ in range(4)
        ),
        "MagenticOneOrchestrator",
    )
    for _ in range(rounds):
        round_of_reading(log)


def chat(log: Log, turns: int) -> None:
    """Let roles talk, each adding something."""
    roles = pool("sealed_talk")["chat_roles"]
    for n in range(turns):
        text = fill(log.deal("sealed_talk.chat_work"), **words(log))
        log.say(
            f"{text} {sentence(log)}",
            roles[n % 4] if log.rng.random() < 0.8 else log.rng.choice(roles),
        )


# --- stuck ---------------------------------------------------------------------


def download(log: Log) -> str:
    _begun(log, 9)
    log.stuck_from_here()
    for _ in range(8):
        order = log.deal("sealed_talk.download")
        think(log, log.deal("sealed_talk.ledger_reasons"), order, moving=False)
        log.report(log.deal("sealed_talk.download_fails"), "WebSurfer")
    return "A document that does not open is asked for eight times in new words."


def thanks(log: Log) -> str:
    log.user("Build a small importer together.")
    chat(log, 26)
    log.stuck_from_here()
    for n in range(10):
        log.say(log.deal("sealed_talk.thanks"), ("Engineer", "Product_Manager")[n % 2])
    return "The work is done, two agents thank each other on and on."


def deferring(log: Log) -> str:
    log.user("Plan the next release.")
    chat(log, 20)
    log.stuck_from_here()
    for _ in range(5):
        log.say(log.deal("sealed_talk.defer_a"), "Engineer")
        log.say(log.deal("sealed_talk.defer_b"), "Architect")
        log.say(log.deal("sealed_talk.defer_c"), "QA_Engineer")
    return "Three roles wait for one another, five rounds in new words."


def same_answer(log: Log) -> str:
    _begun(log, 8)
    page = "\n".join(passage(log, 7, 7))
    log.stuck_from_here()
    for n in range(7):
        order = fill(
            (
                "Scroll down to find the spending.",
                "Please scroll further down to the spending.",
                "Go on scrolling until the spending appears.",
            )[n % 3]
        )
        think(log, "The spending was not found yet.", order, moving=False)
        log.report(
            f"I scrolled down one page in the browser.\n\nThe viewport shows the bottom of the page, {96 + n % 4}% of it.\n\n{page}",
            "WebSurfer",
        )
    return "It scrolls at the bottom of a page, seven times."


def begging_code(log: Log) -> str:
    log.user("Compute the mean height of the tide from the file.")
    chat(log, 16)
    log.stuck_from_here()
    for n in range(7):
        code = (
            "import pandas as pd\nprint(pd.read_csv('tides.csv').height.mean())",
            "import csv\nrows = list(csv.DictReader(open('tides.csv')))\nprint(sum(float(r['height']) for r in rows) / len(rows))",
            "with open('tides.csv') as f:\n    print(f.readline())",
        )[n % 3]
        log.say(f"```python\n{code}\n```", "Coder")
        log.report(
            f"exitcode: 1 (execution failed)\nCode output: Traceback (most recent call last):\n  File \"/tmp/{log.hex(8)}.py\", line {n % 3 + 1}, in <module>\nFileNotFoundError: [Errno 2] No such file or directory: 'tides.csv'",
            "Executor",
        )
    return "Script after script for a file that is not there."


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("download", "circle of agents", download),
    ("thanks", "circle of agents", thanks),
    ("deferring", "circle of agents", deferring),
    ("same-answer", "paging past the end", same_answer),
    ("begging-code", "same error, varying arguments", begging_code),
]


# --- healthy -------------------------------------------------------------------


def reads_report(log: Log, rounds: int = 20) -> str:
    _begun(log, rounds)
    log.say("FINAL ANSWER: 41,300 kroner", "MagenticOneOrchestrator")
    return "Round after round another page is read."


def group_chat(log: Log, turns: int = 60) -> str:
    log.user("Discuss the next release until everything is decided.")
    chat(log, turns)
    return "Four roles discuss, each turn with matter of its own."


def facts_grow(log: Log) -> str:
    _begun(log, 2)
    facts: list[str] = []
    for _ in range(16):
        round_of_reading(log)
        facts += passage(log, 1, 2)
        log.say(
            "Updated fact sheet:\n" + "\n".join(f"- {fact}" for fact in facts),
            "MagenticOneOrchestrator",
        )
    return "A fact sheet is restated sixteen times and grows."


def votes(log: Log) -> str:
    log.user("Vote on each of the proposals.")
    for n in range(8):
        log.say(f"Proposal {n + 1}: {sentence(log)}", "Chair")
        for voter in ("North", "South", "East"):
            log.say(
                log.rng.choice(("I agree.", "Agreed.", "I am against it: " + sentence(log))), voter
            )
    return "Eight proposals, each followed by short votes."


def vain_then_found(log: Log) -> str:
    _begun(log, 7)
    for _ in range(3):
        think(
            log,
            log.deal("sealed_talk.ledger_reasons"),
            log.deal("sealed_talk.download"),
            moving=False,
        )
        log.report(log.deal("sealed_talk.download_fails"), "WebSurfer")
    for _ in range(8):
        round_of_reading(log)
    return "Three vain downloads, then another way that works."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("reads-report-1", "rounds of a team", reads_report),
    ("reads-report-2", "rounds of a team", lambda log: reads_report(log, 45)),
    ("group-chat", "long discussion", group_chat),
    ("group-chat-2", "long discussion", lambda log: group_chat(log, 140)),
    ("facts-grow", "ledger restating facts", facts_grow),
    ("votes", "short votes", votes),
    ("vain-then-found", "retry that succeeds", vain_then_found),
]
