"""Nothing there yet, or answers that are errors: screens say what is so and what comes next."""

import re
import subprocess
import venv

import pytest
from playwright.sync_api import expect

from tests.contract.conversation import a_turn, an_agent_of, the_person_of
from tests.e2e import axe
from tests.e2e.axe import in_both_themes
from tests.e2e.conftest import BARE, sign_in
from tests.e2e.connection import Connection
from tests.e2e.stuck import StuckRun
from tests.installations import an_installation

pytestmark = [pytest.mark.screens, pytest.mark.usefixtures("axe_summary")]

EMPTY = {
    "/": "guard connect",
    "/decisions": "opens here when something",
    "/history": "once an agent has reported one",
    "/costs": "report tokens or cost",
    "/allowlist": "Tap Allowlist on a card",
    "/autofixes": "each correction and its outcome appear here",
    "/reports": "To Costs|completed|day",
    "/settings/deliveries": "A card, a budget or a test appears here",
    "/settings/channels": "A card reaches your paired phones",
}
FAILING = ["/history", "/costs", "/audit", "/allowlist", "/autofixes", "/policies"]
NOT_FETCHED = re.compile("could not be (loaded|verified)")


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """One that no agent has spoken to."""
    with an_installation(tmp_path_factory.mktemp("fresh")) as running:
        yield running


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """One whose runs have all ended and whose cards are all answered."""
    with an_installation(tmp_path_factory.mktemp("quiet")) as running:
        agent, person = an_agent_of(running), the_person_of(running)
        run = agent.open_run(name="done before")
        agent.post_turns(run, a_turn("ls", cost_usd="0.4"))
        agent.ask("PATCH", f"/api/v1/runs/{run}/", {"status": "completed"})
        held = StuckRun.begin(agent, person, "held before")
        held.answer("continue")
        held.next_directive()
        agent.ask("PATCH", f"/api/v1/runs/{held.id}/", {"status": "completed"})
        yield running


@pytest.fixture(params=["desktop", "phone"])
def size(request):
    return request.param


@pytest.fixture
def visit(open_page, size):
    def visit_one(path, meanwhile=None, *, cut=False, at=None):
        page = open_page(BARE, phone=size == "phone", reduced_motion="reduce")
        page.context.add_init_script(path=axe.SCRIPT)
        if meanwhile:
            page.route("**/api/v1/**", meanwhile)
        if cut:
            Connection(page).sever()
        if at:
            sign_in(page.context, at)
        page.goto((at.url if at else page.url.removesuffix(BARE)) + path)
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        return page

    return visit_one


def refusing(status):
    """Answer every question but who is here with an error; no status: with nothing at all."""

    def answer(route):
        if "/me" in route.request.url:
            route.continue_()
        elif status is None:
            route.abort()
        else:
            route.fulfill(status=status, json={"title": "No", "status": status, "code": "no"})

    return answer


@pytest.mark.parametrize("path", EMPTY)
def test_an_empty_screen_says_what_will_appear(visit, size, path):
    page = visit(path)
    expect(page.get_by_role("main")).to_contain_text(re.compile(EMPTY[path]))

    assert in_both_themes(page, f"empty {path.strip('/').replace('/', ' ') or 'now'}", size) == []


def test_a_recording_is_imported_where_there_is_no_run_yet(visit):
    page = visit("/history")

    page.get_by_role("button", name="Import a recording").click()

    expect(page.get_by_role("dialog", name="Import a recording")).to_be_visible()


def copied_line(page, agent):
    """Choose an agent on the empty board and copy its line, as a person does."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("radiogroup", name="Agent").get_by_text(agent, exact=True).click()
    page.get_by_role("button", name="Copy the line").click()
    return page.evaluate("navigator.clipboard.readText()")


def run_in(folder, line, path="/usr/bin:/bin"):
    """Run a pasted line in a shell of its own, in a folder that knows nothing of us."""
    own = {"HOME": str(folder), "PATH": path}
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=own, capture_output=True, text=True, check=False
    )


def test_the_copied_line_connects_an_agent_from_any_folder_and_only_once(open_page, tmp_path):
    page = open_page("/")
    line = copied_line(page, "Gemini CLI")

    first, again = run_in(tmp_path, line), run_in(tmp_path, line)

    assert (first.returncode, first.stderr) == (0, "")
    assert "mc_" in (tmp_path / ".config/missioncontrol/keys.toml").read_text()
    assert again.returncode == 1
    assert "Copy a new line" in again.stderr
    expect(page.get_by_text("New sessions of the agent report from now on")).to_be_visible()
    assert copied_line(page, "Gemini CLI") != line


def test_the_copied_lines_for_python_bring_guard_and_give_a_shell_a_key(
    open_page, tmp_path, installation
):
    venv.create(tmp_path / "agent", with_pip=True)
    line = copied_line(open_page("/"), "Python").replace("pip install", "pip install --quiet", 1)
    look = "\npython -c 'import guard; print(guard.Session, end=chr(32))'"

    done = run_in(
        tmp_path,
        f"{line}{look}\necho $MISSIONCONTROL_URL $MISSIONCONTROL_KEY",
        path=f"{tmp_path}/agent/bin:/usr/bin:/bin",
    )

    *found, url, key = done.stdout.split()
    assert found == ["<class", "'guard.sdk.session.Session'>"]
    assert url == installation.url
    assert key.startswith("mc_")


@pytest.mark.parametrize("path", FAILING)
def test_every_error_is_shown(visit, size, path):
    page = visit(path, refusing(403))
    for status in (404, None, 500):
        expect(page.get_by_text(NOT_FETCHED).first).to_be_visible()
        page.route("**/api/v1/**", refusing(status))
        page.reload()
    expect(page.get_by_text(NOT_FETCHED).first).to_be_visible()

    # It is one part of every screen, whose words alone differ.
    assert in_both_themes(page, f"{path.strip('/')} answered 500", size) == []


@pytest.mark.parametrize("path", ["/", "/decisions"])
def test_a_board_with_nothing_but_history_says_what_happened_last(visit, quiet, size, path):
    page = visit(path, at=quiet)
    main = page.get_by_role("main")
    expect(main).to_contain_text("Nothing needs you.")
    expect(main).to_contain_text(re.compile(r"Nothing is running\..* you continued held before"))

    name = f"history only {path.strip('/') or 'now'}"
    assert in_both_themes(page, name, size) == []


def test_a_journal_without_a_row_says_so(visit, size):
    page = visit("/audit", meanwhile=no_rows)
    expect(page.get_by_role("main")).to_contain_text("Nothing has been recorded yet.")

    assert in_both_themes(page, "empty audit", size) == []


def test_filters_that_no_row_of_the_journal_matches_are_dropped_by_a_link(visit, size):
    page = visit("/audit?by=Nobody")
    expect(page.get_by_role("link", name="Clear filters")).to_be_visible()

    assert in_both_themes(page, "audit none", size) == []
    page.get_by_role("link", name="Clear filters").click()
    expect(page.get_by_text("signed in").first).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/decisions", "/decisions/none", "/runs/none"])
def test_offline_without_a_cached_state_says_that_nothing_is_known(visit, size, path):
    page = visit(path, nothing_ahead, cut=True)
    expect(page.get_by_text("Nothing loaded yet.")).to_be_visible()
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)

    assert in_both_themes(page, f"nothing known {path.strip('/') or 'now'}", size) == []


def nothing_ahead(route):
    """Leave what is read ahead of the sockets without an answer."""
    if re.search("/boards/|/snapshot/", route.request.url):
        route.abort()
    else:
        route.continue_()


def no_rows(route):
    """Answer the journal's list with no row at all."""
    if "/audit/?" in route.request.url or route.request.url.endswith("/audit/"):
        route.fulfill(json={"results": [], "next": None})
    else:
        route.continue_()
