"""Loops and healthy look-alikes, drawn small.

The healthy ones are the four shapes that get detectors switched off (waiting,
batches, paging, the same test after an edit) and their relatives.
"""

from __future__ import annotations

from guard.turn import Phase, Turn
from tests.guard.build import a_call, a_message, a_proposal, a_user

PROPOSED = Phase.PROPOSED
NO_MODULE = "ModuleNotFoundError: No module named 'app.tokens'"
MISSING = "File does not exist. Current working directory: /home/dev/project"


def _three_missing_reads() -> list[Turn]:
    read = a_call("Read", error=MISSING, file_path="/home/dev/project/app/tokens.py")
    return [a_user("Fix it"), read, read, read]


def _ids_and_times_move() -> list[Turn]:
    return [
        a_call("search", f'{{"hits": 0, "messageId": "{i}f3a9c2b71", "took": "{i + 3}ms"}}', q="x")
        for i in range(3)
    ]


def _one_use_arguments() -> list[Turn]:
    return [
        a_call(
            "get_order", "no such order", order=7, request_id=f"req-{i}", timestamp=1795295317 + i
        )
        for i in range(3)
    ]


def _arguments_in_other_order() -> list[Turn]:
    args = [{"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}]
    return [a_call("lookup", "nothing", args=args[i % 2]) for i in range(3)]


def _talk_between() -> list[Turn]:
    failing = a_call("Edit", error="String to replace not found in file.", path="a.py", old="x")
    says = ["Let me try that edit.", "I will apply the change now.", "Once more, with care."]
    return [turn for text in says for turn in (a_message(text), failing)]


def _reading_between() -> list[Turn]:
    test = a_call("Bash", "1 failed: test_login", command="pytest -q")
    read = a_call("Read", "def login(): ...", path="a.py")
    return [read, test, read, test, read, test]


def _to_and_fro() -> list[Turn]:
    one = a_call("Bash", "E1: missing brace", command="build --a")
    other = a_call("Bash", "E2: extra brace", command="build --b")
    return [one, other, one, other]


def _agents_to_and_fro() -> list[Turn]:
    ask = a_message("Please review the change, it is ready.", agent="coder")
    refuse = a_message("I cannot review it: the tests are missing.", agent="reviewer")
    return [ask, refuse, ask, refuse]


def _reworded_monologue() -> list[Turn]:
    return [
        a_message("The configuration file is to be checked to see whether the setting is there."),
        a_message("The configuration file is to be checked to see if the setting is there."),
        a_message("The configuration file is to be checked to see whether that setting is there."),
    ]


def _same_error_other_words() -> list[Turn]:
    error = "error: unrecognized arguments: --fast"
    return [
        a_call("Bash", error=error, command=f"python -m app.build --target web --fast {flag}")
        for flag in ("", "-v", "-vv")
    ]


def _past_the_end() -> list[Turn]:
    return [
        a_call("Read", "(no more lines)", file_path="src/app/main.py", offset=offset, limit=100)
        for offset in range(900, 1400, 100)
    ]


def _proposed_third() -> list[Turn]:
    turns: list[Turn] = []
    for i in range(3):
        turns.append(a_proposal("Read", key=f"k{i}", path="x.py"))
        if i < 2:
            turns.append(a_call("Read", error=MISSING, key=f"k{i}", path="x.py"))
    return turns


def _requests_only() -> list[Turn]:
    return [a_call("Bash", None, command="make deploy") for _ in range(4)]


def _unmoved_poll() -> list[Turn]:
    return [a_call("get_job_status", "state: pending", job=7) for _ in range(8)]


def _same_search_in_other_words() -> list[Turn]:
    found = "\n".join(f"{n}. Laptops reviewed: the best of the year, part {n}" for n in "abcd")
    queries = (
        "best laptops 2026 reviews",
        "reviews of best laptops 2026",
        "best laptops reviews 2026",
        "best 2026 laptops reviews",
    )
    return [a_call("web_search", found, query=query) for query in queries]


def _four_pages_in_a_circle() -> list[Turn]:
    names = ("a1", "b2", "c3", "d4")
    pages = [a_call("open_page", f"Welcome to {name}.", name=name) for name in names]
    return [*pages, *pages, pages[0]]


def _one_column_in_many_queries() -> list[Turn]:
    error = "OperationalError: no such column: total"
    tails = ("", "WHERE paid", "WHERE paid ORDER BY 1", "WHERE paid ORDER BY 1 LIMIT 5")
    start = "SELECT total FROM orders"
    return [a_call("run_sql", error=error, query=f"{start} {tail}") for tail in tails]


def _refused_between_readings() -> list[Turn]:
    push = a_call("git_push", error="remote: permission to dev/app denied", branch="main")
    pages = [
        a_call("Read", "\n".join(f"{name} {word}" for word in ("says", "this", "here")), path=name)
        for name in ("alpha", "bravo")
    ]
    return [turn for page in pages for turn in (push, page)] + [push]


def _one_search_without_a_hit() -> list[Turn]:
    queries = (
        "retry limit",
        "limit retry",
        "retry setting",
        "limit setting",
        "retry limit setting",
        "setting retry limit",
    )
    return [a_call("search_code", "no matches", query=query) for query in queries]


def _one_thought_in_other_words() -> list[Turn]:
    text = (
        "I should find out why parse_header returns nothing for this message.",
        "The question is why parse_header gives nothing for the message.",
        "Let me think about why this message makes parse_header return nothing.",
        "So I need to understand the reason parse_header returned nothing here.",
        "Let me find the reason why nothing is returned by parse_header.",
    )
    return [a_call("Read", "def parse_header(text): ...", path="mail.py"), *map(a_message, text)]


def _one_helper_after_another() -> list[Turn]:
    """Three sub-agents, started one by one, each end on the same failing call."""
    turns = []
    for n, asked in enumerate(("make the tests pass", "fix the suite", "get pytest green")):
        turns += [
            a_call("Agent", None, agent="lead", key=f"give-{n}", prompt=asked, phase=PROPOSED),
            a_call("Bash", error=NO_MODULE, agent=f"helper-{n}", command="pytest -q"),
            a_call("Agent", f"It fails, says {n}.", agent="lead", key=f"give-{n}", prompt=asked),
        ]
    return turns[:-1]


def _three_desks_in_a_circle() -> list[Turn]:
    round_of = (
        ("writer", "I need the figures of the reading room from the analyst."),
        ("analyst", "The researcher has the figures of the reading room, not me."),
        ("researcher", "The writer asked for the reading room, so the writer decides."),
    )
    again = (
        ("writer", "Analyst, please, the figures of the reading room."),
        ("analyst", "Researcher, the reading room's figures are needed."),
        ("researcher", "It is for the writer to decide on the reading room."),
    )
    last = (
        ("writer", "The reading room figures, analyst, please."),
        ("analyst", "Those figures of the reading room are with the researcher."),
        ("researcher", "For the reading room the writer decides."),
    )
    opening = a_call("open_ticket", "ticket opened", agent="writer", about="reading room")
    talk = [a_message(text, agent=agent) for agent, text in (*round_of, *again, *last)]
    return [opening, *talk]


def _a_mixture_of_vain_attempts() -> list[Turn]:
    """No rule alone is met: failures of two calls in turn, and looks at what is known."""
    failure = "E   AssertionError: None != 0\n1 failed"
    cart, shop = (a_call("Read", f"class {n}:\n    total = None", path=n) for n in ("Cart", "Shop"))
    quick, last = (a_call("Bash", failure, command=f"pytest {f}") for f in ("-q", "--lf"))
    build, again = (
        a_call("Bash", "make: *** [all] Error 2", command=f"make {f}") for f in ("all", "-B all")
    )
    return [cart, quick, shop, build, cart, last, shop, again]


# Name -> turns and the detector that must trip on the last of them, not before.
LOOPS: dict[str, tuple[list[Turn], str]] = {
    "the same missing file": (_three_missing_reads(), "repeat"),
    "ids and times move": (_ids_and_times_move(), "repeat"),
    "one-use arguments": (_one_use_arguments(), "repeat"),
    "arguments in another order": (_arguments_in_other_order(), "repeat"),
    "talk between": (_talk_between(), "repeat"),
    "the same sentence": ([a_message("I am done.")] * 3, "repeat"),
    "a third proposed call": (_proposed_third(), "repeat"),
    "requests alone": (_requests_only(), "repeat"),
    "a poll that does not move": (_unmoved_poll(), "repeat"),
    "to and fro": (_to_and_fro(), "repeat"),
    "reading between equal tests": (_reading_between()[:4], "repeat"),
    "two agents to and fro": (_agents_to_and_fro(), "repeat"),
    "a reworded monologue": (_reworded_monologue(), "talk"),
    "the same error, other flags": (_same_error_other_words(), "errors"),
    "the same search in other words": (_same_search_in_other_words(), "stall"),
    "paging past the end": (_past_the_end(), "stall"),
    "four pages in a circle": (_four_pages_in_a_circle(), "repeat"),
    "one column in many queries": (_one_column_in_many_queries(), "errors"),
    "refused between readings": (_refused_between_readings(), "stall"),
    "one search without a hit": (_one_search_without_a_hit(), "stagnation"),
    "one thought in other words": (_one_thought_in_other_words(), "talk"),
    "three desks in a circle": (_three_desks_in_a_circle(), "talk"),
    "one helper after another": (_one_helper_after_another(), "stall"),
    "a mixture of vain attempts": (_a_mixture_of_vain_attempts(), "stall"),
}


def _moving_poll() -> list[Turn]:
    return [a_call("get_job", f"state: running, {i * 9} % done", job=7) for i in range(12)]


def _patient_poll() -> list[Turn]:
    waiting = [a_call("get_job", "state: pending", job=7) for _ in range(6)]
    return [*waiting, a_call("get_job", "state: finished", job=7)]


def _sleep_and_look() -> list[Turn]:
    sleep = a_call("Bash", "", command="sleep 10")
    look = a_call("Bash", "web-1   ContainerCreating", command="kubectl get pods")
    return [sleep, look, sleep, look, sleep, look, sleep, look]


def _pages() -> list[Turn]:
    return [
        a_call(
            "Read",
            "\n".join(f"{n}\tvalue_{n} = compute({n * 7}, 'name{n}')" for n in range(at, at + 50)),
            file_path="data.py",
            offset=at,
        )
        for at in range(0, 400, 50)
    ]


def _batch_of_acts() -> list[Turn]:
    return [a_call("update_order", "ok", order_id=100 + i, status="shipped") for i in range(9)]


def _batch_of_edits() -> list[Turn]:
    return [
        a_call(
            "Edit", f"The file src/m{i}.py has been updated.", path=f"src/m{i}.py", old="a", new="b"
        )
        for i in range(9)
    ]


def _test_after_edits() -> list[Turn]:
    turns: list[Turn] = []
    for left in (4, 3, 2, 1):
        turns.append(a_call("Edit", "File updated.", path="a.py", old=f"v{left}", new=f"w{left}"))
        turns.append(a_call("Bash", f"{left} failed, {9 - left} passed", command="pytest -q"))
    return [*turns, a_call("Bash", "9 passed", command="pytest -q")]


def _same_result_after_real_edits() -> list[Turn]:
    turns: list[Turn] = []
    for attempt in range(3):
        turns.append(a_call("Edit", "File updated.", path="a.py", old="x", new=f"fix {attempt}"))
        turns.append(a_call("Bash", "1 failed: test_login", command="pytest -q"))
    return turns


def _retry_that_succeeds() -> list[Turn]:
    busy = a_call("fetch", error="HTTP 429: too many requests", url="https://x/y")
    return [busy, busy, busy, busy, a_call("fetch", "content", url="https://x/y")]


def _a_person_asks_again() -> list[Turn]:
    status = a_call("Bash", "On branch main", command="git status")
    return [turn for _ in range(5) for turn in (a_user("What is the state?"), status)]


def _searches_that_find_nothing() -> list[Turn]:
    patterns = ("class Login", "def authenticate", "SessionStore", "import jwt", "oauth")
    return [a_call("Grep", "No matches found", pattern=p, path="src") for p in patterns]


def _ticking_off() -> list[Turn]:
    steps = ["read the code", "find the bug", "write a test", "fix it", "run all tests"]
    return [
        a_call(
            "TodoWrite",
            "Todos have been modified successfully.",
            todos=[{"text": s, "done": place < done} for place, s in enumerate(steps)],
        )
        for done in range(6)
    ]


def _conversation() -> list[Turn]:
    lines = [
        ("coder", "The parser fails on empty input; I will guard the first read."),
        ("reviewer", "Agreed. Does the caller handle a None result too?"),
        ("coder", "It does not. I have added a check and a test for it."),
        ("reviewer", "Then the change is good. Please also note it in the changelog."),
    ]
    return [a_message(text, agent=agent) for agent, text in lines]


def _moves_of_a_game() -> list[Turn]:
    return [a_call("press_key", "ok", key=key) for key in ("Up", "Up", "Up", "Right", "Right")]


def _status_between_edits() -> list[Turn]:
    turns: list[Turn] = []
    for name in "abcd":
        turns.append(a_call("Write", "File written.", path=f"{name}.py", text=f"# {name}"))
        turns.append(a_call("Bash", "changes not staged", command="git status"))
    return turns


def _three_requests_without_results() -> list[Turn]:
    return [a_call("Bash", None, command="make deploy") for _ in range(3)]


def _two_fail_then_it_works() -> list[Turn]:
    failing = a_call("Bash", error="connection refused", command="psql -c 'select 1'")
    return [failing, failing, a_call("Bash", "1", command="psql -c 'select 1'")]


def _reader_beside_editor() -> list[Turn]:
    turns: list[Turn] = []
    for i in range(4):
        turns.append(a_call("Bash", "1 failed", command="pytest -q", agent="tester"))
        turns.append(a_call("Edit", "updated", path="a.py", new=f"try {i}", agent="coder"))
    return turns


def _asked_of_each(result: str, template: str, names: str) -> list[Turn]:
    return [a_call("Bash", result, command=template.format(name)) for name in names.split()]


def _guesses_of_a_path() -> list[Turn]:
    guesses = ("user", "account", "profile")
    path = "/home/dev/project/src/app/models/{}.py"
    return [a_call("Read", error="File does not exist.", file_path=path.format(g)) for g in guesses]


HEALTHY: dict[str, list[Turn]] = {
    "greps for other words": _asked_of_each(
        "", 'grep -rn "{}" /home/dev/project/src/app --include=*.py', "login jwt session oauth"
    ),
    "listings of other places": _asked_of_each(
        "total 0", "ls -la /home/dev/project/src/modules/{}", "alpha beta gamma delta"
    ),
    "tests of other files": _asked_of_each(
        "5 passed in 0.2s", "pytest tests/unit/test_{}.py -q", "auth user cart item"
    ),
    "requests for other orders": _asked_of_each(
        '{"detail": "Not found."}', "curl -s localhost:8000/api/orders/{}/", "71 72 73 74"
    ),
    "customers without orders": [
        a_call("get_customer", '{"orders": []}', id=f"3f2504e0-4f89-41d3-9a0c-0305e82c330{n}")
        for n in range(5)
    ],
    "days without a flight": [
        a_call("search_flights", "no flights found", origin="SFO", to="JFK", date=f"2026-05-1{n}")
        for n in range(5)
    ],
    "three guesses of a path": _guesses_of_a_path(),
    "a poll that moves": _moving_poll(),
    "a poll that takes its time": _patient_poll(),
    "sleep and look": _sleep_and_look(),
    "page after page": _pages(),
    "a batch of acts": _batch_of_acts(),
    "a batch of edits": _batch_of_edits(),
    "the same test after edits": _test_after_edits(),
    "the same result after three real edits": _same_result_after_real_edits(),
    "a retry that succeeds": _retry_that_succeeds(),
    "a person asks again": _a_person_asks_again(),
    "searches that find nothing": _searches_that_find_nothing(),
    "ticking off": _ticking_off(),
    "a conversation": _conversation(),
    "moves of a game": _moves_of_a_game(),
    "status between edits": _status_between_edits(),
    "three requests without results": _three_requests_without_results(),
    "two failures, then success": _two_fail_then_it_works(),
    "a tester beside an editor": _reader_beside_editor(),
}
