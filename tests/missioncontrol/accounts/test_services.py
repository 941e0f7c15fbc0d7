"""People, projects, keys and one-time links."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from guard.wire import Mode
from missioncontrol.accounts import selectors, services
from missioncontrol.accounts.models import AgentKey, LoginLink, PersonalToken

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 21, 21, 8, tzinfo=UTC)


@pytest.fixture
def you():
    return services.ensure_local_owner()


@pytest.fixture
def project(you):
    return services.create_project(name="api", owner=you, at=NOW)


def test_the_local_owner_is_made_once_and_has_no_password(you):
    again = services.ensure_local_owner()

    assert again.pk == you.pk
    assert not again.has_usable_password()


def test_a_project_begins_with_its_owner_and_in_pause(project, you):
    assert [member.role for member in selectors.memberships_of(you)] == ["owner"]
    assert project.mode == Mode.PAUSE


def test_a_stranger_belongs_to_nothing(project, django_user_model):
    stranger = django_user_model.objects.create(username="stranger")

    assert not selectors.memberships_of(stranger).exists()


def test_memberships_come_oldest_project_first(project, you):
    older = services.create_project(name="older", owner=you, at=NOW - timedelta(days=1))

    assert [m.project_id for m in selectors.memberships_of(you)] == [older.id, project.id]


def test_an_agent_key_is_found_by_its_text_and_stored_as_a_hash(project):
    minted = services.mint_agent_key(project=project, name="ci", at=NOW)

    assert minted.secret.startswith("mc_")
    assert selectors.find_agent_key(minted.secret, at=NOW) == minted.row
    assert minted.secret not in str(list(AgentKey.objects.values()))


def test_a_revoked_agent_key_is_not_found(project):
    minted = services.mint_agent_key(project=project, name="ci", at=NOW)

    assert services.revoke(minted.row, at=NOW)

    assert selectors.find_agent_key(minted.secret, at=NOW) is None
    assert not services.revoke(minted.row, at=NOW)


def test_a_personal_token_is_found_until_it_is_revoked(you):
    minted = services.mint_personal_token(user=you, name="script", at=NOW)
    assert selectors.find_personal_token(minted.secret, at=NOW) == minted.row

    services.revoke(minted.row, at=NOW)

    assert selectors.find_personal_token(minted.secret, at=NOW) is None
    assert minted.secret not in str(list(PersonalToken.objects.values()))


def test_a_token_of_a_person_who_left_is_not_found(you):
    minted = services.mint_personal_token(user=you, name="script", at=NOW)
    you.is_active = False
    you.save(update_fields=["is_active"])

    assert selectors.find_personal_token(minted.secret, at=NOW) is None


def test_a_link_signs_in_once(you):
    link = services.mint_login_link(user=you, at=NOW)
    found = services.find_login_link(secret=link.secret, at=NOW)

    assert found.user == you
    assert [services.redeem_link(found, at=NOW), services.redeem_link(found, at=NOW)] == [
        True,
        False,
    ]
    assert services.find_login_link(secret=link.secret, at=NOW) is None


@pytest.mark.django_db(transaction=True)
def test_of_many_taps_at_once_one_wins():
    link = services.mint_login_link(user=services.ensure_local_owner(), at=NOW)

    def tap(_):
        try:
            return services.redeem_link(link.row, at=NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        winners = sum(pool.map(tap, range(8)))

    assert winners == 1


def test_a_link_is_stored_as_a_hash(you):
    link = services.mint_login_link(user=you, at=NOW)

    assert link.secret not in str(list(LoginLink.objects.values()))


@pytest.mark.parametrize(("minutes", "signs_in"), [(9, True), (10, False)])
def test_a_link_lives_ten_minutes(you, minutes, signs_in):
    link = services.mint_login_link(user=you, at=NOW)

    assert services.redeem_link(link.row, at=NOW + timedelta(minutes=minutes)) is signs_in


def test_a_link_of_a_person_who_left_is_refused(you):
    link = services.mint_login_link(user=you, at=NOW)
    you.is_active = False
    you.save(update_fields=["is_active"])

    assert not services.redeem_link(services.find_login_link(secret=link.secret, at=NOW), at=NOW)


def test_spent_links_do_not_pile_up(you):
    used = services.mint_login_link(user=you, at=NOW)
    services.redeem_link(used.row, at=NOW)

    services.mint_login_link(user=you, at=NOW)

    assert LoginLink.objects.count() == 1
