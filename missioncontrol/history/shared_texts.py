"""What a shared picture and its page say: English, and German over it."""

from __future__ import annotations

from collections.abc import Mapping


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


class GermanShared(SharedTexts):
    status = {
        "running": "läuft",
        "holding": "wird angehalten",
        "held": "angehalten",
        "stopping": "wird beendet",
        "completed": "abgeschlossen",
        "failed": "fehlgeschlagen",
        "terminated": "beendet",
        "lost": "Kontakt verloren",
    }
    waits = "wartet auf Antwort"
    answered = "beantwortet"
    turns = "Schritte"
    calls = "Aufrufe"
    cost = "Kosten"
    runs = "Läufe"
    loops = "Schleifen"
    in_loops = "in Schleifen ausgegeben"
    before = "in der Woche davor"
    tape = "Stuck-Score der letzten Schritte"
    days = "Nach Tagen"
    weekdays = ("Mo", "Di", "Mi", "Do", "Fr", "Sa", "So")
    picture = "Als Bild"
    week = "Woche ab {day}"
    imported = "importierte Aufzeichnung"
    unpriced = "ohne Preis"
    until = "Geteilt von {by}. Der Link gilt bis {day}."
    until_nameless = "Der Link gilt bis {day}."
    over = "Dieser Link gilt nicht mehr"
    over_why = "Er wurde zurückgezogen, oder seine Zeit ist um. Bitten Sie um einen neuen."
    page = "Geteilt"
    day = "%d.%m.%Y"


SHARED_TEXTS: Mapping[str, SharedTexts] = {"en": SharedTexts(), "de": GermanShared()}
