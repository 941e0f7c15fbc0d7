from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guard.engine import Engine
from guard.reading.terms import (
    BRIEF_ANSWER,
    NEWS,
    TermMemory,
    jaccard,
    masked_lines,
    terms_in,
    texts_in,
)
from guard.turn import Role, Turn
from tests.guard.build import a_call

LONG = frozenset(f"word{n}" for n in range(BRIEF_ANSWER))


def test_terms_never_seen_are_news():
    assert TermMemory(9).measure_news(LONG, 0) == (1.0, 1.0)


def test_terms_seen_before_are_not_in_whatever_order():
    memory = TermMemory(9)
    memory.measure_news(terms_in("a line\nand another"), 0)

    assert memory.measure_news(terms_in("another line and a"), 1) == (0.0, 0.0)


def test_of_a_long_answer_the_share_that_is_new_counts():
    memory = TermMemory(9)
    memory.measure_news(LONG, 0)

    assert memory.measure_news(LONG | {"a", "b", "c", "d"}, 1)[0] == 4 / (BRIEF_ANSWER + 4)


def test_a_short_answer_not_given_before_is_some_news_though_each_word_was_asked_for():
    memory = TermMemory(9)
    memory.add(terms_in("what is in app/main.py"), 0)

    assert memory.measure_news(terms_in("app/main.py is what"), 1)[0] == NEWS
    assert memory.measure_news(terms_in("app/main.py is what"), 2)[0] == 0.0


def test_what_the_agent_wrote_itself_is_no_news():
    memory = TermMemory(9)
    memory.add(LONG, 0)

    assert memory.measure_news(LONG, 0)[0] == 0.0


def test_terms_seen_before_a_fresh_start_are_news_since_and_not_ever():
    memory = TermMemory(9)
    memory.measure_news(LONG, 1)
    memory.start_segment()

    assert memory.measure_news(LONG, 5) == (1.0, 0.0)


def test_terms_are_forgotten_after_the_span():
    memory = TermMemory(3)
    memory.measure_news(LONG, 0)
    memory.start_segment()
    memory.add(frozenset({"other"}), 4)

    assert memory.measure_news(LONG, 5)[1] == 1.0


def test_a_failure_that_is_known_tells_nothing_new_whatever_it_quotes():
    engine = Engine()

    for name in ("alpha", "beta"):
        error = f"Traceback:\n  File 'a.py'\n    return table['{name}'] + {name}\nKeyError: 'user'"
        engine.observe(a_call(error=error, command=f"python {name}.py"))

    assert [step.news for step in engine.history.steps] == [1.0, 0.0]


def test_nothing_is_no_news():
    assert TermMemory(9).measure_news(terms_in(" \n\n"), 0) == (0.0, 0.0)


def test_nothing_is_like_nothing():
    assert jaccard(frozenset(), frozenset()) == 1.0


def test_texts_are_found_at_any_depth_within_reason():
    deep: dict = {"x": "far"}
    for _ in range(50):
        deep = {"x": deep}

    assert texts_in({"a": ["b", {"c": "d"}], "n": 1, "deep": deep}) == ["b", "d"]
    assert texts_in(None) == []


@given(st.lists(st.text(), max_size=30))
def test_shares_stay_within_bounds(texts):
    memory = TermMemory(5)
    for at, text in enumerate(texts):
        since, ever = memory.measure_news(terms_in(text), at)
        assert 0.0 <= ever <= since <= 1.0
        if at % 7 == 3:
            memory.start_segment()


def test_of_a_long_answer_head_and_tail_are_remembered():
    memory, terms = TermMemory(9), terms_in("\n".join(f"w{n} {n}" for n in range(90_000)))
    memory.measure_news(terms, 0)

    assert len(terms) <= 1200
    assert memory.measure_news(terms_in("w0 0\nw89999 89999"), 1)[0] == NEWS


@given(st.lists(st.text(st.characters(exclude_characters="\n[")), max_size=8))
def test_a_line_reads_the_same_beside_any_others(texts):
    alone = [line for text in texts for line in masked_lines(text)]

    assert list(masked_lines("\n".join(texts))) == alone


def test_a_line_beyond_ascii_is_masked_like_the_others():
    assert masked_lines("took 3s …\ntook 3s") == ("took <~> …", "took <~>")


def test_a_time_of_day_is_no_number_in_a_listing():
    assert masked_lines("12:30 started\n12:import os") == ("<~> started", "12:import os")


def test_a_job_in_the_background_is_told_by_its_line_alone():
    assert masked_lines("[1] 46519\ndone") == ("<~>", "done")
    assert masked_lines("done\n[1] 46519") == ("done", "[1] 46519")


def test_figures_on_lines_of_their_own_are_no_job():
    turn = Turn(role=Role.ASSISTANT, tool="cat", args={}, result="[1]\n46519")

    assert Engine().observe(turn).changed
    assert masked_lines("[1]\n46519") == ("[1]", "46519")


def test_a_long_line_is_read_in_parts_to_its_end():
    rows = ", ".join(f'{{"order": {n}, "state": "paid"}}' for n in range(60))

    first, second = (masked_lines(f"[{rows}, {last}]") for last in ('"open"', '"sent"'))

    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]


def test_a_word_more_in_a_long_line_changes_one_part_of_it():
    text = "The harbour office opens at nine. " * 20
    changed = text.replace("nine. The", "nine today. The", 1)

    assert len(set(masked_lines(changed)) - set(masked_lines(text))) == 1
