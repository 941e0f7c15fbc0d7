"""What counts as a loop and what is done about it: how strict, for all runs or for some.

A setting is an annotated field: the JSON schema, the errors and the tables of
`docs/detectors.md` are made from its range and its meaning. Tables under `task_type`, `tool`
or `agent` set fields for those alone. If several apply, the narrowest wins: agent > tool >
task type > the policy itself; within one of them a full name wins over a pattern ("mcp__*").
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from guard.budget import Budget
from guard.errors import PolicyInvalid
from guard.nature import ToolNature
from guard.policy.fields import SHARE, Table, check, merge, one_of, record, schema_of, typed, within
from guard.signals import Severity, Signal

# The registry's names, repeated here because the rules import this package.
DEFAULT_DETECTORS = ("budget", "repeat", "errors", "stagnation", "talk", "stall")
CONTRIB = ("broker", "fingerprint", "ralph", "loopguard")
DETECTOR_NAMES = (*DEFAULT_DETECTORS, *CONTRIB)
FITTED_AT = 0.8  # the stuck score at which people were asked when the weights were fitted
NUDGE_AT = 0.6  # the second of three repeats
EMBEDDINGS = "hashing, wordllama, model2vec:PATH"
BASES = ("extends", "preset")  # either names the base of a policy; the first one wins
SCOPES = ("task_type", "tool", "agent")

_BOOLEAN = typed("boolean", "true or false")
_NAMES = typed("array", f"names out of {', '.join(DETECTOR_NAMES)}", items=one_of(DETECTOR_NAMES))
_EMBEDDING_PATTERN = r"^(hashing|wordllama|model2vec:\s*\S.*)$"
_EMBEDDING_NAME = typed("string", f"a text such as {EMBEDDINGS}", pattern=_EMBEDDING_PATTERN)
_SEVERITY = one_of([name.lower() for name in Severity.__members__])
Tables = Mapping[str, dict[str, Any]]  # by name, each with the fields that it sets
RepeatCount = Annotated[int | None, within(2, 1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat(Table):
    """When repeating the same is a loop."""

    calls: Annotated[int, within(2, 50), "the same call with the same outcome, so often"] = 3
    without_results: Annotated[int, within(2, 50), "the same, where only requests are known"] = 4
    polls: Annotated[int, within(2, 50), "the same, of a call that waits for something"] = 8
    rounds: Annotated[int, within(2, 10), "rounds of two turns that alternate"] = 2
    cycles: Annotated[int, within(2, 10), "rounds of a longer series of turns"] = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors(Table):
    """When failing in the same way is a loop."""

    same: Annotated[int, within(3, 50), "failures in a row, of whatever calls"] = 5
    near: Annotated[int, within(3, 50), "same failure of nearly the same request"] = 3
    variants: Annotated[int, within(3, 50), "failing variants of one command"] = 7
    refused: Annotated[int, within(3, 50), "the same refusal of different commands"] = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Stagnation(Table):
    """When questions that teach nothing are a loop."""

    questions: Annotated[int, within(3, 50), "different questions with the same answer"] = 6
    near: Annotated[int, within(3, 50), "nearly the same question with the same answer"] = 5
    known: Annotated[int, within(3, 50), "questions whose answers are all known already"] = 8
    without_results: Annotated[
        int, within(4, 40), "calls that ask nothing new, where no results are reported"
    ] = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk(Table):
    """When talk that says nothing new is a loop."""

    messages: Annotated[int, within(2, 50), "messages of one agent that say nothing new"] = 4
    rounds: Annotated[int, within(2, 10), "rounds of several agents that add nothing"] = 3
    fresh: Annotated[
        float, within(0.0, 50.0), "new terms a message may have and say nothing new"
    ] = 2.5
    new_terms: Annotated[
        float, SHARE, "share of new terms a message may have and say nothing new"
    ] = 0.35
    embedding: Annotated[str, _EMBEDDING_NAME, "the embedding that compares messages"] = "hashing"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRule(Table):
    """When a judge is asked although no rule tripped, and what its answer does."""

    suspicions: Annotated[bool, _BOOLEAN, "whether a model is asked at all"] = True
    every: Annotated[int, within(1, 1000), "turns within which it is asked once at most"] = 10
    confidence: Annotated[float, SHARE, "confidence from which its verdict opens a card"] = 0.8
    drought: Annotated[int, within(4, 40), "unsuccessful attempts before it is asked"] = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationRule(Table):
    """How one rule's signals, or those of all (`every`), escalate; None: as the rule asks.

    observe -> nudge -> escalate -> ask -> stop: higher ones can follow at higher counts.
    """

    nudge: Annotated[str | None, one_of(("observe", "tell")), "what happens below the trip"] = None
    nudge_at: Annotated[float | None, SHARE, "the score from which a signal nudges"] = None
    trip: Annotated[str | None, _SEVERITY, "the severity of a trip"] = None
    escalate_at: Annotated[RepeatCount, "repeats from which another strategy is asked for"] = None
    ask_at: Annotated[RepeatCount, "repeats from which a person is asked"] = None
    stop_at: Annotated[RepeatCount, "repeats from which the run ends"] = None

    def severity_of(self, signal: Signal) -> Severity:
        """Return a signal's severity: by its number of repeats, or else that of the trip."""
        # A rule below its own limit never escalates.
        if signal.score < 1.0:
            if signal.score < (self.nudge_at or NUDGE_AT):
                return signal.severity
            return Severity.NUDGE if self.nudge == "tell" else Severity.OBSERVE
        steps = {"STOP": self.stop_at, "ASK": self.ask_at, "ESCALATE": self.escalate_at}
        repeats = signal.evidence.repeats
        reached = (Severity[name] for name, at in steps.items() if at and repeats >= at)
        return next(reached, Severity[self.trip.upper()] if self.trip else signal.severity)


# Tables whose reader checks what a schema cannot: amounts as text, limits out of order.
_read_by = partial(typed, "object", "a table of fields")
read_budget = partial(Budget.from_mapping, path="")
_LADDER = record(dict.fromkeys(("every", *DETECTOR_NAMES), schema_of(EscalationRule)))
_CONTRIB = record({name: _read_by(reader=f"guard.contrib.{name}:Rule.read") for name in CONTRIB})


def tables_of(*shapes: type) -> dict[str, Any]:
    """Return the schema of tables that set these fields by name; tools are checked against all."""
    own = {name: one for shape in shapes for name, one in schema_of(shape)["properties"].items()}
    words = {"maxProperties": 200, "additionalProperties": record(own)}
    return typed("object", "at most 200 tables", **words)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy(Table):
    """What the rules read about one call; a tool or an agent may set it."""

    detectors: Annotated[tuple[str, ...], _NAMES, "the rules in use"] = DEFAULT_DETECTORS
    sensitivity: Annotated[
        float,
        within(0.5, 0.99),
        "the stuck score from which people are asked; lower asks earlier",
    ] = FITTED_AT
    repeat: Repeat = field(default_factory=Repeat)
    errors: Errors = field(default_factory=Errors)
    stagnation: Stagnation = field(default_factory=Stagnation)
    talk: Talk = field(default_factory=Talk)
    ladder: Annotated[Tables, _LADDER] = field(default_factory=dict)
    contrib: Annotated[Tables, _CONTRIB] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPolicy(CallPolicy):
    """What applies to a whole run; a task type may set it."""

    judged: Annotated[bool, _BOOLEAN, "whether a judge is asked before a person"] = True
    judge: JudgeRule = field(default_factory=JudgeRule)
    budget: Annotated[Budget | None, _read_by(reader="guard.policy:read_budget")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(RunPolicy):
    """Which rules are active, how strict they are, and what a run may use."""

    task_type: Annotated[Tables, tables_of(RunPolicy)] = field(default_factory=dict)
    tool: Annotated[Tables, tables_of(CallPolicy, ToolNature)] = field(default_factory=dict)
    agent: Annotated[Tables, tables_of(CallPolicy)] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Policy:
        """Read a policy from parsed JSON or TOML; missing fields have their defaults.

        Raises:
            PolicyInvalid: names every wrong field, with what was expected.
        """
        check(SCHEMA, mapping, "policy")
        policy: Policy = merge(_BY_NAME[base_name(mapping) or "default"], mapping)
        tables = [table for scope in SCOPES for table in getattr(policy, scope).values()]
        looking = {*policy.detectors}.union(*(table.get("detectors") or () for table in tables))
        used = {name: policy.contrib[name] for name in policy.contrib if name in looking}
        return replace(policy, contrib=used)

    @classmethod
    def from_text(cls, text: str) -> Policy:
        """Read a policy from the text of a TOML or JSON file, like `from_mapping`."""
        return cls.from_mapping(parse(text))

    def as_mapping(self) -> dict[str, Any]:
        """Return plain JSON values from which `from_mapping` reads the same policy."""
        return dict(json.loads(json.dumps(asdict(self), default=str)))

    def for_run(self, task_type: str | None) -> Policy:
        """Return the policy of a run, with the fields that its task type sets."""
        return self._with_tables(task_type=task_type)

    def for_step(self, *, tool: str | None, agent: str | None) -> Policy:
        """Return the policy of one step; the same object if no table applies to it."""
        return self._with_tables(task_type=None, tool=tool, agent=agent)

    def nature_of(self, tool: str | None) -> ToolNature | None:
        """Return what this policy declares about a tool; None: nothing."""
        found = ToolNature()
        for table in matching(self.tool, tool):
            found = ToolNature.from_mapping(table).with_defaults(found)
        return None if found == ToolNature() else found

    def escalation_of(self, detector: str) -> EscalationRule:
        """Return how a rule escalates: its own table takes precedence over that of `every`."""
        every, own = self.ladder.get("every", {}), self.ladder.get(detector, {})
        return EscalationRule.read(merge(every, own))

    def _with_tables(self, **names: str | None) -> Policy:
        tables = [one for scope in names for one in matching(getattr(self, scope), names[scope])]
        unscoped: dict[str, Any] = {scope: {} for scope in names}
        policy = replace(self, **unscoped) if tables else self
        for table in tables:
            with suppress(PolicyInvalid):  # valid tables may conflict; that stops no run
                policy = merge(policy, table)
        return policy


DEFAULT_POLICY = Policy()
# The sections that hold thresholds.
RULES = tuple(name for name, one in asdict(DEFAULT_POLICY).items() if one and isinstance(one, dict))
_TABLES = tomllib.loads(Path(__file__).with_name("presets.toml").read_text("utf-8"))
PRESETS: dict[str, Policy] = {name: merge(DEFAULT_POLICY, table) for name, table in _TABLES.items()}
_BY_NAME = PRESETS | {"conservative": PRESETS["quiet"], "strict": PRESETS["watchful"]}
# The old names are still accepted, but not listed.
_BASE = one_of(_BY_NAME) | {"errorMessage": one_of(PRESETS)["errorMessage"]}
# The JSON schema of a policy.
SCHEMA = record(dict.fromkeys(BASES, _BASE) | schema_of(Policy)["properties"])
SCHEMA |= {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def parse(text: str) -> dict[str, Any]:
    """Parse JSON, which begins with a brace, or TOML; PolicyInvalid: it is neither."""
    try:
        parsed = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyInvalid("policy", f"TOML or JSON ({error})", text[:80]) from error
    return dict(parsed)


def matching(tables: Mapping[str, Any], name: str | None) -> list[Mapping[str, Any]]:
    """Return the tables that apply to a name: patterns first, the full name last."""
    keys = [key for key in tables if name and (key == name or fnmatchcase(name, key))]
    return [tables[key] for key in sorted(keys, key=lambda key: key == name)]


def base_name(mapping: Mapping[str, Any]) -> Any:
    """Return the name of the policy that a document is based on; None: the default."""
    return next(filter(None, map(mapping.get, BASES)), None)
