"""Records of agents and models: a document, a list, or one a line.

Which interface or framework wrote them is not asked: `records` says what one holds. A document
holds them wherever it has a list of them; of several such lists each is a session of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from guard.formats.calls import Answer, Call
from guard.formats.fields import read_turn
from guard.formats.recording import PairedTurns
from guard.formats.records import Record, read_record
from guard.turn import Role, Turn

Row = Mapping[str, Any]
Matches = Callable[[Record | None], bool]

# What other logs than a turn file call what a call is given, and what came back.
_NOT_OURS = frozenset({"input", "arguments", "parameters", "tool_input", "output", "observation"})
_DEEPEST = 4
# Records of another sort may stand before the first of these.
_EARLY = 20
# Calls that may wait for an answer that names none of them.
_MOST_OPEN = 100


def recognises(rows: Sequence[Row]) -> bool:
    """Tell whether records stand here that a turn file's reader would not understand."""
    return not any("run" in row for row in rows) and any(map(_is_foreign, rows))


def _is_foreign(row: Row) -> bool:
    if "role" in row and row.get("tool") and not _NOT_OURS & row.keys():
        return False  # nothing but a turn file says it so
    record = read_record(row)
    if record is None:
        return bool(_find_lists(row))
    turn = read_turn(row)
    if turn is None or record.asked or record.answers:
        return True
    for call in record.calls:
        is_answered = turn.result is not None or turn.error is not None
        if turn.tool is None or (call.args and not turn.args) or (call.answer and not is_answered):
            return True
    is_unheard = not turn.content and (record.text or isinstance(row.get("content"), list | dict))
    return turn.tool is None and bool(is_unheard or "role" not in row)


def _find_lists(document: Row) -> list[list[Row]]:
    """Find the lists of records in a document; what stands within a record is its own.

    Who is no more than named may be where a text is from: such lists count where there are
    no others.
    """
    return list(_search(document, _DEEPEST, _is_message)) or list(_search(document, _DEEPEST, bool))


def _is_message(record: Record | None) -> bool:
    return record is not None and bool(record.calls or record.answers or record.agent is None)


def _search(value: object, depth: int, matches: Matches) -> Iterator[list[Row]]:
    if depth == 0:
        return
    if isinstance(value, list):
        rows = [row for row in map(_as_row, value) if row is not None]
        if any(matches(read_record(row)) for row in rows[:_EARLY]):
            yield rows
            return
        for row in rows:
            yield from _search(row, depth - 1, matches)
    elif isinstance(value, dict):
        # A list that stands in the document itself, before what other objects in it hold.
        for inner in sorted(value.values(), key=lambda one: isinstance(one, dict)):
            found = list(_search(inner, depth - 1, matches))
            if found:
                yield from found
                return


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
        # What the last document held: each request tells the conversation so far again.
        self._told: list[Row] = []
        # Calls without an answer, by their place: what comes back need not name one.
        self._open: dict[int, str] = {}
        self._was_answered = False

    def take(self, row: Row) -> None:
        if (record := read_record(row)) is not None:
            self._take_record(record, session=record.session)
            return
        for rows in _find_lists(row):
            known = len(self._told)
            goes_on = 0 < known < len(rows) and rows[:known] == self._told
            new = rows[known:] if goes_on else rows
            self._documents += not goes_on
            self._told = rows
            records = list(filter(None, map(read_record, new)))
            # Interfaces list the newest first.
            times = [record.ts for record in records if record.ts is not None]
            for record in reversed(records) if times and times[0] > times[-1] else records:
                self._take_record(record, session=record.session or str(self._documents))

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
