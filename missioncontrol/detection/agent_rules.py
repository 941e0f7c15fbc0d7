"""The rules of a run, for the agent to follow while it cannot ask us."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from guard.budget import Budget
from guard.errors import PolicyInvalid
from guard.policy import DEFAULT_POLICY, Policy
from guard.wire import Mode
from missioncontrol.decisions import allowlist
from missioncontrol.detection.engine_cache import policy_of
from missioncontrol.errors import existing
from missioncontrol.runs.models import Run
from missioncontrol.wire.decisions import AllowedCall
from missioncontrol.wire.policies import RunRules
from missioncontrol.wire.rows import row_of


def rules_for(run_id: UUID, *, project: UUID, at: datetime) -> RunRules:
    """Return what a run follows now, and what another run of its project would.

    Raises:
        NotFound: no such run in the agent's project.
    """
    found = Run.objects.select_related("project").filter(pk=run_id, project_id=project)
    run = existing(found.first(), "The run")
    try:
        # The project's too: they hold for the next run, which may be opened while we are away.
        of_project = Policy.from_mapping(run.project.policy)
        if run.project.budget:
            of_project = replace(of_project, budget=Budget.from_mapping(run.project.budget))
    except PolicyInvalid:  # an older release kept it, and it names what is gone
        of_project = DEFAULT_POLICY
    return RunRules(
        run=run.id,
        policy_version=run.policy_version,
        policy=policy_of(run).as_mapping(),
        mode=Mode(run.mode),
        project_policy=of_project.as_mapping(),
        project_mode=Mode(run.project.mode),
        unanswered=cast(Any, run.project.unanswered),
        hold_limit=run.project.hold_limit,
        allowlist=tuple(row_of(AllowedCall, one) for one in allowlist.in_force(run, at=at)),
    )
