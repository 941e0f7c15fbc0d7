"""A project's policy by REST: checked, versioned, tried on recorded runs."""

import sys
from uuid import uuid4

import pytest

from guard.policy import parse
from missioncontrol.detection import tasks
from missioncontrol.detection.models import Backtest
from missioncontrol.runs.models import Run
from tests.build import a_call, a_project, a_run, a_stuck_run, report

pytestmark = pytest.mark.django_db

TEXT = "# patient with the test suite\n[repeat]\ncalls = 5\n"
SINCE = "2026-11-01T00:00:00Z"
WORDLLAMA = {"talk": {"embedding": "wordllama"}}


def patch(client, project, **body):
    return client.patch(f"/api/v1/projects/{project.id}/", body, format="json")


def check(client, project, policy):
    path = f"/api/v1/projects/{project.id}/policies/check/"
    return client.post(path, {"policy": policy}, format="json")


def versions(client, project):
    return client.get(f"/api/v1/projects/{project.id}/policies/").json()["results"]


def backtest(client, **body):
    return client.post("/api/v1/backtest/", body, format="json")


def worked_off(client, **body):
    asked = backtest(client, **body)
    tasks.backtest(asked.json()["id"])
    return client.get(f"/api/v1/backtest/{asked.json()['id']}/").json()


@pytest.fixture
def owner_client(as_person, owner):
    return as_person(owner)


def test_a_policy_is_saved_as_a_file_and_read_as_rules(project, owner_client):
    response = patch(owner_client, project, policy=TEXT, policy_note="CI is slow")

    assert response.json()["policy"] == {"repeat": {"calls": 5}}
    assert response.json()["policy_version"] == 1
    (version,) = versions(owner_client, project)
    assert (version["text"], version["note"], version["by"]) == (TEXT, "CI is slow", "ana")
    assert version["changes"] == [{"field": "repeat.calls", "before": 3, "after": 5}]


def test_each_change_is_a_version_and_old_ones_stay_readable(project, owner_client):
    for repeats in (4, 5):
        patch(owner_client, project, policy={"repeat": {"calls": repeats}})

    first = owner_client.get(f"/api/v1/projects/{project.id}/policies/1/").json()

    assert [version["number"] for version in versions(owner_client, project)] == [2, 1]
    assert first["policy"] == {"repeat": {"calls": 4}}
    assert first["text"] == "[repeat]\ncalls = 4\n"
    assert owner_client.get(f"/api/v1/projects/{project.id}/policies/3/").status_code == 404


def test_saving_the_same_policy_again_makes_no_version(project, owner_client):
    for _ in range(2):
        patch(owner_client, project, policy=TEXT)

    assert len(versions(owner_client, project)) == 1


def test_a_policy_made_from_an_older_version_is_not_saved(project, owner_client):
    patch(owner_client, project, policy=TEXT, policy_version=0)

    response = patch(owner_client, project, policy={"detectors": []}, policy_version=0)

    assert (response.status_code, response.json()["code"]) == (409, "stale_policy")
    assert "ana saved v1" in response.json()["detail"]
    assert len(versions(owner_client, project)) == 1


def test_the_journal_names_who_changed_the_policy_to_which_version(project, owner_client):
    patch(owner_client, project, policy=TEXT)

    (row,) = owner_client.get("/api/v1/audit/?type=policy.changed").json()["results"]

    assert (row["by"], row["payload"]["what"]) == ("ana", "policy")
    assert row["payload"]["policy_version"] == 1
    assert row["payload"]["after"] == {"repeat": {"calls": 5}}


def test_every_wrong_field_is_named_with_what_was_expected(project, owner_client):
    wrong = {"repeat": {"calls": 1, "often": 2}, "tool": {"Bash": {"retry": "x"}}}

    response = patch(owner_client, project, policy=wrong)

    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"
    assert [problem["field"] for problem in response.json()["problems"]] == [
        "repeat.often",
        "repeat.calls",
        "tool.Bash.retry",
    ]
    assert response.json()["problems"][1]["expected"] == "a whole number from 2 to 50"
    assert versions(owner_client, project) == []


def test_a_check_keeps_nothing_and_says_what_would_change(project, owner_client):
    answer = check(owner_client, project, TEXT).json()

    assert answer["ok"]
    assert answer["changes"] == [{"field": "repeat.calls", "before": 3, "after": 5}]
    rule = next(
        rule for rule in answer["rules"] if (rule["section"], rule["field"]) == ("repeat", "calls")
    )
    assert (rule["value"], rule["today"], rule["on"]) == (5, 3, True)
    assert versions(owner_client, project) == []


@pytest.mark.parametrize("policy", ["[repeat", "repeats = 3", {"repeat": 3}])
def test_a_check_of_a_wrong_policy_is_an_answer_not_an_error(policy, project, owner_client):
    response = check(owner_client, project, policy)

    assert response.status_code == 200
    assert not response.json()["ok"]
    assert response.json()["problems"]
    assert response.json()["rules"]


def test_text_of_a_check_reads_back_to_the_same_policy(project, owner_client):
    policy = {
        "extends": "watchful",
        "tool": {"mcp__*": {"retry": "poll", "loop_key": ["a.b"]}},
        "task_type": {"deep research": {"repeat": {"rounds": 4}}},
    }

    text = check(owner_client, project, policy).json()["text"]

    assert check(owner_client, project, text).json()["policy"] == policy


def test_a_run_names_the_version_it_runs_under(project, owner_client):
    before = a_run(project)
    patch(owner_client, project, policy={"repeat": {"calls": 4}})
    project.refresh_from_db()
    after, own = a_run(project), a_run(project, policy={"repeat": {"calls": 9}})

    def named(run):
        return owner_client.get(f"/api/v1/runs/{run.id}/").json()["policy_version"]

    assert (named(before), named(after), named(own)) == (0, 1, None)


def test_a_continued_run_follows_the_newer_version(project, owner_client):
    run = a_run(project)
    patch(owner_client, project, policy={"repeat": {"calls": 4}})

    run = report(run, a_call())

    assert run.policy_version == 1
    moved = run.journal.filter(type="run.moved").last()
    assert '"policy_version":1' in moved.payload


def test_a_strangers_project_has_no_policies(project, as_person, stranger):
    client = as_person(stranger)

    for path in ("policies/", "policies/1/"):
        assert client.get(f"/api/v1/projects/{project.id}/{path}").status_code == 404
    assert check(client, project, TEXT).status_code == 404


def test_only_an_owner_saves_and_a_viewer_may_check(project, as_person, operator, viewer):
    assert patch(as_person(operator), project, policy=TEXT).status_code == 403
    assert check(as_person(viewer), project, TEXT).status_code == 200
    assert backtest(as_person(viewer), policy=TEXT, since=SINCE).status_code == 403


def test_an_agent_key_reads_no_policy(project, as_agent):
    assert as_agent.get(f"/api/v1/projects/{project.id}/policies/").status_code == 403
    assert as_agent.get("/api/v1/backtest/").status_code == 403


def test_a_backtest_answers_at_once_and_shows_both_policies_when_it_is_done(project, owner_client):
    stuck = a_stuck_run(project)

    asked = backtest(owner_client, policy={}, since=SINCE)
    shown = worked_off(owner_client, policy={"detectors": []}, since=SINCE)

    assert (asked.status_code, asked.json()["status"], asked.json()["total"]) == (202, "queued", 1)
    assert (shown["status"], shown["done"]) == ("done", 1)
    assert (shown["proposed"]["flagged"], shown["today"]["flagged"]) == (0, 1)
    (row,) = shown["runs"]
    assert (row["run"], row["differs"]) == (str(stuck.id), True)
    assert (row["today"]["alarm_turn"], row["today"]["detector"]) == (2, "repeat")


def test_a_backtest_may_name_its_runs(project, owner_client):
    chosen, _ = a_run(project), a_run(project)

    shown = worked_off(owner_client, policy={}, runs=[str(chosen.id)])

    assert (shown["total"], shown["runs"]) == (1, [])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"policy": {}}, 400),
        ({"policy": {"repeat": {"calls": 0}}, "since": SINCE}, 400),
        ({"since": SINCE}, 400),
        ({"policy": {}, "since": "soon"}, 400),
        ({"policy": {}, "runs": [str(uuid4())]}, 404),
    ],
)
def test_a_backtest_that_cannot_be_run_is_refused(body, status, owner_client, project):
    assert backtest(owner_client, **body).status_code == status
    assert Backtest.objects.count() == 0


def test_anothers_runs_and_backtests_do_not_exist(project, owner_client, as_person, stranger):
    theirs = a_run(a_project("theirs"))
    ours = backtest(owner_client, policy={}, since=SINCE).json()["id"]
    them = as_person(stranger)

    assert backtest(owner_client, policy={}, runs=[str(theirs.id)]).status_code == 404
    assert them.get(f"/api/v1/backtest/{ours}/").status_code == 404
    assert them.get("/api/v1/backtest/").json()["results"] == []
    assert backtest(them, policy={}, since=SINCE, project=str(project.id)).status_code == 404


def test_an_embedding_that_is_not_installed_is_refused_where_it_is_chosen(
    project, owner_client, as_agent, monkeypatch
):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    rules = WORDLLAMA

    saved = patch(owner_client, project, policy=rules)
    opened = as_agent.post("/api/v1/runs/", {"policy": rules}, format="json")
    (problem,) = check(owner_client, project, rules).json()["problems"]

    assert (saved.status_code, opened.status_code) == (400, 400)
    assert "wordllama is not installed" in saved.json()["detail"]
    assert problem["field"] == "talk.embedding"
    assert "wordllama is not installed" in problem["expected"]
    assert versions(owner_client, project) == []


def test_a_policy_from_an_older_sdk_is_translated(project, as_agent):
    opened = as_agent.post(
        "/api/v1/runs/", {"policy": {"exact_repeat": {"repeats": 5}}}, format="json"
    )
    refused = as_agent.post(
        "/api/v1/runs/", {"policy": {"exact_repeat": {"calls": 5}}}, format="json"
    )

    assert opened.status_code == 201, opened.json()
    assert Run.objects.get(pk=opened.json()["id"]).policy == {"repeat": {"calls": 5}}
    assert refused.status_code == 400


def test_a_policy_that_came_as_json_reads_as_toml_whatever_names_are_in_it(project, owner_client):
    rules = {"agent": {"🤖 two": {"repeat": {"calls": 5}}}}

    patch(owner_client, project, policy=rules)

    assert parse(versions(owner_client, project)[0]["text"]) == rules


def test_an_installed_embedding_is_accepted(project, owner_client):
    assert patch(owner_client, project, policy=WORDLLAMA).status_code == 200
