"""What would help: concrete corrections, each from something that can be pointed at.

Every rule reads the evidence (what was asked, what came back, who spoke), never
the kind of the signal alone: whatever trips, the same evidence gets the same fix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from guard.actions import asks, waits
from guard.judge.case import Case
from guard.judge.complaints import (
    cause_of,
    cut,
    failed_tests,
    first_line,
    last_line,
    missing_module,
    missing_name,
    missing_path,
    offered_tools,
    says_missing,
    says_no_match,
    unknown_tool,
)
from guard.judge.paths import closest_name, closest_path, is_listed
from guard.normalize import action_class, canonical_json, command_of, headline, meant_args
from guard.outcome import Outcome, is_transient, outcome_of
from guard.turn import Turn

_LONGEST_PATH = 300
_TOOLS_NAMED = 6
_MANY = 2

_PLACES = frozenset(
    {
        "offset",
        "page",
        "start",
        "start_line",
        "line",
        "cursor",
        "skip",
        "from",
        "begin",
        "view_range",
    }
)  # fmt: skip
_PATH_ARGS = ("file_path", "filepath", "path", "filename", "file", "notebook_path", "target_file")
_VERBS = {"read": "Read", "file_edit": "Edit", "search": "Search"}


class Advice(NamedTuple):
    """How sure it is that this is a loop, in [0, 1]; why; what to tell the agent."""

    confidence: float
    reason: str
    fix: str | None


Evidence = Sequence[tuple[Turn, Outcome]]
"""The turns whose outcome is known, oldest first."""


def advise(case: Case) -> Advice | None:
    """Give the first advice that the evidence supports, the most concrete first."""
    known = [(turn, outcome) for turn in case.turns if (outcome := outcome_of(turn))]
    return next(filter(None, (rule(case, known) for rule in _RULES)), None)


# --- what does not exist ---------------------------------------------------------


def _unknown_tool(case: Case, known: Evidence) -> Advice | None:
    """Name the tool that was meant by one that nobody offers."""
    for turn, outcome in _failed(known):
        if not (wanted := unknown_tool(outcome.text)):
            continue
        name = turn.tool if turn.tool and turn.tool in outcome.text else wanted
        tools = [tool for tool in _tools_of(case, outcome.text) if tool != name]
        reason = f"It calls {name}, a tool that does not exist here."
        if (found := closest_name(name, tools)) is not None:
            return Advice(0.9, reason, f"There is no tool {name}. Use {found}.")
        listed = ", ".join(tools[:_TOOLS_NAMED])
        offer = f"These work here: {listed}." if listed else "Use one that you were given."
        return Advice(0.85, reason, f"There is no tool {name}. {offer}")
    return None


def _tools_of(case: Case, text: str) -> list[str]:
    """Give the tools that worked in this run, then those the refusal names."""
    worked = [turn.tool for turn in (*case.history, *case.turns) if turn.tool and _went_well(turn)]
    return list(dict.fromkeys([*worked, *offered_tools(text)]))


def _went_well(turn: Turn) -> bool:
    outcome = outcome_of(turn)
    return outcome is not None and unknown_tool(outcome.text) is None


def _missing_module(case: Case, known: Evidence) -> Advice | None:
    for _, outcome in _failed(known):
        if (wanted := missing_module(outcome.text)) is None:
            continue
        as_path = wanted if "/" in wanted else wanted.replace(".", "/") + ".py"
        found = closest_path(as_path, case.workspace)
        if found is None:
            return Advice(
                0.7,
                f"There is no module {wanted} here.",
                f"There is no module {wanted} in this project. Install it, or import one that is.",
            )
        return Advice(
            found.likeness,
            f"There is no module {wanted}; the nearest file is {found.path}.",
            f"There is no module {wanted}. The file is {found.path}: import from that one.",
        )
    return None


def _missing_name(case: Case, known: Evidence) -> Advice | None:
    """Name the column, table, command, option or key that is not there."""
    for _, outcome in _failed(known):
        if (missing := missing_name(outcome.text)) is None:
            continue
        times = sum(missing.name in one.text for _, one in known if one.failed)
        often = f", {times} times" if times > 1 else ""
        what = f"{missing.what} {missing.name}"
        return Advice(
            0.85, f"It misses the {what}{often}.", f"There is no {what}. {missing.remedy}"
        )
    return None


def _missing_file(case: Case, known: Evidence) -> Advice | None:
    """Name the existing file that was meant by one that does not exist."""
    for turn, outcome in _failed(known):
        if says_missing(outcome.text):
            wanted = _path_of(turn) or missing_path(outcome.text)
            return _point_at(turn, wanted, case.workspace) if wanted else None
    return None


def _path_of(turn: Turn) -> str | None:
    args = meant_args(turn.args)
    for name in _PATH_ARGS:
        if isinstance(value := args.get(name), str) and 0 < len(value) <= _LONGEST_PATH:
            return value
    return None


def _point_at(turn: Turn, wanted: str, workspace: tuple[str, ...]) -> Advice:
    if is_listed(wanted, workspace):
        reason = f"{wanted} is in the project, but not where it is looked for."
        return Advice(0.7, reason, f"{wanted} is in the project. Give its path from the root.")
    found = closest_path(wanted, workspace)
    wanted_name = wanted.rsplit("/", 1)[-1]
    if found is None:
        reason = f"It looks for {wanted_name}, which does not exist."
        return Advice(0.75, reason, f"{wanted_name} does not exist. {_what_to_list(workspace)}")
    # "not token.py" would read like nonsense where only the directory is wrong.
    is_same_name = wanted_name == found.path.rsplit("/", 1)[-1]
    shown = wanted if is_same_name else wanted_name
    verb = _VERBS.get(action_class(turn), "Use")
    return Advice(
        round(max(0.7, min(0.97, found.likeness)), 2),
        f"It looks for {shown}, which does not exist. The closest file is {found.path}.",
        f"The file is {found.path}, not {shown}. {verb} that one.",
    )


def _what_to_list(workspace: tuple[str, ...]) -> str:
    if not workspace:
        return "List the directory and read a file that is there."
    return "List the files and read one that is there."


# --- what does not move -------------------------------------------------------------


def _busy_service(case: Case, known: Evidence) -> Advice | None:
    if not known or not known[-1][1].failed or not is_transient(known[-1][1].text):
        return None
    quote = first_line(known[-1][1].text)
    return Advice(
        0.7, f"The service refuses for now: {quote}", "Wait a minute before the next try."
    )


def _past_the_end(case: Case, known: Evidence) -> Advice | None:
    """It pages on, and the same short answer comes from every place."""
    if len(known) < _MANY or len({outcome.key for _, outcome in known}) > 1:
        return None
    places = [_place_of(turn) for turn, _ in known]
    if known[-1][1].is_long or None in places or len(set(places)) < _MANY:
        return None
    fix = (
        f"The end was reached: from {places[0]} on there is nothing more. "
        "Work with what you have read."
    )
    return Advice(0.85, f"It pages on past the end: {places[0]} to {places[-1]}.", fix)


def _place_of(turn: Turn) -> str | None:
    for name, value in (turn.args or {}).items():
        if str(name).lower() in _PLACES and isinstance(value, int | str | list):
            return f"{name} {value}"[:60]
    return None


def _unmoved_job(case: Case, known: Evidence) -> Advice | None:
    if len(known) < _MANY or len({outcome.key for _, outcome in known}) > 1:
        return None
    if not all(waits(turn.tool, command_of(turn), outcome.text) for turn, outcome in known):
        return None
    quote = first_line(known[-1][1].text)
    fix = (
        f'The job is not moving: "{quote}", {len(known)} times. Asking again will not start it. '
        "Look at its log or its queue, or say what you are waiting for."
    )
    return Advice(0.75, f"What it waits for has not moved in {len(known)} looks: {quote}", fix)


def _unmatched_edit(case: Case, known: Evidence) -> Advice | None:
    """An edit whose old text is not in the file, nor was the last time."""
    for turn, outcome in _failed(known):
        if action_class(turn) != "file_edit" or not says_no_match(outcome.text):
            continue
        path = _path_of(turn) or "the file"
        fix = (
            f"{headline(turn)} fails every time with: {first_line(outcome.text)}. "
            f"Read {path} again and copy the text to replace from it, to the letter."
        )
        return Advice(0.85, f"It edits {path} with a text that is not in it.", fix)
    return None


def _failing_test(case: Case, known: Evidence) -> Advice | None:
    """The same test fails after edit upon edit."""
    runs = [outcome.text for _, outcome in known if outcome.failed and failed_tests(outcome.text)]
    tests = [failed_tests(text) for text in runs]
    common = frozenset.intersection(*tests) if len(tests) >= _MANY else frozenset()
    if not common:
        return None
    name = min(common)
    edits = sum(action_class(turn) == "file_edit" for turn in case.turns)
    tried = f" after {edits} edits" if edits else ""
    more = f" and {len(common) - 1} more" if len(common) > 1 else ""
    fix = (
        f"{name}{more} still fails{tried}: {cause_of(runs[-1])}. "
        "Read that test and the code it calls, say what it expects, then change one thing."
    )
    return Advice(0.85, f"{name} fails in each of {len(runs)} runs{tried}.", fix)


def _swapped_edits(case: Case, known: Evidence) -> Advice | None:
    """Edits of one file that come back: done, undone, done again."""
    edits = [turn for turn, _ in known if action_class(turn) == "file_edit"]
    seen = [headline(turn) + canonical_json(turn.args) for turn in edits]
    if len(edits) <= _MANY or not 1 < len(set(seen)) <= len(seen) // 2 + 1:
        return None
    fix = (
        f"{headline(edits[-1])} was made and undone before. Keep one version, "
        "and look for the cause elsewhere."
    )
    return Advice(0.8, f"It makes and undoes the same edits: {headline(edits[-1])}.", fix)


def _failing_call(case: Case, known: Evidence) -> Advice | None:
    if not known or not known[-1][1].failed:
        return None
    turn, outcome = known[-1]
    quote, deed = first_line(outcome.text), headline(turn)
    if len({headline(one) for one, _ in known}) > 1 and len(_causes(known)) == 1:
        fix = (
            f"Every way you tried ends with: {quote}. The way is not the cause. "
            f"Find out what {cut(quote, 60)} needs before you try another."
        )
        return Advice(0.8, f"{len(known)} different calls failed the same way: {quote}", fix)
    fix = (
        f"{deed} fails every time with: {quote}. Running it again will not help. "
        "Find the cause of this error first, then change one thing."
    )
    return Advice(0.8, f"The same failure came back {len(known)} times: {quote}", fix)


def _causes(known: Evidence) -> set[str | None]:
    return {outcome.key for _, outcome in known}


# --- what is done already -----------------------------------------------------------


def _verified(case: Case, known: Evidence) -> Advice | None:
    """Checks upon checks, and all of them pass."""
    if len(known) < _MANY or any(outcome.failures != 0 for _, outcome in known):
        return None
    quote = last_line(known[-1][1].text)
    fix = f"It is verified: {quote}. Say what you did and finish, or name what is still open."
    return Advice(0.75, f"It ran checks that pass {len(known)} times.", fix)


def _known_answer(case: Case, known: Evidence) -> Advice | None:
    """Remind the agent of an answer it has."""
    if not known:
        return None
    turn = case.turns[-1]
    if not asks(action_class(turn), turn.tool, command_of(turn)):
        return None
    if (
        len({outcome.key for _, outcome in known}) == 1
        and len({canonical_json(t.args) for t, _ in known}) > 1
    ):
        quote = first_line(known[-1][1].text)
        fix = (
            f'However you ask, the answer is "{quote}". What you look for is not there: '
            "say so, or look in another place."
        )
        return Advice(0.75, case.signal.evidence.summary, fix)
    fix = "You have this answer already and it does not change. Use it, or look elsewhere."
    return Advice(0.75, case.signal.evidence.summary, fix)


# --- what is only talked about ------------------------------------------------------


def _handed_round(case: Case, known: Evidence) -> Advice | None:
    """Agents that pass a matter on: who raised it decides it."""
    names = list(dict.fromkeys(turn.agent for turn in case.turns if turn.agent))
    changes = sum(one.agent != next_one.agent for one, next_one in pairwise(case.turns))
    if len(names) < _MANY or 2 * changes < len(case.turns) or any(o.failed for _, o in known):
        return None
    first, others = names[0], _listed(names[1:])
    follow = "acts on it and does" if len(names[1:]) == 1 else "act on it and do"
    fix = (
        f"Decide it now: {first} raised this and has the say. "
        f"{first} states the decision and the next step; "
        f"{others} {follow} not hand it back."
    )
    return Advice(0.75, f"{first} and {others} hand one matter to each other.", fix)


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _said_already(case: Case, known: Evidence) -> Advice | None:
    if not case.turns or case.turns[-1].tool is not None:
        return None
    fix = "You said this already. Take the next step, or say that you are done."
    return Advice(0.6, case.signal.evidence.summary, fix)


def _to_and_fro(case: Case, known: Evidence) -> Advice | None:
    """Two deeds that alternate."""
    deeds = [headline(turn) for turn in case.turns]
    if len(deeds) < 2 * _MANY or deeds[::2] != [deeds[0]] * len(deeds[::2]):
        return None
    if len(set(deeds)) != _MANY:
        return None
    fix = (
        "You go to and fro without getting further: "
        f"{deeds[0]}, then {deeds[1]}. Decide for one side and finish it."
    )
    return Advice(0.7, case.signal.evidence.summary, fix)


_Rule = Callable[[Case, Evidence], Advice | None]
_RULES: tuple[_Rule, ...] = (
    _unknown_tool,
    _missing_module,
    _missing_name,
    _missing_file,
    _busy_service,
    _past_the_end,
    _unmoved_job,
    _unmatched_edit,
    _failing_test,
    _swapped_edits,
    _failing_call,
    _verified,
    _handed_round,
    _known_answer,
    _to_and_fro,
    _said_already,
)


def _failed(known: Evidence) -> Iterator[tuple[Turn, Outcome]]:
    return ((turn, outcome) for turn, outcome in reversed(known) if outcome.failed)
