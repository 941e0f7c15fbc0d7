"""The person's side of REST: what each role may see and do."""

import json
from uuid import uuid4

import pytest

from missioncontrol.accounts import services as accounts
from tests.build import NOON, a_call, a_project, a_run, a_stuck_run, report

pytestmark = pytest.mark.django_db


def tapped(client, run, action="continue", **fields):
    body = {
        "key": uuid4().hex,
        "action": action,
        "decision": str(run.open_decision),
        "version": run.version,
        **fields,
    }
    return client.post(f"/api/v1/runs/{run.id}/interventions/", body, format="json")


@pytest.fixture
def run(project):
    return a_stuck_run(project)


@pytest.mark.parametrize("path", ["runs/{run}/", "runs/{run}/turns/"])
def test_another_projects_run_does_not_exist(path, run, as_person, stranger):
    response = as_person(stranger).get("/api/v1/" + path.format(run=run.id))

    assert response.status_code == 404
    assert response.json()["code"] == "not_found"


@pytest.mark.parametrize(
    "path", ["runs/", "decisions/", "autofixes/", "allowlist/", "audit/", "audit/?run={run}"]
)
def test_a_strangers_lists_are_empty(path, run, as_person, stranger):
    tapped(as_person(_owner_of(run)), run, "allowlist")

    response = as_person(stranger).get("/api/v1/" + path.format(run=run.id))

    assert response.json()["results"] == []


def test_a_stranger_can_neither_tap_nor_change_nor_remove(run, as_person, stranger, owner):
    tapped(as_person(owner), run, "allowlist")
    entry = as_person(owner).get("/api/v1/allowlist/").json()["results"][0]["id"]
    run.refresh_from_db()
    them = as_person(stranger)

    assert tapped(them, run, "terminate", decision=None).status_code == 404
    assert _patch(them, f"runs/{run.id}/", {"mode": "warn"}).status_code == 404
    assert _patch(them, f"projects/{run.project_id}/", {"mode": "warn"}).status_code == 404
    assert them.get(f"/api/v1/projects/{run.project_id}/").status_code == 404
    assert them.delete(f"/api/v1/allowlist/{entry}/").status_code == 404
    assert them.get(f"/api/v1/runs/?project={run.project_id}").status_code == 404


def test_a_viewer_looks_but_does_not_act(run, as_person, viewer):
    client = as_person(viewer)

    assert client.get(f"/api/v1/runs/{run.id}/").status_code == 200
    assert tapped(client, run, "terminate").status_code == 403
    assert _patch(client, f"runs/{run.id}/", {"mode": "warn"}).status_code == 403
    assert _patch(client, f"projects/{run.project_id}/", {"mode": "warn"}).status_code == 403


def test_an_operator_taps_but_does_not_change_the_project(run, as_person, operator):
    client = as_person(operator)

    assert tapped(client, run).status_code == 201
    assert _patch(client, f"projects/{run.project_id}/", {"mode": "warn"}).status_code == 403


def test_an_owner_changes_the_projects_rules_and_the_chain_says_so(project, as_person, owner):
    client = as_person(owner)

    response = _patch(client, f"projects/{project.id}/", {"mode": "auto", "hold_limit": 60})

    assert (response.json()["mode"], response.json()["hold_limit"]) == ("auto", 60)
    changed = client.get("/api/v1/audit/?type=policy.changed").json()["results"]
    assert {row["payload"]["what"] for row in changed} == {"mode", "hold_limit"}


@pytest.mark.parametrize("name", ["hold_limit", "keep_words_days"])
@pytest.mark.parametrize("given", [True, "7"])
def test_a_value_that_is_no_whole_number_is_refused(project, as_person, owner, name, given):
    response = _patch(as_person(owner), f"projects/{project.id}/", {name: given})

    assert (response.status_code, response.json()["field"]) == (400, name)


def test_a_policy_that_cannot_be_obeyed_is_refused_with_the_field(project, as_person, owner):
    response = _patch(
        as_person(owner), f"projects/{project.id}/", {"policy": {"repeat": {"calls": 0}}}
    )

    assert response.status_code == 400
    assert "repeat.calls" in response.json()["detail"]


def test_nobody_reads_without_signing_in(client, run):
    for path in ["runs/", f"runs/{run.id}/", "decisions/", "me/", "audit/", "projects/"]:
        response = client.get(f"/api/v1/{path}")
        assert (response.status_code, response.json()["code"]) == (401, "not_signed_in")


def test_an_agent_key_reads_no_lists(as_agent, run):
    for path in ["runs/", "decisions/", "audit/", f"runs/{run.id}/turns/"]:
        assert as_agent.get(f"/api/v1/{path}").status_code == 403


def test_an_agent_reads_its_own_projects_runs_only(as_agent, run):
    foreign = a_run(a_project("foreign"))

    assert as_agent.get(f"/api/v1/runs/{run.id}/").status_code == 200
    assert as_agent.get(f"/api/v1/runs/{foreign.id}/").status_code == 404


def test_a_write_by_session_needs_the_csrf_token(run, owner):
    from rest_framework.test import APIClient

    client = APIClient(enforce_csrf_checks=True)
    client.force_login(owner)

    answer = tapped(client, run)

    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    needed = "needs the value of its cookie mc_csrf (or csrftoken) in the header X-CSRFToken."
    assert answer.json()["detail"].endswith(needed)


def test_endless_nesting_is_refused_from_a_session_too(owner):
    from rest_framework.test import APIClient

    client = APIClient(enforce_csrf_checks=True)
    client.force_login(owner)
    token = "a" * 32
    client.cookies["mc_csrf"] = token
    sent = {"data": "[" * 100_000, "content_type": "application/json"}

    answer = client.post("/api/v1/allowlist/", **sent, headers={"X-CSRFToken": token})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_a_personal_token_acts_without_a_session(run, owner):
    from rest_framework.test import APIClient

    secret = accounts.mint_personal_token(user=owner, name="cli", at=NOON).secret
    client = APIClient(enforce_csrf_checks=True)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")

    assert tapped(client, run).status_code == 201


def test_a_card_says_what_can_be_tapped_and_what_repeated(run, as_person, owner):
    (card,) = as_person(owner).get("/api/v1/decisions/?status=open").json()["results"]

    assert set(card["actions"]) == {"inject", "continue", "allowlist", "terminate"}
    assert card["evidence"]["turns"] == [0, 1, 2]
    assert card["run"] == str(run.id)
    assert card["verdict"]["loop"] is True


def test_what_an_agent_cannot_do_is_named_with_its_reason(project, as_person, owner):
    a_stuck_run(project, capabilities={"terminate": False}, agent="codex")

    (card,) = as_person(owner).get("/api/v1/decisions/?status=open").json()["results"]

    assert "terminate" not in card["actions"]
    assert card["unavailable"] == {"terminate": "codex cannot be ended from here."}


def test_a_stale_tap_is_a_409_with_the_run_and_the_card(run, as_person, owner):
    client = as_person(owner)
    tapped(client, run)

    response = tapped(client, run, "terminate")

    assert response.status_code == 409
    assert response.json()["code"] == "stale_run"
    assert response.json()["run"]["version"] == run.version + 1
    assert response.json()["decision"]["resolution"] == "continue"


def test_a_repeated_tap_answers_200_with_the_first_answer(run, as_person, owner):
    client = as_person(owner)

    first = tapped(client, run, key="once")
    again = tapped(client, run, key="once")

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]


def test_a_key_with_another_body_is_a_422(run, as_person, owner):
    client = as_person(owner)
    tapped(client, run, key="once")

    response = tapped(client, run, "terminate", key="once")

    assert (response.status_code, response.json()["code"]) == (422, "key_reused")


def test_a_body_with_a_wrong_field_says_which(run, as_person, owner):
    response = tapped(as_person(owner), run, "explode")

    assert response.status_code == 400
    assert "action" in response.json()["detail"]


@pytest.mark.parametrize(
    ("method", "address", "body", "field", "words"),
    [
        ("post", "backtest/", {"policy": {}, "runs": "all"}, "runs", "should be a list"),
        ("post", "projects/", {"name": []}, "name", "should be a valid string"),
        ("patch", "projects/{project}/", {"budgets": 5}, "budgets", "should be an object"),
        ("patch", "projects/{project}/", {"policy": []}, "policy", "should be an object"),
        ("patch", "instance/budget/", {"day_usd": []}, "day_usd", "should be a number"),
        ("patch", "projects/{project}/", {"hold_limit": 0}, "hold_limit", "1 to 86400 seconds"),
        ("get", "decisions/?status=opened", None, "status", "judging, open, resolved, expired"),
        ("get", "runs/?status=held,paused", None, "status", "got 'paused'"),
        ("get", "deliveries/?status=lost", None, "status", "waiting, sent, failed"),
        ("get", "runs/{run}/turns/?after_seq=x", None, "after_seq", "a whole number"),
    ],
)
def test_errors_are_worded_in_json_terms(
    method, address, body, field, words, run, as_person, owner
):
    address = f"/api/v1/{address.format(project=run.project_id, run=run.id)}"
    data = {"data": body, "content_type": "application/json"} if body else {}

    response = getattr(as_person(owner), method)(address, **data)

    assert (response.status_code, response.json()["field"]) == (400, field)
    assert words in response.json()["detail"]


def test_lists_link_to_their_next_page(project, as_person, owner):
    for number in range(3):
        a_run(project, name=f"run {number}")
    client = as_person(owner)

    first = client.get("/api/v1/runs/?limit=2").json()
    rest = client.get(first["next"]).json()

    assert [row["name"] for row in first["results"] + rest["results"]] == [
        "run 2",
        "run 1",
        "run 0",
    ]
    assert rest["next"] is None


def test_history_is_filtered_by_status_agent_text_and_time(project, as_person, owner):
    a_run(project, name="alpha", agent="codex")
    stuck = a_stuck_run(project, name="beta", agent="coder")
    client = as_person(owner)

    def found(query):
        return {row["name"] for row in client.get(f"/api/v1/runs/?{query}").json()["results"]}

    assert found("status=holding") == {stuck.name}
    assert found("agent=codex") == {"alpha"}
    assert found("q=ALPH") == {"alpha"}
    assert found("since=2030-01-01T00:00:00Z") == set()


def test_a_timeline_is_paged_forwards_and_backwards(project, as_person, owner):
    run = report(a_run(project), *[a_call(f"cat {n}") for n in range(5)])
    client, path = as_person(owner), f"/api/v1/runs/{run.id}/turns/"

    def seqs(query):
        return [row["seq"] for row in client.get(f"{path}?{query}").json()["results"]]

    assert seqs("limit=2") == [0, 1]
    assert seqs("after_seq=1&limit=2") == [2, 3]
    assert seqs("before_seq=4&limit=2") == [2, 3]


def test_the_audit_log_is_exported_as_json_lines(run, as_person, owner):
    response = as_person(owner).get(f"/api/v1/audit/export/?run={run.id}")

    rows = [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]
    assert [row["seq"] for row in rows] == list(range(run.meters.event_seq + 1))
    assert as_person(owner).get("/api/v1/audit/verify/").json()["ok"] is True


def test_a_viewer_is_told_that_they_may_not_remove(run, as_person, viewer, owner):
    tapped(as_person(owner), run, "allowlist")
    entry = as_person(viewer).get("/api/v1/allowlist/").json()["results"][0]["id"]

    answer = as_person(viewer).delete(f"/api/v1/allowlist/{entry}/")

    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_an_allowlist_entry_is_added_and_removed_by_hand(project, as_person, owner):
    client = as_person(owner)
    body = {"pattern": 'Bash {"command":"sleep*"}', "match": "glob", "reason": "polling"}

    entry = client.post("/api/v1/allowlist/", body, format="json")
    removed = client.delete(f"/api/v1/allowlist/{entry.json()['id']}/")

    assert (entry.status_code, removed.status_code) == (201, 204)
    assert client.get("/api/v1/allowlist/").json()["results"] == []


def test_me_shows_projects_and_roles(project, as_person, viewer):
    me = as_person(viewer).get("/api/v1/me/").json()

    assert me["user"]["name"] == "vic"
    assert [(row["name"], row["role"]) for row in me["projects"]] == [("payments", "viewer")]


def test_an_agent_may_not_choose_its_mode_where_the_project_forbids_it(project, as_agent):
    project.agents_choose = False
    project.save()

    response = as_agent.post("/api/v1/runs/", {"name": "x", "mode": "warn"}, format="json")

    assert (response.status_code, response.json()["code"]) == (403, "forbidden")


def _owner_of(run):
    from missioncontrol.accounts.models import Membership
    from tests.build import a_person

    known = Membership.objects.filter(project=run.project, role="owner").first()
    return known.user if known else a_person("own", run.project)


def _patch(client, path, body):
    return client.patch(f"/api/v1/{path}", body, format="json")


@pytest.mark.parametrize("named", ["run", "agent", None])
def test_a_manual_entry_covers_what_it_names(project, as_person, owner, named):
    names = {"run": str(a_run(project).id), "agent": "coder"}
    fields = {named: names[named]} if named else {}

    entry = as_person(owner).post(
        "/api/v1/allowlist/", {"pattern": "Bash ls"} | fields, format="json"
    )

    assert entry.json()["scope"] == (named or "project")


@pytest.mark.parametrize("scope", ["run", "agent"])
def test_a_manual_entry_names_its_run_or_agent(as_person, owner, scope):
    client = as_person(owner)

    refused = client.post(
        "/api/v1/allowlist/", {"pattern": "Bash ls", "scope": scope}, format="json"
    )

    assert (refused.status_code, refused.json()["field"]) == (400, scope)
    assert client.get("/api/v1/allowlist/").json()["results"] == []


def test_an_entry_that_has_already_expired_is_refused(as_person, owner):
    client = as_person(owner)
    ends = {"expires_at": NOON.isoformat()}

    refused = client.post("/api/v1/allowlist/", {"pattern": "Bash ls"} | ends, format="json")

    assert (refused.status_code, refused.json()["field"]) == (400, "expires_at")
    assert client.get("/api/v1/allowlist/").json()["results"] == []
