from __future__ import annotations

from dataclasses import replace

import pytest

from tests.guard.build import a_call, first_trip

REFUSED = """Your change leaves out places that have to be changed as well.
They are the lines 123 to 127, 136 and 143 to 150 of the first file and 19 of the second.
Fill in this form, a line for each of them, and send the whole of it again."""
SAVED = """The change was saved; here is how the repository stands now, for your information.
Lines 123 to 127, 136 and 143 to 150 of the first file and 19 of the second differ.
Nothing else was touched."""
WORDS = ("int a = one();", "long b = two(a);", "return three();", "var d = four;", "stop(five);")


def attempts(answer, paths=("Node.java",) * 5):
    return [
        a_call("submit", answer, path=path, text=f"    {word}\n    // as said in {place}")
        for place, (word, path) in enumerate(zip(WORDS, paths, strict=True))
    ]


@pytest.mark.parametrize("answer", [SAVED, "noted"])
def test_equal_acknowledgements_are_a_batch(answer):
    assert first_trip(attempts(answer)) is None


def test_other_targets_are_a_batch():
    paths = ("Node.java", "Tree.java", "Leaf.java", "Edge.java", "Root.java")

    assert first_trip(attempts(REFUSED, paths)) is None


def test_the_lines_of_one_page_in_other_orders_teach_nothing():
    lines = [f"The {name} of the old town was built of {name} stone." for name in "abcdefghijkl"]
    orders = [lines[place:] + lines[:place] for place in range(12)]
    turns = [a_call("read_feed", "\n".join(order[:9])) for order in orders]

    assert first_trip(turns) == 2


def test_a_look_up_that_gives_each_name_another_id_goes_on():
    names = ("Ann Lee", "Bob Ray", "Cy Fox", "Di Orr", "Ed Poe", "Flo Nye", "Gus Day", "Hal Ash")
    ids = [f"{place}f2504e0-4f89-41d3-9a0c-0305e82c330{place}" for place in range(len(names))]
    turns = [
        a_call("find_user_id", f'{{"user_id": "{one}"}}', name=name)
        for name, one in zip(names, ids, strict=True)
    ]

    assert first_trip(turns) is None


def in_turn(commands):
    return [
        a_call("Bash", "", agent=f"coder {place % 3}", command=command)
        for place, command in enumerate(commands)
    ]


def test_agents_that_try_one_thing_in_turn_are_as_stuck_as_one():
    tries = [f"find /srv -name lamp -newer ref {'-not -empty ' * n}-print" for n in range(1, 7)]

    assert first_trip(in_turn(tries)) == 5


def test_workers_side_by_side_who_each_look_once_and_find_the_same_are_not_stuck():
    turns = [
        a_call("Bash", "12 passed", agent=f"worker {n}", command=f"pytest -q {'-x ' * n}")
        for n in range(12)
    ]

    assert first_trip(turns) is None


ENDINGS = ("json", "js", "ts", "toml", "py", "yaml", "yml", "go", "rs", "java", "c", "rb")


def globs(of_one_answer):
    looks = [a_call("Glob", "No files found", pattern=f"**/*.{ending}") for ending in ENDINGS]
    return [replace(look, call_id=f"msg_{at // of_one_answer}") for at, look in enumerate(looks)]


def test_lookups_sent_side_by_side_in_one_answer_are_one_attempt():
    assert first_trip(globs(of_one_answer=6)) is None


def test_lookups_sent_one_after_the_other_are_an_attempt_each():
    assert first_trip(globs(of_one_answer=1)) is not None


def test_a_worker_who_has_just_come_is_not_held_to_what_others_tried_in_turn():
    tries = [f"find /srv -name lamp -newer ref {'-not -empty ' * n}-print" for n in range(1, 6)]
    came = a_call("Bash", "", agent="newcomer", command="find /srv -name lamp -print")

    assert first_trip([*in_turn(tries), came]) is None


def test_agents_that_each_look_for_another_thing_find_nothing_without_alarm():
    wanted = ("harbour", "lantern", "thistle", "quarry", "magnet", "saddle", "violin", "walnut")

    assert first_trip(in_turn([f"grep -rn {word} src" for word in wanted])) is None


WORDINGS = (
    "tide mill trade 2024 analysis",
    "mill trade size growth forecast",
    "tide mills report grain industry",
    "research on the mill trade",
    "trade in tide mills, data",
    "mill research report industry",
)


def test_a_question_that_the_answer_repeats_makes_no_other_answer():
    found = "Results for '{}': 3 articles on the matter, with competitors and trends."
    asked = [a_call("web_search", found.format(words), query=words) for words in WORDINGS]

    assert first_trip(asked) is not None


def test_searches_for_other_things_that_find_as_many_each_are_a_batch():
    wanted = ("harbour", "lantern", "thistle", "quarry", "magnet", "saddle", "violin", "walnut")
    asked = [a_call("search", f"Found 3 files for {word}", query=word) for word in wanted]

    assert first_trip(asked) is None


def test_an_answer_tells_by_what_stands_beside_the_question():
    pages = ("the weir", "a toll house", "two ferries", "an old ledger", "salt pans", "the quay")
    found = [f"Results for '{words}': {page}." for words, page in zip(WORDINGS, pages, strict=True)]
    told = zip(WORDINGS, found, strict=True)
    asked = [a_call("web_search", answer, query=words) for words, answer in told]

    assert first_trip(asked) is None
