"""Records of agents and models: a document, a list, or one record per line.

The API or framework that wrote them does not matter: `records` reads each one. A document may hold
a list of records anywhere; if it holds several such lists, each is a session of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from guard.formats.calls import Answer, Call, read_answer_value
from guard.formats.fields import read_turn
from guard.formats.recording import PairedTurns
from guard.formats.records import Record, read_records
from guard.turn import Role, Turn

Row = Mapping[str, Any]
Matches = Callable[[Record], bool]

# Names of arguments and results that a turn file never uses.
_FOREIGN_FIELDS = frozenset(
    {"input", "arguments", "parameters", "tool_input", "output", "observation"}
)
_MAX_DEPTH = 12
# Records of other kinds may precede the first of these.
_EARLY = 20
# An object with these names is a field in OpenTelemetry's notation, not a record.
_PAIR = {"key", "value"}
# Open calls that are kept for an answer without a call's id.
_MAX_OPEN = 100


def recognises(rows: Sequence[Row]) -> bool:
    """Return whether there are records that the reader of turn files would not understand."""
    return not any("run" in row for row in rows) and any(map(_is_foreign, rows))


def _is_foreign(row: Row) -> bool:
    if "role" in row and row.get("tool") and not _FOREIGN_FIELDS & row.keys():
        return False  # only turn files have such rows
    record = next(read_records(row), None)
    if record is None:
        return next(_find_records(row, _MAX_DEPTH, bool), None) is not None
    turn = read_turn(row)
    if turn is None or record.asked or record.answers:
        return True
    for call in record.calls:
        is_answered = turn.result is not None or turn.error is not None
        if turn.tool is None or (call.args and not turn.args) or (call.answer and not is_answered):
            return True
    is_unheard = not turn.content and (record.text or isinstance(row.get("content"), list | dict))
    return turn.tool is None and bool(is_unheard or "role" not in row)


def _is_message(record: Record) -> bool:
    # An answer without a call is recorded elsewhere, together with its call.
    return bool(record.calls or ((record.role or record.asked) and record.agent is None))


def _find_records(value: object, depth: int, matches: Matches) -> Iterator[list[Row]]:
    if depth == 0:
        return
    if isinstance(value, list):
        rows = [row for row in map(_as_row, value) if row is not None]
        early = [row for row in rows[:_EARLY] if row.keys() != _PAIR]
        if any(map(matches, chain.from_iterable(map(read_records, early)))):
            yield rows
            return
        for one in value:
            yield from _find_records(one, depth - 1, matches)
    elif isinstance(value, dict):
        if len(steps := _as_steps(value)) > 1:
            yield steps
            return
        # Prefer a list in the document itself to lists in its nested objects.
        for inner in sorted(value.values(), key=lambda one: isinstance(one, dict)):
            found = _find_records(inner, depth - 1, matches)
            if (held := next(found, None)) is not None:
                yield held
                yield from found
                return


def _as_steps(value: Row) -> list[Row]:
    """Return the steps of {"tool_name_0": …, "tool_args_0": …, "tool_name_1": …}, as in DSPy."""
    steps = dict[str, dict[str, Any]]()
    for name, inner in value.items():
        stem, _, number = name.rpartition("_")
        if not number.isdigit():
            return []
        steps.setdefault(number, {})[stem] = inner
    return [step for step in steps.values() if any(map(_is_message, read_records(step)))]


def _as_row(value: object) -> Row | None:
    """Return an object as a row, or LangChain's pair of a call and its result as one row."""
    match value:
        case [dict() as call, came]:
            return {**call, "observation": came}
        case dict():
            return value
    return None


class Reader(PairedTurns):
    """Reads records one by one."""

    def __init__(self) -> None:
        super().__init__()
        self._documents = -1
        # The last record of the first agent that numbers its steps; where its numbers restart.
        self._last_step: Record | None = None
        self._starts, self._numbers_separate_runs = list[int](), True
        # The rows of the last document: each request repeats the conversation so far.
        self._last_rows: list[Row] = []
        # Tools of calls without an answer, by place: an answer need not name its call.
        self._open: dict[int, str] = {}
        self._was_answered = False
        self._row_tools = set[str]()  # tools called in rows of their own

    def take(self, row: Row) -> None:
        if records := list(read_records(row)):
            for record in records:
                self._note_step(record)
                self._take_record(record, session=record.session)
                self._row_tools.update(call.tool for call in record.calls)
            return
        # A bare name may be a text's source, not a speaker: lists of such records count only if
        # there are no others.
        lists = list(_find_records(row, _MAX_DEPTH, _is_message)) or list(
            _find_records(row, _MAX_DEPTH, bool)
        )
        for rows in lists:
            known = len(self._last_rows)
            if self._row_tools and rows == self._last_rows[: len(rows)]:
                continue  # a request that a tracer recorded; the latest may come first
            goes_on = 0 < known < len(rows) and rows[:known] == self._last_rows
            new = rows[known:] if goes_on else rows
            self._documents += not goes_on
            self._last_rows = rows
            records = list(chain.from_iterable(map(read_records, new)))
            # A tracer has rows for calls, and rows for requests that repeat these calls.
            tools = (call.tool for record in records for call in record.calls)
            is_traced = not self._row_tools.isdisjoint(tools)
            session = self.turns[-1].session if is_traced else str(self._documents)
            # Some APIs list the newest record first.
            times = [record.ts for record in records if record.ts is not None]
            for record in reversed(records) if times and times[0] > times[-1] else records:
                if not (is_traced and (record.calls or record.answers)):
                    self._take_record(record, session=record.session or session)
        if self._open:
            self._take_answers_by_id(row)

    def _note_step(self, record: Record) -> None:
        """Note where another run may begin that was appended to the same file."""
        last = self._last_step
        if record.step is None or (last is not None and record.agent != last.agent):
            return  # a sub-agent's steps restart with each call of it
        self._last_step = record
        if last is not None and last.step is not None and record.step < last.step:
            self._starts.append(len(self.turns))
            # Going back to a step after the first is a retry or a plan, not a new run.
            self._numbers_separate_runs &= record.step <= 1

    def finish(self) -> None:
        """Separate consecutive runs in one file, found by the numbers of their steps."""
        if not self._numbers_separate_runs or any(turn.session is not None for turn in self.turns):
            return
        for place, turn in enumerate(self.turns if self._starts else ()):
            run = bisect_right(self._starts, place)
            self.turns[place] = replace(turn, session=str(run))

    def _take_answers_by_id(self, document: Row) -> None:
        """Take answers that are stored under the ids of their calls."""
        values: list[object] = [document]
        while values:
            value = values.pop()
            if isinstance(value, dict):
                for name in value.keys() & self._places.keys():
                    if self._places[name] in self._open:
                        self._put(self._places[name], read_answer_value(value[name]))
                values += value.values()
            elif isinstance(value, list):
                values += value

    def _take_record(self, record: Record, *, session: str | None) -> None:
        if record.asked:
            self.add(Turn(role=Role.USER, content=record.asked, ts=record.ts, session=session))
        # A list, not a generator, so that every answer is taken.
        answered = [self._take_answer(answer) for answer in record.answers]
        if answered and not record.text:
            # An answer to an unknown call becomes a turn if a tool's record holds it.
            if not any(answered) and record.role is Role.TOOL:
                for answer in record.answers:
                    self.add(Turn(role=Role.TOOL, content=answer.text, session=session))
            return
        turn = Turn(
            role=record.role or Role.ASSISTANT,
            content=record.text or "",
            agent=record.agent,
            model=record.model,
            usage=record.usage,
            cost_usd=record.cost_usd,
            ts=record.ts,
            session=session,
        )
        calls = [call for call in record.calls if not self._is_repeated(call)]
        if not record.calls and (record.text is not None or turn.role is Role.USER):
            self.add(turn)
        if self._was_answered and calls:
            # A batch's answers precede the next call: calls that are still open will get none.
            self._open.clear()
            self._was_answered = False
        for number, call in enumerate(calls):
            # Text and usage belong to the first of several calls, so that they count once.
            base = turn if number == 0 else replace(turn, content="", usage=None, cost_usd=None)
            base = replace(base, role=Role.ASSISTANT, content=base.content or None)
            self._open[len(self.turns)] = call.tool
            if len(self._open) > _MAX_OPEN:
                del self._open[next(iter(self._open))]
            self.add(replace(base, key=call.key, tool=call.tool, args=call.args), call=call.key)
            if call.answer is not None:
                self._put(len(self.turns) - 1, call.answer)

    def _is_repeated(self, call: Call) -> bool:
        """Return whether a call was read before; take the answer that it has now.

        A log of messages and events records each call twice, with its id and without.
        """
        place = self._places.get(call.key or "")
        if call.key is None and self.turns and self.turns[-1].key is not None:
            last = len(self.turns) - 1
            place = last if self._open.get(last) == call.tool else None
        if place is None or self.turns[place].args != call.args:
            return False
        if call.answer is not None:
            self._put(place, call.answer)
        return True

    def _take_answer(self, answer: Answer) -> bool:
        """Add an answer to its call; False: no such call was read."""
        place = self._places.get(answer.call or "")
        if answer.call is None:
            named = (at for at, tool in self._open.items() if tool == answer.tool)
            place = next(named, None if answer.tool else next(iter(self._open), None))
        if place is None:
            return False
        self._put(place, answer)
        self._was_answered = True
        return True

    def _put(self, place: int, answer: Answer) -> None:
        self._open.pop(place, None)
        self.put(place, answer.text, failed=answer.failed)
