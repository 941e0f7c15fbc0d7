from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guard.engine import Engine
from guard.reading.lines import Lines, masked_lines, read_lines
from guard.turn import Role, Turn


def test_a_line_read_again_reads_the_same():
    lines = Lines()

    assert lines.read(["a", "row 7", "a"]) == lines.read(["a", "row 7", "a"])


def test_a_line_has_the_print_of_its_words_and_that_of_its_shape():
    (_, one, shape), (_, other, same_shape) = read_lines("row 7\nrow 8")

    assert one != other
    assert shape == same_shape


def test_its_number_in_a_listing_is_no_part_of_a_line():
    (_, bare, _), (_, listed, _) = read_lines("return 3\n   12\treturn 3")

    assert bare == listed


def test_a_time_of_day_is_no_number_in_a_listing():
    assert masked_lines("12:30 started\n12:import os") == ("<~> started", "12:import os")


def test_a_line_beyond_ascii_is_masked_like_the_others():
    assert masked_lines("took 3s …\ntook 3s") == ("took <~> …", "took <~>")


def test_a_line_of_one_sign_counts_for_nothing():
    assert read_lines("}")[0] == ("}", 0, 0)


def test_it_remembers_a_bounded_number_of_lines():
    lines = Lines()
    for number in range(10 * Lines.MOST):
        lines.read([f"line {number}"])

    assert len(lines._young) + len(lines._old) <= 2 * Lines.MOST + 1


@given(st.lists(st.text(st.characters(exclude_characters="\n")), max_size=8))
def test_a_line_reads_the_same_beside_any_others(texts):
    together = Lines().read(texts := [text for text in texts if text])

    assert together == [Lines().read([text])[0] for text in texts]


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
    said = "The harbour office opens at nine. " * 20
    changed = said.replace("nine. The", "nine today. The", 1)

    assert len(set(masked_lines(changed)) - set(masked_lines(said))) == 1
