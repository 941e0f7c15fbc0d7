"""Masking takes as long as a text is long, whatever the text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from guard.redact import MASK, MAX_LENGTH, RULES, Rule, cut_middle, redact, redact_json
from tests.property.hostile import Shape, shapes

LENGTH = 12_000
MOST_TIMES_PLAIN = 25
"""Measured: 10 at most. Rules that looked ahead at every place took 40 to 70."""
PLAIN = "The quick brown fox, id 42, jumped over src/dogs.py and 12 lazy lines. "


def cpu_s(action: Callable[[], Any], times: int = 3) -> float:
    """Return the least of some measurements: what else runs here only adds."""
    took = []
    for _ in range(times):
        began = time.thread_time()
        action()
        took.append(time.thread_time() - began)
    return min(took)


def hostile_texts(rule: Rule) -> Iterator[str]:
    for shape in shapes(rule.pattern):
        yield f"{rule.hint} {shape.text(LENGTH)}"
        yield Shape("", f"{rule.hint} {shape.head}{shape.unit}").text(LENGTH)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.hint)
def test_a_hostile_text_takes_little_more_than_a_plain_one(rule):
    plain = cpu_s(lambda: redact(PLAIN * (LENGTH // len(PLAIN))))

    worst = max(hostile_texts(rule), key=lambda text: cpu_s(lambda: redact(text), times=1))

    times = cpu_s(lambda: redact(worst)) / plain
    assert times < MOST_TIMES_PLAIN, f"{times:.0f} times for {worst[:60]!r}"


def test_many_short_hostile_texts_take_little_more_than_plain_ones():
    plain = cpu_s(lambda: redact_json(["a b c d e"] * 20_000))

    assert cpu_s(lambda: redact_json(["sk-://-u="] * 20_000)) < MOST_TIMES_PLAIN * plain


@pytest.mark.parametrize("words", [("curl", "-u", "a:b"), ("mysql", "-p"), ("--token",)])
def test_long_lists_of_options_take_little_more_than_plain_ones(words):
    plain = cpu_s(lambda: redact_json(["a b c d e"] * 20_000))

    assert cpu_s(lambda: redact_json([*words] * (20_000 // len(words)))) < MOST_TIMES_PLAIN * plain


def test_a_text_of_megabytes_is_cut_in_the_middle_before_it_is_masked():
    text = "begin\n" + "password: hunter2\n" * 500_000 + "end"

    masked = redact(text)

    assert masked.startswith(f"begin\npassword: {MASK}\n")
    assert masked.endswith(f"\npassword: {MASK}\nend")
    assert re.search(r"\[… 7,\d{3},\d{3} characters left out …\]", masked)
    assert len(masked) < 2 * MAX_LENGTH
    assert "hunter2" not in masked


@pytest.mark.parametrize("before", range(0, 60, 6))
def test_no_half_of_a_secret_stays_beside_the_cut(before):
    key = "sk-ant-" + "a1B2" * 12
    for middle in (MAX_LENGTH // 2, -MAX_LENGTH // 2):
        text = "x " * MAX_LENGTH
        place = middle % len(text) - before
        text = f"{text[:place]} {key} {text[place + len(key) + 2 :]}"

        assert "B2a1B2" not in redact(text)


def test_a_private_key_that_the_cut_breaks_is_gone():
    lines = "MIIEpAIBAAKCAQEA7\n" * 100
    key = f"-----BEGIN PRIVATE KEY-----\n{lines}-----END PRIVATE KEY-----\n"
    half = "x\n" * (MAX_LENGTH // 4 - 400)

    assert "MIIE" not in redact(half + key + "x" * MAX_LENGTH + "\n" + key + half)


def test_a_private_key_that_stands_whole_behind_the_cut_is_masked():
    key = f"-----BEGIN PRIVATE KEY-----\n{'MIIEpAIBAAKCAQEA7' * 9}\n-----END PRIVATE KEY-----\n"

    masked = redact("x\n" * MAX_LENGTH + key + "the end")

    assert "MIIE" not in masked
    assert masked.endswith(f"\n-----BEGIN PRIVATE KEY-----{MASK}-----END PRIVATE KEY-----\nthe end")


@pytest.mark.parametrize("unit", ["x ", "x"])
def test_of_a_text_without_lines_the_head_and_the_tail_are_kept_and_no_more(unit):
    kept = cut_middle("begin " + unit * 2 * MAX_LENGTH + "end")

    assert (kept[:7], kept[-4:]) == ("begin x", f"{unit}end"[-4:])
    assert kept.index("[…") > 0.9 * MAX_LENGTH / 2
    assert 0.9 * MAX_LENGTH < len(kept) < MAX_LENGTH + 60


def test_what_fits_is_kept_whole():
    assert cut_middle("x" * MAX_LENGTH) == "x" * MAX_LENGTH
