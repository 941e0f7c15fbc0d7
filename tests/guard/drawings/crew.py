"""Supervisors with their crews, and agents that write their actions as text, open."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guard.drawings.drawing import Drawing, Log, fill
from tests.guard.drawings.prose import passage, sentence, words

KIND = "crew"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"crew/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def hand_over(log: Log, whom: str, task: str, agent: str = "supervisor") -> None:
    """Hand the matter to another agent by a tool."""
    result = f"Successfully transferred to {whom}"
    log.call(f"transfer_to_{whom}", {"task_description": task}, result, agent=agent)


def section(log: Log) -> None:
    """Have a section researched, written and reviewed."""
    drawn = words(log)
    hand_over(log, "researcher", log.deal("crew.handoff", **drawn))
    for _ in range(log.number(1, 3)):
        query = fill(log.deal("data.searches"), **words(log))
        log.call(
            "tavily_search", {"query": query}, "\n".join(passage(log, 3, 6)), agent="researcher"
        )
    log.say("Findings:\n- " + "\n- ".join(passage(log, 2, 5)), "researcher")
    hand_over(log, "writer", log.deal("crew.handoff", **drawn))
    log.say(" ".join(passage(log, 5, 9)), "writer")
    if log.rng.random() < 0.6:
        hand_over(log, "reviewer", log.deal("crew.handoff", **drawn))
        log.say(log.deal("crew.reviews", **words(log)), "reviewer")
        log.say(" ".join(passage(log, 5, 9)), "writer")


def _begun(log: Log, sections: int) -> dict[str, object]:
    drawn = words(log)
    log.user(log.deal("crew.briefs", **drawn))
    for _ in range(sections):
        section(log)
    return drawn


# --- stuck ---------------------------------------------------------------------


def two_in_circle(log: Log) -> str:
    _begun(log, 3)
    log.stuck_from_here()
    for _ in range(7):
        log.say(log.deal("crew.vague"), "reviewer")
        log.say(log.deal("crew.revised"), "writer")
    return "Writer and reviewer go round in new words; no draft is shown."


def four_in_circle(log: Log) -> str:
    drawn = _begun(log, 3)
    log.stuck_from_here()
    for _ in range(4):
        log.say(log.deal("crew.asks_writer", **drawn), "supervisor")
        log.say(log.deal("crew.no_data", **drawn), "writer")
        log.say(log.deal("crew.no_access", **drawn), "analyst")
        log.say(log.deal("crew.no_mandate", **drawn), "researcher")
    return "Four agents wait for one another, four rounds in new words."


def transfers(log: Log) -> str:
    _begun(log, 4)
    log.stuck_from_here()
    for _ in range(6):
        hand_over(log, "researcher", "Find the missing figures.")
        hand_over(log, "supervisor", "I cannot find the figures.", "researcher")
    return "Supervisor and researcher hand the matter to each other six times."


def bare_calls(log: Log) -> str:
    _begun(log, 3)
    log.stuck_from_here()
    for _ in range(6):
        error = "1 validation error for save_section\nbody\n  Field required [type=missing, input_value={}, input_type=dict]"
        log.call("save_section", {}, error, error=error, agent="writer")
    return "A tool is called six times without the argument it asks for."


def key_order(log: Log) -> str:
    _begun(log, 3)
    log.stuck_from_here()
    for n in range(6):
        pairs = [("title", "Sources"), ("format", "docx"), ("to", "board@example.org")]
        pairs = pairs[n % 3 :] + pairs[: n % 3]
        result = f'{{"status": "error", "code": "SMTP_UNAVAILABLE", "requestId": "{log.hex(16)}", "at": "{log.tick().isoformat()}"}}'
        log.call("send_report", dict(pairs), result, agent="writer")
    return "The same call with its keys in another order; the answer differs by an id and the hour."


def react_missing(log: Log) -> str:
    log.user(
        fill("In which year was the {noun} of {town} built by the {role} {person}?", **words(log))
    )
    for _ in range(10):
        react(log)
    drawn = words(log)
    log.stuck_from_here()
    for n in range(7):
        thought = _WANTED[n % len(_WANTED)].format(**drawn)
        log.say(
            f"Thought: {thought}\nAction: search\nAction Input: {drawn['noun']} of {drawn['town']}\n"
            f"Observation: Could not find [{drawn['noun']} of {drawn['town']}]. Similar: ['{drawn['noun2']}', "
            f"'{drawn['town']} (disambiguation)', 'List of {drawn['noun']}s']"
        )
    return "The same action in text seven times; the page is not found."


_WANTED = (
    "I need to find the {noun} of {town}.",
    "I should search for the {noun} of {town} to find the year.",
    "The year must be on the page of the {noun} of {town}.",
    "Let me look up the {noun} of {town}.",
)


def react_format(log: Log) -> str:
    log.user(sentence(log) + " When was that?")
    for _ in range(11):
        react(log)
    log.stuck_from_here()
    for n in range(7):
        text = fill(
            (
                "I now know enough about the {noun}.",
                "The {noun} was built before that, I am fairly sure.",
                "So the answer has to do with the {noun}.",
            )[n % 3],
            **words(log),
        )
        log.say(f"{text}\nObservation: Invalid Format: Missing 'Action:' after 'Thought:'")
    return "The form of its answer is refused seven times."


def react(log: Log) -> None:
    """Take one step whose thought, action and observation are one text."""
    query = fill(log.deal("data.searches"), **words(log))
    thought = fill(log.deal("data.notes"), **words(log))
    seen = " ".join(passage(log, 2, 5))
    log.say(f"Thought: {thought}\nAction: search\nAction Input: {query}\nObservation: {seen}")


def chanting(log: Log) -> str:
    _begun(log, 3)
    log.stuck_from_here()
    line = fill("I will now write the section on the {noun} of {town}.", **words(log))
    for n in range(8):
        log.say(" ".join([line] * (40 + 7 * n)), "writer")
    return "One sentence fills message after message."


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("two-in-circle", "circle of agents", two_in_circle),
    ("four-in-circle", "circle of agents", four_in_circle),
    ("transfers", "circle of agents", transfers),
    ("bare-calls", "empty arguments", bare_calls),
    ("key-order", "key order", key_order),
    ("react-missing", "same error", react_missing),
    ("react-format", "same error, varying arguments", react_format),
    ("chanting", "chanting", chanting),
]


# --- healthy -------------------------------------------------------------------


def report(log: Log, sections: int = 10) -> str:
    _begun(log, sections)
    log.say("FINISH", "supervisor")
    return "Section after section goes through the same hands."


def better_drafts(log: Log) -> str:
    log.user("Write a poem of the harbour and let the critic review it until it is good.")
    for _ in range(9):
        log.say("\n".join(passage(log, 4, 6)), "writer")
        log.say(log.deal("crew.reviews", **words(log)), "critic")
    log.say("APPROVED", "critic")
    return "Nine drafts, nine different reviews."


def react_chain(log: Log, steps: int = 25) -> str:
    log.user(sentence(log) + " Who was that?")
    for _ in range(steps):
        react(log)
    log.say(fill("Thought: I now know the final answer.\nFinal Answer: {person}", **words(log)))
    return "A long chain of thoughts and observations, each another."


def status_lines(log: Log) -> str:
    log.user("Process the archive, tell me from time to time how far you are.")
    for n in range(1, 13):
        page = "\n".join(passage(log, 3, 6))
        log.call("ocr_page", {"page": n}, page, agent="worker")
        log.say(f"Page {n} of 12 done.", "worker")
    return "A line on the progress after each page."


def backing_off(log: Log) -> str:
    _begun(log, 2)
    for wait in (1, 2, 4, 8, 16):
        error = f"HTTP 429 Too Many Requests: rate limit reached, retry after {wait}s"
        log.call(
            "tavily_search", {"query": "harbour dues 1878"}, error, error=error, agent="researcher"
        )
        log.call("sleep", {"seconds": wait}, "", agent="researcher")
    log.call(
        "tavily_search", {"query": "harbour dues 1878"}, "\n".join(passage(log)), agent="researcher"
    )
    _begun(log, 2)
    return "Five refusals of a busy service, longer and longer waits, then it answers."


def ticks_plan(log: Log) -> str:
    tasks = [fill(log.deal("crew.handoff", **words(log))) for _ in range(9)]
    log.user("Work through the list.")
    for done in range(9):
        marks = [f"- [{'x' if n < done else ' '}] {task}" for n, task in enumerate(tasks)]
        log.say("Current plan:\n" + "\n".join(marks), "planner")
        log.say(" ".join(passage(log, 3, 6)), "worker")
    return "The whole list is repeated each round, one item more ticked."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("report-1", "hand-offs that progress", report),
    ("report-2", "hand-offs that progress", lambda log: report(log, 24)),
    ("better-drafts", "drafts that improve", better_drafts),
    ("react-chain", "long chain in text", react_chain),
    ("status-lines", "status lines", status_lines),
    ("backing-off", "rate-limit back-off", backing_off),
    ("ticks-plan", "planner that ticks a list", ticks_plan),
]
