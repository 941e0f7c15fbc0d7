"""What counts as a loop, and what is done about one: how strict, for all runs or for some.

A setting is an annotated field: its range and its meaning make the reader, the errors, the
JSON schema and the tables of `docs/detectors.md`. A table under `task_type`,
`tool` or `agent` sets fields for those alone. Where several speak, the narrowest wins:
agent > tool > task type > the policy itself, and within one of them a full name wins
over a pattern ("mcp__*").
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from guard.budget import Budget
from guard.errors import PolicyInvalid
from guard.nature import ToolNature
from guard.policy.fields import (
    SHARE,
    TABLE,
    Problems,
    Section,
    fields_of,
    one_of,
    read_table,
    schema_of,
    within,
)
from guard.signals import Severity, Signal

# The registry's names, spelled here because the rules import this package.
DEFAULT_DETECTORS = ("budget", "repeat", "errors", "stagnation", "talk", "stall")
CONTRIB = ("broker", "fingerprint", "ralph", "loopguard")
DETECTOR_NAMES = (*DEFAULT_DETECTORS, *CONTRIB)
SCOPES = ("task_type", "tool", "agent")
FITTED_AT = 0.8  # the stuck score at which people are asked where its weights were fitted
EVERY = "every"
NUDGE_AT = 0.6  # the second of three repeats
EMBEDDINGS = {
    "pattern": r"^(?:hashing|wordllama|model2vec:\s*\S.*)$",
    "examples": ["hashing", "wordllama", "model2vec:PATH"],
}
BASES = ("extends", "preset")  # either names what a policy is read over; the first one wins

Tables = Mapping[str, dict[str, Any]]
Scope = Annotated[Tables, {"maxProperties": 200}]  # each new tool is held against all names
Reached = Annotated[int | None, within(2, 1000)]
SEVERITIES = one_of(name.lower() for name in Severity.__members__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat(Section):
    """When the same again is a loop."""

    calls: Annotated[int, within(2, 50), "the same call with the same outcome, so often"] = 3
    without_results: Annotated[int, within(2, 50), "the same, where only requests are known"] = 4
    polls: Annotated[int, within(2, 50), "the same, of a call that waits for something"] = 8
    rounds: Annotated[int, within(2, 10), "rounds of two turns that alternate"] = 2
    cycles: Annotated[int, within(2, 10), "rounds of a longer series of turns"] = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors(Section):
    """When failing the same way is a loop."""

    same: Annotated[int, within(3, 50), "failures in a row, whatever is tried"] = 5
    near: Annotated[int, within(3, 50), "the same failure of nearly the same request"] = 3
    variants: Annotated[int, within(3, 50), "failing variants of one command"] = 7
    refused: Annotated[int, within(3, 50), "the same refusal of different commands"] = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Stagnation(Section):
    """When questions that teach nothing are a loop."""

    questions: Annotated[int, within(3, 50), "different questions with the same answer"] = 6
    near: Annotated[int, within(3, 50), "nearly the same question with the same answer"] = 5
    known: Annotated[int, within(3, 50), "questions whose answers were all known"] = 8
    without_results: Annotated[
        int, within(4, 40), "calls that ask for nothing new, where only requests are known"
    ] = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk(Section):
    """When talk that says nothing new is a loop."""

    messages: Annotated[int, within(2, 50), "messages of one agent that say nothing new"] = 4
    rounds: Annotated[int, within(2, 10), "rounds of several agents that add nothing"] = 3
    fresh: Annotated[float, within(0, 50), "new terms a message that still are nothing"] = 2.5
    new_terms: Annotated[float, SHARE, "share of new terms among all that still is nothing"] = 0.35
    embedding: Annotated[str, EMBEDDINGS, "what tells messages alike"] = "hashing"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRule(Section):
    """When a judge is asked though no rule tripped, and what its answer does."""

    suspicions: Annotated[bool, "whether a model is asked at all"] = True
    every: Annotated[int, within(1, 1000), "at most one such question in so many turns"] = 10
    confidence: Annotated[float, SHARE, "how sure it must be of a loop to open a card"] = 0.8
    drought: Annotated[int, within(4, 40), "attempts in vain before it is asked"] = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationRule(Section):
    """How one rule's signals, or (`every`) those of all, escalate; None: as the rule asks.

    observe -> nudge -> escalate -> ask -> stop: higher ones may follow at higher counts.
    """

    nudge: Annotated[str | None, one_of(("observe", "tell")), "what is done below the trip"] = None
    nudge_at: Annotated[float | None, SHARE, "from which share of the way to the trip"] = None
    trip: Annotated[str | None, SEVERITIES, "the severity of a trip"] = None
    escalate_at: Annotated[Reached, "from so many repeats another strategy is asked for"] = None
    ask_at: Annotated[Reached, "from so many a person"] = None
    stop_at: Annotated[Reached, "from so many the run ends"] = None

    def severity_of(self, signal: Signal) -> Severity:
        """Give a signal's severity: by its count where one is reached, else by the trip.

        A rule below its own limit never escalates: patience comes first.
        """
        if signal.score < 1.0:
            if signal.score < (self.nudge_at or NUDGE_AT):
                return signal.severity
            return Severity.NUDGE if self.nudge == "tell" else Severity.OBSERVE
        steps = {"STOP": self.stop_at, "ASK": self.ask_at, "ESCALATE": self.escalate_at}
        repeats = signal.evidence.repeats
        reached = (Severity[name] for name, at in steps.items() if at and repeats >= at)
        return next(reached, Severity[self.trip.upper()] if self.trip else signal.severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Section):
    """Which rules look, how strict they are, and what a run may use."""

    detectors: Annotated[
        tuple[str, ...], {"items": one_of(DETECTOR_NAMES)}, "the rules that look"
    ] = DEFAULT_DETECTORS
    sensitivity: Annotated[
        float, within(0.5, 0.99), "the stuck score from which people are asked: less asks earlier"
    ] = FITTED_AT
    repeat: Repeat = field(default_factory=Repeat)
    errors: Errors = field(default_factory=Errors)
    stagnation: Stagnation = field(default_factory=Stagnation)
    talk: Talk = field(default_factory=Talk)
    judged: Annotated[bool, "whether a judge hears a loop first"] = True
    judge: JudgeRule = field(default_factory=JudgeRule)
    budget: Budget | None = None
    ladder: Annotated[
        Mapping[str, EscalationRule], {"propertyNames": one_of((EVERY, *DETECTOR_NAMES))}
    ] = field(default_factory=dict)
    contrib: Annotated[Tables, {"propertyNames": one_of(CONTRIB)}] = field(default_factory=dict)
    task_type: Scope = field(default_factory=dict)
    tool: Scope = field(default_factory=dict)
    agent: Scope = field(default_factory=dict)

    def __post_init__(self) -> None:
        Section.__post_init__(self)
        problems = Problems()
        for name, table in self.contrib.items():
            with problems.under(f"contrib.{name}"):
                read_table(table, import_module(f"guard.contrib.{name}").Rule())
        for scope, names in _MAY_SET.items():
            for name, table in getattr(self, scope).items():
                with problems.under(f"{scope}.{name}"):
                    read_table(table, DEFAULT_POLICY, names)
        for name, table in self.tool.items():
            with problems.under(f"tool.{name}"):
                read_table(table, ToolNature(), table)
        problems.complain()

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Policy:
        """Read a policy from parsed JSON or TOML; what is absent is default.

        Raises:
            PolicyInvalid: names every wrong field, with what was expected.
        """
        if not isinstance(mapping, Mapping):
            raise PolicyInvalid("policy", TABLE, mapping)
        policy, problems = DEFAULT_POLICY, Problems()
        for name in filter(mapping.get, reversed(BASES)):
            with problems.under(name):
                policy = find_preset(mapping[name])
        with problems.under(""):
            policy = read_table(mapping, policy, (*BASES, *fields_of(cls)))
        problems.complain()
        tables = [table for scope in SCOPES for table in getattr(policy, scope).values()]
        looking = {*policy.detectors}.union(*(table.get("detectors") or () for table in tables))
        used = {name: policy.contrib[name] for name in policy.contrib if name in looking}
        return replace(policy, contrib=used)

    @classmethod
    def from_text(cls, text: str) -> Policy:
        """Read a policy from the text of a TOML or JSON file, as `from_mapping` does."""
        return cls.from_mapping(parse(text))

    def as_mapping(self) -> dict[str, Any]:
        """Give plain JSON values, so that `from_mapping` reads the same policy."""
        return dict(json.loads(json.dumps(asdict(self), default=str)))

    def for_run(self, task_type: str | None) -> Policy:
        """Give the policy of a run: what its task type sets is set."""
        return self._over(task_type=task_type)

    def for_step(self, *, tool: str | None, agent: str | None) -> Policy:
        """Give the policy of one step: its tool's tables, then its agent's.

        The same object where no table speaks of them.
        """
        return self._over(task_type=None, tool=tool, agent=agent)

    def nature_of(self, tool: str | None) -> ToolNature | None:
        """Give what this policy says of a tool's repeats; None: nothing."""
        found = ToolNature()
        for table in matching(self.tool, tool):
            found = read_table(table, ToolNature(), table).over(found)
        return None if found == ToolNature() else found

    def escalation_of(self, detector: str) -> EscalationRule:
        """Give how a rule escalates: its own table over that of `every`."""
        every, own = self.ladder.get(EVERY, EscalationRule()), self.ladder.get(detector)
        return read_table(asdict(own), every) if own else every

    def _over(self, **names: str | None) -> Policy:
        tables = [one for scope in names for one in matching(getattr(self, scope), names[scope])]
        read: dict[str, Any] = {scope: {} for scope in names}
        policy = replace(self, **read) if tables else self
        for table in tables:
            with suppress(PolicyInvalid):  # each is right by itself; two that clash stop no run
                policy = read_table(table, policy, table)
        return policy


# What a table may set: of a run all, of one call what the rules read, and the nature of its tool.
_OF_A_RUN = [name for name in fields_of(Policy) if name not in SCOPES]
_OF_A_CALL = [name for name in _OF_A_RUN if name not in {"judged", "judge", "budget"}]
_MAY_SET = {
    "task_type": _OF_A_RUN,
    "tool": [*_OF_A_CALL, *fields_of(ToolNature)],
    "agent": _OF_A_CALL,
}
DEFAULT_POLICY = Policy()
# The sections of thresholds.
RULES = tuple(name for name in _OF_A_RUN if isinstance(getattr(DEFAULT_POLICY, name), Section))
_TABLES = tomllib.loads(Path(__file__).with_name("presets.toml").read_text("utf-8"))
PRESETS = {name: Policy.from_mapping(table) for name, table in _TABLES.items()}


def find_preset(name: object) -> Policy:
    """Give a policy by its name, or by the one it had before; PolicyInvalid: there is none."""
    known = PRESETS | {"conservative": PRESETS["quiet"], "strict": PRESETS["watchful"]}
    if not isinstance(name, str) or name not in known:
        raise PolicyInvalid("", f"one of {', '.join(PRESETS)}", name)
    return known[name]


def schema() -> dict[str, Any]:
    """Give the JSON schema of a policy."""
    found = schema_of(Policy)
    found["properties"] |= {name: {"type": "string"} for name in BASES}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def parse(text: str) -> dict[str, Any]:
    """Parse the text of a policy, JSON where it begins with a brace, else TOML.

    Raises:
        PolicyInvalid: it is neither; says at which line.
    """
    try:
        parsed = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyInvalid("policy", f"TOML or JSON ({error})", text[:80]) from error
    return dict(parsed)


def matching(tables: Mapping[str, Any], name: str | None) -> list[Mapping[str, Any]]:
    """Give the tables that speak of a name: patterns first, the full name last."""
    keys = [key for key in tables if name and (key == name or fnmatchcase(name, key))]
    return [tables[key] for key in sorted(keys, key=lambda key: key == name)]


def base_name(mapping: Mapping[str, Any]) -> Any:
    """Give the name of the policy that a document is read over; None: the default."""
    return next(filter(None, map(mapping.get, BASES)), None)
