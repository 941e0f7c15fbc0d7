"""A project masks more than secrets: by rules of its own, in linear time."""

import threading
from time import perf_counter

import pytest

from missioncontrol.errors import InvalidRequest
from missioncontrol.redaction import (
    _CHUNK,
    _OVERLAP,
    MAX_RULE_LENGTH,
    MAX_RULES,
    Redaction,
    read_rules,
)


def masked(text, *rules):
    return read_rules(rules).mask_text(text)


@pytest.mark.parametrize(
    ("rule", "text", "kept"),
    [
        ("K-######", "order K-123456.", "order [masked]."),
        ("K-######", "order K-12345", "order K-12345"),
        ("K-######", "order K-1234567", "order K-1234567"),
        ("K-######*", "order K-1234567a-b", "order [masked]-b"),
        ("Erika Muster*", "erika\nMUSTERMANN rang", "[masked] rang"),
        ("Muster", "Mustermann", "Mustermann"),
        ("??-####", "HH-1234 and 11-1234", "[masked] and 11-1234"),
        ("(AB)##", "f(AB)12g", "f(AB)12g"),
        ("(AB)##", "f(AB)12)", "f[masked])"),
        ("müller", "Frau MÜLLER", "Frau [masked]"),
        (r"a.b\d", r"a.b\d axb1", "[masked] axb1"),
    ],
)
def test_a_rule_masks_whole_words_and_nothing_else(rule, text, kept):
    assert masked(text, rule) == kept


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("K-*-1", "at the end only"),
        ("K-", "at least 3"),
        ("*", "at least 3"),
        ("????*", "every word"),
        ("x" * (MAX_RULE_LENGTH + 1), "at most"),
        ("abc\u200bdef", "can be seen"),
    ],
)
def test_an_invalid_rule_is_refused_with_the_reason(rule, why):
    with pytest.raises(InvalidRequest, match=why):
        read_rules([rule])


def test_too_many_rules_are_refused():
    with pytest.raises(InvalidRequest, match="At most"):
        read_rules([f"K-{number:05}" for number in range(MAX_RULES + 1)])


def test_empty_lines_and_repeats_are_left_out():
    assert read_rules([" K-##  x ", "", "K-## x"]).rules == ("K-## x",)


def test_json_is_masked_in_names_texts_and_numbers():
    own = Redaction(("K-##", "471100"))

    masked = own.mask_json({"K-12": [471100, 4711, True, None, "to K-34"]})

    assert masked == {"[masked]": ["[masked]", 4711, True, None, "to [masked]"]}


def test_a_space_matches_any_whitespace_and_accents_match_in_both_forms():
    wrapped = "signed by Erika\n        Mustermann and joa\u0303o silva"

    assert (
        masked(wrapped, "Erika Mustermann", "jo\u00e3o silva") == "signed by [masked] and [masked]"
    )


@pytest.mark.parametrize("at", range(_CHUNK - 12, _CHUNK + 3))
def test_a_match_across_two_chunks_of_a_long_text_is_masked(at):
    for word, rule in (("K-1234", "K-####"), ("Muster" + "x" * 3 * _OVERLAP, "Muster*")):
        text = " " * at + word + " is gone"
        assert masked(text, rule) == " " * at + "[masked] is gone"
    assert masked("a" * at + "K-1234", "K-####") == "a" * at + "K-1234"


def test_other_threads_run_while_many_rules_are_tried():
    own = Redaction(tuple("-" * 20 + "#" * digits for digits in range(1, MAX_RULES + 1)))
    ticks, over = [], threading.Event()

    def tick():
        while not over.wait(0.001):
            ticks.append(None)

    other = threading.Thread(target=tick)
    other.start()
    own.mask_text("-" * 12 * _CHUNK)
    over.set()
    other.join()

    assert len(ticks) >= 6


def test_equal_words_get_equal_marks_and_different_words_different_ones():
    own = Redaction(("K-####", "Muster*"), salt="one project")
    marks = own.mask_text("K-1234 k-1234 K-9999").split("] ")

    assert marks[0] == marks[1] != marks[2]
    assert "1234" not in own.mask_text("K-1234")
    assert own.mask_text("K-1234") != Redaction(("K-####",), salt="another").mask_text("K-1234")


@pytest.mark.parametrize("salt", ["", "one project"])
def test_a_mark_is_never_masked_again(salt):
    own = Redaction(("masked", "K-####", *(f"{sign}?????" for sign in "abcdefghijklmnop")), salt)
    once = own.mask_text("K-1234, K-1235 and a word")

    assert own.mask_text(once) == once
    assert [rule for rule, *_ in own.find_matches(once)] == []


def test_masking_twice_changes_nothing():
    own = read_rules(["K-##*", "Muster*"])
    once = own.mask_text("K-12345 Mustermann")

    assert own.mask_text(once) == once


def test_masking_time_grows_linearly_with_the_text():
    own = read_rules([f"{'#' * 50}-{number:02}" for number in range(MAX_RULES)])

    def took(text):
        began = perf_counter()
        own.mask_text(text)
        return perf_counter() - began

    short, long = "1" * 50 + "-x ", ("1" * 50 + "-x ") * 8
    own.mask_text(short)
    assert min(took(long * 200) for _ in range(3)) < 24 * min(took(short * 200) for _ in range(3))
