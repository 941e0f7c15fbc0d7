from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guard.engine import Engine
from guard.reading.news import LineMemory, texts_in
from tests.guard.build import a_call


def test_lines_never_seen_are_news():
    assert LineMemory(9).weigh("a line\nanother", 0, since=0) == (1.0, 1.0)


def test_lines_seen_before_are_not():
    memory = LineMemory(9)
    memory.weigh("a line\nanother", 0, since=0)

    assert memory.weigh("another\na line", 1, since=0) == (0.0, 0.0)
    assert memory.weigh("another\nsomething else", 2, since=0) == (0.5, 0.5)


def test_a_line_in_which_only_digits_moved_is_half_news():
    memory = LineMemory(9)
    memory.weigh("job is 9 % done", 0, since=0)

    assert memory.weigh("job is 12 % done", 1, since=0)[0] == 0.5


def test_what_the_agent_wrote_itself_is_no_news():
    memory = LineMemory(9)
    memory.note("value = 3", 0)

    assert memory.weigh("   12\tvalue = 3", 0, since=0)[0] == 0.0


def test_lines_seen_before_the_reset_are_news_since_and_not_ever():
    memory = LineMemory(9)
    memory.weigh("a line", 1, since=0)

    assert memory.weigh("a line", 5, since=3) == (1.0, 0.0)


def test_lines_are_forgotten_after_the_span():
    memory = LineMemory(3)
    memory.weigh("a line", 0, since=0)
    memory.note("other", 4)

    assert memory.weigh("a line", 5, since=0)[1] == 1.0


def test_a_failure_that_is_known_tells_nothing_new_whatever_it_quotes():
    engine = Engine()

    for name in ("alpha", "beta"):
        error = f"Traceback:\n  File 'a.py'\n    return table['{name}'] + {name}\nKeyError: 'user'"
        engine.observe(a_call(error=error, command=f"python {name}.py"))

    assert [step.news for step in engine._history.steps] == [1.0, 0.0]


def test_nothing_is_no_news():
    assert LineMemory(9).weigh(" \n\n", 0, since=0) == (0.0, 0.0)


def test_texts_are_found_at_any_depth_within_reason():
    deep: dict = {"x": "far"}
    for _ in range(50):
        deep = {"x": deep}

    assert texts_in({"a": ["b", {"c": "d"}], "n": 1, "deep": deep}) == ["b", "d"]
    assert texts_in(None) == []


@given(st.lists(st.text(), max_size=30))
def test_shares_stay_within_bounds(texts):
    memory = LineMemory(5)
    for at, text in enumerate(texts):
        assert all(0.0 <= share <= 1.0 for share in memory.weigh(text, at, since=2))


def test_of_a_long_answer_head_and_tail_are_remembered():
    memory = LineMemory(9)
    memory.weigh("\n".join(f"w{n} {n}" for n in range(900)), 0, since=0)

    assert len(memory._last_seen) < 2 * 200 + 1
    assert memory.weigh("w0 0\nw899 899", 1, since=0)[0] == 0.0
