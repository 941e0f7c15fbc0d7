"""What a screen looks like when something happens on it: a table of states to photograph.

Each state is an address and what a person does there. The deeds name no words of the
screen, so that they work in every language.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page

from tests.contract.conversation import Caller, a_turn, an_agent_of, the_person_of
from tests.e2e.crowd import HOSTILE
from tests.e2e.hand_offs import start_others, work_together
from tests.e2e.stuck import StuckRun
from tests.installations import wait_for

Deed = Callable[[Page], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """Where it is, what is done there, before the page opens and after the picture."""

    path: str
    deed: Deed = lambda _page: None
    before: Deed = lambda _page: None
    after: Deed = lambda _page: None
    size: str = ""
    """"desktop" or "phone"; empty: both."""
    signed_in: bool = True
    is_cut: bool = False
    """Whether its line to the server is cut."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """What stands on the board while the states are photographed."""

    project: str
    runs: list[StuckRun]
    parked: StuckRun
    differing: str
    """A card whose two turns were not answered alike."""
    over_budget: str
    ended: str
    empty: str
    """A project in which nothing has run."""
    crew: str
    """A run of several agents that hand on to each other."""
    family: str
    """A run that started others."""
    shared: dict[str, str]
    """The path of a link to each kind of thing that can be shared."""


LONG = "reconcile-invoices-of-the-third-quarter-with-the-ledger-after-the-migration"


PARK = """
from uuid import UUID
from django.utils import timezone
from missioncontrol.decisions import sessions
sessions.park_session(UUID("{run}"), at=timezone.now())
"""


def park(running: Any, run: str) -> None:
    """Put a held run off, as Claude Code does when its session ends in a hold."""
    running.in_python(PARK.format(run=run))


def fail_differently(agent: Caller) -> str:
    """Fail three times at one call, each time after another while; return the run."""
    run = agent.open_run(name="flaky-upload")
    for seconds in ("0.31", "0.29"):
        error = f"1 failed in {seconds}s: timeout after 30 s at port 4{seconds[2:]}1"
        agent.post_turns(run, a_turn("pytest tests/upload -q", error=error, cost_usd="0.25"))
    agent.post_turns(run, a_turn("pytest tests/upload -q", phase="proposed"))
    return run


def share(person: Caller, where: dict[str, str], *, language: str) -> str:
    """Make a link; return its path, for the address may be one of the local network."""
    made = person.ask("POST", "/api/v1/shares/", {**where, "language": language}).json
    return str(urlsplit(made["url"]).path)


def fill_allowlist(person: Caller, where: dict[str, str]) -> None:
    for pattern, reason in (
        ("Bash ls src", "Harmless, and quick."),
        ("Bash npm run build*", "The bundler fails twice before its cache is warm."),
        ("WebFetch https://status.example.com/*", "It waits for the deployment."),
    ):
        person.ask("POST", "/api/v1/allowlist/", {**where, "pattern": pattern, "reason": reason})


def add_channels(person: Caller, where: dict[str, str]) -> None:
    """Add two ways to be told, and have each tried."""
    for name, kind, address, step in (
        ("ops", "webhook", "https://hooks.invalid/told", 0),
        ("duty", "ntfy", "https://ntfy.example.com/duty", 15),
    ):
        channel = {"kind": kind, "name": name, "address": address, "step_minutes": step}
        person.ask("POST", "/api/v1/channels/", where | channel)
    for channel in person.get("/api/v1/channels/")["results"]:
        person.ask("POST", f"/api/v1/channels/{channel['id']}/test/", {})


def set_scene(running: Any, *, language: str) -> Scene:
    """Put up several cards, one of them over its budget, and a run that was ended."""
    agent, person = an_agent_of(running), the_person_of(running)
    names = ("fix-auth-tests", LONG, HOSTILE["script"], "triage-inbox")
    runs = [StuckRun.begin(agent, person, name, mark=" ") for name in names]
    ended = agent.open_run(name="fix-parser", policy={"preset": "broker"})
    over = agent.open_run(name="migrate-orm-v2", budget={"usd": "8"})
    for number in range(6):
        agent.post_turns(ended, {"role": "assistant", "content": "I will look at the parser."})
        agent.post_turns(
            over,
            {
                "role": "assistant",
                "key": f"{number}",
                "cost_usd": "1.7",
                "content": f"Table {number} of 40 is moved.",
            },
        )
    agent.ask("PATCH", f"/api/v1/runs/{ended}/", {"status": "terminated"})
    where = {"project": running.project}
    fill_allowlist(person, where)
    empty = person.ask("POST", "/api/v1/projects/", {"name": "payments"}).json["id"]
    add_channels(person, where)
    last_week = str(datetime.now(UTC).date() - timedelta(days=7))
    shared = {
        name: share(person, {**where, **what}, language=language)
        for name, what in {
            "run": {"run": ended},
            "card": {"decision": runs[0].card["id"]},
            "week": {"week": last_week},
        }.items()
    }
    person.ask("POST", "/api/v1/views/", {**where, "name": "Codex, dear", "q": "agent:codex"})
    parked = StuckRun.begin(agent, person, "nightly-release", mark=" ")
    park(running, parked.id)
    differing = wait_for(lambda: person.card_of(fail_differently(agent)))["id"]
    return Scene(
        project=running.project,
        runs=runs,
        parked=parked,
        differing=differing,
        over_budget=over,
        ended=ended,
        empty=empty,
        crew=work_together(agent),
        family=start_others(agent),
        shared=shared,
    )


def states(scene: Scene, *, report: str, login_link: str) -> dict[str, State]:
    """Return every state by its name."""
    return (
        states_of_cards(scene)
        | states_of_runs(scene)
        | states_of_records(report=report)
        | states_of_settings(scene.project)
        | states_signed_out(scene, login_link=login_link)
    )


def states_of_cards(scene: Scene) -> dict[str, State]:
    card = f"/decisions/{scene.runs[0].card['id']}"
    return {
        "now, several cards": State(path="/"),
        "now, empty": State(path="/", before=within(scene.empty)),
        "now, terminating": State(path="/", deed=terminate, after=press("z"), size="desktop"),
        "decisions, several": State(path="/decisions"),
        "decisions, some selected": State(path="/decisions", deed=select_two),
        "decision, no fix": State(path=card),
        "decision, being written": State(path=card, deed=write_fix),
        "decision, terminating": State(path=card, deed=terminate, after=press("z"), size="desktop"),
        "decision, parked": State(path=f"/decisions/{scene.parked.card['id']}"),
        "decision, what differs": State(path=f"/decisions/{scene.differing}"),
        "decision, gone": State(path="/decisions/00000000-0000-7000-8000-000000000000"),
        "now, offline": State(path="/", is_cut=True),
        "decision, offline": State(path=card, is_cut=True),
        "unreachable": State(path="/", before=lose_the_server),
        "keys": State(path="/", deed=press("?")),
        "menu": State(path="/", deed=click(".menu button"), size="phone"),
    }


def states_of_runs(scene: Scene) -> dict[str, State]:
    first = scene.runs[0]
    return {
        "run, conversation": State(
            path=f"/runs/{first.id}", deed=click(".right .seg label:last-child"), size="desktop"
        ),
        "run, over budget": State(path=f"/runs/{scene.over_budget}"),
        "run, ended": State(path=f"/runs/{scene.ended}"),
        "run, a crew": State(path=f"/runs/{scene.crew}", deed=show_hand_offs),
        "run, with others": State(path=f"/runs/{scene.family}", deed=click(".kin summary")),
        "run, hostile name": State(path=f"/runs/{scene.runs[2].id}"),
        "run, long name": State(path=f"/runs/{scene.runs[1].id}"),
        "compare, two runs": State(path=f"/compare?a={first.id}&b={scene.runs[3].id}"),
    }


def states_of_records(*, report: str) -> dict[str, State]:
    return {
        "costs, failed": State(path="/costs", before=lose_all_but_me),
        "history, failed": State(path="/history", before=lose_all_but_me),
        "audit, failed": State(path="/audit", before=lose_all_but_me),
        "costs, a week": State(path="/costs?range=week"),
        "costs, by model": State(path="/costs?by=model&range=month"),
        "costs, set a price": State(path="/costs", deed=click("td button, li button")),
        "report": State(path=f"/reports/{report}"),
        "history, searched": State(path="/history?q=status%3Acompleted"),
        "history, saving a view": State(
            path="/history?q=status%3Acompleted", deed=click(".views button.line")
        ),
        "history, nothing found": State(path="/history?q=agent%3Anobody"),
        "audit, a row open": State(path="/audit", deed=click(".open, li button")),
    }


def states_of_settings(project: str) -> dict[str, State]:
    return {
        "allowlist, filled": State(path="/allowlist"),
        "allowlist, adding": State(path="/allowlist", before=within(project), deed=add_pattern),
        "policies, a wrong value": State(path="/policies", deed=spoil_a_rule),
        "policies, as text": State(path="/policies", deed=click("header .seg label:last-child")),
        "policies, backtested": State(path="/policies", deed=backtest),
        "deliveries, filled": State(path="/settings/deliveries", before=within(project)),
        "channels, filled": State(path="/settings/channels", before=within(project)),
        "settings, shared links": State(path="/settings", before=within(project), deed=to_the_end),
        "keys, one made": State(path="/settings/keys", deed=make_a_key),
        "channels, adding": State(path="/settings/channels", deed=click(".page .btn.ink")),
        "devices, more": State(path="/settings/devices", deed=click(".dots")),
    }


def states_signed_out(scene: Scene, *, login_link: str) -> dict[str, State]:
    return {
        **{
            f"shared {thing}": State(path=path, signed_in=False)
            for thing, path in scene.shared.items()
        },
        "shared, expired": State(path="/shared/none/", signed_in=False),
        "signed out": State(path="/", signed_in=False),
        "pair by hand": State(path="/pair/", signed_in=False),
        "login": State(path="/login/", signed_in=False),
        "login link": State(path=login_link, signed_in=False),
    }


# --- what a person does ------------------------------------------------------------------


def click(what: str) -> Deed:
    return lambda page: page.locator(what).first.click()


def to_the_end(page: Page) -> None:
    page.locator(".page section").last.scroll_into_view_if_needed()


def press(key: str) -> Deed:
    return lambda page: page.keyboard.press(key)


def show_hand_offs(page: Page) -> None:
    page.locator('.tools .seg label, details.panel summary:text-matches("[0-9]$")').first.click()
    page.locator(".crew").wait_for()
    page.locator(".crew").scroll_into_view_if_needed()


def within(project: str) -> Deed:
    """Choose a project before the page opens."""
    chosen = f'localStorage.setItem("missioncontrol.project", "{project}")'
    return lambda page: page.add_init_script(chosen)


def add_pattern(page: Page) -> None:
    page.locator(".top .btn").click()
    page.locator("form input").first.fill("Bash*pytest*")
    page.wait_for_timeout(1_500)


def terminate(page: Page) -> None:
    page.wait_for_timeout(1_200)  # a card that has just come takes no tap
    page.keyboard.press("t")


def select_two(page: Page) -> None:
    if page.locator(".queued").count() == 0:
        page.locator(".choosing button").first.click()
    boxes = page.locator(".queued input, .pick input")
    for number in range(2):
        boxes.nth(number).check()


def write_fix(page: Page) -> None:
    page.keyboard.press("e")
    if page.locator("textarea").count() == 0:
        page.locator("footer button, .sheet button").first.click()
    page.locator("textarea").first.fill("tokens.py is src/auth/tokens.py. Read it before you run.")


def spoil_a_rule(page: Page) -> None:
    page.locator(".limit input").first.fill("1")
    page.locator(".limit.wrong").wait_for()


def backtest(page: Page) -> None:
    page.locator(".limit input").first.fill("2")  # which is replayed over the project's own runs
    page.locator(".two ul a").first.wait_for()
    page.wait_for_timeout(2_500)
    page.locator("h2").first.scroll_into_view_if_needed()


def make_a_key(page: Page) -> None:
    page.locator("form input").first.fill("nightly")
    page.locator("form .btn.ink").first.click()
    page.locator(".made").wait_for()


# --- how the line is -----------------------------------------------------------------------


def lose_the_server(page: Page) -> None:
    page.route("**/api/v1/**", lambda route: route.abort())


def lose_all_but_me(page: Page) -> None:
    page.route(
        "**/api/v1/**",
        lambda route: route.continue_() if "/me" in route.request.url else route.abort(),
    )
