"""The same run told in other forms: what an agent did does not change with its log.

On recorded runs where they lie beside the checkout, every fourth of them; on the scenes
of the suite everywhere.
"""

import os
from pathlib import Path

import pytest

from guard.bench.forms import FORMS
from guard.bench.labels import read_corpus
from guard.bench.scores import score
from guard.bench.trials import try_forms
from guard.policy import DEFAULT_POLICY
from guard.turn import Role
from tests.guard.build import a_call
from tests.installations import ROOT

CORPUS = Path(os.environ.get("MISSIONCONTROL_SHARED") or ROOT.parent / "shared") / "corpus"
EVERY = 4
# Points of loops found by which a form may fall behind the run as it was recorded.
USUAL = 5
IN_TEXT = {
    "calls as plain text, results beside",
    "calls written into the text, results as user turns",
}
# Known to be weaker today; a row that no longer holds should go. Weighing tries by themselves
# finds one more of these 34 as it was recorded, and in none of these forms.
WEAKER = {
    "results as tool turns": 6,  # two of these; five of all 140
    "results as another agent's message": 6,
    "results as user turns": 9,  # three of these; six of all 140
    "words swapped within the results' lines": 6,
    "error flags dropped": 6,  # two of these; four of all 140
}


@pytest.fixture(scope="module")
def scores():
    if not (CORPUS / "index.jsonl").is_file():
        pytest.skip(f"THE RECORDED RUNS ARE NOT HERE: {CORPUS}")
    runs = read_corpus(CORPUS).runs[::EVERY]
    return {name: score(trials) for name, trials in try_forms(runs, DEFAULT_POLICY).items()}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_form_loses_few_loops(scores, form):
    lost = 100 * (scores["as it is"].found_share - scores[form].found_share)

    assert lost <= WEAKER.get(form, USUAL)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_no_form_cries_wolf(scores, form):
    # One alarm in so few turns says little: three may be chance.
    assert scores[form].false_alarms <= max(3, scores[form].healthy_turns // 1000)


def a_story():
    """Read, edit and test, with an error and an answer of many lines."""
    page = "\n".join(f"line {n}: the harbour office opens at {n}" for n in range(9))
    return [
        a_call("Read", page, path="harbour.py"),
        a_call("Edit", "The file has been updated.", file_path="harbour.py", new_string="x"),
        a_call("Bash", error="E   AssertionError: 3 != 4\n1 failed", command="pytest -q"),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_form_keeps_every_call_and_says_where_it_came_from(form):
    forms = FORMS[form](a_story())

    assert {one.origin for one in forms} == {0, 1, 2}
    assert [one.origin for one in forms] == sorted(one.origin for one in forms)
    calls = [one for one in forms if one.turn.tool and one.turn.role is Role.ASSISTANT]
    assert len(calls) >= 3 or form in IN_TEXT


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_told_the_same_each_time(form):
    assert FORMS[form](a_story()) == FORMS[form](a_story())
