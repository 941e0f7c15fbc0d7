"""Less usual forms of log, of which only the score is told; sealed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

from guard.turn import Role, Turn
from tests.guard.drawings.coder import Coder
from tests.guard.drawings.drawing import Drawing, Log, fill, pool
from tests.guard.drawings.prose import passage, sentence, words

KIND = "odd-form"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"sealed-form/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def explore(log: Log, turns: int) -> None:
    """Look about with tools of a knowledge base."""
    log.user(fill("What do we know of the {noun} of {town}?", **words(log)))
    for _ in range(turns):
        tool, key = log.rng.choice(
            (("kb_search", "text"), ("kb_open", "title"), ("kb_links", "of"))
        )
        wanted = fill(log.deal("data.searches"), **words(log))
        thought = fill(log.deal("data.notes"), **words(log)) if log.rng.random() < 0.5 else None
        log.call(tool, {key: wanted}, "\n".join(passage(log, 3, 7)), thought=thought)


# --- stuck ---------------------------------------------------------------------


def spanish(log: Log) -> str:
    explore(log, 18)
    log.stuck_from_here()
    for text in pool("sealed_forms")["spanish"]:
        log.say(text)
    return "One announcement in Spanish in eight wordings."


def errands(log: Log) -> str:
    Coder(log, "openhands").work(20)
    log.stuck_from_here()
    for n in range(8):
        prompt = (
            "Find where the session is closed.",
            "Look for the place where the session is closed.",
        )[n % 2]
        log.call(
            "delegate",
            {"task": prompt, "agent": "explorer"},
            log.deal("sealed_forms.nothing_found"),
        )
    return "Eight errands to find one place, none finds it."


def nudged(log: Log) -> str:
    Coder(log, "swe").work(24)
    log.stuck_from_here()
    for _ in range(9):
        log.user(log.deal("sealed_forms.nudges"))
        log.say(log.deal("sealed_forms.ready"))
    return "An automatic user urges it on, it says it is done, nine times."


def wrapping_up(log: Log) -> str:
    log.user("Settle the seating plan.")
    for n in range(16):
        log.say(f"{sentence(log)} {sentence(log)}", ("host", "planner")[n % 2])
    log.stuck_from_here()
    for n in range(10):
        log.say(log.deal("sealed_forms.wraps"), ("host", "planner")[n % 2])
    return "Two agents wish each other a nice day ten times."


def slow_database(log: Log) -> str:
    explore(log, 16)
    log.stuck_from_here()
    for query in pool("sealed_forms")["slow_queries"]:
        error = "canceling statement due to statement timeout"
        log.call("pg_query", {"sql": query}, f"ERROR: {error}", error=error)
    return "Eight queries of one table, each is cut off."


def editor_screen(log: Log) -> str:
    Coder(log, "codex").work(18)
    screen = "\n".join([*passage(log, 8, 9), "~", "~", "-- INSERT --"])
    log.stuck_from_here()
    for n in range(10):
        keys = (":wq", ":q!", ":x", "ZZ", ":wq!")[n % 5]
        shown = f"{screen[: -len('-- INSERT --')]}{keys * (1 + n // 5)}\n-- INSERT --"
        log.call("tmux_send", {"keys": keys, "enter": True}, shown)
    return "It tries to leave an editor whose insert mode it does not notice."


def same_feed(log: Log) -> str:
    explore(log, 15)
    posts = passage(log, 9, 9)
    log.stuck_from_here()
    for _ in range(11):
        log.rng.shuffle(posts)
        log.call("feed_next", {}, json.dumps({"posts": posts[:7]}))
    return "A feed gives the same nine posts in turn."


def waits_for_gpu(log: Log) -> str:
    Coder(log).work(20)
    log.stuck_from_here()
    for n in range(14):
        rows = f"JOBID PARTITION NAME ST TIME NODES REASON\n 88213 gpu train PD 0:00 1 (Resources)\nload {log.number(100, 900) / 100} users {30 + n % 4}"
        log.call("Bash", {"command": "squeue -u dev; uptime"}, rows)
    return "A job pends in a queue; load and users flicker."


def idle_merge(log: Log) -> str:
    Coder(log, "openhands").work(22)
    log.stuck_from_here()
    for n in range(8):
        title = sentence(log)
        log.call(
            "create_pull_request",
            {"title": title, "head": "fix", "base": "main"},
            '{"message": "Validation Failed", "errors": [{"message": "No commits between main and fix"}]}',
        )
        if n % 3 == 2:
            log.call("execute_bash", {"command": "git push origin fix"}, "Everything up-to-date")
    return "A request to merge nothing is made under eight titles."


def same_click(log: Log) -> str:
    explore(log, 14)
    log.stuck_from_here()
    for n in range(9):
        args = {"x": 801 + n % 3, "y": 122 - n % 2}
        log.call(
            "mouse_click",
            args,
            "Clicked. Window: 'Export', focus: 'Cancel'",
            thought="Click on Export to start.",
        )
    return "A click beside the button, nine times, a pixel to and fro."


def words_only(log: Log) -> str:
    for n in range(20):
        log.say(f"{sentence(log)} {sentence(log)}", ("Analyst", "Lead")[n % 2])
    log.stuck_from_here()
    for n in range(5):
        log.say(
            (
                "We need the numbers of March from the Analyst.",
                "The Analyst should give the numbers of March.",
                "Analyst, the numbers of March, please.",
            )[n % 3],
            "Lead",
        )
        log.say(
            (
                "I need access to the ledger for the numbers of March.",
                "For March I lack access to the ledger.",
                "Without access to the ledger I have no numbers of March.",
            )[n % 3],
            "Analyst",
        )
    return "Only words: the numbers are asked for five times, the access is missing five times."


def calls_only(log: Log) -> str:
    coder = Coder(log)
    coder.work(26)
    path = coder.repo.sources()[0]
    log.stuck_from_here()
    for _ in range(7):
        coder.view(path, 1, 40)
        coder.do(coder.hand.grep("TODO", "src"), "")
        coder.view(path, 41, 40)
    log.turns[:] = [replace(turn, result=None, error=None) for turn in log.turns]
    return "Only calls: read, search, read on, seven rounds."


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("spanish", "reworded monologue", spanish),
    ("errands", "same error, varying arguments", errands),
    ("nudged", "circle of agents", nudged),
    ("wrapping-up", "circle of agents", wrapping_up),
    ("slow-database", "same error, varying arguments", slow_database),
    ("editor-screen", "same request, page unchanged", editor_screen),
    ("same-feed", "stagnation", same_feed),
    ("waits-for-gpu", "poll unchanged", waits_for_gpu),
    ("idle-merge", "same error, varying arguments", idle_merge),
    ("same-click", "same request, page unchanged", same_click),
    ("words-only", "circle of agents", words_only),
    ("calls-only", "k-cycle", calls_only),
]


# --- healthy -------------------------------------------------------------------


def knowledge(log: Log, turns: int = 60) -> str:
    explore(log, turns)
    return "A long walk through a knowledge base."


def tool_turns(log: Log) -> str:
    log.user("Collect what is known of the harbour.")
    for _ in range(30):
        query = fill(log.deal("data.searches"), **words(log))
        log.turns.append(Turn(role=Role.ASSISTANT, tool="search", args={"q": query}))
        log.turns.append(Turn(role=Role.TOOL, tool="search", content="\n".join(passage(log))))
    return "Calls and results as turns of their own."


def calls_alone(log: Log) -> str:
    coder = Coder(log, "codex")
    for _ in range(4):
        coder.work(22)
        coder.test()
        coder.commit()
        coder.ask()
    log.turns[:] = [replace(turn, result=None, error=None) for turn in log.turns]
    return "A long session of which only the calls are known."


def remarks_alone(log: Log) -> str:
    coder = Coder(log, thinks=1)
    for _ in range(5):
        coder.ask()
        coder.work(20)
    log.turns[:] = [
        replace(turn, tool=None, args=None, result=None, error=None)
        for turn in log.turns
        if turn.content
    ]
    return "A long session of which only the remarks are known."


def smart_home(log: Log) -> str:
    for n in range(16):
        room = log.rng.choice(("kitchen", "hall", "study"))
        log.user(f"{('Light on', 'Light off', 'Warmer', 'Colder')[n % 4]} in the {room}, please.")
        log.call(
            "set_device", {"room": room, "what": ("on", "off", "up", "down")[n % 4]}, '{"ok": true}'
        )
        log.say("Done.")
    return "A person commands a house; the answers are all alike."


def portfolio(log: Log) -> str:
    log.user("What are my shares worth?")
    for _ in range(26):
        code = "".join(log.rng.choice("ABCDEFGHKLMNPRSTUVX") for _ in range(4))
        log.call(
            "quote",
            {"symbol": code},
            json.dumps({"price": log.number(100, 90000) / 100, "currency": "EUR"}),
        )
    return "Twenty-six prices, alike but for the figures."


def red_green(log: Log) -> str:
    coder = Coder(log, "openhands")
    coder.work(8)
    coder.repo.failing.clear()
    for _ in range(9):
        failure = coder.repo.break_test()
        coder.edit(failure.path.replace("tests/test_", f"src/{coder.repo.package}/"))
        coder.test(failure.path, quiet=True)
        coder.edit()
        coder.repo.failing.clear()
        coder.test(failure.path, quiet=True)
    return "Red, green, red, green: nine tests first."


def minutes(log: Log) -> str:
    log.user("Summarise each meeting.")
    for _n in range(18):
        log.say("Please summarise the next meeting.", "chair")
        log.say(" ".join(passage(log, 3, 6)), "clerk")
    return "One instruction eighteen times, each summary another."


def memory_hunger(log: Log) -> str:
    Coder(log).work(10)
    for size in (512, 256, 128, 64):
        error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
        log.call("Bash", {"command": f"python train.py --batch-size {size}"}, error, error=error)
    log.call("Bash", {"command": "python train.py --batch-size 32"}, "epoch 1 loss 2.31")
    Coder(log).work(10)
    return "Four sizes are too large, the fifth fits."


def spellings(log: Log) -> str:
    explore(log, 4)
    for name in ("Meier", "Maier", "Mayer", "Meyer"):
        log.call("find_person", {"last_name": name}, "[]")
    log.call("find_person", {"last_name": "Mayr"}, '[{"id": 7, "room": "2.14"}]')
    explore(log, 8)
    return "Four spellings of a name are not found, the fifth is."


def sweep(log: Log) -> str:
    log.user("Which settings are best?")
    for rate in ("1e-2", "3e-3", "1e-3", "3e-4", "1e-4"):
        for size in (16, 32, 64, 128):
            score = f"acc={log.number(7000, 9400) / 10000} loss={log.number(300, 900) / 1000}"
            log.call("run_trial", {"lr": rate, "batch": size, "epochs": 3}, score)
    return "Twenty trials, alike but for the figures."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("knowledge-1", "long research", knowledge),
    ("knowledge-2", "long research", lambda log: knowledge(log, 160)),
    ("tool-turns", "long research", tool_turns),
    ("calls-alone", "long session", calls_alone),
    ("remarks-alone", "long session", remarks_alone),
    ("smart-home", "the person asks again", smart_home),
    ("portfolio", "one question for each", portfolio),
    ("red-green", "same test after real edits", red_green),
    ("minutes", "hand-offs that progress", minutes),
    ("memory-hunger", "retry that succeeds", memory_hunger),
    ("spellings", "searches without hits", spellings),
    ("sweep", "one question for each", sweep),
]
