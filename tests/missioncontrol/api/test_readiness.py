"""A probe asks the worker; many probes ask it once."""

from missioncontrol.api.views.instance import Readiness


def test_probes_that_come_together_look_once():
    looks = []
    readiness = Readiness({"worker": lambda: looks.append("a ping") is None})

    found = [readiness.look() for _ in range(5)]

    assert (found, looks) == ([{"worker": True}] * 5, ["a ping"])


def test_what_cannot_be_asked_is_not_ready():
    readiness = Readiness({"database": lambda: 1 / 0 > 0, "broker": lambda: True})

    assert readiness.look() == {"database": False, "broker": True}
