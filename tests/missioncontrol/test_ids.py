"""Identifiers carry their time."""

from datetime import timedelta
from uuid import UUID

from missioncontrol.ids import earlier_id, new_id


def test_an_earlier_id_sorts_before_what_was_made_since():
    first = new_id()
    later = new_id()

    assert earlier_id(later, by=timedelta(seconds=10)) < first < later
    assert earlier_id(later, by=timedelta(0)) == later


def test_no_id_is_earlier_than_zero():
    assert earlier_id(UUID(int=1), by=timedelta(days=1)) == UUID(int=0)
