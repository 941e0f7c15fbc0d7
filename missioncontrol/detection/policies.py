"""A project's policy through time: each change is a version that stays readable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet

from guard.budget import Budget
from guard.contrib.embedding import check_installed
from guard.detectors.score import evidence_limit, stuck_score
from guard.errors import PolicyInvalid
from guard.policy import DEFAULT_POLICY, DETECTOR_NAMES, RULES, Policy, base_name, parse
from guard.wire import Mode
from missioncontrol.accounts.models import Project
from missioncontrol.decisions import allowlist
from missioncontrol.detection.engine_cache import policy_of
from missioncontrol.detection.models import PolicyVersion
from missioncontrol.detection.renamed import write_toml
from missioncontrol.errors import InvalidRequest, StalePolicy, existing
from missioncontrol.ids import new_id
from missioncontrol.runs.models import Run
from missioncontrol.wire.decisions import AllowedCall
from missioncontrol.wire.policies import (
    PolicyChange,
    PolicyCheck,
    PolicyLine,
    PolicyProblem,
    PolicyRule,
    PolicyVersionRow,
    RunRules,
)
from missioncontrol.wire.rows import row_of

LONGEST_TEXT = 100_000


def read_policy(asked: object) -> tuple[dict[str, Any], str]:
    """Read a policy that came as a JSON object or as the text of a file.

    Returns the policy as it is kept, and the text where one was typed.

    Raises:
        PolicyInvalid: names every wrong field, with what was expected.
        InvalidRequest: the text is too long.
    """
    # The text is kept beside what it means: comments and order are their author's.
    text = asked if isinstance(asked, str) else ""
    if len(text) > LONGEST_TEXT:
        raise InvalidRequest(f"policy: at most {LONGEST_TEXT} characters.", field="policy")
    mapping = parse(text) if isinstance(asked, str) else asked
    if not isinstance(mapping, Mapping):
        raise PolicyInvalid("policy", "a table of fields, or its text", mapping)
    # For its faults alone: what is kept is what was asked, so that later defaults apply.
    Policy.from_mapping(mapping)
    # Here, not when it judges: who saves a policy is there to read what it lacks.
    check_installed(mapping)
    return dict(mapping), text


def check_policy(asked: object, *, project: Project) -> PolicyCheck:
    """Say what is wrong with a policy, or what it would change."""
    try:
        mapping, text = read_policy(asked)
    except PolicyInvalid as error:
        return PolicyCheck(
            ok=False,
            problems=problems_of(error),
            changes=(),
            policy=None,
            text=None,
            rules=rules(project.policy, project.policy),
            line=line(project.policy, project.policy),
            from_preset=beyond_preset(project.policy),
        )
    return PolicyCheck(
        ok=True,
        problems=(),
        changes=changes(project.policy, mapping),
        policy=mapping,
        # What was typed, where it was: it may have comments.
        text=text or write_toml(mapping),
        rules=rules(project.policy, mapping),
        line=line(project.policy, mapping),
        from_preset=beyond_preset(mapping),
    )


def rules(today: Mapping[str, Any], draft: Mapping[str, Any]) -> tuple[PolicyRule, ...]:
    """Return every threshold of the draft beside today's, in order of the policy."""
    old, new = _in_force(today), _in_force(draft)
    # A threshold of a detector that is switched off is shown, and marked so.
    resting = set(DETECTOR_NAMES) - set(new.get("detectors", ()))
    fields = [(section, field) for section in RULES for field in new.get(section, {})]
    return tuple(
        PolicyRule(
            section=section,
            field=field,
            value=(new.get(section) or {}).get(field),
            today=(old.get(section) or {}).get(field),
            on=section not in resting,
        )
        for section, field in [*fields, ("budget", "usd")]
    )


def line(today: Mapping[str, Any], draft: Mapping[str, Any]) -> PolicyLine:
    """Say from which stuck score the draft asks, and from which today's policy does."""
    new = _read(draft)
    return PolicyLine(
        sensitivity=new.sensitivity, asks_from=asks_from(new), today=asks_from(_read(today))
    )


def asks_from(policy: Policy) -> float | None:
    """Return the stuck score from which a policy asks; None: it does not ask by the score."""
    # That rule alone asks by the score; the others by what they count.
    if "stall" not in policy.detectors:
        return None
    return round(stuck_score(evidence_limit(policy)), 3)


def beyond_preset(mapping: Mapping[str, Any]) -> tuple[PolicyChange, ...]:
    """Tell what a policy changes of the preset it starts from."""
    start = base_name(mapping)
    return changes({"extends": start} if isinstance(start, str) else {}, mapping)


def problems_of(error: PolicyInvalid) -> tuple[PolicyProblem, ...]:
    """Show every wrong field of a policy."""
    return tuple(
        # Cut: what was got may be megabytes, and comes back to who sent it.
        PolicyProblem(field=one.field, expected=one.expected, got=f"{one.got!r:.80}")
        for one in error.problems
    )


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[PolicyChange, ...]:
    """Tell the fields in which two policies differ, as they are in force."""
    old, new = _leaves(_in_force(before)), _leaves(_in_force(after))
    return tuple(
        PolicyChange(field=field, before=old.get(field), after=new.get(field))
        for field in sorted(old.keys() | new.keys())
        if old.get(field) != new.get(field)
    )


def check_seen(project: Project, seen: int | None) -> None:
    """Refuse a policy that was made from a version which no longer holds.

    Raises:
        StalePolicy: somebody saved another meanwhile.
    """
    # None: a script that means to overwrite, as a file in a repository is put in force.
    if seen is None or seen == project.policy_version:
        return
    newest = versions(project.id).first()
    raise StalePolicy(by=newest.by if newest else "Somebody", number=project.policy_version)


def set_policy(project: Project, asked: object, *, note: str, by: str, at: datetime) -> bool:
    """Make a new version and point the project to it; False: it says the same.

    The caller holds the project's row lock and saves `policy` and `policy_version`.
    """
    mapping, text = read_policy(asked)
    newest = versions(project.id).first()
    # One that came as JSON has no text, and so none that could differ.
    if mapping == project.policy and (newest is None or text in {"", newest.text}):
        return False
    PolicyVersion.objects.create(
        id=new_id(),
        project=project,
        # Under the project's lock, so that no number comes twice.
        number=project.policy_version + 1,
        policy=mapping,
        text=text,
        changes=[
            {"field": change.field, "before": change.before, "after": change.after}
            for change in changes(project.policy, mapping)
        ],
        note=note,
        by=by,
        at=at,
    )
    project.policy, project.policy_version = mapping, project.policy_version + 1
    return True


def versions(project: UUID) -> QuerySet[PolicyVersion]:
    """Find a project's versions, newest first."""
    return PolicyVersion.objects.filter(project_id=project).order_by("-number")


def find_version(project: UUID, number: int) -> PolicyVersion:
    """Return one version.

    Raises:
        NotFound: the project never had it.
    """
    found = versions(project).filter(number=number).first()
    return existing(found, f"Version {number} of the policy")


def version_row(version: PolicyVersion) -> PolicyVersionRow:
    """Show a version."""
    changes = tuple(PolicyChange(**change) for change in version.changes)
    text = version.text or write_toml(version.policy)
    return row_of(PolicyVersionRow, version, text=text, changes=changes)


def _in_force(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """An old version may name what no longer exists: it is then compared as it stands."""
    try:
        return Policy.from_mapping(mapping).as_mapping()
    except PolicyInvalid:
        return dict(mapping)


def _read(mapping: Mapping[str, Any]) -> Policy:
    """Likewise: of what can no longer be read, the default stands in."""
    try:
        return Policy.from_mapping(mapping)
    except PolicyInvalid:
        return DEFAULT_POLICY


def _leaves(mapping: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in mapping.items():
        if isinstance(value, Mapping):
            found |= _leaves(value, f"{path}{name}.")
        else:
            found[f"{path}{name}"] = value
    return found


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
