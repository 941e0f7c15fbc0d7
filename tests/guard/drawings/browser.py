"""Browser agents that see accessibility trees, open."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guard.drawings.drawing import Drawing, Log, pool
from tests.guard.drawings.prose import passage, sentence

KIND = "browser"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"browser/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


class Site:
    """A site: pages as trees whose elements carry numbers."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.menu = log.rng.sample(pool("page")["menu"], 7)
        self.bid = log.number(40, 300)
        self.filled: dict[str, str] = {}

    def tree(self, title: str, rows: list[str], focused: str = "") -> str:
        """Write the tree of a page."""
        lines = [f"RootWebArea '{title}', focused"] if not focused else [f"RootWebArea '{title}'"]
        lines += [f"\t[{12 + 3 * n}] link '{name}', clickable" for n, name in enumerate(self.menu)]
        lines += [f"\t{row}" for row in rows]
        return "\n".join(lines) + (f"\n\nFocused element: {focused}" if focused else "")

    def element(self, kind: str, name: str) -> str:
        """Write a new element."""
        self.bid += self.log.number(1, 7)
        return f"[{self.bid}] {kind} '{name}', clickable, visible"

    def products(self) -> list[str]:
        """Write rows of a list."""
        rows = []
        for product in self.log.rng.sample(pool("page")["products"], 7):
            rows += [
                self.element("link", f"{product} {self.log.deal('prose.adj')}"),
                f"StaticText '${self.log.number(4, 90)}.{self.log.number(10, 99)}'",
                f"StaticText '{sentence(self.log)[:60]}'",
            ]
        return rows

    def act(self, tool: str, shown: str | None, thought: str | None = None, **args: object) -> None:
        """Do something and see the page."""
        self.log.call(tool, args, shown, thought=thought)

    def browse(self, turns: int) -> None:
        """Click about, each page another."""
        log = self.log
        self.act("goto", self.tree("Home", self.products()), url="http://shop.example:7770/")
        for _ in range(turns):
            product = log.deal("page.products")
            thought = log.deal("page.thoughts", product=product) if log.rng.random() < 0.7 else None
            kind = log.number(0, 3)
            if kind == 0:
                self.act(
                    "fill",
                    self.tree("Search", [self.element("textbox", product)], "textbox"),
                    thought,
                    bid=str(self.bid),
                    value=product,
                )
            elif kind == 1:
                self.act(
                    "scroll",
                    self.tree("Home", self.products()),
                    thought,
                    delta_x=0,
                    delta_y=log.number(3, 9) * 100,
                )
            else:
                page = [
                    f"heading '{product}'",
                    *(f"StaticText '{line}'" for line in passage(log, 3, 6)),
                ]
                self.act(
                    "click",
                    self.tree(product, [*page, self.element("button", "Add to Cart")]),
                    thought,
                    bid=str(self.bid),
                )

    def form(self, fields: list[str], focused: str = "") -> str:
        """Write the form with what is filled in."""
        rows = []
        for n, row in enumerate(fields):
            name, kind = row.split("|")
            value = f" value='{self.filled[name]}'" if name in self.filled else ""
            rows.append(f"[{301 + 2 * n}] {kind} '{name}'{value}, required")
        return self.tree(
            "Application", [*rows, "[399] button 'Submit application', clickable"], focused
        )


# --- stuck ---------------------------------------------------------------------


def dead_button(log: Log) -> str:
    site = Site(log)
    log.user(log.deal("page.goals"))
    site.browse(12)
    fields = list(pool("page")["fields"])
    for n, row in enumerate(fields[:8]):
        site.filled[row.split("|")[0]] = pool("page")["values"][n]
        site.act("fill", site.form(fields), bid=str(301 + 2 * n), value=pool("page")["values"][n])
    log.stuck_from_here()
    for _ in range(8):
        site.act("click", site.form(fields), log.deal("page.stuck_thoughts"), bid="399")
    return "The button is clicked eight times, the page stays as it is."


def missing_element(log: Log) -> str:
    site = Site(log)
    log.user(log.deal("page.goals"))
    site.browse(16)
    log.stuck_from_here()
    for n in range(8):
        bid = str(1400 + log.number(1, 90))
        error = f"ValueError: Could not find element with bid '{bid}'. Make sure the element is visible on the page and try again."
        tool = ("click", "fill", "hover")[n % 3]
        args = {"bid": bid} | ({"value": "rug"} if tool == "fill" else {})
        log.call(
            tool, args, error, error=error, thought=log.deal("page.thoughts", product="the rug")
        )
    return "It reaches for elements that are not on the page, eight different numbers."


def bottom_of_page(log: Log) -> str:
    site = Site(log)
    log.user(log.deal("page.goals"))
    site.browse(14)
    last = site.tree("Reviews", site.products())
    site.act("scroll", last, delta_x=0, delta_y=600)
    log.stuck_from_here()
    for n in range(10):
        site.act(
            "scroll",
            last,
            "I need to scroll further to see all reviews." if n % 2 else None,
            delta_x=0,
            delta_y=(600, 800, 1000)[n % 3],
        )
    return "It scrolls on at the bottom of a page, ten times."


def login_loop(log: Log) -> str:
    site = Site(log)
    log.user("Check my last order. User: marta, password: tulip-42")
    site.browse(10)
    log.stuck_from_here()
    for _ in range(5):
        page = ["[51] textbox 'Email'", "[53] textbox 'Password'", "[57] button 'Sign In'"]
        site.act("fill", site.tree("Customer Login", page, "textbox"), bid="51", value="marta")
        site.act("fill", site.tree("Customer Login", page, "textbox"), bid="53", value="tulip-42")
        alert = "alert 'The account sign-in was incorrect or your account is disabled temporarily.'"
        site.act("click", site.tree("Customer Login", [alert, *page]), bid="57")
    return "The same name and password five times, refused five times."


def two_pages(log: Log) -> str:
    site = Site(log)
    log.user(log.deal("page.goals"))
    site.browse(18)
    one, other = site.tree("Orders", site.products()), site.tree("Order 000182", site.products())
    site.act("click", one, bid="15")
    site.act("click", other, bid="204")
    log.stuck_from_here()
    for n in range(6):
        site.act("go_back", one, "The total is not here, I go back." if n % 2 else None)
        site.act("click", other, bid="204")
    return "Into an order and back to the list, six times, both known."


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("dead-button", "same request, page unchanged", dead_button),
    ("missing-element", "same error, varying arguments", missing_element),
    ("bottom-of-page", "paging past the end", bottom_of_page),
    ("login-loop", "k-cycle", login_loop),
    ("two-pages", "k-cycle", two_pages),
]


# --- healthy -------------------------------------------------------------------


def browses(log: Log) -> str:
    log.user(log.deal("page.goals"))
    Site(log).browse(40)
    return "Clicks, searches and scrolls, each page another."


def fills_form(log: Log) -> str:
    site = Site(log)
    log.user(log.deal("page.goals"))
    site.browse(3)
    fields = list(pool("page")["fields"])
    for n, (row, value) in enumerate(zip(fields, pool("page")["values"], strict=True)):
        name, kind = row.split("|")
        bid = str(301 + 2 * n)
        site.act("click", site.form(fields, kind), bid=bid)
        site.filled[name] = value
        site.act(
            "fill" if kind == "textbox" else "select_option",
            site.form(fields, kind),
            bid=bid,
            value=value,
        )
    site.act(
        "click", site.tree("Thank you", ["heading 'Your application has been received'"]), bid="399"
    )
    return "A long form, field by field, on a page that hardly changes."


def scrapes(log: Log) -> str:
    site = Site(log)
    log.user("Collect all products with their prices.")
    for page in range(1, 26):
        site.act("click", site.tree(f"Catalogue - page {page}", site.products()), bid="388")
    return "Twenty-five pages by the same button, each with other products."


def scrolls(log: Log) -> str:
    site = Site(log)
    log.user("Read the whole page and summarise it.")
    for _ in range(14):
        rows = [f"StaticText '{line}'" for line in passage(log, 5, 9)]
        site.act("scroll", site.tree("The history of the harbour", rows), delta_x=0, delta_y=600)
    return "Fourteen times the same scroll, each time other text."


def deletes(log: Log) -> str:
    site = Site(log)
    log.user("Delete all draft products.")
    left = log.rng.sample(pool("page")["products"], 14)
    while left:
        rows = [
            f"[{410 + 4 * n}] button 'Delete', clickable\n\tStaticText '{name}'"
            for n, name in enumerate(left)
        ]
        site.act("click", site.tree("Drafts", rows), bid="410")
        site.act(
            "click", site.tree("Drafts", [f"alert 'You deleted {left[0]}.'", *rows[1:]]), bid="377"
        )
        left = left[1:]
    return "The first row is deleted fourteen times; there is one row less each time."


def waits_for_page(log: Log) -> str:
    site = Site(log)
    log.user(log.deal("page.goals"))
    site.browse(8)
    for _ in range(3):
        site.act(
            "noop",
            site.tree("Reports", ["progressbar 'Loading'"]),
            "The report is loading, I wait.",
            wait_ms=3000,
        )
    site.act("noop", site.tree("Reports", site.products()), wait_ms=3000)
    site.browse(8)
    return "Three waits for a slow page, then it is there."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("browses", "varied browsing", browses),
    ("fills-form", "form filling", fills_form),
    ("scrapes", "multi-page scraping", scrapes),
    ("scrolls", "paging with new lines", scrolls),
    ("deletes", "batch", deletes),
    ("waits-for-page", "retry that succeeds", waits_for_page),
]
