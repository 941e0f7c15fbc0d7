"""A person demoted while their request waited for a lock changes nothing."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from missioncontrol.accounts.models import AgentKey, Membership
from missioncontrol.api import auth
from missioncontrol.api.views.access import key_owner_projects
from missioncontrol.decisions import interventions
from missioncontrol.errors import Forbidden, NotFound
from missioncontrol.projects import access
from missioncontrol.runs import journal
from tests.build import NOON, a_run

pytestmark = pytest.mark.django_db


def client_of(person):
    return SimpleNamespace(user=person, auth=None)


def demote(project, person, role="viewer"):
    Membership.objects.filter(project=project, user=person).update(role=role)


@pytest.fixture
def demoted_at_the_lock(project, owner, monkeypatch):
    """The other owner's deed was first at the project's row."""
    real = journal.with_priority

    @contextmanager
    def waiting(ahead):
        demote(project, owner)
        with real(ahead):
            yield

    monkeypatch.setattr(journal, "with_priority", waiting)


def test_a_tap_is_refused(project, operator):
    run, may = a_run(project), auth.writable_projects(client_of(operator))
    tap = interventions.Tap(key="k", action="pause")
    demote(project, operator)

    with pytest.raises(Forbidden):
        interventions.intervene(run.id, tap, projects=may, by="olu", at=NOON)

    run.refresh_from_db()
    assert run.status == "running"


def test_a_mode_change_is_refused(project, operator):
    run, may = a_run(project), auth.writable_projects(client_of(operator))
    demote(project, operator)

    with pytest.raises(Forbidden):
        interventions.set_mode(run.id, "warn", projects=may, by="olu", at=NOON)


@pytest.mark.parametrize("change", [access.revoke_agent_key, access.rotate_agent_key])
def test_revoking_or_rotating_a_key_is_refused(project, owner, change):
    key = access.make_agent_key(project.id, access.NewAgentKey(name="k"), by="ana", at=NOON).row
    may = key_owner_projects(client_of(owner))
    demote(project, owner, "operator")
    more = {"overlap": access.DEFAULT_OVERLAP} if change is access.rotate_agent_key else {}

    with pytest.raises(Forbidden):
        change(key.id, projects=may, by="ana", at=NOON, **more)

    assert AgentKey.objects.get().revoked_at is None


def test_a_strangers_key_is_not_found(project, stranger):
    key = access.make_agent_key(project.id, access.NewAgentKey(name="k"), by="ana", at=NOON).row

    with pytest.raises(NotFound, match="The key"):
        access.revoke_agent_key(
            key.id, projects=key_owner_projects(client_of(stranger)), by="s", at=NOON
        )


def test_making_a_key_is_refused(project, owner, as_person, demoted_at_the_lock):
    made = as_person(owner).post(
        f"/api/v1/projects/{project.id}/keys/", {"name": "k"}, format="json"
    )

    assert (made.status_code, AgentKey.objects.count()) == (403, 0)


def test_changing_a_rule_is_refused(project, owner, as_person, demoted_at_the_lock):
    response = as_person(owner).patch(
        f"/api/v1/projects/{project.id}/", {"mode": "warn"}, format="json"
    )

    project.refresh_from_db()
    assert (response.status_code, project.mode) == (403, "pause")
