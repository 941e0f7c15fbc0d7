"""Ten things that people come to do, each walked from the board: how many taps, how long.

A walk that needs more taps than its bound fails. `TEN_TASKS=FILE` keeps the figures:

    TEN_TASKS=tasks.json uv run pytest -m screens tests/e2e/test_ten_tasks.py
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.contract.conversation import Caller
from tests.e2e.people import an_owner
from tests.installations import ROOT, an_installation

pytestmark = pytest.mark.screens


@dataclass(kw_only=True)
class Walk:
    """One way through the screens; what is written counts as one tap a field."""

    page: Page = field(repr=False)
    taps: int = 0
    characters: int = 0
    began: float = 0.0

    def tap(self, what: Locator) -> None:
        what.wait_for()
        self._count()
        what.click()

    def press(self, key: str) -> None:
        self._count()
        self.page.keyboard.press(key)

    def write(self, where: Locator, text: str) -> None:
        where.wait_for()
        self._count()
        self.characters += len(text)
        where.fill(text)

    def go(self, screen: str) -> None:
        self.tap(self.page.get_by_role("navigation", name="Main").get_by_role("link", name=screen))

    def _count(self) -> None:
        self.taps += 1
        self.began = self.began or monotonic()


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a walk took, from its first tap to what it was for."""

    task: str
    taps: int
    characters: int
    seconds: float
    """On the machine of the test: compare with others of the same run."""


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """One of its own: how many cards there are is known."""
    with an_installation(tmp_path_factory.mktemp("ten")) as running:
        yield running


@pytest.fixture
def open_as(installation, open_page):
    """Open the board as who owns a project of their own."""

    def open_one(name, fill=lambda _cookies: None, **options):
        cookies = an_owner(installation, name, **options)
        fill(cookies)
        page = open_page("/login/", signed_in=False)
        page.context.add_cookies(
            [{"name": n, "value": v, "url": installation.url} for n, v in cookies.items()]
        )
        page.goto(installation.url)
        return page

    return open_one


@pytest.fixture(scope="module")
def measured():
    taken: list[Measured] = []
    yield taken
    if place := os.environ.get("TEN_TASKS"):
        Path(place).write_text(json.dumps([asdict(one) for one in taken], indent=1) + "\n")


@pytest.fixture
def ends(measured):
    """Say that a walk is at its end, in at most so many taps."""

    def end(task: str, walk: Walk, *, most: int) -> None:
        taken = Measured(
            task=task,
            taps=walk.taps,
            characters=walk.characters,
            seconds=round(monotonic() - walk.began, 2),
        )
        measured.append(taken)
        assert taken.taps <= most, taken

    return end


def test_a_loop_is_corrected(desktop, stuck, ends):
    run = stuck("corrected")
    walk = Walk(page=desktop)

    walk.tap(run.on(desktop).get_by_role("button", name="Inject fix"))
    directive = run.next_directive()

    assert [one["text"] for one in directive["messages"]] == [run.card["verdict"]["fix"]]
    ends("a loop is corrected", walk, most=1)


def test_why_a_run_was_stopped_is_read(open_page, stuck, ends):
    run = stuck("stopped")
    run.answer("terminate")
    run.next_directive()
    page = open_page()
    walk = Walk(page=page)

    walk.go("History")
    row = page.get_by_role("row").filter(has_text=run.name)
    why = f"You: {run.card['evidence']['summary']}"
    expect(row).to_contain_text(why)
    walk.tap(row.get_by_role("link"))
    happened = page.get_by_role("region", name="What happened")

    expect(happened).to_contain_text(why)
    ends("why a run was stopped is read", walk, most=2)


def test_the_costliest_run_of_last_week_is_opened(open_as, installation, ends):
    costs = {}

    def spend(cookies):
        """Three weeks of model calls: written past the audit log, so in a project of its own."""
        costs["of"] = Caller(installation.url, {"Cookie": f"mc_session={cookies['mc_session']}"})
        (project,) = costs["of"].get("/api/v1/projects/")["results"]
        subprocess.run(
            [sys.executable, "-m", "tests.e2e.fortnight", project["id"]],
            cwd=ROOT,
            env=installation.own_environment(),
            check=True,
        )

    page = open_as("Cora", spend)
    walk = Walk(page=page)

    walk.go("Costs")
    walk.tap(page.get_by_text("Week", exact=True))
    expect(page.get_by_role("heading", name="Spent in the week")).to_be_visible()
    walk.tap(page.get_by_role("button", name="Earlier"))
    walk.tap(page.get_by_text("Run", exact=True))
    expect(page.get_by_role("columnheader", name="Run", exact=True)).to_be_visible()
    day = re.search(r"day=([\d-]+)", page.url)
    walk.tap(page.locator("main table").last.get_by_role("link").first)

    address = f"/api/v1/costs/account/?range=week&group_by=run&day={day[1]}"
    groups = costs["of"].get(address)["groups"]
    costliest = max(groups, key=lambda row: float(row["cost_usd"]) + float(row["judge_cost_usd"]))
    page.wait_for_url(f"**/runs/{costliest['key']}")
    ends("the costliest run of last week is opened", walk, most=5)


def test_a_budget_is_set(desktop, installation, ends):
    walk = Walk(page=desktop)

    walk.go("Settings")
    walk.write(desktop.get_by_label("Per day, all runs, dollars"), "75")
    walk.tap(desktop.get_by_role("button", name="Save", exact=True))

    expect(desktop.get_by_text("Saved. The audit log records who changed it.")).to_be_visible()
    project = installation.get(f"/api/v1/projects/{installation.project}/")
    assert float(project["budgets"]["day"]["usd"]) == 75
    ends("a budget is set", walk, most=3)


def test_a_call_is_allowed_and_taken_back(desktop, stuck, person, ends):
    run = stuck("allowed")
    card = run.on(desktop)
    walk = Walk(page=desktop)

    walk.tap(card.get_by_role("button", name="Allowlist"))
    expect(card).to_be_hidden()
    walk.tap(desktop.get_by_role("button", name="Undo"))

    expect(card).to_be_visible()
    entries = person.get("/api/v1/allowlist/")["results"]
    assert [entry for entry in entries if entry["run"] == run.id] == []
    ends("a call is allowed and taken back", walk, most=2)


def test_two_policies_are_compared(open_as, ends):
    page = open_as("Mona", month=True)
    walk = Walk(page=page)

    walk.go("Policies")
    walk.tap(page.get_by_role("radiogroup", name="When it asks you").get_by_role("radio").first)

    dropped = page.get_by_role("region", name="Dropped by the draft")
    expect(dropped.get_by_role("listitem").first).to_be_visible()
    ends("two policies are compared", walk, most=2)


def test_a_phone_is_paired(open_page, desktop, ends):
    walk = Walk(page=desktop)

    walk.go("Settings")
    walk.tap(desktop.get_by_role("link", name="Devices"))
    walk.tap(desktop.get_by_role("button", name="Reach this from my phone"))
    expect(desktop.get_by_alt_text(re.compile("QR code"))).to_be_visible()
    shown = desktop.get_by_role("region", name="Pair a phone")
    code = shown.locator("code").inner_text()
    address = shown.get_by_text(re.compile("^at ")).inner_text().removeprefix("at ")
    phone = open_page("/login/", phone=True, signed_in=False, ignore_https_errors=True)
    phone.goto(f"https://{address}")
    walk.write(phone.get_by_role("textbox"), code)
    walk.tap(phone.get_by_role("button", name="Sign in"))

    expect(phone).to_have_url(re.compile("/settings/devices$"))
    expect(desktop.get_by_role("heading", name=re.compile("is paired"))).to_be_visible()
    ends("a phone is paired", walk, most=5)


def test_a_viewer_is_invited(desktop, ends):
    walk = Walk(page=desktop)

    walk.go("Settings")
    walk.tap(desktop.get_by_role("link", name="Members"))
    walk.write(desktop.get_by_label("Name or note"), "the night shift")
    roles = desktop.get_by_role("radiogroup", name="Role of the invited person")
    walk.tap(roles.get_by_text("Viewer"))
    walk.tap(desktop.get_by_role("button", name="Create invitation link"))

    made = desktop.get_by_role("status").filter(has_text="“the night shift” was created")
    expect(made.locator("code")).to_contain_text("http")
    ends("a viewer is invited", walk, most=5)


def test_the_audit_log_is_verified(desktop, ends):
    walk = Walk(page=desktop)

    walk.go("Audit")

    expect(desktop.get_by_text("Audit log verified.")).to_be_visible()
    ends("the audit log is verified", walk, most=1)


def test_twelve_cards_are_triaged(open_page, stuck, ends):
    runs = [stuck(f"card {n}") for n in range(12)]
    page = open_page()
    walk = Walk(page=page)

    walk.go("Decisions")
    for n, run in enumerate(runs):
        expect(run.on(page)).to_be_visible()
        page.wait_for_timeout(1_200)  # a card that has just come takes no tap
        if n == 11:
            walk.press("t")
            walk.press("t")
        else:
            walk.press("i" if n % 2 else "c")

    answers = [run.next_directive()["action"] for run in runs]
    assert answers == ["proceed"] * 11 + ["stop"]
    ends("twelve cards are triaged", walk, most=14)
