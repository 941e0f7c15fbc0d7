"""The line of search: what each piece of it means, and that nothing breaks it."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from missioncontrol.errors import InvalidRequest
from missioncontrol.history.language import (
    MAX_TERMS,
    MAX_WORD_LENGTH,
    PARSERS,
    Bounds,
    located_words,
    make_tag,
    parse_query,
    split_words,
)

AT = datetime(2026, 11, 22, 10, 30, tzinfo=UTC)


def read(line, zone=UTC):
    return {(term.key, term.value) for term in parse_query(line, at=AT, zone=zone).terms}


def texts(line):
    return [(value.words, value.is_prefix) for value in parse_query(line, at=AT).texts]


def test_words_may_be_the_beginning_of_longer_ones_and_quoted_ones_are_exact():
    assert texts('auth "exact words"') == [(("auth",), True), (("exact", "words"), False)]


def test_a_path_is_words_in_a_row():
    assert texts("app/auth.py") == [(("app", "auth", "py"), True)]


def test_one_letter_stands_for_itself():
    assert texts("a") == [(("a",), False)]


def test_a_quote_that_is_never_closed_ends_with_the_line():
    assert texts('"two words') == [(("two", "words"), False)]


def test_what_is_no_known_token_is_words():
    assert texts("http://host TODO:later") == [
        (("http", "host"), True),
        (("todo", "later"), True),
    ]


def test_tokens_are_read_with_their_values():
    assert read('agent:coder tool:"Bash" status:held,holding') == {
        ("agent", "coder"),
        ("tool", "Bash"),
        ("status", ("held", "holding")),
    }


def test_a_token_without_a_value_is_still_being_typed():
    assert read("status: agent:") == set()


@pytest.mark.parametrize(
    ("written", "bounds"),
    [
        ("cost:>1", Bounds(lower=Decimal(1), includes_lower=False)),
        ("cost:>=$0.50", Bounds(lower=Decimal("0.50"))),
        ("cost:<2", Bounds(upper=Decimal(2), includes_upper=False)),
        ("cost:1..5", Bounds(lower=Decimal(1), upper=Decimal(5))),
        ("cost:0", Bounds(lower=Decimal(0), upper=Decimal(0))),
    ],
)
def test_a_sum_has_bounds(written, bounds):
    assert read(written) == {("cost", bounds)}


def test_a_day_begins_in_the_readers_zone():
    berlin = ZoneInfo("Europe/Berlin")

    assert read("since:2026-11-01", berlin) == {("since", datetime(2026, 10, 31, 23, tzinfo=UTC))}
    assert read("since:today", berlin) == {("since", datetime(2026, 11, 21, 23, tzinfo=UTC))}
    assert read("since:24h") == {("since", AT - timedelta(hours=24))}


def test_a_minus_means_the_opposite():
    (term,) = parse_query("-status:completed", at=AT).terms

    assert (term.key, term.negated) == ("status", True)


@pytest.mark.parametrize(
    "line",
    [
        "cost:abc",
        "cost:>1..2",
        "since:someday",
        "status:walking",
        "is:nice",
        "ended:maybe",
        "turns:-1",
        "since:9999999w",
        "since:0001-01-01T00:00:00+14:00",
    ],
)
def test_a_value_that_cannot_be_read_is_refused_with_what_was_expected(line):
    with pytest.raises(InvalidRequest, match="expected"):
        parse_query(line, at=AT)


@pytest.mark.parametrize("line", ["a\0b", "agent:a\0b", '"a\0b"'])
def test_a_sign_that_postgresql_cannot_be_asked_for_is_left_out(line):
    assert read(line) == read(line.replace("\0", ""))


def test_a_line_is_bounded():
    with pytest.raises(InvalidRequest, match="at most"):
        parse_query("x" * 1001, at=AT)
    with pytest.raises(InvalidRequest, match="at most"):
        parse_query("w " * (MAX_TERMS + 1), at=AT)


def is_read_or_refused(line):
    try:
        return {term.key for term in parse_query(line, at=AT).terms} <= {*PARSERS, "text"}
    except InvalidRequest as refused:
        return "expected" in str(refused) or "at most" in str(refused)


@given(st.text(max_size=1100))
def test_any_line_is_read_or_refused(line):
    assert is_read_or_refused(line)


SIGNS = st.sampled_from(['"', ":", "-", "cost:", "since:", "a", " ", ">", "\0", "é", "..", "9"])


@given(st.lists(SIGNS, max_size=60))
def test_any_mixture_of_signs_is_read_or_refused(parts):
    assert is_read_or_refused("".join(parts))


@given(st.text(max_size=300))
def test_words_hold_nothing_that_an_index_could_take_for_a_sign(text):
    for word in split_words(text):
        assert word.isalnum()
        assert len(word) <= MAX_WORD_LENGTH


@given(st.text(max_size=300))
@example("0\uf900")  # taken apart, one run of signs is two words
def test_words_are_found_where_they_stand(text):
    placed = list(located_words(text))

    assert [word for word, _, _ in placed] == split_words(text)
    for word, begin, end in placed:
        assert word in split_words(text[begin:end])


@given(st.text(max_size=200).filter(lambda text: not text.isupper()))
def test_words_do_not_depend_on_how_a_query_is_typed(text):
    assert [
        value.words for value in parse_query(f'"{text.replace(chr(34), "")}"', at=AT).texts
    ] in (
        [],
        [tuple(split_words(text.replace(chr(34), "")))],
    )


def test_accents_and_large_letters_make_no_difference():
    assert split_words("Ärger NAÏVE straße") == ["arger", "naive", "strasse"]


def test_every_sign_of_chinese_is_a_word():
    assert split_words("修复测试 ok") == ["修", "复", "测", "试", "ok"]


def test_a_tools_name_is_one_tag():
    assert make_tag("§", "mcp__github__create_issue") == "§mcpgithubcreateissue"
    assert make_tag("§", "…") == ""
