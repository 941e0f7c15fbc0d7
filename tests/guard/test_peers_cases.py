"""The scenarios that other projects test their own detectors with.

They lie outside the repository, at $MISSIONCONTROL_SHARED or ../shared.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from guard.bench.trials import Case, read_cases, rule_on

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(os.environ.get("MISSIONCONTROL_SHARED") or ROOT.parent / "shared") / "detection/cases"

# A case we disagree with, and why we are right: every row is looked at below.
DISAGREEMENTS: dict[str, str] = {}

pytestmark = pytest.mark.skipif(
    not CASES.is_dir(),
    reason=f"THE PEERS' SCENARIOS ARE NOT TESTED: no {CASES}; set MISSIONCONTROL_SHARED",
)


def core_cases() -> list[Case]:
    cases = read_cases(CASES) if CASES.is_dir() else []
    return [case for case in cases if case.portability == "core"]


@pytest.mark.parametrize("case", core_cases(), ids=lambda case: case.id)
def test_it_agrees_with_what_the_peer_expects(case):
    ruling = rule_on(case)

    assert ruling.agrees is (case.id not in DISAGREEMENTS), f"{ruling}"


def test_every_listed_disagreement_is_about_a_case_that_exists():
    assert DISAGREEMENTS.keys() <= {case.id for case in core_cases()}
