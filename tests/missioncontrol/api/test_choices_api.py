"""What an agent decides by itself, and reports later."""

from dataclasses import replace
from decimal import Decimal

import pytest

from missioncontrol.decisions import allowlist, cards, deadlines, interventions, sessions
from missioncontrol.decisions.actions import Tap
from missioncontrol.decisions.models import AllowlistEntry, Decision, Intervention
from missioncontrol.runs.models import JournalRow, Run, Turn
from missioncontrol.runs.sanitizing import storable_turn
from tests.build import NOON, a_call, a_project, a_run, a_stuck_run, after, report

pytestmark = pytest.mark.django_db

CALL = 'Bash {"command":"pytest -q"}'


@pytest.fixture
def run(project):
    return a_stuck_run(project)


def a_choice(action="continue", **fields):
    return {"key": "choice-1", "action": action, "by": "terminal", **fields}


def of_its_call(run, action="continue", **fields):
    """A choice about the call that opened the run's card."""
    return a_choice(action, turn=Turn.objects.get(run=run, phase="proposed").key, **fields)


def tell(client, run, choice):
    return client.post(f"/api/v1/runs/{run.id}/choices/", choice, format="json")


def journal(run):
    return list(JournalRow.objects.filter(run=run).order_by("seq").values_list("type", "by"))


def test_a_choice_answers_the_card_its_turn_opened(run, as_agent):
    response = tell(as_agent, run, of_its_call(run))

    run.refresh_from_db()
    assert response.status_code == 201
    assert (response.json()["by"], response.json()["status"]) == ("agent terminal", "acknowledged")
    assert (run.status, run.open_decision) == ("running", None)
    card = Decision.objects.get(run=run)
    assert (card.resolution, card.resolved_by) == ("continue", "agent terminal")
    assert ("intervention.made", "agent terminal") in journal(run)


def test_a_repeated_choice_is_applied_once(run, as_agent):
    first, second = (tell(as_agent, run, of_its_call(run)) for _ in "ab")

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    assert Intervention.objects.filter(run=run).count() == 1


def test_another_choice_under_the_same_key_is_refused(run, as_agent):
    tell(as_agent, run, of_its_call(run))

    response = tell(as_agent, run, a_choice("terminate"))
    assert (response.status_code, response.json()["code"]) == (422, "key_reused")


def test_streaks_restart_after_a_choice(run, as_agent):
    tell(as_agent, run, of_its_call(run))

    report(run, a_call(error="ModuleNotFoundError: no module 'app.tokens'"))
    assert run.open_decision is None


def test_an_end_at_the_terminal_ends_the_run(run, as_agent):
    tell(as_agent, run, a_choice("terminate", reason="It did the same 3 times."))

    run.refresh_from_db()
    assert (run.status, run.reason) == ("stopping", "It did the same 3 times.")
    as_agent.patch(f"/api/v1/runs/{run.id}/", {"status": "failed"}, format="json")
    run.refresh_from_db()
    assert run.status == "terminated"


def test_a_call_allowed_at_the_terminal_is_allowed_in_this_run(run, as_agent):
    tell(as_agent, run, of_its_call(run, "allowlist", calls=['Bash {"command":"pytest -q"}']))

    entry = AllowlistEntry.objects.get()
    assert (entry.scope, entry.run_id, entry.created_by) == ("run", run.id, "agent terminal")
    assert entry.pattern == 'Bash {"command":"pytest -q"}'


def test_a_call_that_a_text_replaced_is_shown_as_not_run(run, as_agent):
    proposed = Turn.objects.get(run=run, phase="proposed")

    response = tell(as_agent, run, of_its_call(run, "inject", message="Read b.py."))

    proposed.refresh_from_db()
    assert proposed.skipped
    assert response.json()["message"] == "Read b.py."


def test_a_released_call_is_not_shown_as_not_run(run, as_agent):
    tell(as_agent, run, of_its_call(run))

    assert Turn.objects.get(run=run, phase="proposed").skipped is False


def test_the_journal_names_who_chose(run, as_agent):
    assert tell(as_agent, run, of_its_call(run, by="policy")).json()["by"] == "policy"


def test_an_agent_held_by_the_server_cannot_release_itself(run, as_agent):
    sessions.record_waiting(run.id, at=NOON)

    response = tell(as_agent, run, of_its_call(run))

    run.refresh_from_db()
    assert (response.status_code, response.json()["decision"]) == (201, None)
    assert run.status == "held"
    assert run.open_decision is not None


def pause(run, *, at):
    run.refresh_from_db()
    interventions.intervene(
        run.id,
        Tap(key=f"pause-{run.version}", action="pause", version=run.version),
        projects=[run.project_id],
        by="ana",
        at=at,
    )
    run.refresh_from_db()


def is_journalled_only(run, response):
    """The choice is kept, and the run is as it was."""
    before = (run.status, run.open_decision)
    run.refresh_from_db()
    assert (response.status_code, response.json()["decision"]) == (201, None)
    assert (run.status, run.open_decision) == before
    assert Intervention.objects.filter(run=run, key="choice-1").count() == 1
    return True


def test_without_a_card_an_agent_allows_itself_nothing(as_agent, project):
    run = report(a_run(project), a_call(key="call-x"))
    choice = a_choice("allowlist", turn="call-x", calls=[CALL])

    assert is_journalled_only(run, tell(as_agent, run, choice))
    assert not AllowlistEntry.objects.exists()


def test_only_a_call_that_the_card_shows_is_allowed(run, as_agent):
    tell(as_agent, run, of_its_call(run, "allowlist", calls=['Bash {"command":"rm -rf /"}', CALL]))

    assert AllowlistEntry.objects.get().pattern == CALL


def test_a_call_with_a_masked_number_and_tool_is_known_again(as_agent, project):
    project.redact_rules = ["4711", "K-####"]
    project.save(update_fields=["redact_rules"])
    run, args = a_run(project), {"customer": 4711, "times": 3}
    for key in ("a", "b", "c"):
        call = replace(a_call(key=key, error="no such customer"), tool="crm K-1234", args=args)
        run = report(run, storable_turn(call, project.redaction))
    (shown,) = Decision.objects.get(pk=run.open_decision).evidence["calls"]

    pattern = 'crm K-1234 {"customer":4711,"times":3}'
    tell(as_agent, run, a_choice("allowlist", turn="c", calls=[pattern]))

    assert AllowlistEntry.objects.get().pattern == shown
    assert not [word for word in ("4711", "1234") if word in shown]


@pytest.mark.parametrize("by", ["terminal", "policy", "guard"])
def test_a_call_allowed_by_an_agent_is_not_a_persons_permission(run, as_agent, by):
    tell(as_agent, run, of_its_call(run, "allowlist", calls=[CALL], by=by))

    assert AllowlistEntry.objects.get().pattern == CALL
    assert allowlist.find_grant(run, CALL, at=NOON) is None


@pytest.mark.parametrize("turn", [None, "", "elsewhere", "later"])
def test_a_choice_about_another_call_leaves_the_card_open(run, as_agent, turn):
    report(run, a_call("ls", key="later"))

    assert is_journalled_only(run, tell(as_agent, run, a_choice(turn=turn)))


@pytest.mark.parametrize("turn", [None, ""])
def test_a_choice_about_no_call_is_about_none_of_those_without_a_key(as_agent, project, turn):
    run = a_run(project)
    for _ in range(3):
        run = report(run, a_call(error="no module 'app.tokens'", key=None))
    assert run.open_decision is not None

    assert is_journalled_only(run, tell(as_agent, run, a_choice(turn=turn)))


def test_a_card_of_a_budget_is_for_people(as_agent, project):
    run = report(a_run(project, budget={"usd": 1}), a_call(key="dear", cost_usd=Decimal(2)))
    assert Decision.objects.get(pk=run.open_decision).kind == "budget"

    assert is_journalled_only(run, tell(as_agent, run, a_choice(turn="dear")))


@pytest.mark.parametrize("action", ["continue", "allowlist", "inject"])
def test_only_a_person_releases_a_persons_hold_without_a_card(as_agent, project, action):
    run = report(a_run(project), a_call(key="call-x"))
    pause(run, at=after(1))
    assert run.status == "holding"

    assert is_journalled_only(run, tell(as_agent, run, a_choice(action, turn="call-x")))


def test_only_a_person_releases_a_persons_hold_beside_a_card(run, as_agent):
    pause(run, at=after(1))

    assert is_journalled_only(run, tell(as_agent, run, of_its_call(run)))


def test_an_agents_choice_does_not_hide_a_persons_hold(run, as_agent):
    pause(run, at=after(1))

    tell(as_agent, run, of_its_call(run))

    assert cards.is_paused_by_person(run, Decision.objects.get())


def test_a_person_who_paused_before_the_card_opened_still_decides(run, as_agent):
    Decision.objects.update(opened_at=after(60))
    pause(run, at=after(1))

    assert is_journalled_only(run, tell(as_agent, run, of_its_call(run)))


def test_an_agent_that_gave_up_waiting_cannot_release_itself(run, as_agent):
    sessions.record_waiting(run.id, at=NOON)
    deadlines.give_up_abandoned_holds(at=after(600))
    run.refresh_from_db()
    assert (run.status, run.hold.gave_up_at) == ("holding", after(600))

    assert is_journalled_only(run, tell(as_agent, run, of_its_call(run)))


def test_a_parked_agent_cannot_release_itself(run, as_agent):
    Run.objects.filter(pk=run.pk).update(parked=True)
    run.refresh_from_db()

    assert is_journalled_only(run, tell(as_agent, run, of_its_call(run)))


def test_a_person_who_paused_it_does_not_keep_it_from_ending(run, as_agent):
    pause(run, at=after(1))

    tell(as_agent, run, a_choice("terminate"))

    run.refresh_from_db()
    assert run.status == "stopping"


def test_where_agents_may_not_choose_people_still_decide(as_agent, project):
    project.agents_choose = False
    project.save()
    run = a_stuck_run(project)

    tell(as_agent, run, of_its_call(run))

    run.refresh_from_db()
    assert run.open_decision is not None
    assert run.status == "holding"


def test_a_choice_for_a_run_that_has_ended_is_journalled_and_revives_nothing(as_agent, project):
    run = a_run(project)
    sessions.end_session(run.id, at=after(1))

    assert tell(as_agent, run, a_choice()).status_code == 201
    run.refresh_from_db()
    assert run.status == "completed"


@pytest.mark.parametrize("path", ["choices/", "rules/"])
def test_another_projects_run_does_not_exist(path, as_agent):
    theirs = a_run(a_project("elsewhere"))
    address = f"/api/v1/runs/{theirs.id}/{path}"

    ask = as_agent.get if path == "rules/" else as_agent.post
    body = {} if path == "rules/" else a_choice()
    assert ask(address, body, format="json").status_code == 404


@pytest.mark.parametrize(("method", "path"), [("post", "choices/"), ("get", "rules/")])
def test_it_is_for_agents(method, path, run, as_person, owner):
    response = getattr(as_person(owner), method)(f"/api/v1/runs/{run.id}/{path}")

    assert response.status_code == 403


@pytest.mark.parametrize(
    "wrong",
    [{"action": "dance"}, {"by": "the king"}, {"key": ""}, {"calls": ["x"] * 21}],
)
def test_an_invalid_choice_is_refused(run, as_agent, wrong):
    assert tell(as_agent, run, a_choice() | wrong).status_code == 400


def test_the_rules_of_a_run_are_what_it_follows(as_agent, project):
    project.policy = {"repeat": {"calls": 4}}
    project.unanswered = "proceed"
    project.save()
    AllowlistEntry.objects.create(
        project=project,
        scope="project",
        pattern="x",
        match="exact",
        created_by="ana",
        created_at=NOON,
        reason="",
    )
    run = a_run(project, policy={"repeat": {"calls": 7}}, budget={"usd": "3"}, mode="auto")

    rules = as_agent.get(f"/api/v1/runs/{run.id}/rules/").json()

    assert rules["policy"]["repeat"]["calls"] == 7
    assert rules["policy"]["budget"]["usd"] == "3"
    assert rules["project_policy"]["repeat"]["calls"] == 4
    assert (rules["mode"], rules["project_mode"]) == ("auto", project.mode)
    assert (rules["unanswered"], rules["hold_limit"]) == ("proceed", project.hold_limit)
    assert rules["allowlist"] == [
        {"scope": "project", "agent": None, "pattern": "x", "match": "exact"}
    ]


def test_rules_name_their_version(as_agent, project):
    run = a_run(project)

    rules = as_agent.get(f"/api/v1/runs/{run.id}/rules/").json()

    assert rules["policy_version"] == run.policy_version
