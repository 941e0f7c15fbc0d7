"""Loops and look-alikes in less usual forms of log; open."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from guard.turn import Role, Turn
from tests.guard.drawings.drawing import Drawing, Log, pool
from tests.guard.drawings.look_alikes import at_work, bash, edit
from tests.guard.drawings.prose import passage, sentence

KIND = "odd-form"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"odd/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def tool_says(log: Log, tool: str, text: str) -> None:
    """Log what a tool says as a turn of its own, without a call."""
    log.turns.append(Turn(role=Role.TOOL, agent=tool, tool=tool, result=text))


# --- stuck ---------------------------------------------------------------------


def screen_prompt(log: Log) -> str:
    at_work(log, 16)
    screen = "\n".join([*passage(log, 10, 12), "Proceed? [y/N] "])
    log.stuck_from_here()
    for keys in ("y\n", "y", "Y\n", "yes\n", "\n", "y\n", "Y", "yes", "y\n", "\n"):
        log.call("send_keys", {"keys": keys}, screen)
    return "A prompt is answered ten times, the screen stays."


def no_program(log: Log) -> str:
    at_work(log, 15)
    log.stuck_from_here()
    for command in (
        "next",
        "step",
        "continue",
        "next",
        "bt",
        "next",
        "print sum",
        "step",
        "next",
        "finish",
    ):
        log.call("gdb", {"command": command}, "The program is not being run.")
    return "A debugger is driven although nothing runs."


def helpers_fail(log: Log) -> str:
    at_work(log, 15)
    log.stuck_from_here()
    prompt = "Find where the memory leaks in the parser."
    for reply in pool("odd")["unable"]:
        log.call("Task", {"description": "Find the leak", "prompt": prompt}, reply)
    return "The same errand is given to seven helpers, none finds it."


def time_outs(log: Log) -> str:
    at_work(log, 16)
    log.stuck_from_here()
    for command in pool("odd")["installs"]:
        error = "Command timed out after 120s"
        bash(log, command, error, error=error)
    return "The tests are started in eight ways, each runs into the limit."


def empty_edits(log: Log) -> str:
    at_work(log, 15)
    log.stuck_from_here()
    for _ in range(8):
        line = sentence(log)
        args = {"file_path": "/src/fare.py", "old_string": line, "new_string": line}
        log.call(
            "Edit", args, "No changes to make: old_string and new_string are exactly the same."
        )
    return "Eight edits that change nothing."


def nothing_to_commit(log: Log) -> str:
    at_work(log, 15)
    log.stuck_from_here()
    for _ in range(8):
        bash(
            log,
            f'git commit -am "{sentence(log)}"',
            "On branch main\nnothing to commit, working tree clean",
        )
    return "Eight commits of nothing, under other subjects."


def shuffled_scroll(log: Log) -> str:
    at_work(log, 15)
    lines = passage(log, 12, 12)
    log.stuck_from_here()
    for _ in range(12):
        log.rng.shuffle(lines)
        log.call("scroll", {"dy": 600}, "\n".join(lines[:9]))
    return "A feed without end shows the same twelve entries in other orders."


def noisy_poll(log: Log) -> str:
    at_work(log, 18)
    log.stuck_from_here()
    for _ in range(14):
        cpu, share = log.number(0, 30) / 10, log.number(10, 20) / 10
        rows = (
            f"PID USER %CPU %MEM COMMAND\n8123 dev {cpu} {share} python train.py (waiting for GPU)"
        )
        bash(log, "sleep 60; ps aux | grep train", rows)
    return "A process waits for its turn; only the load flickers."


def human_please(log: Log) -> str:
    for _ in range(6):
        log.user(sentence(log))
        log.say(sentence(log))
    log.stuck_from_here()
    for _ in range(9):
        log.user(log.deal("odd.human"))
        log.say(log.deal("odd.transferring"))
    return "Customer and agent say the same to each other nine times."


def go_on_please(log: Log) -> str:
    at_work(log, 18)
    log.stuck_from_here()
    for n in range(8):
        log.say(
            ("I have finished the work.", "The work is finished.", "All work is finished now.")[
                n % 3
            ]
        )
        log.user("Your last response did not include a tool call. Please go on, or call finish.")
    return "An automatic voice asks it to go on, it says it is done, eight times."


def no_code(log: Log) -> str:
    log.user("Compute the mean.")
    for n in range(12):
        log.say(" ".join(passage(log)), f"Expert_{n % 3}")
    log.stuck_from_here()
    for n in range(7):
        log.say(
            (
                "Please run the code above.",
                "Let us execute the code above.",
                "Please execute the above code.",
            )[n % 3],
            "Expert_1",
        )
        tool_says(
            log,
            "Computer_terminal",
            "There is no code from the last 1 message for me to execute. Let other participants continue.",
        )
    return "The terminal is asked to run code that nobody wrote."


def thinks_on(log: Log) -> str:
    at_work(log, 15)
    log.stuck_from_here()
    for comment in pool("odd")["comments"]:
        log.call("think", {"thought": comment}, "Your thought has been logged.")
    return "One thought is logged eight times in other words."


def says_only(log: Log) -> str:
    for _ in range(18):
        log.say(f"{sentence(log)} {sentence(log)}")
    log.stuck_from_here()
    for text in pool("odd")["total"]:
        log.say(text)
    return "Only words: the same announcement eight times."


def clicks_save(log: Log) -> str:
    at_work(log, 14)
    log.stuck_from_here()
    for thought in pool("odd")["save"]:
        args = {"action": "left_click", "coordinate": [612, 388]}
        log.call("computer", args, "[screenshot]", thought=thought)
    return "One button is clicked seven times, and it says itself that the dialog stays."


def old_versions(log: Log) -> str:
    at_work(log, 16)
    log.stuck_from_here()
    for n in range(6):
        version, wish = (
            ("1.26", "scipy requires numpy>=2")
            if n % 2 == 0
            else ("2.1", "tables requires numpy<2")
        )
        bash(log, f"pip install numpy=={version}", f"Successfully installed numpy-{version}.4")
        bash(log, "python app.py", f"ImportError: {wish}")
    return "Two versions are installed in turn, one never fits."


def german(log: Log) -> str:
    at_work(log, 15)
    log.stuck_from_here()
    for text in pool("odd")["deutsch"]:
        log.say(text)
    return "One announcement in German, eight times in other words."


def chinese(log: Log) -> str:
    at_work(log, 15)
    log.stuck_from_here()
    for text in pool("odd")["chinese"]:
        log.say(text)
    return "One announcement in Chinese, eight times in other words; no blanks between words."


def blocked(log: Log) -> str:
    log.user("Drive to the door.")
    for n in range(14):
        state = {"x": n / 2, "y": log.number(-9, 9) / 100, "obstacle": False}
        log.call("move_forward", {"distance": 0.5}, json.dumps(state))
    log.stuck_from_here()
    for n in range(11):
        state = {"x": 7 + n % 3 / 100, "obstacle": True, "moved": 0.0}
        log.call("move_forward", {"distance": 0.5}, json.dumps(state))
    return "A robot drives against an obstacle eleven times; its place only trembles."


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("screen-prompt", "same request, page unchanged", screen_prompt),
    ("no-program", "same error, varying arguments", no_program),
    ("helpers-fail", "same error", helpers_fail),
    ("time-outs", "same error, varying arguments", time_outs),
    ("empty-edits", "same error, varying arguments", empty_edits),
    ("nothing-to-commit", "stagnation", nothing_to_commit),
    ("shuffled-scroll", "stagnation", shuffled_scroll),
    ("noisy-poll", "poll unchanged", noisy_poll),
    ("human-please", "circle of agents", human_please),
    ("go-on-please", "circle of agents", go_on_please),
    ("no-code", "circle of agents", no_code),
    ("thinks-on", "reworded monologue", thinks_on),
    ("says-only", "reworded monologue", says_only),
    ("clicks-save", "same request, page unchanged", clicks_save),
    ("old-versions", "edit-revert", old_versions),
    ("german", "reworded monologue", german),
    ("chinese", "reworded monologue", chinese),
    ("blocked", "slow drift", blocked),
]


# --- healthy -------------------------------------------------------------------


def missing_modules(log: Log) -> str:
    at_work(log, 6)
    for name in pool("odd")["modules"]:
        trace = f'Traceback (most recent call last):\n  File "app.py", line 1, in <module>\nModuleNotFoundError: No module named {name!r}'
        bash(log, "python app.py", trace)
        bash(log, f"pip install {name}", f"Successfully installed {name}")
    bash(log, "python app.py", "serving on :8000")
    return "Nine modules are missing one after the other; each is installed."


def says_where(log: Log) -> str:
    log.user("Process the files.")
    for n in range(1, 15):
        log.say(f"Processing file {n} of 14.")
        log.call("process", {"file": f"{n}.csv"}, "ok")
    return "It says which file it is at; every file is acknowledged alike."


def dead_links(log: Log) -> str:
    log.user("Which of these links are dead?")
    for n in range(24):
        log.call(
            "http_head",
            {"url": f"https://x.example/{log.hex(5)}"},
            "404 Not Found" if n % 4 else "200 OK",
        )
    return "Links are checked; most are dead, some are not."


def wide_page(log: Log) -> str:
    at_work(log, 6)
    around = passage(log, 30, 30)
    for page in range(1, 15):
        rows = "\n".join([*around, *passage(log, 2, 2)])
        log.call("browse", {"url": f"https://x.example/list?page={page}"}, rows)
    return "Pages of which most is frame; two lines of each are new."


def growing_log(log: Log) -> str:
    at_work(log, 6)
    lines = passage(log, 60, 60)
    for n in range(14):
        bash(log, "sleep 20; cat build.log", "\n".join(lines[: 30 + 2 * n]))
    return "A log is shown whole each time; it grows by two lines."


def debugger(log: Log) -> str:
    at_work(log, 6)
    for n in range(18):
        stop = f"Breakpoint 1, walk (i={n}, node=0x55{log.hex(8)}) at tree.c:34\n34\t    sum += node->value;"
        log.call("gdb", {"command": "continue"}, stop)
    return "A breakpoint is met eighteen times, the counter goes up."


def object_ids(log: Log) -> str:
    log.user("Collect all ids.")
    for _ in range(14):
        ids = [log.hex(16) for _ in range(10)]
        log.call(
            "list_objects",
            {"bucket": "b", "cursor": log.hex(32)},
            json.dumps({"ids": ids, "next": log.hex(32)}),
        )
    return "Pages that hold nothing but ids."


def numbers(log: Log) -> str:
    log.user("What do these products come to?")
    for _ in range(16):
        one, other = log.number(2, 99), log.number(2, 99)
        log.call("calculator", {"expression": f"{one}*{other}"}, str(one * other))
    return "A calculator gives a number to each expression."


def heartbeat(log: Log) -> str:
    for n in range(14):
        log.user("It is time for the hourly check.")
        log.call("check_disk", {"path": "/"}, json.dumps({"free_gb": 80 - n}))
        log.say("All is well.")
    return "A check that an automatic voice asks for every hour."


def supervisor(log: Log) -> str:
    log.user("Write the report.")
    for n in range(10):
        agent = ("researcher", "coder")[n % 2]
        log.call("route", {}, json.dumps({"next": agent}), agent="supervisor")
        log.say(" ".join(passage(log)), agent)
    return "A supervisor routes by one word; those it calls bring something."


def approvals(log: Log) -> str:
    log.user("Write ten items.")
    for n in range(10):
        log.say(f"Item {n + 1}: {sentence(log)}", "writer")
        log.say("APPROVE", "critic")
    return "Every item is approved in one word."


def compactions(log: Log) -> str:
    at_work(log, 10)
    pages = {f"/src/part_{n}.py": "\n".join(passage(log)) for n in range(4)}
    for n in range(3):
        log.say(
            "This session is being continued from a previous conversation that ran out of context."
        )
        for path, page in pages.items():
            log.call("Read", {"file_path": path}, page)
        for path in pages:
            edit(log, path)
            bash(log, "pytest -q", f"{30 + 6 * n + log.number(0, 5)} passed in 0.2s")
        pages = {path: f"{page}\n{sentence(log)}" for path, page in pages.items()}
    return "Three times it reads the same files after a compaction, and works on them."


def conflicts(log: Log) -> str:
    at_work(log, 6)
    for n in range(8):
        edit(log, f"/src/part_{n}.py")
        bash(log, f"git add src/part_{n}.py", "")
        bash(
            log,
            "git rebase --continue",
            f"CONFLICT (content): Merge conflict in src/part_{n + 1}.py\nerror: could not apply {log.hex(7)}... {sentence(log)}",
        )
    return "A rebase stops at eight conflicts, each in another file."


def chapters(log: Log) -> str:
    log.user("Translate the book.")
    for _ in range(14):
        log.say("Please translate the next chapter.", "editor")
        log.say(" ".join(passage(log, 4, 8)), "translator")
        log.say("Please proofread it.", "editor")
        log.say(f"Proofread: {sentence(log)}", "proofreader")
    return "Fourteen chapters by the same two instructions, each with text of its own."


def pictures(log: Log) -> str:
    log.user("Draw a floor plan.")
    for _ in range(12):
        log.call("click", {"x": log.number(0, 999), "y": log.number(0, 999)}, "clicked")
        log.call("screenshot", {}, "<image 1280x800>")
    return "A picture after each click; the log does not hold the pictures."


def bare_pages(log: Log) -> str:
    log.user("How many users are there?")
    for page in range(1, 12):
        log.call("list_users", {"page": page}, '{"count": 100, "has_more": true}')
    log.call("list_users", {"page": 12}, '{"count": 34, "has_more": false}')
    return "Twelve pages, of which only the length is told."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("missing-modules", "errors that move", missing_modules),
    ("says-where", "status lines", says_where),
    ("dead-links", "one question for each", dead_links),
    ("wide-page", "paging with new lines", wide_page),
    ("growing-log", "poll that moves", growing_log),
    ("debugger", "poll that moves", debugger),
    ("object-ids", "paging with new lines", object_ids),
    ("numbers", "one question for each", numbers),
    ("heartbeat", "the person asks again", heartbeat),
    ("supervisor", "hand-offs that progress", supervisor),
    ("approvals", "drafts that improve", approvals),
    ("compactions", "re-reading after condensation", compactions),
    ("conflicts", "errors that move", conflicts),
    ("chapters", "hand-offs that progress", chapters),
    ("pictures", "form filling", pictures),
    ("bare-pages", "paging with new lines", bare_pages),
]
