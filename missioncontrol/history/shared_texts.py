"""What a shared picture and its page say."""

from __future__ import annotations

from missioncontrol.translated import both


class SharedTexts:
    status = {
        "running": "running",
        "holding": "pausing",
        "held": "paused",
        "stopping": "stopping",
        "completed": "completed",
        "failed": "failed",
        "terminated": "terminated",
        "lost": "lost contact",
    }
    waits = "waiting for an answer"
    answered = "answered"
    turns = "turns"
    calls = "calls"
    cost = "cost"
    runs = "runs"
    loops = "loops"
    in_loops = "spent in loops"
    before = "the week before"
    tape = "Stuck score, last turns"
    days = "By day"
    weekdays = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    picture = "As a picture"
    week = "Week of {day}"
    imported = "imported recording"
    unpriced = "unpriced"
    until = "Shared by {by}. The link expires on {day}."
    until_nameless = "The link expires on {day}."
    over = "This link has expired"
    over_why = "It was revoked, or its time is over. Ask whoever sent it for another."
    page = "Shared"
    day = "%-d %B %Y"


SHARED_TEXTS = both(SharedTexts(), "shared")
