"""No two people share a name, in whatever capitals of whatever script."""

import pytest

from missioncontrol.accounts import people
from missioncontrol.errors import InvalidRequest

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Änne", "änne"),
        ("Olga", "OLGA"),
        ("Ольга", "ольга"),
        ("Weiß", "WEISS"),
        ("\U0001f34e\U0001f34a", "\U0001f34e\u200d\U0001f34a"),
    ],
)
def test_other_capitals_or_joiners_are_no_other_name(one, other):
    person = people.create_person(one)

    assert people.find_person(other) == person
    with pytest.raises(InvalidRequest):
        people.create_person(other)


def test_a_person_may_change_the_capitals_of_their_own_name():
    person = people.create_person("änne")

    people.rename_person(person, "Änne")

    assert people.name_of(person) == "Änne"


def test_a_former_user_name_stays_its_owners():
    person = people.create_person("Änne")
    people.rename_person(person, "Bea")

    with pytest.raises(InvalidRequest):
        people.create_person("änne")
    assert people.find_person("bea") == person
