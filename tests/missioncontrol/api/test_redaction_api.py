"""A project's own rules mask whatever arrives, and can be previewed on its own turns."""

import re
from dataclasses import replace

import pytest

from guard.adapters.hook import HookEvent
from guard.reading.normalize import call_text
from missioncontrol.api import hooks, keys
from missioncontrol.api.otlp.storing import MAX_STORED_CHARS, stored_attributes
from missioncontrol.decisions import allowlist
from missioncontrol.decisions.allowlist import NewAllowlistEntry
from missioncontrol.runs.models import JournalRow, Run, Turn
from tests.build import NOON, a_call, a_project, a_proposal, a_run, after, put

pytestmark = pytest.mark.django_db
CUSTOMER = "K-123456"
MARK = re.compile(r"\[masked [a-p]{6}\]")


def with_rules(project, *rules):
    project.redact_rules = list(rules or ["K-######"])
    project.save(update_fields=["redact_rules"])
    keys.forget_all()
    return project


def change(client, project, rules):
    body = {"redact_rules": rules}
    return client.patch(f"/api/v1/projects/{project.id}/", body, format="json")


def look(client, project, *rules):
    address = f"/api/v1/projects/{project.id}/redaction/preview/"
    return client.post(address, {"rules": rules}, format="json")


def test_an_owner_sets_rules_and_the_audit_log_says_so(project, as_person, owner):
    answer = change(as_person(owner), project, ["K-######", "K-######", " "])

    assert answer.json()["redact_rules"] == ["K-######"]
    payload = JournalRow.objects.get(project=project, type="policy.changed").payload
    assert '"what":"redact_rules"' in payload


def test_an_invalid_rule_changes_nothing(project, as_person, owner):
    answer = change(as_person(owner), project, ["K-######", "a*b*"])

    assert (answer.status_code, answer.json()["field"]) == (400, "redact_rules")
    project.refresh_from_db()
    assert project.redact_rules == []


def test_only_an_owner_previews_rules(project, as_person, operator, stranger):
    assert look(as_person(operator), project, "K-######").status_code == 403
    assert look(as_person(stranger), project, "K-######").status_code == 404


def test_a_preview_shows_the_places_of_recorded_turns(project, as_person, owner, monkeypatch):
    monkeypatch.setattr("missioncontrol.api.views.projects.now", lambda: after(60))
    run = a_run(project)
    put(run, a_call(f"grep {CUSTOMER} log"), a_call("ls"))
    put(a_run(a_project("other")), a_call(f"grep {CUSTOMER} log"))

    body = look(as_person(owner), project, "K-######", "Muster*").json()

    assert (body["looked_at"], body["turns"], body["runs"], body["is_whole"]) == (2, 1, 1, True)
    assert [(one["rule"], one["times"]) for one in body["rules"]] == [
        ("K-######", 1),
        ("Muster*", 0),
    ]
    [place] = body["places"]
    assert (place["before"], place["masked"], place["after"]) == ("grep ", CUSTOMER, " log")
    assert CUSTOMER in Turn.objects.get(run=run, seq=0).args["command"]


def test_turns_and_the_runs_own_words_are_masked_before_they_are_stored(project, as_agent):
    with_rules(project)
    opened = as_agent.post(
        "/api/v1/runs/",
        {"name": f"for {CUSTOMER}", "goal": f"help {CUSTOMER}", "metadata": {"of": CUSTOMER}},
        format="json",
    )

    run = Run.objects.get(pk=opened.json()["id"])
    mark = project.redaction.mask_text(CUSTOMER)
    assert MARK.fullmatch(mark)
    assert (run.name, run.goal) == (f"for {mark}", f"help {mark}")
    assert run.metadata == {"of": mark}


def test_a_call_that_was_allowed_under_its_mask_is_permitted_and_another_is_not(project):
    run, own = a_run(with_rules(project), agent="claude-code"), project.redaction
    allowed = call_text(
        replace(a_proposal(f"refund {CUSTOMER}"), args=own.mask_json(args_of(CUSTOMER)))
    )
    allowlist.add_entry(project.id, NewAllowlistEntry(pattern=allowed), by="ana", at=NOON)

    def grant(customer):
        asks = replace(a_proposal(), args=args_of(customer))
        event = HookEvent(client="claude-code", name="Ask", session="s", permission_call=asks)
        return hooks._with_allowlist_grant(event, run, own).permission_grant

    assert grant(CUSTOMER) == "session"
    assert grant("K-654321") is None


def args_of(customer):
    return {"command": f"refund {customer}"}


def test_stored_telemetry_is_masked_before_it_is_shortened(project):
    own = with_rules(project).redaction

    text = stored_attributes({"acme.note": "x" * (MAX_STORED_CHARS - 5) + " " + CUSTOMER}, own)[
        "acme.note"
    ]

    assert len(text) == MAX_STORED_CHARS
    assert "K-1" not in text
