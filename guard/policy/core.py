"""The policy itself: which detectors look, and how strict they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, cast

from guard.budget import Budget
from guard.nature import ToolNature
from guard.policy.document import (
    EVERY,
    SCOPES,
    apply_tables,
    check_tables,
    matching,
    parse,
    read_document,
    read_nature,
)
from guard.policy.ladder import Rungs
from guard.policy.reading import Problems, check_known
from guard.policy.sections import (
    DEFAULT_DETECTORS,
    DETECTOR_NAMES,
    BrokerRule,
    ExactRepeat,
    FingerprintRule,
    HandOffs,
    JudgeRule,
    KCycle,
    LoopGuardRule,
    Monologue,
    PingPong,
    RalphRule,
    Recurrence,
    Relay,
    Reverification,
    SameError,
    SemanticRepeat,
    Stagnation,
    Stall,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Which detectors look, how strict they are, and what a run may use.

    >>> DEFAULT_POLICY.exact_repeat.repeats
    3
    """

    detectors: tuple[str, ...] = DEFAULT_DETECTORS
    exact_repeat: ExactRepeat = field(default_factory=ExactRepeat)
    semantic_repeat: SemanticRepeat = field(default_factory=SemanticRepeat)
    ping_pong: PingPong = field(default_factory=PingPong)
    k_cycle: KCycle = field(default_factory=KCycle)
    same_error: SameError = field(default_factory=SameError)
    recurrence: Recurrence = field(default_factory=Recurrence)
    stagnation: Stagnation = field(default_factory=Stagnation)
    monologue: Monologue = field(default_factory=Monologue)
    hand_offs: HandOffs = field(default_factory=HandOffs)
    relay: Relay = field(default_factory=Relay)
    reverification: Reverification = field(default_factory=Reverification)
    stall: Stall = field(default_factory=Stall)
    broker: BrokerRule = field(default_factory=BrokerRule)
    fingerprint: FingerprintRule = field(default_factory=FingerprintRule)
    ralph: RalphRule = field(default_factory=RalphRule)
    loopguard: LoopGuardRule = field(default_factory=LoopGuardRule)
    judged: bool = True
    judge: JudgeRule = field(default_factory=JudgeRule)
    budget: Budget | None = None
    ladder: Mapping[str, Rungs] = field(default_factory=dict)
    task_type: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tool: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    agent: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problems = Problems()
        for name in self.detectors:
            if name not in DETECTOR_NAMES:
                problems.note("detectors", f"names out of {', '.join(DETECTOR_NAMES)}", name)
        check_known(self.ladder, (EVERY, *DETECTOR_NAMES), "ladder.", problems)
        for scope in SCOPES:
            check_tables(self, scope, getattr(self, scope), problems)
        problems.complain()

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Policy:
        """Read a policy from parsed JSON or TOML; what is absent is default.

        Raises:
            PolicyInvalid: says which field is wrong and what was expected.

        >>> Policy.from_mapping({"exact_repeat": {"repeats": 5}}).exact_repeat.repeats
        5
        >>> Policy.from_mapping({"exact_repeat": {"repeats": "many"}})
        Traceback (most recent call last):
        ...
        guard.errors.PolicyInvalid: policy field 'exact_repeat.repeats': expected a whole number, \
got 'many'
        """
        return read_document(cls(), mapping)

    @classmethod
    def from_text(cls, text: str) -> Policy:
        r"""Read a policy from the text of a TOML or JSON file.

        Raises:
            PolicyInvalid: names every wrong field, with what was expected.

        >>> Policy.from_text('[tool."get_job"]\nretry = "poll"').nature_of("get_job").retry.value
        'poll'
        """
        return cls.from_mapping(parse(text))

    def as_mapping(self) -> dict[str, Any]:
        """Give plain JSON values, so that `from_mapping` reads the same policy."""
        return cast("dict[str, Any]", _plain(asdict(self)))

    def for_run(self, task_type: str | None) -> Policy:
        """Give the policy of a run: what its task type sets is set.

        >>> policy = Policy.from_mapping({"task_type": {"research": {"ping_pong": {"rounds": 4}}}})
        >>> policy.for_run("research").ping_pong.rounds, policy.for_run("coding").ping_pong.rounds
        (4, 2)
        """
        tables = matching(self.task_type, task_type) if task_type else []
        return apply_tables(replace(self, task_type={}), tables) if tables else self

    def for_step(self, *, tool: str | None, agent: str | None) -> Policy:
        """Give the policy of one step: its tool's tables, then its agent's.

        The same object where no table speaks of them.
        """
        tables = matching(self.tool, tool) if tool else []
        tables += matching(self.agent, agent) if agent else []
        return apply_tables(replace(self, tool={}, agent={}), tables) if tables else self

    def nature_of(self, tool: str | None) -> ToolNature | None:
        """Give what this policy says of a tool's repeats; None: nothing."""
        found: ToolNature | None = None
        for table in matching(self.tool, tool) if tool else ():
            nature = read_nature(table, "tool", Problems())
            found = nature.over(found) if nature else found
        return found

    def rungs_of(self, detector: str) -> Rungs:
        """Give the ladder of a detector: its own table over that of `every`."""
        every = self.ladder.get(EVERY, Rungs())
        return self.ladder[detector].over(every) if detector in self.ladder else every


def _plain(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, StrEnum | Decimal):
        return str(value)
    return value


DEFAULT_POLICY = Policy()
