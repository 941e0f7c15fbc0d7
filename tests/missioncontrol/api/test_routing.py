"""Operations as functions: who may ask, and what a signature may say."""

from __future__ import annotations

import pytest

from missioncontrol.api.routing import Router

pytestmark = pytest.mark.django_db


def test_each_method_of_an_address_has_its_own_permissions(as_agent, as_person, owner):
    assert as_agent.get("/api/v1/runs/").status_code == 403
    assert as_agent.head("/api/v1/runs/").status_code == 403
    assert as_person(owner).head("/api/v1/runs/").status_code == 200
    assert as_person(owner).post("/api/v1/runs/", {"name": "r"}, format="json").status_code == 403


def test_a_405_is_shown_only_to_permitted_callers(as_agent, as_person, owner, client):
    assert as_person(owner).put("/api/v1/channels/").status_code == 405
    assert as_agent.put("/api/v1/channels/").status_code == 403
    assert client.put("/api/v1/channels/").status_code == 401


def test_a_caller_without_permission_is_refused_before_the_body_is_read(as_person, viewer, project):
    answer = as_person(viewer).post(
        f"/api/v1/projects/{project.id}/prices/", {"no": "price"}, format="json"
    )

    assert answer.status_code == 403


def test_a_parameter_with_an_unsupported_type_fails_at_registration():
    with pytest.raises(KeyError):

        @Router().get("x/")
        def x(size: bytes) -> None:
            """Take what no address holds."""
