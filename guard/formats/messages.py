"""Records of agents and models: a document, a list, or one a line.

Which interface or framework wrote them is not asked: `records` says what one holds. A document
holds them wherever it has a list of them; of several such lists each is a session of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from guard.formats.calls import Answer, Call, answer_in
from guard.formats.fields import read_turn
from guard.formats.recording import PairedTurns
from guard.formats.records import Record, read_records
from guard.turn import Role, Turn

Row = Mapping[str, Any]
Matches = Callable[[Record], bool]

# What other logs than a turn file call what a call is given, and what came back.
_NOT_OURS = frozenset({"input", "arguments", "parameters", "tool_input", "output", "observation"})
_DEEPEST = 12
# Records of another sort may stand before the first of these.
_EARLY = 20
# One field of what it stands in, as OpenTelemetry writes them; no record.
_PAIR = {"key", "value"}
# Calls that may wait for an answer that names none of them.
_MOST_OPEN = 100


def recognises(rows: Sequence[Row]) -> bool:
    """Return whether records stand here that a turn file's reader would not understand."""
    return not any("run" in row for row in rows) and any(map(_is_foreign, rows))


def _is_foreign(row: Row) -> bool:
    if "role" in row and row.get("tool") and not _NOT_OURS & row.keys():
        return False  # nothing but a turn file says it so
    record = next(read_records(row), None)
    if record is None:
        return next(_search(row, _DEEPEST, bool), None) is not None
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
    # What came back alone, with nobody who asked for it, is told elsewhere with its call.
    return bool(record.calls or ((record.role or record.asked) and record.agent is None))


def _search(value: object, depth: int, matches: Matches) -> Iterator[list[Row]]:
    if depth == 0:
        return
    if isinstance(value, list):
        rows = [row for row in map(_as_row, value) if row is not None]
        early = [row for row in rows[:_EARLY] if row.keys() != _PAIR]
        if any(map(matches, chain.from_iterable(map(read_records, early)))):
            yield rows
            return
        for one in value:
            yield from _search(one, depth - 1, matches)
    elif isinstance(value, dict):
        if len(steps := _as_steps(value)) > 1:
            yield steps
            return
        # A list that stands in the document itself, before what other objects in it hold.
        for inner in sorted(value.values(), key=lambda one: isinstance(one, dict)):
            found = _search(inner, depth - 1, matches)
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
    """Read a pair of a call and what came back, as LangChain writes steps, as one record."""
    match value:
        case [dict() as call, came]:
            return {**call, "observation": came}
        case dict():
            return value
    return None


class Reader(PairedTurns):
    """Reads record by record."""

    def __init__(self) -> None:
        super().__init__()
        self._documents = -1
        # Who numbers the first step, and where that agent's numbers begin anew.
        self._counts: Record | None = None
        self._starts, self._is_run_s = list[int](), True
        # What the last document held: each request tells the conversation so far again.
        self._last_rows: list[Row] = []
        # Calls without an answer, by their place: what comes back need not name one.
        self._open: dict[int, str] = {}
        self._was_answered = False
        self._row_tools = set[str]()  # by rows of their own

    def take(self, row: Row) -> None:
        if records := list(read_records(row)):
            for record in records:
                self._note_step(record)
                self._take_record(record, session=record.session)
                self._row_tools.update(call.tool for call in record.calls)
            return
        # Who is no more than named may be where a text is from: such lists count where there are
        # no others.
        lists = list(_search(row, _DEEPEST, _is_message)) or list(_search(row, _DEEPEST, bool))
        for rows in lists:
            known = len(self._last_rows)
            if self._row_tools and rows == self._last_rows[: len(rows)]:
                continue  # a tracer's rows of requests, the latest of which may come first
            goes_on = 0 < known < len(rows) and rows[:known] == self._last_rows
            new = rows[known:] if goes_on else rows
            self._documents += not goes_on
            self._last_rows = rows
            records = list(chain.from_iterable(map(read_records, new)))
            # A tracer has rows for calls, and others for the requests in which they are told again.
            tools = (call.tool for record in records for call in record.calls)
            is_traced = not self._row_tools.isdisjoint(tools)
            session = self.turns[-1].session if is_traced else str(self._documents)
            # Interfaces list the newest first.
            times = [record.ts for record in records if record.ts is not None]
            for record in reversed(records) if times and times[0] > times[-1] else records:
                if not (is_traced and (record.calls or record.answers)):
                    self._take_record(record, session=record.session or session)
        if self._open:
            self._take_keyed(row)

    def _note_step(self, record: Record) -> None:
        """Note where a run may begin that was appended to the file of the run before."""
        last = self._counts
        if record.step is None or (last is not None and record.agent != last.agent):
            return  # who is called in counts anew each time
        self._counts = record
        if last is not None and last.step is not None and record.step < last.step:
            self._starts.append(len(self.turns))
            # A number to which one goes back later is that of a plan, or of a second try.
            self._is_run_s &= record.step <= 1

    def finish(self) -> None:
        """Part the runs that one file holds one after the other, told by their steps' numbers."""
        if not self._is_run_s or any(turn.session is not None for turn in self.turns):
            return
        for place, turn in enumerate(self.turns if self._starts else ()):
            run = bisect_right(self._starts, place)
            self.turns[place] = replace(turn, session=str(run))

    def _take_keyed(self, document: Row) -> None:
        """Take what came back from where it stands under the id of its call."""
        values: list[object] = [document]
        while values:
            value = values.pop()
            if isinstance(value, dict):
                for name in value.keys() & self._places.keys():
                    if self._places[name] in self._open:
                        self._put(self._places[name], answer_in(value[name]))
                values += value.values()
            elif isinstance(value, list):
                values += value

    def _take_record(self, record: Record, *, session: str | None) -> None:
        if record.asked:
            self.add(Turn(role=Role.USER, content=record.asked, ts=record.ts, session=session))
        # A list, so that each is put in its place.
        answered = [self._take_answer(answer) for answer in record.answers]
        if answered and not record.text:
            # What came back from no call that was read is told, where it is told as a tool's.
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
            # What came back from a batch comes before the next call: who waits, waits in vain.
            self._open.clear()
            self._was_answered = False
        for number, call in enumerate(calls):
            # What was said and used stands with the first of several calls, or it is told twice.
            base = turn if number == 0 else replace(turn, content="", usage=None, cost_usd=None)
            base = replace(base, role=Role.ASSISTANT, content=base.content or None)
            self._open[len(self.turns)] = call.tool
            if len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]
            self.add(replace(base, key=call.key, tool=call.tool, args=call.args), call=call.key)
            if call.answer is not None:
                self._put(len(self.turns) - 1, call.answer)

    def _is_repeated(self, call: Call) -> bool:
        """Tell a call that was read before, and take what came back from it since.

        A log that has messages and events tells each call twice, with its id and without.
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
        """Put an answer into its call; False: no such call was read."""
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
