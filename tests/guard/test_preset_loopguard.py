"""LoopGuard's rules, pinned: exact 3, to and fro over 4, alike 3 at 0.86, ceilings, judge."""

from __future__ import annotations

import string
from decimal import Decimal

from guard.contrib.embedding import cosine
from guard.contrib.loopguard import embed
from guard.formats import Recording
from guard.policy import PRESETS
from guard.replay import replay
from guard.signals import Kind, Severity
from guard.turn import Turn
from tests.guard.build import a_call, a_message, a_proposal, first_trip, last_trip, watch

LOOPGUARD = PRESETS["loopguard"]
MISSING = "Error: file not found"
TRACE = "5f0c1a2e-0000-4000-8000-00000000000"

# From its story: the file it looks for does not exist under any name.
PACKAGE = [
    a_call("read_file", error=MISSING, path=path)
    for path in ("package.json", "./package.json", "app/package.json", "../package.json")
]
HANDED = [
    a_message("Please review the change to the parser, it is ready.", agent="coder"),
    a_message("The tests are missing, I cannot approve anything.", agent="reviewer"),
]


def the_trip(turns: list[Turn]):
    trip = last_trip(turns, LOOPGUARD)
    return (trip.kind, trip.severity) if trip else None


def test_three_equal_events_are_a_loop():
    read = a_call("read_file", error=MISSING, path="package.json")

    assert the_trip([read, read]) is None
    assert the_trip([read, read, read]) == (Kind.EXACT_REPEAT, Severity.ASK)


def test_ids_times_and_the_way_to_a_file_do_not_tell_events_apart():
    events = [
        a_call(
            "read_file",
            error=f"not found ({TRACE}{n}, 2026-11-21T21:08:0{n})",
            path=path,
            request_id=f"r{n}",
        )
        for n, path in enumerate(("notes.txt", "./notes.txt", "/app/notes.txt"))
    ]

    assert the_trip(events) == (Kind.EXACT_REPEAT, Severity.ASK)


def test_another_agent_is_another_event():
    say = [a_message("Done.", agent=agent) for agent in ("a", "b", "c")]

    trip = last_trip(say, LOOPGUARD)

    assert trip is None or trip.kind is not Kind.EXACT_REPEAT


def test_three_like_events_are_a_loop_by_their_lowest_likeness():
    trip = last_trip(PACKAGE[:3], LOOPGUARD)

    assert trip.kind is Kind.SEMANTIC_REPEAT
    assert trip.evidence.similarity >= trip.evidence.threshold == 0.86
    assert first_trip(PACKAGE, LOOPGUARD) == 2


def test_one_unlike_event_among_three_is_none():
    other = a_call("list_dir", "src  tests  README.md", path="docs/handbook")

    assert first_trip([PACKAGE[0], PACKAGE[2], other, PACKAGE[3]], LOOPGUARD) is None


def test_the_vectors_are_of_the_characters_within_words():
    assert cosine(embed("Package.JSON"), embed("package.json")) > 0.999
    assert 0.5 < cosine(embed("packages.json"), embed("package.json")) < 1.0
    assert cosine(embed("alpha"), embed("")) == 0.0


def test_four_events_to_and_fro_across_agents_are_a_loop():
    assert first_trip(HANDED * 3, LOOPGUARD) == 3
    assert the_trip(HANDED * 2) == (Kind.PING_PONG, Severity.ASK)


def test_to_and_fro_may_be_in_like_words():
    ask = [a_call("build", "E1: missing brace", target="web", note=f"try {n}") for n in (1, 2)]
    fix = [a_call("edit_file", "ok", file="webpack.config.js", line=n) for n in (40, 41)]

    assert the_trip([ask[0], fix[0], ask[1], fix[1]]) == (Kind.PING_PONG, Severity.ASK)


def test_it_looks_at_the_last_four_events_alone():
    assert (
        first_trip([*HANDED, a_message("A word between, quite different.")] * 3, LOOPGUARD) is None
    )


def test_a_proposed_call_is_compared_by_its_request():
    poll = [a_call("get_job", f"state: {word}", id=7) for word in ("queued", "running elsewhere")]

    trip = watch([*poll, a_proposal("get_job", id=7)], LOOPGUARD)[-1].trip

    assert trip.kind is Kind.EXACT_REPEAT


def unlike(count: int, **fields) -> list[Turn]:
    letters = string.ascii_lowercase * 2
    verbs = ["read", "grep", "build", "list", "fetch", "plot", "rename"]
    return [
        a_call(verbs[n % 7], f"{letters[n] * 30} {n * n}", target=f"{letters[-n]}{n}" * 6, **fields)
        for n in range(count)
    ]


def test_thirty_calls_are_the_most():
    trip = watch(unlike(30), LOOPGUARD)[-1].trip

    assert first_trip(unlike(29), LOOPGUARD) is None
    assert (trip.kind, trip.evidence.unit, trip.evidence.ceiling) == (Kind.BUDGET, "calls", "30")


def test_one_dollar_is_the_most():
    assert first_trip(unlike(10, cost_usd=Decimal("0.25")), LOOPGUARD) == 3


def test_the_judge_has_the_final_say_on_a_loop():
    moving = [a_call("pytest", f"{n} failed", path="tests") for n in (9, 8, 7)]

    assert first_trip(moving, LOOPGUARD) == 2
    assert replay(Recording(run="r", turns=tuple(moving)), LOOPGUARD).first_alarm is None


def test_the_judge_has_no_say_on_a_ceiling():
    turns = unlike(40)

    assert replay(Recording(run="r", turns=tuple(turns)), LOOPGUARD).first_alarm == 29


def test_it_asks_and_never_stops_by_itself():
    replayed = replay(Recording(run="r", turns=tuple(PACKAGE * 5)), LOOPGUARD)

    assert (replayed.first_alarm, replayed.first_stop) == (2, None)
