"""Every code that a person's screen can be refused with has German words."""

from missioncontrol import errors
from tests.installations import ROOT

GERMAN = ROOT / "frontend/src/messages/de/refusals.ts"
# Whoever sets the server up meets the first, programs the second; the third has its own words.
ELSEWHERE = {"error", "setting_invalid", "method_not_allowed", "too_many_requests"}


def test_german_screens_know_each_code():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    codes = {kind.code for kind in kinds if issubclass(kind, errors.MissionControlError)}
    words = GERMAN.read_text()

    assert {code for code in codes - ELSEWHERE if f"\n  {code}:" not in words} == set()
