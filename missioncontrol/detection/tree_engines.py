"""Loops across linked runs: one engine watches the whole tree.

It sees the judged turns of all the tree's runs, ordered by id (UUIDv7: order of
arrival), and each child's start as a hand-off by its parent. Like a run's own
engine it is a cache of this process, rebuilt from the last turns before the
watermarks; what a reset forgot is in `RunMeters.lineage_forgotten`.

It also finds a relay: agents that follow each other and end on the same failure.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q

from guard.detectors.base import History, signal_of
from guard.engine import Engine
from guard.policy import Policy
from guard.reading.normalize import NEAR_EQUAL
from guard.reading.step import Step
from guard.reading.terms import NEWS
from guard.signals import Kind, Signal
from guard.turn import Phase, Role, Turn
from missioncontrol.runs import rows
from missioncontrol.runs.lifecycle import ENDED
from missioncontrol.runs.models import Run
from missioncontrol.runs.models import Turn as TurnModel

logger = logging.getLogger(__name__)

# Rules that compare agents; the others are each run's own.
TREE_RULES = ("repeat", "errors", "talk")
# Runs of a tree that are watched together: those opened last, and the root.
MAX_RUNS = 64
# Turns of a tree that its engine looks back on: four agents of a relay with forty each.
LOOK_BACK = 160
# Turns from which a tree's engine is rebuilt.
WINDOW = LOOK_BACK + Engine.WINDOW
MAX_TREES = 500
# Runs work in parallel, where a repeat may be a coincidence: one more round than within a run.
EXTRA_ROUNDS = 1

# A run and the `seq` of its turn.
TurnPlace = tuple[UUID, int]

_engines: OrderedDict[UUID, TreeEngine] = OrderedDict()


class TreeMember(NamedTuple):
    """One run of a tree, as read at the beginning of a transaction: columns of its two rows."""

    id: UUID
    parent_id: UUID | None
    relation: str
    name: str
    agent: str
    goal: str
    status: str
    detected_obs: int
    streak_obs: int
    lineage_forgotten: Mapping[str, int]

    @property
    def label(self) -> str:
        """The run's name, with the end of its id to tell runs of the same name apart."""
        return f"{self.name} ({self.id.hex[-4:]})"


MEMBER_COLUMNS = tuple(
    name if hasattr(Run, name) else f"meters__{name}" for name in TreeMember._fields
)


@dataclass(slots=True)
class TreeEngine:
    """The engine of one tree in this process, and how far it has seen."""

    engine: Engine
    policy: Policy
    floors: dict[UUID, int]
    """The last observation of each run that a reset, its own or a relative's, forgot."""
    seen: dict[UUID, int] = field(default_factory=dict)
    members: dict[UUID, TreeMember] = field(default_factory=dict)
    started: dict[UUID, bool] = field(default_factory=dict)
    """The runs whose start was shown; True: their end too."""
    numbers: dict[UUID, int] = field(default_factory=dict)
    places: dict[int, TurnPlace] = field(default_factory=dict)
    count: int = 0

    def is_ahead(self, members: Mapping[UUID, TreeMember]) -> bool:
        """Tell whether it saw more than is committed, as after the database was restored."""
        return any(self.seen.get(one.id, 0) > one.detected_obs for one in members.values())

    def catch_up(self, root: UUID, members: dict[UUID, TreeMember]) -> None:
        """Show the engine what others judged since, each child's start before its turns."""
        self.members = members
        new = [one for one in members.values() if one.id not in self.started]
        starts = sorted(new, key=lambda one: one.id)
        judged = [one for one in members.values() if one.detected_obs > self._seen_obs(one)]
        wanted = Q()
        for one in judged:
            wanted |= Q(run_id=one.id, obs__gt=self._seen_obs(one), first_obs__lte=one.detected_obs)
        found = TurnModel.objects.filter(wanted, run__root=root).order_by("-id")[:WINDOW]
        for row in reversed(found if judged else ()):
            # Ids are UUIDv7: the lower one came first, be it a run or a turn.
            while starts and starts[0].id < row.id:
                self._show_start(starts.pop(0))
            for obs, turn in rows.observations_of(row):
                # A row holds a proposal and its outcome, of which one may be known already.
                if self._seen_obs(member := members[row.run_id]) < obs <= member.detected_obs:
                    self._show_turn(member, row, turn)
        for member in starts:
            self._show_start(member)
        for member in members.values():
            if member.status in ENDED and self.started.get(member.id) is False:
                self.started[member.id] = True
                self._show_hand_over(member, Phase.DONE)
        self.seen |= {one.id: one.detected_obs for one in members.values()}

    def show_judged(self, row: TurnModel, obs: int, turn: Turn) -> Signal | None:
        """Show the engine a turn that is judged now; return a signal if it closes a loop."""
        member = self.members.get(row.run_id)
        if member is None:  # too many are newer (`MAX_RUNS`)
            return None
        self.seen[member.id] = obs
        return self._show_turn(member, row, turn)

    def _show_turn(self, member: TreeMember, row: TurnModel, turn: Turn) -> Signal | None:
        """Show the engine one turn under its run's name; return a signal across several runs."""
        role, agent = turn.role, member.label
        if turn.agent and turn.agent != member.agent:
            agent = f"{member.label} {turn.agent}"
        # A request to a child counts as said by its parent.
        if role is Role.USER and member.relation == "child":
            parent = self.members.get(member.parent_id) if member.parent_id else None
            role, agent = Role.ASSISTANT, parent.label if parent else "parent"
        # Numbered within the tree; a completion gets the number of its proposal.
        if row.id not in self.numbers:
            self.numbers[row.id] = self._next_number()
            self.places[self.numbers[row.id]] = (row.run_id, row.seq)
            if len(self.numbers) > 2 * WINDOW:  # many at once, so that it is rare
                for row_id in list(self.numbers)[:WINDOW]:
                    del self.places[self.numbers.pop(row_id)]
        seen = replace(
            turn,
            role=role,
            agent=agent,
            # A key is unique only within a run: two runs may use the same.
            key=f"{member.id}:{turn.key}" if turn.key else None,
            seq=self.numbers[row.id],
            # Costs are counted for the run itself: a tree's rules have no budget.
            usage=None,
            cost_usd=None,
        )
        tripped = (signal for signal in self._observe(seen) if signal.trips)
        found = (self._as_signal_of(signal, row.run_id) for signal in tripped)
        return next(filter(None, found), None)

    def _seen_obs(self, member: TreeMember) -> int:
        return max(self.seen.get(member.id, 0), self.floors.get(member.id, 0))

    def _show_start(self, member: TreeMember) -> None:
        self.started[member.id] = False
        self._show_hand_over(member, Phase.PROPOSED)

    def _show_hand_over(self, member: TreeMember, phase: Phase) -> None:
        """Show a child's start as its parent's call, which returns when the child ends."""
        parent = self.members.get(member.parent_id) if member.parent_id else None
        # A run that a person continued from another was not called by it.
        if parent is None or member.relation != "child":
            return
        call = Turn(
            role=Role.ASSISTANT,
            agent=parent.label,
            key=f"start:{member.id}",
            phase=phase,
            tool="hand_off",
            args={"to": member.label, "goal": member.goal},
            result="over" if phase is Phase.DONE else None,
            seq=self._next_number(),
        )
        self._observe(call)

    def _next_number(self) -> int:
        self.count += 1
        return self.count - 1

    def _observe(self, turn: Turn) -> tuple[Signal, ...]:
        """Ask the engine; one that fails is replaced, and the run is judged all the same."""
        try:
            assessment = self.engine.observe(turn)
            relay = find_relay(self.engine.history, self.policy)
        except Exception:
            logger.exception("the engine of a tree failed")
            self.engine = Engine(self.policy, span=LOOK_BACK)
            return ()
        # A completion may arrive after later turns: a relay that they show was reported then.
        if relay is None or assessment.seq not in relay.turns:
            return assessment.signals
        return (*assessment.signals, relay)

    def _as_signal_of(self, signal: Signal, run: UUID) -> Signal | None:
        """Return a signal with the turns of the run that moved last; None: it is one run's own."""
        # `show_turn` drops the oldest numbers, with their places.
        places = [self.places[number] for number in signal.turns if number in self.places]
        others = tuple((str(one), seq) for one, seq in places if one != run)
        own = tuple(seq for one, seq in places if one == run)
        if not own or not others:
            return None
        # In a loop at least two runs have several turns; a failure is passed on only once.
        runs = [one for one, _ in places]
        again = {one for one in runs if runs.count(one) > 1}
        if signal.kind is not Kind.SAME_ERROR and len(again) <= 1:
            return None
        return replace(signal, turns=own, linked_turns=others)


def drop_engines(run_ids: Collection[UUID]) -> None:
    """Drop the engines that saw these runs: what they saw may not have been committed."""
    for root, tree in list(_engines.items()):
        if not tree.members.keys().isdisjoint(run_ids):
            # Rebuilt from the database at the next look; what was rolled back is not in it.
            del _engines[root]


def tree_policy(policy: Policy) -> Policy:
    """Return the policy for a tree: the rules that compare agents, a little more patient.

    >>> tree_policy(Policy()).repeat.rounds
    3
    """
    named = tuple(name for name in TREE_RULES if name in policy.detectors)
    rounds, cycles = policy.repeat.rounds + EXTRA_ROUNDS, policy.repeat.cycles + EXTRA_ROUNDS
    # A policy allows at most ten.
    repeat = replace(policy.repeat, rounds=min(10, rounds), cycles=min(10, cycles))
    return replace(policy, detectors=named, budget=None, repeat=repeat)


def engine_of(root: UUID, policy: Policy) -> TreeEngine:
    """Return a tree's engine, caught up with what others judged; `policy` is its root's."""
    relatives = Run.objects.filter(root=root).values_list(*MEMBER_COLUMNS)
    found = list(map(TreeMember._make, relatives.order_by("-id")[:MAX_RUNS]))
    # The root is the oldest: in a large tree it is not among those opened last.
    if len(found) == MAX_RUNS:
        found += map(TreeMember._make, relatives.filter(pk=root))
    members = {member.id: member for member in found}
    rules = tree_policy(policy)
    resets = {one.id: one.streak_obs for one in members.values()}
    for member in members.values():
        for name, obs in member.lineage_forgotten.items():
            if UUID(name) in resets:
                resets[UUID(name)] = max(resets[UUID(name)], obs)
    floors = {run: floor for run, floor in resets.items() if floor}
    tree = _engines.get(root)
    # If the rules or floors differ, somebody stepped in since: what it remembers is void.
    if tree is None or tree.is_ahead(members) or (tree.policy, tree.floors) != (rules, floors):
        tree = TreeEngine(Engine(rules, span=LOOK_BACK), rules, floors)
    tree.catch_up(root, members)
    _engines[root] = tree
    _engines.move_to_end(root)
    # The least recently used go first; one that is needed again is rebuilt.
    while len(_engines) > MAX_TREES:
        _engines.popitem(last=False)
    return tree


_RELAY_RULE = "errors"
# Agents in a row that must end on one failure; one more if they learned something.
_MIN_AGENTS = 3
_HAND_OVER_TOOLS = frozenset(
    {"agent", "task", "sub_agent", "subagent", "spawn_agent", "dispatch_agent"}
)


class _AgentShift(NamedTuple):
    """What one agent did: the positions of its first call and of the one it ended on."""

    first: int
    last: int
    end: Step


def find_relay(history: History, policy: Policy) -> Signal | None:
    """Return a signal if agents were given a task in turn and all ended on the newest failure.

    Parallel workers that meet the same failure are no relay: none of them has ended when
    the next begins.
    """
    is_alone = len({step.agent for step in history.steps}) < 2  # noqa: PLR2004 - or nobody
    if is_alone or _RELAY_RULE not in policy.detectors:
        return None
    steps, newest = history.steps, history.last
    if not newest.is_answered or newest.failure is None or newest.refusals or _is_hand_over(newest):
        return None
    row = _relay_shifts(steps)
    if len(row) < 2:  # noqa: PLR2004 - one alone
        return None
    ends = [shift.end for shift in row]
    since = [step for step in steps[row[0].last + 1 : row[-1].last] if not _is_hand_over(step)]
    # One more if something was new on the way: they may be making progress.
    limit = _MIN_AGENTS + any(step.news >= NEWS for step in since)
    # Twice as many if one of them waits on purpose: what it waits for may still come.
    limit *= 2 if any(end.needs_time for end in ends) else 1
    summary = f"{len(row)} agents, one after another, ended on the same failure."
    found = signal_of(_RELAY_RULE, Kind.SAME_ERROR, ends, summary, limit=limit)
    return found.with_severity(policy.escalation_of(_RELAY_RULE).severity_of(found), first=True)


def _relay_shifts(steps: Sequence[Step]) -> list[_AgentShift]:
    """Return the shifts that end on the newest failure, oldest first, with no action since."""
    actions = (at for at, step in enumerate(steps) if step.had_effect and not _is_hand_over(step))
    # An action may have fixed it: failures before it do not count.
    changed = max(actions, default=-1)
    shifts: dict[str, _AgentShift] = {}
    for at, step in enumerate(steps):
        if step.is_answered and not _is_hand_over(step):
            first = shifts[step.agent].first if step.agent in shifts else at
            shifts[step.agent] = _AgentShift(first, at, step)
    # Sorted by where each ended, as the ends are compared.
    *before, newest = sorted(shifts.values(), key=lambda shift: shift.last)
    row = [newest]
    for shift in reversed(before):
        end = shift.end
        if shift.last < changed or not end.failed or end.failure != newest.end.failure:
            break
        # The later agent began after the earlier one had ended, and was given the task then.
        if end.similarity(newest.end) < NEAR_EQUAL or shift.last >= row[0].first:
            break
        if not any(map(_is_hand_over, steps[shift.last + 1 : row[0].first])):
            break
        begun = max((at for at in range(shift.first) if _is_hand_over(steps[at])), default=0)
        earlier = filter(_is_hand_over, steps[begun : shift.last])
        if not all(step.outcome_known for step in earlier):
            break
        row.insert(0, shift)
    return row


def _is_hand_over(step: Step) -> bool:
    return step.hands_over or step.verb.lower() in _HAND_OVER_TOOLS
