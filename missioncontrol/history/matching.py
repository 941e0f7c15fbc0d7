"""Show where the words of a search stand in a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from missioncontrol.history import index
from missioncontrol.history.index import ABOUT_THE_RUN
from missioncontrol.history.language import Words
from missioncontrol.history.models import IndexedRun
from missioncontrol.history.texts import Field, run_texts, turn_texts
from missioncontrol.history.words import placed_words
from missioncontrol.runs.models import Run, Turn
from missioncontrol.wire.history import MatchRow

# Characters before the first match, and of the piece in all.
BEFORE, LENGTH = 40, 160
# Characters of a field in which a match is looked for.
LOOKED_THROUGH = 60_000

Span = tuple[int, int]


def show_match(run: Run, terms: Sequence[Words]) -> MatchRow | None:
    """Return the piece of a run's text in which the words stand; None: none is indexed."""
    mark = IndexedRun.objects.filter(run=run).first()
    # The index says which turn: a long run is not read to find it.
    part = index.part_holding(mark.id, terms) if mark and terms else None
    if part is None or part == ABOUT_THE_RUN:
        return first_match(run_texts(run), terms, turn=None)
    turn = Turn.objects.filter(run=run, seq=part - 1).first()
    return first_match(turn_texts(turn), terms, turn=turn.seq) if turn else None


def first_match(
    texts: Iterable[Field], terms: Sequence[Words], *, turn: int | None
) -> MatchRow | None:
    """Return a piece of the first text that holds one of the words."""
    for name, text in texts:
        # Bounded: a result may be megabytes, and the page waits for it.
        if spans := list(spans_in(text[:LOOKED_THROUGH], terms)):
            start = max(0, spans[0][0] - BEFORE)
            piece = text[start : start + LENGTH]
            marks: list[Span] = []
            for begin, end in spans:
                # Terms may share words; marks that overlap could not be drawn.
                if begin - start < len(piece) and (not marks or begin - start >= marks[-1][1]):
                    marks.append((begin - start, min(end - start, len(piece))))
            return MatchRow(turn=turn, field=name, text=piece, marks=tuple(marks))
    return None


def spans_in(text: str, terms: Sequence[Words]) -> Iterator[Span]:
    """Yield from where to where words of the terms stand in a text."""
    placed = list(placed_words(text))
    for at in range(len(placed)):
        for term in terms:
            part = placed[at : at + len(term.words)]
            *before, last = (word for word, _, _ in part)
            *first, end = term.words
            if before == first and (last.startswith(end) if term.begins else last == end):
                yield part[0][1], part[-1][2]
                break
