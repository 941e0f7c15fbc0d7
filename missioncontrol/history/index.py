"""The words of all runs in one table, behind the same functions on both databases.

SQLite: FTS5. PostgreSQL: tsvector under a GIN index. Words are prepared by `language`, so neither
database parses text by its own rules, and no text of a person can act as an operator. A
document holds a run's own words (name, goal, reasons) or one turn's; its number combines the
run's and the turn's. The indexed texts are also shown where they match: everything here was
masked when it was stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models.expressions import RawSQL

from missioncontrol.decisions.models import Decision, Intervention, Message
from missioncontrol.history.language import (
    AGENT_SIGN,
    TOOL_SIGN,
    Phrase,
    cut_middle,
    make_tag,
    split_words,
)
from missioncontrol.runs.models import Run, Turn
from missioncontrol.runs.sanitizing import texts_in

# A run has fewer turns than 2 ** 32, and there are fewer runs than 2 ** 31.
PART_BITS = 32
# The document of the run itself; turn `seq` is document `seq + 1`.
RUN_PART = 0
# How deep arguments are indexed.
MAX_DEPTH = 20
# PostgreSQL does not distinguish positions beyond this one.
LAST_POSITION = 16_383
# ... and stores no more positions of one word.
MAX_POSITIONS = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The words of one part of a run."""

    run: int
    part: int
    words: Sequence[str]

    @property
    def number(self) -> int:
        """Return the document's number in the table."""
        return (self.run << PART_BITS) + self.part


def write_documents(documents: Iterable[Document]) -> None:
    """Write documents; existing ones are replaced."""
    rows: list[tuple[int, str]] = []
    for one in documents:
        # Prepared words: both databases find the same, whatever their rules.
        stored = " ".join(one.words)
        if connection.vendor == "postgresql":
            # With the positions written out, PostgreSQL parses nothing by its own rules.
            places: dict[str, list[int]] = defaultdict(list)
            for place, word in enumerate(one.words, 1):
                if len(places[word]) < MAX_POSITIONS:
                    places[word].append(min(place, LAST_POSITION))
            stored = " ".join(f"'{word}':{','.join(map(str, at))}" for word, at in places.items())
        rows.append((one.number, stored))
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(WRITE_SQL[connection.vendor], rows)


def run_ids_containing(term: Phrase) -> RawSQL:
    """Return a subquery for the ids of the runs that contain these words in a row."""
    return RawSQL(RUNS_SQL[connection.vendor], [index_query(term)])  # noqa: S611 - words are parameters


def find_part(run: int, terms: Sequence[Phrase]) -> int | None:
    """Return the last part of a run that has all of these words, otherwise one of them."""
    is_sqlite = connection.vendor == "sqlite"
    parts = [index_query(term) if is_sqlite else f"({index_query(term)})" for term in terms]
    # The words may be in turns far apart: then a part that has any of them is shown.
    signs = (" AND ", " OR ") if is_sqlite else (" & ", " | ")
    for sign in signs[: len(terms)]:  # for one term both ask the same
        question = sign.join(parts)
        with connection.cursor() as cursor:
            cursor.execute(
                PART_SQL[connection.vendor], [question, run << PART_BITS, (run + 1) << PART_BITS]
            )
            if found := cursor.fetchone():
                return int(found[0]) & ((1 << PART_BITS) - 1)
    return None


def index_query(term: Phrase) -> str:
    """Return words as a query of this database's index."""
    if connection.vendor == "sqlite":
        return f'"{" ".join(term.words)}"{" *" if term.is_prefix else ""}'
    # In quotes: `tsquery` takes what is quoted as a word, never as an operator.
    *first, last = (f"'{word}'" for word in term.words)
    return " <-> ".join([*first, f"{last}:*" if term.is_prefix else last])


# Both tables use one number for each document, so that a run is a range of numbers.
WRITE_SQL = {
    "sqlite": "INSERT OR REPLACE INTO history_words (rowid, words) VALUES (%s, %s)",
    "postgresql": "INSERT INTO history_words (id, words) VALUES (%s, %s::tsvector) "
    "ON CONFLICT (id) DO UPDATE SET words = excluded.words",
}
RUNS_SQL = {
    "sqlite": "SELECT run_id FROM history_indexedrun WHERE id IN "
    "(SELECT rowid >> 32 FROM history_words WHERE history_words MATCH %s)",
    "postgresql": "SELECT run_id FROM history_indexedrun WHERE id IN "
    "(SELECT id >> 32 FROM history_words WHERE words @@ %s::tsquery)",
}
PART_SQL = {
    "sqlite": "SELECT rowid FROM history_words WHERE history_words MATCH %s "
    "AND rowid >= %s AND rowid < %s ORDER BY rowid DESC LIMIT 1",
    "postgresql": "SELECT id FROM history_words WHERE words @@ %s::tsquery "
    "AND id >= %s AND id < %s ORDER BY id DESC LIMIT 1",
}

_FORGET = "DELETE FROM history_words WHERE {0} >= OLD.id << 32 AND {0} < (OLD.id + 1) << 32;"
# A trigger: when a run is deleted by a cascade, its words go too, whoever deletes it.
_AFTER = "CREATE TRIGGER history_forget AFTER DELETE ON history_indexedrun "

MAKE: dict[str, tuple[str, ...]] = {
    "sqlite": (
        # `ascii`: words are prepared, and may have characters beyond ASCII.
        # `columnsize=0`: nothing is ranked by length.
        "CREATE VIRTUAL TABLE history_words USING fts5(words, tokenize='ascii', columnsize=0)",
        f"{_AFTER} BEGIN {_FORGET.format('rowid')} END",
    ),
    "postgresql": (
        "CREATE TABLE history_words (id bigint PRIMARY KEY, words tsvector NOT NULL)",
        "CREATE INDEX history_words_gin ON history_words USING gin (words)",
        f"""CREATE FUNCTION history_forget() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN {_FORGET.format("id")} RETURN OLD; END $$""",
        f"{_AFTER} FOR EACH ROW EXECUTE FUNCTION history_forget()",
    ),
}
# The trigger first: it needs the table, and the table does not need it.
DROP: dict[str, tuple[str, ...]] = {
    "sqlite": ("DROP TRIGGER history_forget", "DROP TABLE history_words"),
    "postgresql": (
        "DROP TRIGGER history_forget ON history_indexedrun",
        "DROP FUNCTION history_forget()",
        "DROP TABLE history_words",
    ),
}


def run_statements(statements: dict[str, tuple[str, ...]], editor: Any) -> None:
    """Create or drop the table on the database that `editor` migrates."""
    for statement in statements[editor.connection.vendor]:
        editor.execute(statement, params=None)


# The field's name, and its text.
Field = tuple[str, str]


def turn_texts(turn: Turn) -> Iterator[Field]:
    """Yield the texts of a turn, in the order in which a match is shown."""
    yield "tool", turn.tool or ""
    yield "args", "\n".join(texts_in(turn.args, max_depth=MAX_DEPTH))
    yield "content", turn.content or ""
    yield "error", turn.error or ""
    yield "result", turn.result or ""
    yield "files", "\n".join(turn.files)


def run_texts(run: Run, related: Iterable[Field]) -> Iterator[Field]:
    """Yield a run's own texts: what it is, why it was held or ended, and `related_texts`."""
    # In the order in which a match is shown: what the run is comes before its reasons.
    yield "name", run.name
    yield "goal", run.goal
    yield "agent", run.agent
    yield "reason", run.reason
    yield from related


def related_texts(runs: Collection[Run]) -> dict[UUID, list[Field]]:
    """Return what was said about runs in their cards, messages and interventions."""
    found: dict[UUID, list[Field]] = defaultdict(list)
    # One query for each table for all runs: indexing takes 32 of them at a time.
    cards = Decision.objects.filter(run__in=runs).order_by("id")
    for run, evidence, verdict in cards.values_list("run_id", "evidence", "verdict"):
        ruling = verdict or {}
        judge = "\n".join(filter(None, [ruling.get("reason"), ruling.get("fix")]))
        found[run] += [("reason", evidence.get("summary") or ""), ("judge", judge)]
    messages = Message.objects.filter(run__in=runs).order_by("id")
    for run, text in messages.values_list("run_id", "text"):
        found[run].append(("message", text))
    made = Intervention.objects.filter(run__in=runs).order_by("id")
    for run, message in made.values_list("run_id", "message"):
        found[run].append(("reason", message or ""))
    return found


def turn_words(turn: Turn) -> list[str]:
    """Return the words of a turn, and its tags."""
    tags = (make_tag(TOOL_SIGN, turn.tool or ""), make_tag(AGENT_SIGN, turn.agent))
    return _words_in(turn_texts(turn), tags)


def run_words(run: Run, related: Iterable[Field]) -> list[str]:
    """Return a run's own words, those of `related_texts`, and its tag."""
    return _words_in(run_texts(run, related), (make_tag(AGENT_SIGN, run.agent),))


def _words_in(texts: Iterator[Field], tags: Iterable[str]) -> list[str]:
    words = [word for _, text in texts if text for word in split_words(cut_middle(text))]
    return [*words, *filter(None, tags)]
