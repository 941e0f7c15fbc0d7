"""A project's policy through time: each change is a version that stays readable."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from guard.errors import PolicyInvalid
from guard.policy import DETECTOR_NAMES, Policy
from guard.policy.document import parse, sections
from guard.policy.writing import write_toml
from missioncontrol.accounts.models import Project
from missioncontrol.errors import InvalidRequest, NotFound, StalePolicy
from missioncontrol.ids import new_id
from missioncontrol.oversight.models import PolicyVersion
from missioncontrol.wire.policies import (
    PolicyChange,
    PolicyCheck,
    PolicyProblem,
    PolicyRule,
    PolicyVersionRow,
)

LONGEST_TEXT = 100_000


def read_policy(asked: object) -> tuple[dict[str, Any], str]:
    """Read a policy that came as a JSON object or as the text of a file.

    Returns the policy as it is kept, and the text where one was typed.

    Raises:
        PolicyInvalid: names every wrong field, with what was expected.
        InvalidRequest: the text is too long.
    """
    text = asked if isinstance(asked, str) else ""
    if len(text) > LONGEST_TEXT:
        raise InvalidRequest(f"policy: at most {LONGEST_TEXT} characters.", field="policy")
    mapping = parse(text) if isinstance(asked, str) else asked
    if not isinstance(mapping, Mapping):
        raise PolicyInvalid("policy", "a table of fields, or its text", mapping)
    Policy.from_mapping(mapping)
    return dict(mapping), text


def check_policy(asked: object, *, project: Project) -> PolicyCheck:
    """Say what is wrong with a policy, or what it would change."""
    try:
        mapping, text = read_policy(asked)
    except PolicyInvalid as error:
        return PolicyCheck(
            ok=False, problems=problems_of(error), changes=(), policy=None, text=None,
            rules=rules(project.policy, project.policy),
        )  # fmt: skip
    return PolicyCheck(
        ok=True,
        problems=(),
        changes=changes(project.policy, mapping),
        policy=mapping,
        text=text or write_toml(mapping),
        rules=rules(project.policy, mapping),
    )


def rules(today: Mapping[str, Any], draft: Mapping[str, Any]) -> tuple[PolicyRule, ...]:
    """Return every threshold of the draft beside today's, in order of the policy."""
    old, new = _in_force(today), _in_force(draft)
    resting = set(DETECTOR_NAMES) - set(new.get("detectors", ()))
    return tuple(
        PolicyRule(
            section=section, field=field, value=value,
            today=old.get(section, {}).get(field), on=section not in resting,
        )
        for section in sections(Policy)
        for field, value in new.get(section, {}).items()
    )  # fmt: skip


def problems_of(error: PolicyInvalid) -> tuple[PolicyProblem, ...]:
    """Show every wrong field of a policy."""
    return tuple(
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
    if mapping == project.policy and (newest is None or text in {"", newest.text}):
        return False
    PolicyVersion.objects.create(
        id=new_id(), project=project, number=project.policy_version + 1, policy=mapping, text=text,
        changes=[_plain(change) for change in changes(project.policy, mapping)],
        note=note, by=by, at=at,
    )  # fmt: skip
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
    if found is None:
        raise NotFound(f"Version {number} of the policy")
    return found


def version_row(version: PolicyVersion) -> PolicyVersionRow:
    """Show a version."""
    return PolicyVersionRow(
        project=version.project_id,
        number=version.number,
        policy=version.policy,
        text=version.text or write_toml(version.policy),
        changes=tuple(PolicyChange(**change) for change in version.changes),
        note=version.note,
        by=version.by,
        at=version.at,
    )


def _in_force(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """An old version may name what no longer exists: it is then compared as it stands."""
    try:
        return Policy.from_mapping(mapping).as_mapping()
    except PolicyInvalid:
        return dict(mapping)


def _leaves(mapping: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in mapping.items():
        if isinstance(value, Mapping):
            found |= _leaves(value, f"{path}{name}.")
        else:
            found[f"{path}{name}"] = value
    return found


def _plain(change: PolicyChange) -> dict[str, Any]:
    return {"field": change.field, "before": change.before, "after": change.after}
