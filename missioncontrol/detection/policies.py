"""The versions of a project's policy: each change makes one, which stays readable."""

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
from missioncontrol.detection.old_policies import write_toml
from missioncontrol.errors import InvalidRequest, StalePolicy, ensure_found
from missioncontrol.runs.models import Run
from missioncontrol.runs.rows import stored_policy
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
from missioncontrol.wire.rows import row_of, to_json

MAX_TEXT = 100_000


def read_policy(asked: object) -> tuple[dict[str, Any], str]:
    """Read a policy that came as a JSON object or as the text of a file.

    Return the policy as it is stored, and its text if it came as text.

    Raises:
        PolicyInvalid: names every wrong field, with what was expected.
        InvalidRequest: the text is too long.
    """
    # The text is stored as well: its comments and order are the author's.
    text = asked if isinstance(asked, str) else ""
    if len(text) > MAX_TEXT:
        raise InvalidRequest(f"policy: at most {MAX_TEXT} characters.", field="policy")
    mapping = parse(text) if isinstance(asked, str) else asked
    if not isinstance(mapping, Mapping):
        raise PolicyInvalid("policy", "a table of fields, or its text", mapping)
    # Only to find faults: the policy is stored as it was given, so that later defaults apply.
    Policy.from_mapping(mapping)
    # Here, not when it judges: the person who saves a policy can read what is missing.
    check_installed(mapping)
    return dict(mapping), text


def check_policy(asked: object, *, project: Project) -> PolicyCheck:
    """Return what is wrong with a policy, or what it would change."""
    problems: tuple[PolicyProblem, ...] = ()
    try:
        mapping, text = read_policy(asked)
    except PolicyInvalid as error:
        problems, mapping, text = problems_of(error), project.policy, ""
    return PolicyCheck(
        ok=not problems,
        problems=problems,
        changes=policy_changes(project.policy, mapping),
        policy=None if problems else mapping,
        # The text as typed, if there is one: it may have comments.
        text=None if problems else text or write_toml(mapping),
        rules=list_rules(project.policy, mapping),
        line=sensitivity_line(project.policy, mapping),
        from_preset=changes_from_preset(mapping),
    )


def list_rules(today: Mapping[str, Any], draft: Mapping[str, Any]) -> tuple[PolicyRule, ...]:
    """Return every threshold of the draft with today's value, in order of the policy."""
    old, new = _with_defaults(today), _with_defaults(draft)
    # A threshold of a detector that is switched off is shown, and marked as off.
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


def sensitivity_line(today: Mapping[str, Any], draft: Mapping[str, Any]) -> PolicyLine:
    """Return from which stuck score the draft asks, and from which today's policy does."""
    new, old = stored_policy(draft) or DEFAULT_POLICY, stored_policy(today) or DEFAULT_POLICY
    return PolicyLine(sensitivity=new.sensitivity, asks_from=asks_from(new), today=asks_from(old))


def asks_from(policy: Policy) -> float | None:
    """Return the stuck score from which a policy asks; None: it does not ask by the score."""
    # Only this rule asks by the score; the others ask by what they count.
    if "stall" not in policy.detectors:
        return None
    return round(stuck_score(evidence_limit(policy)), 3)


def changes_from_preset(mapping: Mapping[str, Any]) -> tuple[PolicyChange, ...]:
    """Return what a policy changes in the preset it starts from."""
    start = base_name(mapping)
    return policy_changes({"extends": start} if isinstance(start, str) else {}, mapping)


def problems_of(error: PolicyInvalid) -> tuple[PolicyProblem, ...]:
    """Return every wrong field of a policy."""
    return tuple(
        # Cut: the value may be megabytes, and is returned to its sender.
        PolicyProblem(field=one.field, expected=one.expected, got=f"{one.got!r:.80}")
        for one in error.problems
    )


def policy_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[PolicyChange, ...]:
    """Return the fields in which two policies differ, with their defaults applied."""
    old, new = _flatten(_with_defaults(before)), _flatten(_with_defaults(after))
    return tuple(
        PolicyChange(field=field, before=old.get(field), after=new.get(field))
        for field in sorted(old.keys() | new.keys())
        if old.get(field) != new.get(field)
    )


def check_current_version(project: Project, seen: int | None) -> None:
    """Refuse a policy that was made from a version that is no longer current.

    Raises:
        StalePolicy: somebody saved another meanwhile.
    """
    # None: a script means to overwrite, for example with a file from a repository.
    if seen is None or seen == project.policy_version:
        return
    newest = list_versions(project.id).first()
    raise StalePolicy(by=newest.by if newest else "Somebody", number=project.policy_version)


def set_policy(project: Project, asked: object, *, note: str, by: str, at: datetime) -> bool:
    """Create a new version and point the project to it; False: it is the same as the last.

    The caller holds the project's row lock and saves `policy` and `policy_version`.
    """
    mapping, text = read_policy(asked)
    newest = list_versions(project.id).first()
    # A policy that came as JSON has no text that could differ.
    if mapping == project.policy and (newest is None or text in {"", newest.text}):
        return False
    PolicyVersion.objects.create(
        project=project,
        # Under the project's lock, so that no number is used twice.
        number=project.policy_version + 1,
        policy=mapping,
        text=text,
        changes=[to_json(change) for change in policy_changes(project.policy, mapping)],
        note=note,
        by=by,
        at=at,
    )
    project.policy, project.policy_version = mapping, project.policy_version + 1
    return True


def list_versions(project: UUID) -> QuerySet[PolicyVersion]:
    """Return a project's versions, newest first."""
    return PolicyVersion.objects.filter(project_id=project).order_by("-number")


def find_version(project: UUID, number: int) -> PolicyVersion:
    """Return one version.

    Raises:
        NotFound: the project never had it.
    """
    found = list_versions(project).filter(number=number).first()
    return ensure_found(found, f"Version {number} of the policy")


def version_row(version: PolicyVersion) -> PolicyVersionRow:
    """Return a version as its wire row."""
    changes = tuple(PolicyChange(**change) for change in version.changes)
    text = version.text or write_toml(version.policy)
    return row_of(PolicyVersionRow, version, text=text, changes=changes)


def _with_defaults(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy with its defaults; as it is, if it names what no longer exists."""
    policy = stored_policy(mapping)
    return policy.as_mapping() if policy else dict(mapping)


def _flatten(mapping: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in mapping.items():
        if isinstance(value, Mapping):
            found |= _flatten(value, f"{path}{name}.")
        else:
            found[f"{path}{name}"] = value
    return found


def rules_of_run(run_id: UUID, *, project: UUID, at: datetime) -> RunRules:
    """Return the rules that a run follows now, and those of a new run in its project.

    Raises:
        NotFound: no such run in the agent's project.
    """
    found = Run.objects.select_related("project").filter(pk=run_id, project_id=project)
    run = ensure_found(found.first(), "The run")
    try:
        # The project's too: they apply to the next run, which may open while we are away.
        of_project = Policy.from_mapping(run.project.policy)
        if run.project.budget:
            of_project = replace(of_project, budget=Budget.from_mapping(run.project.budget))
    except PolicyInvalid:  # stored by an older release, it names what no longer exists
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
        allowlist=tuple(row_of(AllowedCall, one) for one in allowlist.active_entries(run, at=at)),
    )
