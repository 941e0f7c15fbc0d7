"""Upgrades: what a new version may do to the tables of an installation."""

import io

import pytest
from django.core.management import call_command


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "migration",
    [
        ("costs", "0001"),
        ("decisions", "0001"),
        ("detection", "0001"),
        ("reports", "0001"),
        ("oversight", "0012"),
    ],
)
def test_models_change_rooms_without_a_statement_to_the_database(migration):
    said = io.StringIO()

    call_command("sqlmigrate", *migration, stdout=said)

    statements = [line for line in said.getvalue().splitlines() if not line.startswith("--")]
    assert [line for line in statements if line not in {"BEGIN;", "COMMIT;"}] == []
