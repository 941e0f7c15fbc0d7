"""Teams re-planning on the web, only messages, open."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guard.drawings.drawing import Drawing, Log
from tests.guard.drawings.web_world import LEAD, Team

KIND = "web-team"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"web-team/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


def _begun(log: Log, rounds: int) -> Team:
    team = Team(log)
    team.opening()
    for _ in range(rounds):
        team.round()
    return team


# --- stuck ---------------------------------------------------------------------


def same_page(log: Log) -> str:
    team = _begun(log, 6)
    names = team.names()
    lines = team.lines(names)
    team.page(f"I visited https://{names['site']}.", names, lines)
    log.stuck_from_here()
    for n in range(7):
        order = log.deal("web.loop_orders", **names)
        team.ledger(log.deal("web.loop_reasons", **names), order=order, progress=False, loop=n > 2)
        team.instruct(order)
        action = (
            "I clicked 'Search'.",
            f"I visited https://{names['site']}.",
            "I scrolled up one page.",
        )[n % 3]
        team.page(action, names, lines)
    return "The orchestrator sends the browser to one page seven times in new words; the page never changes."


def replanning(log: Log) -> str:
    team = _begun(log, 5)
    names = team.names()
    log.stuck_from_here()
    for _ in range(7):
        log.say(log.deal("web.replans", **names), f"{LEAD} (thought)")
        team.instruct(log.deal("web.loop_orders", **names))
        log.report(log.deal("web.no_luck", **names), "WebSurfer")
    return "Plan after plan in other words, each ending at the same missing fact."


def circle_of_three(log: Log) -> str:
    team = _begun(log, 4)
    names = team.names()
    log.stuck_from_here()
    for n in range(6):
        log.say(_ASKS[n % 3].format(**names), "Assistant")
        log.report(_PASSES[n % 3].format(**names), "FileSurfer")
        log.report(_RETURNS[n % 3].format(**names), "WebSurfer")
    return "Three agents hand the same matter round; nobody has the document."


_ASKS = (
    "FileSurfer, please open the downloaded document with the {fact}.",
    "FileSurfer, could you open the document that holds the {fact}?",
    "I need the {fact} from the downloaded document, FileSurfer please open it.",
)
_PASSES = (
    "I have no such file. WebSurfer has to download the document first.",
    "There is no such file here. WebSurfer must download the document first.",
    "The file does not exist. The document has to be downloaded by WebSurfer first.",
)
_RETURNS = (
    "I cannot download files. The Assistant should ask FileSurfer for the document.",
    "Downloading is not possible for me; the Assistant should ask FileSurfer for it.",
    "I am not able to download files, please ask FileSurfer, Assistant.",
)


def captcha(log: Log) -> str:
    team = _begun(log, 7)
    names = team.names()
    lines = [
        "Verify you are human by completing the action below.",
        f"{names['site']} needs to review the security of your connection before proceeding.",
    ]
    log.stuck_from_here()
    for n in range(8):
        order = log.deal("web.loop_orders", **names)
        if n % 2:
            team.ledger(log.deal("web.loop_reasons", **names), order=order, progress=False)
        team.instruct(order)
        ray = [f"Ray ID: {log.hex(16)}", "Performance & security by Cloudflare"]
        team.page(
            f"I visited https://{names['site']}.",
            names | {"title": "Just a moment..."},
            lines + ray,
        )
    return "Every visit ends at the same check for humans, only its id differs."


def failing_script(log: Log) -> str:
    team = _begun(log, 5)
    log.stuck_from_here()
    for n in range(6):
        team.instruct(_FIX[n % len(_FIX)], "Assistant")
        log.say(
            f"{_SORRY[n % len(_SORRY)]}\n```python\nimport pandas as pd\ntable = pd.read_html('page_{n}.html')[0]\n"
            f"print(table[['name', '{team.fact}']].sort_values('name').head({log.number(3, 20)}))\n```",
            "Assistant",
        )
        team.instruct("Please run the script.", "ComputerTerminal")
        log.report(
            "The script ran, then exited with Unix exit code: 1\nIts output was:\nTraceback (most recent call "
            f'last):\n  File "/coding/tmp_code_{log.hex(32)}.py", line 1, in <module>\n    import pandas as pd\n'
            "ModuleNotFoundError: No module named 'pandas'",
            "ComputerTerminal",
        )
    return "The script is rewritten six times; the module it imports is missing each time."


_FIX = (
    "Please fix the script.",
    "The script failed, please correct it.",
    "Please write the script again.",
)
_SORRY = (
    "I apologise, here is the corrected script:",
    "Here is a version that should work:",
    "Let me correct this:",
)


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("same-page", "circle of agents", same_page),
    ("replanning", "reworded monologue", replanning),
    ("circle-of-three", "circle of agents", circle_of_three),
    ("captcha", "volatile results", captcha),
    ("failing-script", "same error, varying arguments", failing_script),
]


# --- healthy -------------------------------------------------------------------


def answers(log: Log, rounds: int = 8) -> str:
    team = _begun(log, rounds)
    team.code()
    team.answer()
    return "Round after round brings a new page; the question is answered."


def restates(log: Log, rounds: int = 10) -> str:
    team = _begun(log, 3)
    for _ in range(rounds):
        team.round()
        team.restate()
    team.answer()
    return "The whole fact sheet is restated each round, and grows each round."


def replans_twice(log: Log) -> str:
    team = _begun(log, 6)
    names = team.names()
    for _ in range(2):
        order = log.deal("web.loop_orders", **names)
        team.ledger(log.deal("web.loop_reasons", **names), order=order, progress=False)
        team.instruct(order)
        log.report(log.deal("web.no_luck", **names), "WebSurfer")
    log.say(log.deal("web.replans", **names), f"{LEAD} (thought)")
    for _ in range(5):
        team.round()
    team.answer()
    return "Two vain attempts, a new plan, then it goes on elsewhere and ends well."


def scrolls_down(log: Log) -> str:
    team = _begun(log, 3)
    names = team.names()
    for _ in range(10):
        team.instruct("Please scroll down one page.")
        lines = team.lines(names)
        team.page("I scrolled down one page in the browser.", names, lines)
    team.answer()
    return "The same instruction ten times; each page of the document is another."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("answers-1", "rounds of a team", answers),
    ("answers-2", "rounds of a team", lambda log: answers(log, 13)),
    ("restates-1", "ledger restating facts", restates),
    ("restates-2", "ledger restating facts", lambda log: restates(log, 18)),
    ("replans-twice", "retry that succeeds", replans_twice),
    ("scrolls-down", "paging with new lines", scrolls_down),
]
