"""The engine against drawn runs of many kinds of agents.

Healthy drawings stay quiet and loops are found in time, apart from the rows of
`DISAGREEMENTS`. The sealed drawings are scored by tests/bench/bench_drawings.py only.
"""

from __future__ import annotations

from functools import cache

import pytest

from guard.formats import Recording
from guard.replay import replay
from tests.guard.drawings import browser
from tests.guard.drawings.drawing import Drawing
from tests.guard.drawings.gallery import open_drawings, sealed_drawings
from tests.guard.drawings.perturbed import PERTURBATIONS

SLACK = 2
# Turns from the start of the fruitless stretch within which a loop is found.
USUAL_ALLOWANCE = 10
ALLOWANCE_OF_SHAPE = {
    "circle of agents": 14,
    "edit-test stall": 14,
    "k-cycle": 16,
    "poll unchanged": 12,
    "re-reading after condensation": 12,
    "slow drift": 12,
}
# A round of such a team is three or four turns.
ALLOWANCE_OF_KIND = {"web-team": 16}

# Drawing -> how the engine judges it today, and why. A row that no longer holds fails.
DISAGREEMENTS: dict[str, tuple[str, str]] = {
    "web-team/failing-script": (
        "late",
        "found late: four speakers a round, and each script is another",
    ),
    "coding/dead-server": (
        "missed",
        "a server that does not start is looked at with pauses: taken for waiting",
    ),
    "without/dead-button": (
        "missed",
        "a click may be patient work; without results eight are too few",
    ),
    "without/build": (
        "missed",
        "thirteen looks of which nobody saw the answers: a build that moves asks as many",
    ),
    "verifying/verifies-on": ("missed", "each check is another script, and all of them succeed"),
    "verifying/verifies-on-claude": ("missed", "the same"),
    "corner/checks": ("missed", "the same"),
    "corner/crash-poll": ("missed", "the count of restarts goes up: taken for a state that moves"),
    "corner/date-formats": ("missed", "a form that asks for something else answers each act alike"),
    "corner/new-scripts": (
        "missed",
        "each script is a new action; only the last error is the same",
    ),
    "odd/noisy-poll": ("missed", "a load that goes up and down is taken for a state that moves"),
    "odd/blocked": ("missed", "its place trembles: figures up and down are taken for news"),
    "odd/helpers-fail": ("missed", "each helper reports in other words"),
    "odd/human-please": (
        "missed",
        "who asks again in the same words is heard again; the score is at 0.7 of 0.8 by the ninth",
    ),
    "odd/clicks-save": ("missed", "a picture tells nothing, and each thought has other words"),
}

DRAWINGS = {drawing.name: drawing for drawing in open_drawings()}


@cache
def alarm_of(name: str, form: str = "as it is") -> int | None:
    turns = PERTURBATIONS[form](DRAWINGS[name].turns)
    return replay(Recording(run=name, turns=turns)).first_alarm


def verdict_on(drawing: Drawing) -> str:
    """Tell what a person would say of the engine: right, missed, late, early or false."""
    alarm = alarm_of(drawing.name)
    if drawing.start is None:
        return "right" if alarm is None else "false"
    if alarm is None:
        return "missed"
    delay = alarm - drawing.start
    return "early" if delay < -SLACK else "late" if delay > allowance_of(drawing) else "right"


def allowance_of(drawing: Drawing) -> int:
    of_shape = ALLOWANCE_OF_SHAPE.get(drawing.shape, USUAL_ALLOWANCE)
    return max(of_shape, ALLOWANCE_OF_KIND.get(drawing.kind, 0))


@pytest.mark.parametrize("name", DRAWINGS)
def test_it_judges_a_drawn_run_as_a_person_would(name):
    expected, _ = DISAGREEMENTS.get(name, ("right", ""))

    assert verdict_on(DRAWINGS[name]) == expected


def test_every_known_disagreement_is_about_a_drawing():
    assert DISAGREEMENTS.keys() <= DRAWINGS.keys()


def test_the_order_of_arguments_changes_no_judgement():
    some = list(DRAWINGS)[::4]

    moved = [name for name in some if alarm_of(name) != alarm_of(name, "keys in another order")]

    assert moved == []


def test_the_same_name_draws_the_same_run():
    assert list(browser.drawings()) == list(browser.drawings())


def test_another_variant_tells_the_same_stories_otherwise():
    stories, others = list(browser.drawings()), list(browser.drawings(variant=1))

    assert [other.name.removesuffix("#1") for other in others] == [one.name for one in stories]
    assert all(one.turns != other.turns for one, other in zip(stories, others, strict=True))


def test_names_are_unique_and_stretches_lie_within_their_runs():
    every = [*DRAWINGS.values(), *sealed_drawings()]

    assert len({drawing.name for drawing in every}) == len(every)
    assert all(drawing.start is None or drawing.start < len(drawing.turns) for drawing in every)
