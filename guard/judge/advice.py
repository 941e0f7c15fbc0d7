"""What would help: concrete corrections, each based on something in the evidence.

Every rule reads the evidence (what was asked, what came back, who spoke), never
only the kind of the signal: the same evidence gets the same fix, whatever trips.
The texts are in `advice.toml`, under the rule's name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from guard.describe import action_class, headline
from guard.judge.case import Case
from guard.judge.complaints import (
    cause_of,
    closest_name,
    closest_path,
    failed_tests,
    find_name,
    first_line,
    is_listed,
    last_line,
    matches_complaint,
    missing_name,
    offered_tools,
    shorten,
)
from guard.judge.texts import read_texts
from guard.quoting import name_or_quote, quoted
from guard.raw_texts import PATH_ARGUMENTS
from guard.reading.classify import is_question, is_waiting
from guard.reading.normalize import canonical_json, command_in, strip_remarks
from guard.reading.outcome import SERVICE_BUSY, Outcome, outcome_of
from guard.turn import Turn

# A longer "path" is a file's text in the wrong argument.
_MAX_PATH_LENGTH = 300
# More would be a list to choose from, not a correction.
_MAX_TOOLS_NAMED = 6
_MIN_REPEATS = 2

_VERBS = {"read": "Read", "file_edit": "Edit", "search": "Search"}


class Advice(NamedTuple):
    """The confidence that this is a loop, in [0, 1]; the reason; what to tell the agent."""

    confidence: float
    reason: str
    fix: str | None


# The turns whose outcome is known, oldest first.
AnsweredTurns = Sequence[tuple[Turn, Outcome]]


def advise(case: Case) -> Advice | None:
    """Return the first advice that the evidence supports; the most concrete rules come first."""
    # A proposed call has no outcome yet, and advice is based on outcomes.
    answered = [(turn, outcome) for turn in case.turns if (outcome := outcome_of(turn))]
    return next(filter(None, (rule(case, answered) for rule in _RULES)), None)


def _advice(rule: str, *, sure: float | None = None, **facts: object) -> Advice:
    """Insert facts from the evidence into a rule's texts."""
    words = read_texts("advice.toml")[rule]
    reason, fix = (words[part].format(**facts) for part in ("reason", "fix"))
    return Advice(words["sure"] if sure is None else sure, reason, fix)


def tool_unknown(case: Case, answered: AnsweredTurns) -> Advice | None:
    """Name the tool that was probably meant by one that does not exist."""
    for turn, outcome in _failed(answered):
        if not (wanted := find_name("unknown_tool", outcome.text)):
            continue
        name = turn.tool if turn.tool and turn.tool in outcome.text else wanted
        # A tool that failed in any other way exists, so it can be suggested.
        exist = dict.fromkeys(
            one.tool
            for one in (*case.history, *case.turns)
            if one.tool
            and (came := outcome_of(one))
            and find_name("unknown_tool", came.text) is None
        )
        worked = [tool for tool in exist if tool != name]
        offered = [tool for tool in offered_tools(outcome.text) if tool != name]
        if (found := closest_name(name, [*worked, *offered])) is not None:
            return _advice("tool_meant", name=name_or_quote(name), found=name_or_quote(found))
        # Suggest what worked; what only the refusal names is quoted as its words.
        if worked:
            offer = f"These work here: {', '.join(map(name_or_quote, worked[:_MAX_TOOLS_NAMED]))}."
        elif offered:
            offer = f"The refusal names {quoted(', '.join(offered[:_MAX_TOOLS_NAMED]))}."
        else:
            offer = "Use one that you were given."
        return _advice("tool_unknown", name=name_or_quote(name), offer=offer)
    return None


def module_unknown(case: Case, answered: AnsweredTurns) -> Advice | None:
    for _, outcome in _failed(answered):
        if (wanted := find_name("missing_module", outcome.text)) is None:
            continue
        # Search the module as a file: Node reports a path, Python a dotted name.
        as_path = wanted if "/" in wanted else wanted.replace(".", "/") + ".py"
        found = closest_path(as_path, case.workspace)
        if found is None:
            return _advice("module_unknown", wanted=name_or_quote(wanted))
        return _advice(
            "module_meant",
            sure=found.similarity,
            wanted=name_or_quote(wanted),
            found=name_or_quote(found.path),
        )
    return None


def name_missing(case: Case, answered: AnsweredTurns) -> Advice | None:
    """Name the column, table, command, option or key that does not exist."""
    for _, outcome in _failed(answered):
        if (missing := missing_name(outcome.text)) is None:
            continue
        times = sum(missing.name in one.text for _, one in answered if one.failed)
        often = f", {times} times" if times > 1 else ""
        what = f"{missing.what} {name_or_quote(missing.name)}"
        return _advice("name_missing", what=what, often=often, remedy=missing.remedy)
    return None


def file_unknown(case: Case, answered: AnsweredTurns) -> Advice | None:
    """Name the existing file that was probably meant by one that does not exist."""
    lacking = (
        (turn, one.text)
        for turn, one in _failed(answered)
        if matches_complaint("file_missing", one.text)
    )
    turn, text = next(lacking, (None, ""))
    if turn is None or not (wanted := _path_of(turn) or find_name("missing_path", text)):
        return None
    # It exists, so the agent is in another directory, and a similar name would mislead.
    if is_listed(wanted, case.workspace):
        return _advice("file_elsewhere", wanted=name_or_quote(wanted))
    found = closest_path(wanted, case.workspace)
    wanted_name = wanted.rsplit("/", 1)[-1]
    if found is None:
        look = (
            "List the files and read one that is there."
            if case.workspace
            else "List the directory and read a file that is there."
        )
        return _advice("file_unknown", name=name_or_quote(wanted_name), look=look)
    # If only the directory is wrong, "not token.py" would make no sense.
    is_same_name = wanted_name == found.path.rsplit("/", 1)[-1]
    shown = wanted if is_same_name else wanted_name
    verb = _VERBS.get(action_class(turn), "Use")
    sure = round(max(0.7, min(0.97, found.similarity)), 2)
    return _advice(
        "file_meant",
        sure=sure,
        shown=name_or_quote(shown),
        found=name_or_quote(found.path),
        verb=verb,
    )


def _path_of(turn: Turn) -> str | None:
    args = strip_remarks(turn.args)
    for name in PATH_ARGUMENTS:
        if isinstance(value := args.get(name), str) and 0 < len(value) <= _MAX_PATH_LENGTH:
            return value
    return None


def service_busy(case: Case, answered: AnsweredTurns) -> Advice | None:
    if (
        not answered
        or not answered[-1][1].failed
        or not SERVICE_BUSY.occurs_in(answered[-1][1].text)
    ):
        return None
    return _advice("service_busy", quote=quoted(first_line(answered[-1][1].text)))


def past_the_end(case: Case, answered: AnsweredTurns) -> Advice | None:
    """Advise when it pages on, but gets the same short answer everywhere."""
    if len(answered) < _MIN_REPEATS or len(_distinct_answers(answered)) > 1:
        return None
    arguments = read_texts("paths.toml")["places"]
    asked_at = []
    for turn, _ in answered:
        named_places = (
            f"{name} {name_or_quote(str(value)[:60])}"
            for name, value in (turn.args or {}).items()
            if str(name).lower() in arguments and isinstance(value, int | str | list)
        )
        asked_at.append(next(named_places, None))
    # A long answer is a page; the same page everywhere is a different problem.
    if answered[-1][1].is_long or None in asked_at or len(set(asked_at)) < _MIN_REPEATS:
        return None
    return _advice("past_the_end", first=asked_at[0], last=asked_at[-1])


def job_unchanged(case: Case, answered: AnsweredTurns) -> Advice | None:
    if len(answered) < _MIN_REPEATS or len(_distinct_answers(answered)) > 1:
        return None
    if not all(
        is_waiting(turn.tool, command_in(turn.args), outcome.text) for turn, outcome in answered
    ):
        return None
    return _advice(
        "job_unchanged", quote=quoted(first_line(answered[-1][1].text)), count=len(answered)
    )


def edit_unmatched(case: Case, answered: AnsweredTurns) -> Advice | None:
    """Advise when an edit's old text is not in the file."""
    for turn, outcome in _failed(answered):
        if action_class(turn) != "file_edit" or not matches_complaint("no_match", outcome.text):
            continue
        path, quote = _path_of(turn), quoted(first_line(outcome.text))
        where = name_or_quote(path) if path else "the file"
        return _advice("edit_unmatched", path=where, action=quoted(headline(turn)), quote=quote)
    return None


def test_failing(case: Case, answered: AnsweredTurns) -> Advice | None:
    """Advise when the same test fails after several edits."""
    runs = [
        outcome.text for _, outcome in answered if outcome.failed and failed_tests(outcome.text)
    ]
    # If the failing tests change, none of them is the one that stays broken.
    tests = [failed_tests(text) for text in runs]
    common = frozenset.intersection(*tests) if len(tests) >= _MIN_REPEATS else frozenset()
    if not common:
        return None
    # Always the same one, in whatever order the runner lists them.
    name = name_or_quote(min(common))
    edits = sum(action_class(turn) == "file_edit" for turn in case.turns)
    tried = f" after {edits} edits" if edits else ""
    more = f" and {len(common) - 1} more" if len(common) > 1 else ""
    cause, count = quoted(cause_of(runs[-1])), len(runs)
    return _advice("test_failing", name=name, more=more, tried=tried, cause=cause, count=count)


def edits_alternating(case: Case, answered: AnsweredTurns) -> Advice | None:
    """Advise when edits of one file come back: done, undone, done again."""
    edits = [turn for turn, _ in answered if action_class(turn) == "file_edit"]
    seen = [headline(turn) + canonical_json(turn.args) for turn in edits]
    if len(edits) <= _MIN_REPEATS or not 1 < len(set(seen)) <= len(seen) // 2 + 1:
        return None
    return _advice("edits_alternating", action=quoted(headline(edits[-1])))


def call_failing(case: Case, answered: AnsweredTurns) -> Advice | None:
    if not answered or not answered[-1][1].failed:
        return None
    turn, outcome = answered[-1]
    complaint, action = first_line(outcome.text), quoted(headline(turn))
    if len({headline(one) for one, _ in answered}) > 1 and len(_distinct_answers(answered)) == 1:
        short = quoted(shorten(complaint, 60))
        return _advice(
            "variants_failing", count=len(answered), quote=quoted(complaint), short=short
        )
    return _advice("call_failing", count=len(answered), quote=quoted(complaint), action=action)


def _distinct_answers(answered: AnsweredTurns) -> set[Hashable]:
    return {outcome.key for _, outcome in answered}


def check_repeated(case: Case, answered: AnsweredTurns) -> Advice | None:
    """Advise when it checks again and again, and all checks pass."""
    # None is not 0: a check without a count may have failed.
    if len(answered) < _MIN_REPEATS or any(outcome.failures != 0 for _, outcome in answered):
        return None
    return _advice(
        "check_repeated", count=len(answered), quote=quoted(last_line(answered[-1][1].text))
    )


def answer_known(case: Case, answered: AnsweredTurns) -> Advice | None:
    """Remind the agent of an answer that it already has."""
    if not answered:
        return None
    turn = case.turns[-1]
    # A repeated action is no question, so there is no answer to remember.
    if not is_question(action_class(turn), turn.tool, command_in(turn.args)):
        return None
    summary = case.signal.evidence.summary
    if (
        len(_distinct_answers(answered)) == 1
        and len({canonical_json(t.args) for t, _ in answered}) > 1
    ):
        quote = quoted(first_line(answered[-1][1].text))
        return _advice("answer_to_all", summary=summary, quote=quote)
    return _advice("answer_known", summary=summary)


def passed_around(case: Case, answered: AnsweredTurns) -> Advice | None:
    """Advise when agents pass a matter around: the one who raised it decides."""
    names = list(dict.fromkeys(turn.agent for turn in case.turns if turn.agent))
    # Turns of two agents that merely alternate pass nothing around.
    changes = sum(one.agent != next_one.agent for one, next_one in pairwise(case.turns))
    if (
        len(names) < _MIN_REPEATS
        or 2 * changes < len(case.turns)
        or any(o.failed for _, o in answered)
    ):
        return None
    first, *others = map(name_or_quote, names)
    *most, last = others
    listed = f"{', '.join(most)} and {last}" if most else last
    follow = "acts on it and does" if len(others) == 1 else "act on it and do"
    return _advice("passed_around", first=first, others=listed, follow=follow)


def message_repeated(case: Case, answered: AnsweredTurns) -> Advice | None:
    if not case.turns or case.turns[-1].tool is not None:
        return None
    return _advice("message_repeated", summary=case.signal.evidence.summary)


def actions_alternating(case: Case, answered: AnsweredTurns) -> Advice | None:
    """Advise when two actions alternate."""
    actions = [headline(turn) for turn in case.turns]
    if len(actions) < 2 * _MIN_REPEATS or actions[::2] != [actions[0]] * len(actions[::2]):
        return None
    if len(set(actions)) != _MIN_REPEATS:
        return None
    summary = case.signal.evidence.summary
    return _advice(
        "actions_alternating", summary=summary, one=quoted(actions[0]), other=quoted(actions[1])
    )


_Rule = Callable[[Case, AnsweredTurns], Advice | None]
# The order is a ranking. Rules that name what was meant come before those that only see the same
# answer again; talk comes last, because every run has some.
_RULES: tuple[_Rule, ...] = (
    tool_unknown,
    module_unknown,
    name_missing,
    file_unknown,
    service_busy,
    past_the_end,
    job_unchanged,
    edit_unmatched,
    test_failing,
    edits_alternating,
    call_failing,
    check_repeated,
    passed_around,
    answer_known,
    actions_alternating,
    message_repeated,
)


def _failed(answered: AnsweredTurns) -> Iterator[tuple[Turn, Outcome]]:
    return ((turn, outcome) for turn, outcome in reversed(answered) if outcome.failed)
