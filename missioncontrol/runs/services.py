"""Open runs and describe them. State changes take the run's row lock through the journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from pydantic import Field

from guard.adapters.capabilities import Capabilities, EndBy
from guard.wire import Mode
from missioncontrol import outbound
from missioncontrol.accounts.models import Project, Reach
from missioncontrol.accounts.selectors import KeyHolder, live_keys
from missioncontrol.compiled_queries import CompiledQuery
from missioncontrol.errors import Forbidden, InvalidRequest, TooManyOpenRuns, ensure_found
from missioncontrol.redaction import NO_REDACTION, Redaction
from missioncontrol.runs import journal, lineage, rows
from missioncontrol.runs.journal import RunTransaction
from missioncontrol.runs.lifecycle import ENDED, Move, Source, Status
from missioncontrol.runs.lineage import Relation
from missioncontrol.runs.models import RECORDED, Hold, Run, RunMeters
from missioncontrol.runs.sanitizing import masked_json, masked_name, masked_text
from missioncontrol.wire.events import RunLinked, RunOpened

# File names that the judge can look through; a repository may have hundreds of thousands.
WORKSPACE_LIMIT = 2000


def no_capabilities(why: str) -> dict[str, Any]:
    """Return the capabilities of an agent to which nothing can be done, with the reason."""
    controls = ("hold", "inject", "terminate")
    reach = Capabilities(
        hold=False, inject=(), terminate=EndBy.NOT, why=dict.fromkeys(controls, why)
    )
    return reach.as_mapping()


REPORTING_CAPABILITIES = no_capabilities("Its agent key only reports.")

Controller = Annotated[
    UUID | Annotated[str, Field(max_length=500)], Field(union_mode="left_to_right")
]


@dataclass(frozen=True, slots=True, kw_only=True)
# The columns' bounds: a value too long is refused here, by name, and not by the database.
class OpenRun:
    """An agent's description of the run it opens."""

    name: str = "run"
    key: Annotated[str, Field(max_length=200)] | None = None
    agent: Annotated[str, Field(max_length=100)] = ""
    mode: Mode | None = None
    goal: str = ""
    workspace: tuple[str, ...] = ()
    task_type: Annotated[str, Field(max_length=100)] = ""
    policy: dict[str, Any] | None = None
    budget: dict[str, Any] = field(default_factory=dict)
    parent: UUID | None = None
    parent_key: Annotated[str, Field(max_length=200)] | None = None
    """The parent's key, or its id; a parent that is not known yet is linked later."""
    relation: Relation = "child"
    controller: Controller | None = None
    """A run of the project, or an https address, that is told of warnings and of the end."""
    capabilities: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)


def open_run(
    project: Project,
    request: OpenRun,
    *,
    by: str,
    at: datetime,
    source: Source = Source.AGENT,
    opener: KeyHolder | None = None,
) -> tuple[Run, bool]:
    """Open a run, or return the one its key already names; True: it is new.

    Takes the project's row lock, so that one key never opens two runs.
    `source`: where its reports come from; nobody can be answered through telemetry.
    `opener`: the agent key that opens it.

    Raises:
        TooManyOpenRuns: the project or the key has as many as it may have.
        Forbidden: the agent asks for a mode or policy and the project forbids it, or
            for a run that its agent key does not reach.
        NotFound: `parent` or `controller` is not a run of this project.
        InvalidRequest: `controller` is an address that may not be called.
    """
    # First without a lock: hooks open their run again and again.
    known = join_run(project.pk, request.key, opener=opener, at=at)
    if known is not None:
        named = request.parent_key or (str(request.parent) if request.parent else "")
        if named and known.parent_id is None and not known.parent_key:
            # The sweeper links it: the project is not locked here.
            unnamed = Run.objects.filter(pk=known.pk, parent_key="")
            unnamed.update(parent_key=named, relation=request.relation)
        return known, False
    request = _authorized(project, request, opener)  # masked and looked up before any lock
    # Checked again under the lock: another request may have opened it meanwhile.
    with journal.lock_project(project.pk):
        known = join_run(project.pk, request.key, opener=opener, at=at)
        if known is not None:
            return known, False
        _check_open_runs(project, opener)
        run = _create_run(project, request, by=by, at=at, source=source, opener=opener)
        return run, True


def _check_open_runs(project: Project, opener: KeyHolder | None) -> None:
    """Refuse to exceed the limit of open runs; the project's row is locked, so the count holds.

    Raises:
        TooManyOpenRuns: the project or the key has as many as it may have.
    """
    if opener is None:
        return
    live = Run.objects.filter(project=project, status__in=set(Status) - ENDED)
    limit = settings.PROJECT_LIMITS["open_runs"]
    if limit and live.count() >= limit:
        raise TooManyOpenRuns("project", limit)
    limit = settings.KEY_LIMITS["open_runs"]
    if limit and live.filter(opened_by=opener.key).count() >= limit:
        raise TooManyOpenRuns("key", limit)


def join_run(
    project: UUID, key: str | None, *, opener: KeyHolder | None, at: datetime
) -> Run | None:
    """Return the run that `key` names, if `opener` may join it; None: there is none.

    If the agent key that opened it is no longer valid, the next one takes it over: keys can be
    rotated.

    Raises:
        Forbidden: the agent key does not reach the run and may not take it over.
    """
    found = _RUNS_BY_KEY.fetch([project], [key]) if key else []
    if not found:
        return None
    (run,) = found
    if opener is None or opener.reaches(opened_by=run.opened_by, agent=run.agent):
        return run
    by = run.opened_by
    # While the other key is valid the run stays its own: two agents must not be mixed up.
    is_anothers = by is not None and live_keys(at=at).filter(pk=by).exists()
    if opener.reach != Reach.OWN or is_anothers:
        raise Forbidden("Another agent key opened this run; this key has no access to it.")
    run.opened_by = opener.key
    Run.objects.filter(pk=run.pk).update(opened_by=opener.key)
    return run


def set_workspace(run_id: UUID, paths: Sequence[str], redaction: Redaction) -> None:
    """Store the names of the files that an agent works with; names only."""
    Run.objects.filter(pk=run_id).update(workspace=masked_workspace(paths, redaction))


def masked_workspace(paths: Sequence[str], redaction: Redaction) -> list[str]:
    """Return the names of files as they are stored: masked, and not too many."""
    return [masked_text(path, redaction) or "" for path in paths[:WORKSPACE_LIMIT]]


def describe_run(run_id: UUID, *, name: str, goal: str, at: datetime, redaction: Redaction) -> None:
    """Give a run that was opened by a hook the name its first prompt suggests."""
    with journal.lock_run(run_id, at=at) as (tx, run):
        run.name = masked_name(name, 200, redaction) or "run"
        run.goal = masked_text(goal, redaction) or ""
        # Saved here: a run's description is not among the columns that its transaction writes.
        Run.objects.filter(pk=run_id).update(name=run.name, goal=run.goal)
        tx.record_state(run, by="agent", reason="named", name=run.name, goal=run.goal)


def _authorized(project: Project, request: OpenRun, opener: KeyHolder | None) -> OpenRun:
    """Return an agent's request within the rights of its key, with its texts masked.

    Raises:
        Forbidden: it asks for a mode, policy or budget and the project forbids it, or names
            another agent than its key's.
        InvalidRequest: `controller` is an address that may not be called.
    """
    redaction = opener.redaction if opener else NO_REDACTION
    agent, capabilities = request.agent, request.capabilities
    # Its name is the key's, not the request's: a key for one agent must not speak as another.
    if opener is not None and opener.reach == Reach.AGENT:
        if agent not in {"", opener.agent}:
            raise Forbidden(f"This agent key can only open runs of {opener.agent}.")
        agent = opener.agent
    if opener is not None and opener.reports_only:
        capabilities = REPORTING_CAPABILITIES
    # Asking for the project's own mode is no choice, and is never refused.
    differs = request.mode is not None and request.mode != project.mode
    if (differs or request.policy or request.budget) and not project.agents_choose:
        raise Forbidden("This project does not let agents choose their mode, policy or budget.")
    if isinstance(request.controller, str):
        try:
            outbound.check_url(request.controller, private_hosts=settings.CONTROLLER_HOSTS)
        except outbound.RequestFailed as refused:
            raise InvalidRequest(f"controller {refused}.", field="controller") from refused
    return replace(
        request,
        name=masked_name(request.name, 200, redaction) or "run",
        agent=masked_name(agent, 100, redaction),
        goal=masked_text(request.goal, redaction) or "",
        task_type=masked_name(request.task_type, 100, redaction),
        metadata=masked_json(request.metadata, redaction),
        capabilities=masked_json(capabilities, NO_REDACTION),
        workspace=tuple(masked_workspace(request.workspace, redaction)),
    )


_RUNS_BY_KEY = CompiledQuery(
    lambda projects, keys: Run.objects.select_related("meters").filter(
        project__in=projects, key__in=keys, meters__isnull=False
    )
)


def _create_run(
    project: Project,
    request: OpenRun,
    *,
    by: str,
    at: datetime,
    source: Source,
    opener: KeyHolder | None,
) -> Run:
    run = Run(
        project=project,
        key=request.key or None,
        opened_by=opener.key if opener else None,
        name=request.name,
        agent=request.agent,
        goal=request.goal,
        task_type=request.task_type,
        mode=request.mode or project.mode,
        policy=request.policy,
        # A version belongs to the project's policy: a policy that an agent sends has none.
        policy_version=None if request.policy else project.policy_version,
        budget=request.budget,
        capabilities=request.capabilities,
        metadata=request.metadata,
        workspace=list(request.workspace),
        parent_key=request.parent_key or "",
        relation=request.relation if request.parent_key else "",
        controller=_run_of_project(project, request.controller),
        controller_url=request.controller if isinstance(request.controller, str) else "",
        started_at=at,
        source=source,
    )
    parent = _run_of_project(project, request.parent) or lineage.find_parent(
        project.pk, request.parent_key
    )
    with journal.lock_runs([parent.id] if parent else [], at=at) as tx:
        above = tx.run(parent.id) if parent else None
        if above is not None:
            lineage.make_root(above)
            run.parent, run.relation = above, request.relation
            run.root, run.lineage = above.root, lineage.lineage_of_children(above)
        # A project may let agents choose; what they chose is recorded.
        chosen = tuple(name for name in ("mode", "policy", "budget") if getattr(request, name))
        _insert_run(tx, run, by=by, chosen=chosen)
        # A run that resumes a held session is held too: a new name does not lift the hold.
        is_resumed = request.relation == "resumed" and rows.capabilities_of(run).hold
        if is_resumed and above is not None and above.hold is not None:
            run.reason = above.reason
            run.hold = Hold(run=run, since=tx.at, stands=True)
            tx.move(run, Move.HOLD, by="guard", reason=above.reason)
    return run


def open_successor(tx: RunTransaction, run: Run, *, key: str, by: str) -> Run:
    """Open a fresh run with the description of another one, which it replaces.

    Its parent is the run it replaces, but it takes that run's place in the tree:
    a root's successor begins a tree of its own. The caller holds the other run's lock;
    `key` is new, so nobody else opens this run.
    """
    # A locked run is read without its long columns.
    whole = Run.objects.get(pk=run.pk)
    # Written out, not copied: a new column must not be inherited by accident.
    successor = Run(
        project=run.project,
        key=key,
        name=run.name,
        agent=run.agent,
        opened_by=run.opened_by,
        goal=whole.goal,
        task_type=run.task_type,
        mode=run.mode,
        policy=run.policy,
        policy_version=run.policy_version,
        budget=run.budget,
        capabilities=run.capabilities,
        metadata=whole.metadata,
        workspace=whole.workspace,
        parent=run,
        relation="restart",
        root=run.root if run.lineage else None,
        lineage=run.lineage,
        controller_id=run.controller_id,
        controller_url=run.controller_url,
        started_at=tx.at,
    )
    _insert_run(tx, successor, by=by, chosen=())
    return successor


def _insert_run(tx: RunTransaction, run: Run, *, by: str, chosen: tuple[str, ...]) -> None:
    run.save(force_insert=True)
    zero = rows.ZERO_COST
    RunMeters(run=run, cost_usd=zero, judge_cost_usd=zero).save(force_insert=True)
    tx.add_run(run)
    row = rows.run_row(run, at=tx.at)
    # First: a reader of the chain must not see an event of a run before its opening.
    tx.record(run, RunOpened, by=by, row=row, chosen_by_agent=chosen)
    if run.parent_id:
        tx.record(
            run,
            RunLinked,
            by=by,
            parent=run.parent_id,
            relation=run.relation or "child",
            root=run.root,
        )


def _run_of_project(project: Project, run_id: UUID | str | None) -> Run | None:
    if not isinstance(run_id, UUID):  # none, or an address
        return None
    # A recording has ended: it starts no runs and controls none.
    found = Run.objects.filter(~RECORDED, project=project, pk=run_id)
    return ensure_found(found.first(), f"The run {run_id}")
