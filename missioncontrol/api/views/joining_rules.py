"""Whom the identity provider's word lets into a project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from rest_framework.request import Request
from rest_framework.views import APIView

from missioncontrol.accounts.models import JoiningBy, JoiningRule, Role
from missioncontrol.api import auth
from missioncontrol.api.rest import Page, page_of, read_body
from missioncontrol.api.schema import described
from missioncontrol.clock import now
from missioncontrol.errors import NotFound
from missioncontrol.projects import signing_in
from missioncontrol.wire.account import JoiningRuleRow

OWNERS_ONLY = "Only an owner decides who belongs to a project."


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJoiningRule:
    """Who is to be let in: a domain of verified e-mail addresses, or a group; never as owner."""

    by: JoiningBy
    value: str
    role: Role = Role.VIEWER


class JoiningRules(APIView):
    @described("joining_rules_list")
    def get(self, request: Request, project_id: UUID) -> Page[JoiningRuleRow]:
        """List whom the identity provider's word lets in; owners only."""
        auth.check_owns(request, project_id, OWNERS_ONLY, even_archived=True)
        found = JoiningRule.objects.filter(project_id=project_id).order_by("id")
        return page_of(request, found, _row)

    @described("joining_rules_add", takes=NewJoiningRule, status=201)
    def post(self, request: Request, project_id: UUID) -> JoiningRuleRow:
        """Let in who signs in there and fulfils a rule; owners only."""
        # Such a rule outlives whoever made it: it takes a person, and a fresh proof.
        auth.check_by_hand(request)
        auth.check_owns(request, project_id, OWNERS_ONLY)
        auth.check_recent(request)
        # Such a rule would let nobody in, and look as if it did.
        if settings.OIDC is None:
            raise NotFound("An identity provider")
        asked = read_body(request, NewJoiningRule)
        rule = signing_in.add_rule(
            project_id,
            by=asked.by,
            value=asked.value,
            role=asked.role,
            owner=auth.person_of(request),
            at=now(),
        )
        return _row(rule)


class OneJoiningRule(APIView):
    @described("joining_rules_remove")
    def delete(self, request: Request, project_id: UUID, rule_id: UUID) -> None:
        """Let nobody more in by a rule; owners only. Who came by it stays."""
        auth.check_owns(request, project_id, OWNERS_ONLY, even_archived=True)
        auth.check_recent(request)
        signing_in.remove_rule(project_id, rule_id, by=auth.name_of(request), at=now())


def _row(rule: JoiningRule) -> JoiningRuleRow:
    return JoiningRuleRow(
        id=rule.id,
        project=rule.project_id,
        by=cast(Any, rule.by),
        value=rule.value,
        role=cast(Any, rule.role),
        created_at=rule.created_at,
        created_by=rule.created_by,
    )
