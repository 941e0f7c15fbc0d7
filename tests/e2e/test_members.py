"""Two people, two projects, three roles, two browsers: invited, promoted, removed while looking."""

import os
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from missioncontrol.api.views.sign_in_links import JoiningTexts
from tests.e2e import axe
from tests.e2e.people import a_pairing_code, agent_of, an_owner, as_caller
from tests.e2e.screens import FITS
from tests.e2e.stuck import StuckRun
from tests.installations import wait_for
from tests.receiver import a_receiver

PICTURES = os.environ.get("MEMBERS_PICTURES")
"""A folder in which the story's screens are kept, to be looked at."""


def picture(page, name):
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


@pytest.fixture
def named():
    """Names that no other test took: people of an installation are told apart by them."""
    mark = uuid4().hex[:6]
    return lambda name: f"{name} {mark}"


@pytest.fixture
def open_as(installation, open_page):
    """Open a page as who owns a project of their own."""

    def open_one(name, path="/", **options):
        page = open_page("/login/", signed_in=False, **options)
        cookies = an_owner(installation, name).items()
        page.context.add_cookies(
            [{"name": n, "value": v, "url": installation.url} for n, v in cookies]
        )
        page.goto(installation.url + path)
        # Its first answer brings the CSRF cookie, which must not come under the next page's form.
        page.wait_for_load_state("networkidle")
        return page

    return open_one


def make_project(page, name):
    page.get_by_label("Name of the project").fill(name)
    page.get_by_role("button", name="Create project").click()
    expect(page.get_by_role("button", name=f"Rename {name}")).to_be_visible()


def choose(page, project):
    page.get_by_label("Project", exact=True).select_option(label=project)


def invite(page, note, role):
    """Make a link on Settings, Members; returns it."""
    page.get_by_label("Name or note").fill(note)
    page.get_by_role("radiogroup", name="Role of the invited person").get_by_text(role).click()
    page.get_by_role("button", name="Create invitation link").click()
    shown = page.get_by_role("status").filter(has_text=f"“{note}” was created")
    link = shown.locator("code").inner_text()
    shown.get_by_role("button", name="Done").click()
    return link


def a_desk_that_invites(open_as, owner, project, note, role):
    """Make a project and an invitation to it; returns the owner's page and the link."""
    desk = open_as(owner, "/settings/projects")
    make_project(desk, project)
    desk.goto(desk.url.replace("projects", "members"))
    choose(desk, project)
    return desk, invite(desk, note, role)


def join(page, link, installation):
    page.goto(link)
    page.get_by_role("button", name="Join").click()
    page.wait_for_url(f"{installation.url}/")


def remove(desk, name):
    desk.get_by_role("button", name=f"Remove {name}", exact=True).click()
    desk.get_by_role("button", name=f"Remove {name} now").click()


def lines_with(lines, *names):
    return [line for line in lines if any(name in line for name in names)]


def listen(page):
    """Return what a page is told from now on, by its sockets and by the API, as it comes."""
    frames = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda f: frames.append(str(f))))
    page.on("requestfinished", lambda asked: frames.append(asked.url))
    return frames


def session_of(page):
    (key,) = [one["value"] for one in page.context.cookies() if one["name"] == "mc_session"]
    return key


def kept_days(page, installation, project):
    rows = as_caller(page, installation).get("/api/v1/projects/")["results"]
    (days,) = [row["keep_words_days"] for row in rows if row["name"] == project]
    return days


def role_of(page, name):
    return page.get_by_label(f"Role of {name}")


def test_the_only_owner_is_not_offered_to_step_down_or_leave(open_as, named):
    ana, nights = named("Ana"), named("nights")
    page = open_as(ana, "/settings/projects")
    make_project(page, nights)
    page.goto(page.url.replace("projects", "members"))
    choose(page, nights)

    expect(page.get_by_role("heading", name=f"Members of {nights}")).to_be_visible()
    expect(page.get_by_text(f"{ana} (you)")).to_be_visible()
    expect(role_of(page, ana)).to_have_count(0)
    expect(page.get_by_role("button", name="Leave")).to_have_count(0)


def test_a_role_that_was_not_given_does_not_stay_chosen(open_as, open_page, installation, named):
    ana, ben, nights = named("Ana"), named("Ben"), named("nights")
    desk, link = a_desk_that_invites(open_as, ana, nights, "the night shift", "Operator")
    join_on_a_phone(open_page, installation, link, ben, welcome=f"{ana} invites you to {nights}")
    desk.reload()
    expect(role_of(desk, ben)).to_have_value("operator")
    desk.route("**/members/*/", lambda route: route.abort())

    role_of(desk, ben).select_option("owner")

    expect(desk.get_by_role("alert")).to_be_visible()
    expect(role_of(desk, ben)).to_have_value("operator")


def join_on_a_phone(open_page, installation, link, name, *, welcome):
    """Come in by a link, without an account."""
    phone = open_page("/login/", phone=True, signed_in=False)
    phone.goto(link)
    expect(phone.get_by_role("heading", level=1)).to_have_text(welcome)
    assert "#" not in phone.url
    picture(phone, "join-phone")
    phone.get_by_label("Your name").fill(name)
    phone.get_by_role("button", name="Join").tap()
    phone.wait_for_url(f"{installation.url}/")
    return phone


def look_and_not_answer(phone, installation, run):
    """See the card as a viewer: it says once who answers, and nothing can be tapped."""
    phone.goto(f"{installation.url}/decisions/{run.card['id']}")
    expect(phone.get_by_text("Only owners and operators answer.")).to_have_count(1)
    picture(phone, "viewer-phone")
    go_on = phone.get_by_role("button", name="Continue")
    expect(go_on).to_have_count(0)
    fields = {"decision": run.card["id"], "version": run.card["version"]}
    assert as_caller(phone, installation).tap(run.id, "continue", **fields).status == 403
    return go_on


def test_a_member_is_invited_promoted_and_removed_while_online(
    installation, open_page, open_as, named
):
    ana, bea, nights = named("Ana"), named("Bea"), named("nights")
    desk = open_as(ana, "/settings/projects")
    make_project(desk, nights)
    picture(desk, "projects-desk")
    desk.goto(f"{installation.url}/settings/members")
    choose(desk, nights)
    expect(desk.get_by_role("radiogroup", name="Keep turn contents")).to_be_visible()
    picture(desk, "first-invitation-desk")
    link = invite(desk, "the night shift", "Viewer")
    picture(desk, "members-desk")
    assert kept_days(desk, installation, nights) == 30  # asked once, of a laptop's owner
    expect(desk.get_by_role("radiogroup", name="Keep turn contents")).to_have_count(0)

    welcome = f"{ana} invites you to {nights}"
    phone = join_on_a_phone(open_page, installation, link, bea, welcome=welcome)
    expect(role_of(desk, bea)).to_have_value("viewer")  # nobody reloaded the desk

    place, agent, owner = agent_of(desk, installation, nights)
    run = StuckRun.begin(agent, owner, "stuck")
    go_on = look_and_not_answer(phone, installation, run)
    assert owner.get(f"/api/v1/runs/{run.id}/")["status"] in {"holding", "held"}

    # Promoted: the answers are there before their eyes, under another session key.
    before = session_of(phone)
    role_of(desk, bea).select_option("operator")
    expect(go_on).to_be_enabled()
    wait_for(lambda: session_of(phone) != before)
    go_on.tap()
    assert run.next_directive()["action"] == "proceed"

    # Removed while looking at the run.
    phone.goto(f"{installation.url}/runs/{run.id}")
    expect(phone.get_by_text(run.name).first).to_be_visible()
    them = as_caller(phone, installation)
    remove(desk, bea)
    expect(phone.get_by_text("This run was not found.")).to_be_visible()
    expect(phone.get_by_text(run.name)).to_have_count(0)
    assert them.ask("GET", f"/api/v1/projects/{place}/").status == 404
    assert them.tap(run.id, "terminate").status == 404
    expect(role_of(desk, bea)).to_have_count(0)

    # It was their only one: nothing can be connected, and they are told whom to ask.
    phone.goto(f"{installation.url}/")
    expect(phone.get_by_text("You are a member of no project.")).to_be_visible()
    expect(phone.get_by_text("Ask an owner")).to_be_visible()
    expect(phone.get_by_text("Connect your first agent")).to_have_count(0)
    assert phone.evaluate(FITS)
    picture(phone, "no-project-phone")


def test_a_viewer_sees_who_was_notified_of_a_card_and_when(installation, open_as, named):
    ana, vic, nights = named("Ana"), named("Vic"), named("nights")
    desk, link = a_desk_that_invites(open_as, ana, nights, "Vic", "Viewer")
    theirs = open_as(vic)
    join(theirs, link, installation)
    place, agent, owner = agent_of(desk, installation, nights)
    with a_receiver() as duty:
        channel = {"project": place, "kind": "webhook", "name": "duty", "address": duty.url}
        assert owner.ask("POST", "/api/v1/channels/", channel).status == 201
        run = StuckRun.begin(agent, owner, "stuck")
        card = f"{installation.url}/decisions/{run.card['id']}"

        theirs.goto(card)
        expect(theirs.get_by_text(f"Waiting for {ana}.")).to_contain_text("Notified at")
        picture(theirs, "viewer-told-desk")

    theirs.route("**/members/**", lambda route: route.abort())
    theirs.goto(card)
    expect(theirs.get_by_text("Who may answer could not be loaded.")).to_be_visible()


def test_a_phone_paired_by_a_viewer_cannot_answer(installation, open_page, open_as, named):
    ana, vic, nights = named("Ana"), named("Vic"), named("nights")
    desk, link = a_desk_that_invites(open_as, ana, nights, "Vic", "Viewer")
    theirs = open_as(vic)
    join(theirs, link, installation)

    phone = open_page("/pair/", phone=True, signed_in=False)
    phone.get_by_role("textbox").fill(a_pairing_code(installation, vic))
    phone.get_by_role("button").tap()
    phone.wait_for_url(f"{installation.url}/settings/devices")

    frames = listen(phone)
    _, agent, owner = agent_of(desk, installation, nights)
    run = StuckRun.begin(agent, owner, "stuck")
    own_place, own_agent, _ = agent_of(desk, installation, ana)
    elsewhere = StuckRun.begin(own_agent, owner, "elsewhere")
    phone.goto(f"{installation.url}/decisions/{run.card['id']}")
    expect(phone.get_by_text("Only owners and operators answer.")).to_have_count(1)
    expect(phone.get_by_text(f"Waiting for {ana}. Nobody has been notified.")).to_be_visible()
    expect(phone.get_by_text("waiting for you")).to_have_count(0)
    picture(phone, "paired-viewer-phone")
    for name in ("Continue", "Terminate"):
        expect(phone.get_by_role("button", name=name)).to_have_count(0)

    them = as_caller(phone, installation)
    fields = {"decision": run.card["id"], "version": run.card["version"]}
    for action in ("continue", "terminate"):
        refused = them.tap(run.id, action, **fields)
        assert (refused.status, refused.json["code"]) == (403, "forbidden")
    assert owner.get(f"/api/v1/runs/{run.id}/")["status"] in {"holding", "held"}

    # Of the owner's other project nothing was shown or sent, nor is anything to be had.
    phone.goto(f"{installation.url}/")
    expect(phone.get_by_text(run.name).first).to_be_visible()
    expect(phone.get_by_text(elsewhere.name)).to_have_count(0)
    assert lines_with(frames, run.name)
    assert not lines_with(frames, elsewhere.name, elsewhere.id, own_place)
    assert them.ask("GET", f"/api/v1/runs/{elsewhere.id}/").status == 404
    assert them.tap(elsewhere.id, "terminate").status == 404


def test_an_existing_account_joins_and_an_archived_project_leaves_the_switch(
    installation, open_as, named
):
    ana, cem, days = named("Ana"), named("Cem"), named("days")
    desk, link = a_desk_that_invites(open_as, ana, days, "Cem", "Operator")

    other = open_as(cem)
    other.goto(link)
    expect(other.get_by_text(f"You are signed in as {cem}.")).to_be_visible()
    other.get_by_role("button", name="Join").click()
    other.wait_for_url(f"{installation.url}/")
    switch = other.get_by_label("Project", exact=True)
    expect(switch.locator("option")).to_have_text(["All projects", days, cem])

    # An operator looks at who belongs, and decides nothing.
    other.goto(f"{installation.url}/settings/members")
    choose(other, days)
    expect(role_of(other, ana)).to_be_disabled()
    expect(other.get_by_text("Only owners can manage members").first).to_be_visible()
    expect(other.get_by_role("button", name="Create invitation link")).to_be_disabled()
    picture(other, "operator-desk")

    # A link works once.
    third = open_as(named("Dee"))
    third.goto(link)
    expect(third.get_by_role("heading", level=1)).to_have_text("This invitation no longer works")

    _, agent, _ = agent_of(desk, installation, days)
    desk.goto(f"{installation.url}/settings/projects")
    desk.get_by_role("button", name=f"Archive {days}", exact=True).click()
    desk.get_by_role("button", name=f"Archive {days} now").click()
    expect(desk.get_by_role("button", name=f"Restore {days}")).to_be_visible()
    picture(desk, "archived-desk")
    expect(switch).to_have_count(0)  # one project is left, and nothing to choose
    refused = agent.ask("POST", "/api/v1/runs/", {"name": "a run"})
    assert (refused.status, refused.json["code"]) == (403, "project_archived")
    desk.get_by_role("button", name=f"Restore {days}").click()
    expect(desk.get_by_role("button", name=f"Archive {days}", exact=True)).to_be_visible()
    other.reload()
    expect(switch.locator("option")).to_have_count(3)


@pytest.mark.screens
@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
@pytest.mark.parametrize("locale", ["en", "de"])
def test_the_invitations_page_breaks_no_accessibility_rule(
    locale, phone, installation, open_page, open_as, named
):
    desk = open_as(named("Ana"), "/settings/members", locale="en")
    link = invite(desk, "Eve", "Viewer")
    page = open_page("/join", signed_in=False, phone=phone, locale=locale)
    page.context.add_init_script(path=axe.SCRIPT)

    t = JoiningTexts.of("joining", locale)
    offer = link.removeprefix(installation.url)
    titles = {
        "/join": t.paste_title,
        offer: t.roles["viewer"],
        "/join#spent": t.over_title,
    }
    for place, title in titles.items():
        page.goto(installation.url + "/healthz")
        page.goto(installation.url + place)
        expect(page.get_by_role("main")).to_contain_text(title)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found = page.evaluate(
                f"async () => (await axe.run({{runOnly: {axe.TAGS}}})).violations"
            )
            assert [one["id"] for one in found] == [], scheme
            picture(page, f"join-{locale}-{scheme}-{'phone' if phone else 'desk'}-{title}")
        assert page.locator("html").get_attribute("lang") == locale
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        small = page.locator("button, input:not([type=hidden])").evaluate_all(
            "all => all.filter(one => one.getBoundingClientRect().height < 44).length"
        )
        assert small == 0


@pytest.mark.screens
def test_a_person_removed_from_one_project_keeps_their_own(installation, open_page, open_as, named):
    ana, bea, nights = named("Ana"), named("Bea"), named("nights")
    desk, link = a_desk_that_invites(open_as, ana, nights, "Bea", "Viewer")
    place, agent, owner = agent_of(desk, installation, nights)
    run = StuckRun.begin(agent, owner, "stuck")
    hidden_place, hidden_agent, _ = agent_of(desk, installation, ana)
    hidden = StuckRun.begin(hidden_agent, owner, "hidden")

    # Invited as a viewer, who owns a project of their own.
    theirs = open_as(bea)
    frames, sockets = listen(theirs), []
    theirs.on("websocket", lambda one: sockets.insert(0, one))
    join(theirs, link, installation)
    _, own_agent, them = agent_of(theirs, installation, bea)
    own = StuckRun.begin(own_agent, them, "own")
    card = theirs.get_by_role("article", name=run.name)
    rests = card.get_by_text("Only owners and operators answer.")
    expect(rests).to_have_count(1)
    expect(theirs.get_by_role("article", name=own.name)).to_be_visible()
    picture(theirs, "story-viewer-desk")

    # Promoted while looking.
    role_of(desk, bea).select_option("operator")
    expect(rests).to_have_count(0)
    assert not theirs.evaluate("performance.getEntriesByType('navigation')[0].type === 'reload'")
    picture(theirs, "story-operator-desk")

    # Removed while looking: that project is gone from the screen, and its socket ends.
    (watching,) = [one for one in sockets if place in one.url and not one.is_closed()]
    remove(desk, bea)
    expect(card).to_have_count(0)
    expect(theirs.get_by_label("Project", exact=True)).to_have_count(0)  # one is left
    wait_for(watching.is_closed)
    gone = theirs.get_by_text(f"You are no longer a member of {nights}")
    expect(gone).to_be_visible()
    picture(theirs, "story-removed-desk")
    theirs.get_by_role("button", name="OK", exact=True).click()
    expect(gone).to_have_count(0)

    # What is their own goes on, and answers.
    theirs.get_by_role("article", name=own.name).get_by_role("button", name="Continue").click()
    assert own.next_directive()["action"] == "proceed"
    assert lines_with(frames, run.name)
    assert not lines_with(frames, hidden.name, hidden.id, hidden_place)


@pytest.mark.parametrize("path", ["/history", "/audit", "/compare?a={run}"])
def test_data_fetched_by_a_screen_is_dropped_with_the_membership(
    installation, open_page, open_as, named, path
):
    ana, bea, nights = named("Ana"), named("Bea"), named("nights")
    desk, link = a_desk_that_invites(open_as, ana, nights, "Bea", "Viewer")
    _, agent, owner = agent_of(desk, installation, nights)
    run = StuckRun.begin(agent, owner, "withdrawn")
    theirs = open_as(bea)
    join(theirs, link, installation)
    theirs.goto(installation.url + path.format(run=run.id))
    shown = theirs.get_by_role("main").get_by_text(run.name)
    expect(shown.first).to_be_visible()
    desk.reload()

    remove(desk, bea)

    expect(theirs.get_by_text(f"You are no longer a member of {nights}")).to_be_visible()
    expect(shown).to_have_count(0)
    picture(theirs, f"withdrawn-{path.split('?')[0].strip('/')}")


def test_typed_input_stays_when_another_project_is_lost(installation, open_as, named):
    ana, bea, nights = named("Ana"), named("Bea"), named("nights")
    desk, link = a_desk_that_invites(open_as, ana, nights, "Bea", "Viewer")
    theirs = open_as(bea)
    join(theirs, link, installation)
    theirs.goto(f"{installation.url}/settings/projects")
    typed = theirs.get_by_label("Name of the project")
    typed.fill("days")
    desk.reload()

    remove(desk, bea)

    expect(theirs.get_by_text(f"You are no longer a member of {nights}")).to_be_visible()
    expect(typed).to_have_value("days")


def test_each_window_keeps_the_project_that_was_chosen_in_it(open_as, named):
    here, there = named("Here"), named("There")
    page = open_as(here, "/settings/projects")
    make_project(page, there)
    choose(page, here)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.get_by_label("Project", exact=True)).to_have_value(
        page.get_by_label("Project", exact=True).input_value()
    )

    choose(other, there)
    page.reload()

    expect(page.get_by_label("Project", exact=True).locator(":checked")).to_have_text(here)
    assert other.get_by_label("Project", exact=True).locator(":checked").inner_text() == there


def test_a_project_named_by_one_long_word_fits_a_phone(open_as, installation, named):
    page = open_as(named("Wide"), "/settings/projects", phone=True)
    word = "x" * 90
    make_project(page, word)

    for path, words in (("policies", word), ("settings/keys", f"Agents report to {word}")):
        page.goto(f"{installation.url}/{path}")
        expect(page.get_by_text(words).locator("visible=true").first).to_be_visible()
        assert page.evaluate(FITS), path
