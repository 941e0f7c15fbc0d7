"""Who is removed, or only looks from now on, hears no more of a project."""

import pytest
from django.contrib.auth.models import User

from missioncontrol.accounts.models import Browser, Membership, Project
from missioncontrol.notify.models import Delivery
from missioncontrol.projects import members
from tests.build import NOON, a_person, a_stuck_run, after
from tests.missioncontrol.notify.build import deliver_due
from tests.missioncontrol.notify.test_web_push import service, subscribed

pytestmark = pytest.mark.django_db
__all__ = ["service", "subscribed"]


@pytest.fixture
def phone(subscribed, owner, project):
    """The owner's phone, in a project that somebody else owns too."""
    a_person("bea", project, "owner")
    mine, device = subscribed()
    device.browser = Browser.objects.create(user=owner, name="Pixel", created_at=NOON, seen_at=NOON)
    device.save(update_fields=["browser"])
    return mine


def kinds(service, mine):
    return [one["type"] for one in service.pushes_to(mine)]


def leave(project, owner, how):
    bea = User.objects.get(username="bea")
    if how == "removed":
        members.remove_member(project.id, owner.pk, by=bea, at=after(1))
    else:
        members.change_role(project.id, owner.pk, "viewer", by=bea, at=after(1))


@pytest.mark.parametrize("how", ["removed", "viewer"])
def test_a_card_that_is_shown_is_taken_away(how, service, phone, project, owner):
    a_stuck_run(project)
    deliver_due()

    leave(project, owner, how)
    deliver_due(at=after(2))

    assert kinds(service, phone) == ["card", "withdrawn"]


@pytest.mark.parametrize("how", ["removed", "viewer"])
def test_a_card_that_is_on_its_way_does_not_go(how, service, phone, project, owner):
    a_stuck_run(project)

    leave(project, owner, how)
    deliver_due(at=after(2))

    assert kinds(service, phone) == []
    assert {one.status for one in Delivery.objects.all()} == {"withdrawn"}


def test_a_card_that_a_worker_holds_is_not_sent(service, phone, project, owner):
    """It was claimed before the deed, and is sent after it."""
    a_stuck_run(project)
    Membership.objects.filter(user=owner).update(role="viewer")

    deliver_due(at=after(2))

    assert kinds(service, phone) == []
    assert Delivery.objects.get().last_error == "its person no longer answers in the project"


def test_an_archived_project_tells_nobody(service, phone, project):
    a_stuck_run(project)
    Project.objects.update(archived_at=NOON)

    deliver_due(at=after(2))

    assert kinds(service, phone) == []
    assert Delivery.objects.get().last_error == "its project is archived"


def test_cards_of_another_project_stay(service, phone, project, owner):
    other = Project.objects.create(name="other", created_at=NOON)
    Membership.objects.create(project=other, user=owner, role="owner")
    a_stuck_run(other)
    deliver_due()

    leave(project, owner, "removed")
    deliver_due(at=after(2))

    assert kinds(service, phone) == ["card"]
