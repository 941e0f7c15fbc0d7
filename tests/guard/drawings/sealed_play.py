"""Pages as HTML, crafting, documents and notebooks, sealed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.guard.drawings.drawing import Drawing, Log, fill
from tests.guard.drawings.prose import passage, sentence, words

KIND = "browser"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, kind, draw in STUCK + HEALTHY:
        log = Log(f"sealed-play/{name}", kind, variant)
        yield log.drawn(shape, draw(log))


def dom(log: Log, title: str, rows: list[str]) -> str:
    """Write a page as numbered elements of its DOM."""
    body = "\n".join(
        f"[{n}]<{log.rng.choice(('div', 'li', 'p', 'span'))}>{row}</>"
        for n, row in enumerate(rows, 4)
    )
    return f"Current url: https://portal.example/{title.lower().replace(' ', '-')}\nAvailable tabs: 1\nInteractive elements:\n[0]<a>Home</a>\n[1]<a>Search</a>\n[2]<input name=q/>\n{body}\n[End of page]"


def surf(log: Log, turns: int) -> None:
    """Click about a portal."""
    log.user(fill("Find out when the {noun} of {town} is open and book a tour.", **words(log)))
    for _ in range(turns):
        tool = log.rng.choice(
            ("click_element", "input_text", "scroll_down", "go_to_url", "extract_content")
        )
        forms: dict[str, dict[str, object]] = {
            "click_element": {"index": log.number(4, 40)},
            "input_text": {"index": 2, "text": fill(log.deal("data.searches"), **words(log))},
            "scroll_down": {"amount": log.number(200, 900)},
            "go_to_url": {"url": f"https://portal.example/{log.hex(6)}"},
            "extract_content": {"goal": sentence(log)},
        }
        state = {
            "evaluation_previous_goal": f"Success - {sentence(log)}",
            "memory": sentence(log),
            "next_goal": fill(log.deal("data.notes"), **words(log)),
        }
        log.call(
            tool,
            forms[tool],
            dom(log, str(words(log)["noun"]), passage(log, 5, 10)),
            thought=json.dumps(state),
        )


# --- stuck ---------------------------------------------------------------------


def cookie_wall(log: Log) -> str:
    surf(log, 14)
    page = dom(log, "Cookies", ["We value your privacy", "Manage options", "Accept all"])
    log.stuck_from_here()
    for n in range(9):
        state = {
            "evaluation_previous_goal": "Failed - the banner is still there",
            "memory": f"Attempt {n + 1} to close the banner.",
            "next_goal": ("Click 'Accept all'", "Accept the cookies", "Close the cookie banner")[
                n % 3
            ],
        }
        log.call("click_element", {"index": 6}, page, thought=json.dumps(state))
    return "The banner is clicked nine times and stays."


def date_picker(log: Log) -> str:
    surf(log, 12)
    log.stuck_from_here()
    for n in range(8):
        page = dom(
            log,
            "Booking",
            ["June 2026", *(str(day) for day in range(1, 8)), "Please choose a valid date"],
        )
        text = (
            "12.06.2026",
            "2026-06-12",
            "06/12/2026",
            "12 June 2026",
            "June 12",
            "12/6/26",
            "12.6.",
            "Fri 12 June",
        )[n]
        log.call(
            "input_text",
            {"index": 14, "text": text},
            page,
            thought="Enter the date in another format.",
        )
    return "A date in eight formats, refused eight times."


def craft_nothing(log: Log) -> str:
    log.user("Craft a lantern.")
    for n in range(22):
        thing = fill("{noun}", **words(log))
        log.call(
            "env_step",
            {"action": f"collect({thing!r})"},
            f"Collected 1 {thing}. Inventory: {n + 1} items. Position ({log.number(-40, 40)}, 64, {log.number(-40, 40)}).",
            thought=sentence(log),
        )
    log.stuck_from_here()
    for n in range(10):
        wanted = ("lantern", "Lantern", "iron lantern", "lantern x1", "1 lantern")[n % 5]
        log.call(
            "env_step",
            {"action": f"craft({wanted!r})"},
            f"Cannot craft: missing iron_nugget. Inventory: 22 items. Position ({log.number(-2, 2)}, 64, {log.number(-2, 2)}). Tick {9000 + 37 * n}.",
            thought="Now I craft the lantern.",
        )
    return "It tries ten times to craft what lacks an ingredient."


def notebook_again(log: Log) -> str:
    log.user("Clean the survey data and plot it.")
    _cells(log, 18)
    log.stuck_from_here()
    for n in range(8):
        code = f"df['town'] = df['town'].str.strip(){'.str.title()' * (n % 2)}\ndf.to_parquet('clean.parquet'{', index=False' * (n % 3 == 1)})"
        log.call(
            "run_cell",
            {"source": code},
            f"In [{30 + n}]:\n---------------------------------------------------------------------------\nImportError                               Traceback (most recent call last)\nFile ~/lib/pandas/io/parquet.py:{log.number(50, 60)}, in get_engine(engine)\nImportError: Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'.",
        )
    return "Eight cells fail for want of the same engine."


def ask_document(log: Log) -> str:
    log.user("What does the lease say of subletting?")
    _documents(log, 16)
    log.stuck_from_here()
    for query in _SUBLET:
        log.call(
            "query_document",
            {"document_id": "lease-2019", "query": query},
            json.dumps({"matches": [], "took_ms": log.number(8, 60)}),
        )
    return "A document is asked ten times for a matter it does not treat."


_SUBLET = (
    "subletting",
    "sublet",
    "sublease",
    "subleasing clause",
    "may the tenant sublet",
    "subtenant",
    "sub-letting",
    "assignment or subletting",
    "renting out to others",
    "letting to third parties",
)


def rewrites_summary(log: Log) -> str:
    log.user("Summarise the minutes.")
    _documents(log, 18)
    log.stuck_from_here()
    for text in _SUMMARIES:
        log.say(text)
    return "The same summary is given eight times in other words."


_SUMMARIES = (
    "In summary, the board approved the budget and postponed the decision on the pier.",
    "To sum up: the budget was approved by the board, the decision on the pier was postponed.",
    "Summary: the board approved the budget; the decision about the pier was postponed.",
    "In short, the budget found the board's approval and the pier's decision was postponed.",
    "The minutes, summarised: the board approved the budget and the decision on the pier is postponed.",
    "Summing up the minutes, the board approved the budget while postponing the decision on the pier.",
    "The summary is that the budget was approved and the decision on the pier was postponed by the board.",
    "As a summary: the board's approval of the budget, and the postponed decision on the pier.",
)


def _cells(log: Log, count: int) -> None:
    for n in range(count):
        column = str(words(log)["noun"]).replace(" ", "_")
        code = log.rng.choice(
            (
                "df['{c}'].describe()",
                "df.groupby('{c}').size().head()",
                "df = df.dropna(subset=['{c}'])\nlen(df)",
                "df['{c}'].isna().sum()",
                "df.plot(x='{c}')",
            )
        ).replace("{c}", column)
        shown = "\n".join(
            f"{words(log)['town']:<14}{log.number(1, 900):>6}" for _ in range(log.number(2, 6))
        )
        log.call(
            "run_cell", {"source": code}, f"Out[{n + 3}]:\n{shown}\nName: {column}, dtype: int64"
        )


def _documents(log: Log, count: int) -> None:
    for _ in range(count):
        document = f"{str(words(log)['noun']).replace(' ', '-')}-{log.number(1900, 2026)}"
        if log.rng.random() < 0.5:
            log.call(
                "open_document",
                {"document_id": document, "page": log.number(1, 40)},
                "\n".join(passage(log, 4, 9)),
                thought=fill(log.deal("data.notes"), **words(log)),
            )
        else:
            hits = [
                {"page": log.number(1, 90), "text": sentence(log)} for _ in range(log.number(1, 4))
            ]
            log.call(
                "query_document",
                {"document_id": document, "query": fill(log.deal("data.searches"), **words(log))},
                json.dumps({"matches": hits, "took_ms": log.number(8, 60)}),
            )


STUCK: list[tuple[str, str, str, Callable[[Log], str]]] = [
    ("cookie-wall", "same request, page unchanged", "browser", cookie_wall),
    ("date-picker", "same error, varying arguments", "browser", date_picker),
    ("craft-nothing", "volatile results", "game", craft_nothing),
    ("notebook-again", "same error, varying arguments", "data", notebook_again),
    ("ask-document", "stagnation", "data", ask_document),
    ("rewrites-summary", "reworded monologue", "data", rewrites_summary),
]


# --- healthy -------------------------------------------------------------------


def portal(log: Log, turns: int = 40) -> str:
    surf(log, turns)
    return "Clicks, searches and extracts, each page another."


def result_pages(log: Log) -> str:
    log.user("Copy every entry of the register.")
    for _ in range(28):
        log.call(
            "click_element",
            {"index": 31},
            dom(log, "Register", passage(log, 7, 9)),
            thought="Next page.",
        )
    return "Twenty-eight pages by the same click, each with other entries."


def cleans(log: Log, cells: int = 40) -> str:
    log.user("Clean the survey data and plot it.")
    _cells(log, cells)
    return "Cell after cell, each another column."


def reads_archive(log: Log) -> str:
    log.user("What do the minutes say of the pier?")
    _documents(log, 60)
    return "Many documents are opened and asked."


def mines(log: Log) -> str:
    log.user("Dig a tunnel of thirty blocks.")
    for n in range(30):
        found = log.rng.choice(("stone", "stone", "coal_ore", "gravel", "iron_ore", "dirt"))
        log.call(
            "env_step",
            {"action": "dig_forward()"},
            f"You dug 1 {found}. Position ({12 + n}, 11, -7). Light {15 - n // 3}.",
        )
    return "The same move thirty times; the position moves on."


def embeds(log: Log) -> str:
    log.user("Index all documents.")
    for n in range(40):
        log.call("index_document", {"document_id": f"minutes-{1950 + n}"}, '{"indexed": true}')
    log.say("All forty are indexed.")
    return "Forty documents are indexed, acknowledged alike."


def upload_retries(log: Log) -> str:
    surf(log, 10)
    for _ in range(4):
        error = "net::ERR_CONNECTION_RESET while uploading"
        log.call(
            "upload_file",
            {"index": 9, "path": "/data/plan.pdf"},
            error,
            error=error,
            thought="The connection broke, once more.",
        )
    log.call(
        "upload_file",
        {"index": 9, "path": "/data/plan.pdf"},
        dom(log, "Upload", ["Upload complete", sentence(log)]),
    )
    surf(log, 8)
    return "An upload breaks off four times and then gets through."


HEALTHY: list[tuple[str, str, str, Callable[[Log], str]]] = [
    ("portal-1", "varied browsing", "browser", portal),
    ("portal-2", "varied browsing", "browser", lambda log: portal(log, 110)),
    ("result-pages", "multi-page scraping", "browser", result_pages),
    ("cleans", "varied cells", "data", cleans),
    ("reads-archive", "long research", "data", reads_archive),
    ("mines", "game moves", "game", mines),
    ("embeds", "batch with identical acknowledgements", "data", embeds),
    ("upload-retries", "retry that succeeds", "browser", upload_retries),
]
