"""The stuck score: what attempts add to it and take from it."""

import json

import pytest

from guard.bench.fit import (
    Mark,
    Traced,
    alarms_of,
    fit,
    leave_one_source_out,
    plain_weight,
    trace,
    weigh_up,
)
from guard.bench.labels import Labelled, Stretch
from guard.cli import main
from guard.detectors.score import (
    GAINS,
    KEEPS,
    SCORE_FILE,
    _has_similar_answer,
    _least_similarity,
    fitted_weights,
)
from guard.engine import Engine
from guard.formats import Recording
from guard.policy import DEFAULT_POLICY
from tests.guard.build import a_call, a_message, a_user, first_trip

ORDERS = "\n".join(f"order {number}: paid, not sent to the customer" for number in range(20))


def score_of(*turns):
    engine = Engine()
    for turn in turns:
        engine.observe(turn)
    return engine.history.evidence


def test_the_first_near_repeat_counts_for_what_it_repeats_as_well():
    words = ("tide mill history", "history of the tide mill", "the tide mill history")
    once, twice, thrice = (a_call("search", ORDERS, query=query) for query in words)

    assert score_of(once, twice) > score_of(once, twice, thrice) - score_of(once, twice) > 0


def test_an_answer_that_only_refers_back_was_asked_for_in_vain():
    first = a_call("search", ORDERS, query="tide mill history")
    again = a_call(
        "search", "I tried reusing the same input, I must stop.", query="the tide mill history"
    )

    assert weights_of(first, again) == ["", "near"]


def weights_of(*turns):
    engine = Engine()
    for turn in turns:
        engine.observe(turn)
    return [weight.repeats for weight in engine.history.weights]


def test_an_answer_of_few_words_is_similar_only_to_the_same_words():
    engine = Engine()
    for name, size in (("mill", "4 kB"), ("weir", "is not there"), ("pond", "4 kB")):
        engine.observe(a_call("size_of", size, name=name))
    *before, newest = engine.history.steps

    least = _least_similarity(newest)
    assert [_has_similar_answer(newest, old, least) for old in before] == [True, False]


@pytest.mark.parametrize(("shared", "weights"), [(20, ["", "other_question"]), (19, ["", ""])])
def test_half_of_the_words_in_common_is_the_same_answer(shared, weights):
    words = [f"barge{number}" for number in range(60 - shared)]
    known = a_message(" ".join(words))
    one, other = " ".join(words[:30]), " ".join(words[30 - shared :])

    turns = a_call("list", one, dock="north"), a_call("list", other, dock="south")
    assert weights_of(known, *turns) == ["", *weights]


def test_two_listings_too_long_to_be_told_apart_by_bits_are_not_alike():
    north, south = ("\n".join(f"{dock}{n}" for n in range(1200)) for dock in ("no", "so"))
    known = [a_call("note", "done", about=text) for text in (north, south)]
    turns = a_call("list", north, dock="north"), a_call("list", south, dock="south")

    assert weights_of(*known, *turns) == [""] * 4


def test_three_equal_attempts_in_vain_are_stuck():
    assert score_of(*[a_call("search", ORDERS, query="open orders")] * 3) >= 1.0


def test_a_remark_added_to_the_same_answer_makes_no_other_answer():
    tries = [a_call("run", f"{ORDERS}\n{left} tries left", code="total()") for left in (3, 2, 1)]

    assert weights_of(*tries) == ["", "same", "same"]


def test_an_edit_that_took_effect_makes_it_another_attempt():
    test = a_call("Bash", "1 passed", command="pytest -q")
    edit = a_call("Edit", "The file has been updated.", file_path="a.py", new_string="x = 1")

    assert weights_of(test, edit, test) == ["", "", ""]


def test_the_same_words_in_another_order_are_the_same_answer():
    lines = ORDERS.split("\n")
    turned = "\n".join(" ".join(reversed(line.split())) for line in reversed(lines))
    turns = [a_call("search", ORDERS, query="open"), a_call("search", turned, query="open")]

    assert weights_of(*turns) == ["", "same"]


@pytest.mark.parametrize("names", [("ana", "bo", "cy", "di", "ed", "flo")])
def test_answers_that_differ_in_what_was_asked_for_are_different(names):
    turns = [
        a_call("find_user_id", f"{name}_{len(name)}_77{at}", name=name)
        for at, name in enumerate(names)
    ]

    assert score_of(*turns) == 0.0


def test_the_next_page_is_another_question():
    pages = [
        a_call("Bash", f"{skip:x}{'ab' * 18}", command=f"git log --format=%H --skip={skip} -n 1")
        for skip in range(8)
    ]

    assert score_of(*pages) < 0.5


def test_new_words_of_a_person_start_it_afresh():
    look = a_call("search", ORDERS, query="open orders")

    assert score_of(look, look, a_user("Now look at the invoices."), look) < 0.5


def test_every_weight_is_there_and_says_where_it_comes_from():
    document = json.loads(SCORE_FILE.read_text())

    assert set(document["weights"]) == {*GAINS, *KEEPS, "first", "third"} == set(fitted_weights())
    assert document["provenance"]["leave_one_source_out"]["stuck"] > 0


# --- fitting -----------------------------------------------------------------


def a_labelled(source, start=None):
    stretches = (Stretch(start=start, evident=start + 2, end=None),) if start is not None else ()
    return Labelled(
        run=source,
        source=source,
        path=None,
        loop_start=start,
        kind="loop",
        rationale="",
        stretches=stretches,
    )


def a_traced(source, repeats, start=None):
    marks = tuple(
        Mark(at, name, False, "", at == 0, False, False) for at, name in enumerate(repeats)
    )
    return Traced(a_labelled(source, start), len(repeats), marks)


def test_a_mark_is_made_for_each_attempt():
    look = a_call("search", ORDERS, query="open orders")
    recording = Recording(run="r", turns=(a_user("Go."), look, look, look))

    traced = trace(a_labelled("s", 1), recording, DEFAULT_POLICY)

    assert [mark.repeats for mark in traced.marks] == ["", "same", "same"]
    assert alarms_of(traced, fitted_weights()) == [3]


def test_fitting_finds_what_tells_loops_from_healthy_work():
    traces = [
        a_traced("stuck", ["", *["near"] * 9], start=0),
        a_traced("healthy", ["", *["other_question"] * 9]),
    ]
    start = {
        **dict.fromkeys(GAINS, 0.0),
        **dict.fromkeys(KEEPS, 1.0),
        "same": 0.4,
        "again": 0.4,
        "first": 0.5,
        "third": 1.0,
    }

    chosen = fit(traces, start)

    assert weigh_up(traces, chosen).false == 0
    assert weigh_up(traces, chosen).macro == 1.0
    assert chosen["near"] > chosen["other_question"]


def test_a_source_is_judged_by_weights_that_never_saw_it():
    stuck = ["", *["near"] * 9]
    traces = [a_traced("one", stuck, 0), a_traced("two", ["", *["again"] * 9], 0)]
    start = {**dict.fromkeys(GAINS, 0.0), **dict.fromkeys(KEEPS, 1.0), "same": 0.4, "first": 0.5}
    start["third"] = 1.0

    left_out = leave_one_source_out(traces, start)

    assert left_out["one"][0]["near"] == 0.0


def test_the_command_without_runs_says_so(tmp_path, capsys):
    assert main(["fit", str(tmp_path)]) == 2
    assert "guard fit" in capsys.readouterr().err


def test_agents_that_take_turns_in_vain_are_stuck_together():
    fails = "make: *** [all] Error 2: undefined reference to `harbour_open'"
    turns = [a_call("Bash", error=fails, agent=f"agent {n % 3}", command="make") for n in range(6)]

    assert score_of(*turns) >= 1.0


def test_agents_that_begin_side_by_side_by_reading_the_same_are_not():
    turns = [a_call("Read", ORDERS, agent=f"agent {n}", path="README.md") for n in range(5)]

    assert score_of(*turns) < 0.5


def test_what_is_judged_without_a_source_begins_from_no_weight_that_was_fitted_on_it():
    assert {plain_weight(name, 0.3) for name in KEEPS} == {0.5}
    assert max(plain_weight(name, 0.3) for name in GAINS) == 0.3
    assert plain_weight("again", 0.3) == 0.2  # as far as it may go


def test_one_thing_looked_for_by_many_means_and_found_by_none_is_a_loop():
    looks = [
        a_call("exec", "", command="echo $MILL_API_KEY"),
        a_call("exec", "", command="printenv MILL_API_KEY"),
        a_call("grep", "No matches found", pattern="MILL_API_KEY", path="~/.profile"),
        a_call("grep", "No matches found", pattern="MILL_API_KEY", path="~/.bashrc"),
        a_call("exec", "None", command="python3 -c 'print(os.environ.get(\"MILL_API_KEY\"))'"),
        a_call("find_setting", "[]", name="MILL_API_KEY"),
    ]

    assert first_trip(looks) is not None


@pytest.mark.parametrize("silence", ["", "(Bash completed with no output)"])
def test_acts_on_one_thing_that_say_nothing_are_no_loop(silence):
    acts = [
        a_call("Bash", silence, command=f"{act} waterwheel_plan/{act}")
        for act in ("mkdir", "touch", "chmod", "mv", "cp", "ln", "gzip")
    ]

    assert first_trip(acts) is None
