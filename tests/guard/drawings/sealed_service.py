"""A hotel's and a telephone company's desks, sealed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.guard.drawings.drawing import Drawing, Log

KIND = "service"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"sealed-service/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def talk(log: Log, rounds: int) -> None:
    """Serve a guest: a question, sometimes a look-up, an answer."""
    for _ in range(rounds):
        log.user(log.deal("sealed_talk.hotel_asks"))
        if log.rng.random() < 0.5:
            found = {
                "booking": f"BK-{log.number(10000, 99999)}",
                "room": log.number(100, 799),
                "nights": log.number(1, 9),
                "rate": log.number(60, 240),
                "guests": log.number(1, 4),
                "updated_at": log.tick().isoformat(),
            }
            log.call("get_booking", {"booking_id": found["booking"]}, json.dumps(found))
        numbers = {
            "n": log.number(60, 240),
            "d": log.number(2, 14),
            "e": log.number(15, 29),
            "k": log.number(2, 9),
        }
        log.say(log.deal("sealed_talk.hotel_says", **numbers))


# --- stuck ---------------------------------------------------------------------


def moment_please(log: Log) -> str:
    talk(log, 9)
    log.user("So is the suite free in August?")
    log.stuck_from_here()
    for _ in range(9):
        log.say(log.deal("sealed_talk.stall_says"))
    return "It asks nine times for a moment and looks nothing up."


def line_reset(log: Log) -> str:
    talk(log, 7)
    log.user("My line is dead, please reset it.")
    log.stuck_from_here()
    for _ in range(5):
        log.call(
            "reset_line",
            {"line": "+44 20 7946 0112"},
            json.dumps({"ok": True, "ticket": f"T{log.number(10**5, 10**6)}"}),
        )
        log.call(
            "test_line",
            {"line": "+44 20 7946 0112"},
            json.dumps(
                {
                    "state": "no signal",
                    "at": log.tick().isoformat(),
                    "sync_ms": log.number(900, 1400),
                }
            ),
        )
    return "Reset and test five times; the line has no signal each time."


def schema_error(log: Log) -> str:
    talk(log, 8)
    log.user("Please book the airport transfer for two on Friday.")
    log.stuck_from_here()
    for n in range(8):
        args = (
            {"when": "Friday", "guests": 2},
            {"when": "2026-06-12", "guests": "2"},
            {"when": "12/06/2026", "guests": 2},
            {"date": "2026-06-12", "guests": 2},
        )[n % 4]
        error = (
            '{"error": {"code": "invalid_request", "message": "parameter pickup_at is required"}}'
        )
        log.call("book_transfer", args | ({"note": "airport"} if n > 3 else {}), error, error=error)
    return "Eight calls lack the one parameter the answer names."


def four_lookups(log: Log) -> str:
    talk(log, 10)
    log.user("Which of my three contracts ends first?")
    answers = {
        tool: json.dumps({"tool": tool, "items": [log.hex(8) for _ in range(4)]})
        for tool in ("get_customer", "list_contracts", "get_tariff", "get_usage")
    }
    log.stuck_from_here()
    for _ in range(4):
        for tool, answer in answers.items():
            log.call(tool, {"customer_id": "C-88213"}, answer)
    return "Four look-ups in turn, four rounds, the same answers."


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("moment-please", "reworded monologue", moment_please),
    ("line-reset", "k-cycle", line_reset),
    ("schema-error", "same error, varying arguments", schema_error),
    ("four-lookups", "k-cycle", four_lookups),
]


# --- healthy -------------------------------------------------------------------


def guests(log: Log, rounds: int = 35) -> str:
    talk(log, rounds)
    return "A long conversation; questions and answers come back in like words."


def insists(log: Log) -> str:
    talk(log, 4)
    for asked, answer in _INSISTS:
        log.user(asked)
        log.say(answer)
    talk(log, 3)
    return "The guest asks for the same upgrade five times, the agent declines politely."


_INSISTS = (
    ("Can I have a free upgrade?", "I'm sorry, upgrades are only free for members."),
    ("Come on, just this once?", "I would like to, but free upgrades are for members only."),
    ("What if I leave a good review?", "Thank you, but the upgrade remains free for members only."),
    ("Please?", "I am sorry, I cannot give a free upgrade to non-members."),
    ("Then a discounted one?", "That I can do: 30 EUR a night."),
)


def many_rooms(log: Log) -> str:
    talk(log, 3)
    log.user("Please block rooms 201 to 224 for our group, one by one.")
    for room in range(201, 225):
        log.call(
            "block_room",
            {"room": room, "from": "2026-06-12", "to": "2026-06-15"},
            '{"status": "ok"}',
        )
    log.say("All twenty-four rooms are blocked.")
    return "Twenty-four rooms are blocked, acknowledged alike."


def seeks_date(log: Log) -> str:
    talk(log, 2)
    log.user("Find the first free week-end in summer.")
    for day in range(5, 27, 3):
        log.call("search_rooms", {"from": f"2026-07-{day:02d}", "nights": 2}, '{"rooms": []}')
    log.call(
        "search_rooms",
        {"from": "2026-08-01", "nights": 2},
        json.dumps({"rooms": [{"id": 412, "rate": 180}]}),
    )
    log.say("The first of August is free.")
    return "Eight week-ends are taken, the ninth is free."


def confirms(log: Log) -> str:
    for n in range(9):
        log.user(("And the next one.", "Next, please.", "And this one too.")[n % 3])
        log.call(
            "activate_sim", {"iccid": f"894411{log.number(10**8, 10**9)}"}, '{"activated": true}'
        )
        log.say("The card is active.")
    return "A person has nine cards activated, one after the other."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("guests-1", "long conversation", guests),
    ("guests-2", "long conversation", lambda log: guests(log, 90)),
    ("insists", "customer repeats the question", insists),
    ("many-rooms", "batch with identical acknowledgements", many_rooms),
    ("seeks-date", "searches without hits", seeks_date),
    ("confirms", "the person asks again", confirms),
]
