"""What the OpenAPI document tells an author of a client."""

from __future__ import annotations

import json

import pytest

from missioncontrol.up.management.commands.wire_schema import document

pytestmark = pytest.mark.django_db


@pytest.fixture
def openapi():
    return json.loads(document())


@pytest.mark.parametrize(
    ("sent", "needed"), [("Turn", ["role"]), ("Amount", []), ("Usage-Input", [])]
)
def test_a_request_needs_no_field_that_has_a_default(openapi, sent, needed):
    assert openapi["components"]["schemas"][sent].get("required", []) == needed


def test_an_answer_has_every_field(openapi):
    usage = openapi["components"]["schemas"]["Usage-Output"]

    assert set(usage["required"]) == set(usage["properties"])


def test_the_schema_marks_public_operations(openapi):
    exchange = openapi["paths"]["/api/v1/setup-codes/exchange/"]["post"]

    assert exchange["security"] == []
