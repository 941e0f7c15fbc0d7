"""Opening runs."""

import json

import pytest

from guard.redact import MASK
from missioncontrol.errors import Forbidden, NotFound
from missioncontrol.ids import new_id
from missioncontrol.redaction import NO_REDACTION
from missioncontrol.runs.models import JournalRow, Run
from missioncontrol.runs.rows import ceilings_of
from missioncontrol.runs.services import describe_run, set_workspace
from tests.build import NOON, a_project, a_run

pytestmark = pytest.mark.django_db


def test_mode_and_budget_default_to_the_projects():
    run = a_run(a_project(mode="flag", budget={"usd": "5"}))

    assert (run.mode, ceilings_of(run)) == ("flag", {"usd": "5"})


def test_the_journal_says_what_the_agent_chose():
    a_run(mode="auto", budget={"calls": 3})

    opened = json.loads(JournalRow.objects.get(type="run.opened").payload)
    assert opened["chosen_by_agent"] == ["mode", "budget"]


def test_an_agent_may_not_choose_where_the_project_forbids_it():
    with pytest.raises(Forbidden):
        a_run(a_project(agents_choose=False), budget={"calls": 3})


def test_where_agents_may_not_choose_they_may_still_name_the_projects_own_mode():
    project = a_project(agents_choose=False, mode="pause")

    assert a_run(project, mode="pause").mode == "pause"
    with pytest.raises(Forbidden):
        a_run(project, mode="flag")


def test_a_run_that_is_described_later_bears_that_name():
    run = a_run(name="run")

    describe_run(
        run.id, name="Mend the parser", goal="It is slow.", at=NOON, redaction=NO_REDACTION
    )

    run.refresh_from_db()
    assert (run.name, run.goal) == ("Mend the parser", "It is slow.")


def test_a_parent_must_be_a_run_of_the_same_project(project):
    parent = a_run(project)

    child = a_run(project, parent=parent.id)

    assert child.parent_id == parent.id
    assert JournalRow.objects.filter(run=child, type="run.linked").count() == 1
    with pytest.raises(NotFound):
        a_run(a_project("other"), parent=parent.id)
    with pytest.raises(NotFound):
        a_run(project, controller=new_id())


def test_one_key_names_one_run_in_each_project(project):
    first, again = a_run(project, key="k"), a_run(project, key="k", name="another")
    other = a_run(a_project("other"), key="k")

    assert first.pk == again.pk
    assert other.pk != first.pk
    assert Run.objects.count() == 2


def test_nothing_an_agent_says_of_itself_is_kept_with_a_secret():
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    fields = {name: f"{name} {secret}" for name in ("name", "agent", "goal", "task_type")}

    run = a_run(
        **fields, metadata={secret: [secret]}, capabilities={"why": secret}, workspace=(secret,)
    )
    set_workspace(run.id, ["README.md", f"{secret}.txt"], NO_REDACTION)

    run.refresh_from_db()
    assert {name: getattr(run, name) for name in fields} == {
        name: f"{name} {MASK}" for name in fields
    }
    assert (run.metadata, run.capabilities) == ({MASK: [MASK]}, {"why": MASK})
    assert run.workspace == ["README.md", f"{MASK}.txt"]
    assert secret not in JournalRow.objects.get(type="run.opened").payload
