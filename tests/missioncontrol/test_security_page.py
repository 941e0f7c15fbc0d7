"""docs/security.md names every requirement once, and only tests that there are."""

import re
from collections import Counter

import pytest

from tests.installations import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text()
TEST = re.compile(r"`([a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`")
ROW = re.compile(r"^\| ((?:\d+\.\d+\.\d+(?:, )?)+) \| (\w+) \| (.+) \|$", re.MULTILINE)

LEVELS_1_AND_2 = {
    "1.1": 2,
    "1.2": 9,
    "1.3": 11,
    "1.4": 3,
    "1.5": 2,
    "2.1": 3,
    "2.2": 3,
    "2.3": 4,
    "2.4": 1,
    "3.2": 2,
    "3.3": 4,
    "3.4": 6,
    "3.5": 5,
    "3.7": 2,
    "4.1": 3,
    "4.2": 1,
    "4.3": 2,
    "4.4": 4,
    "5.1": 1,
    "5.2": 3,
    "5.3": 2,
    "5.4": 3,
    "6.1": 3,
    "6.2": 12,
    "6.3": 4,
    "6.4": 4,
    "6.5": 5,
    "6.6": 3,
    "6.8": 4,
    "7.1": 3,
    "7.2": 4,
    "7.3": 2,
    "7.4": 5,
    "7.5": 2,
    "7.6": 2,
    "8.1": 2,
    "8.2": 3,
    "8.3": 1,
    "8.4": 1,
    "9.1": 3,
    "9.2": 4,
    "10.1": 2,
    "10.2": 2,
    "10.3": 4,
    "10.4": 11,
    "10.5": 5,
    "10.6": 2,
    "10.7": 3,
    "11.1": 2,
    "11.2": 3,
    "11.3": 3,
    "11.4": 4,
    "11.5": 1,
    "11.6": 1,
    "12.1": 3,
    "12.2": 2,
    "12.3": 4,
    "13.1": 1,
    "13.2": 5,
    "13.3": 2,
    "13.4": 5,
    "14.1": 2,
    "14.2": 4,
    "14.3": 3,
    "15.1": 3,
    "15.2": 3,
    "15.3": 7,
    "16.1": 1,
    "16.2": 5,
    "16.3": 4,
    "16.4": 3,
    "16.5": 3,
    "17.1": 1,
    "17.2": 4,
    "17.3": 2,
}
"""Of each section of ASVS 5.0, how many requirements are of level 1 or 2: its first ones."""


def rows():
    return [(ids.split(", "), state, words) for ids, state, words in ROW.findall(PAGE)]


def test_every_requirement_of_levels_1_and_2_is_listed_once():
    asked = {f"{part}.{n}" for part, count in LEVELS_1_AND_2.items() for n in range(1, count + 1)}

    named = Counter(one for ids, _, _ in rows() for one in ids)

    assert len(asked) == 253
    assert set(named) == asked
    assert set(named.values()) == {1}


def test_a_met_requirement_names_a_test_and_an_unmet_one_a_reason():
    for ids, state, words in rows():
        assert state in {"holds", "partly", "no", "none"}, ids
        assert state != "holds" or TEST.search(words), ids
        assert len(TEST.sub("", words)) >= 9 or state == "holds", ids


@pytest.mark.parametrize(("file", "test"), sorted(set(TEST.findall(PAGE))))
def test_each_named_test_exists(file, test):
    text = (ROOT / "tests" / file).read_text()

    assert re.search(rf"^(async )?def {test}\(", text, re.MULTILINE)


def test_every_attack_names_a_test():
    threats = PAGE.partition("## Who might attack")[2].partition("\n## ")[0]
    lines = [line for line in threats.splitlines() if line.startswith("| ")][1:]

    assert len(lines) >= 12
    assert all(TEST.search(line) for line in lines)
