"""German. Each text of `english` stands here again: what is left out would be said in English.

The guard's sentences stand in `german_sentences.toml`; one not known there stays as it is. The
screens say the same of them (`frontend/src/messages/de/record.ts`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from importlib import resources
from types import MappingProxyType

from missioncontrol.notify.texts.english import Figures, ReportTexts, Texts


class GermanReport(ReportTexts):
    date = "l, j. F Y"
    title = "{weekday} kostete {cost}"
    corrected_title = "Berichtigt: {title}"
    was_told = "gemeldet waren {usd}; {reason}."
    reasons = {
        "usage or a price became known after it was made": "Verbrauch oder ein Preis wurde erst danach bekannt"  # noqa: E501 - a text, in one piece
    }
    of_day_budget = "{share} des Tagesbudgets."
    on_week_before = "{change} gegenüber der Woche davor."
    loops_stopped = "{loops} gestoppt, {saved}."
    corrected = "Berichtigt."
    corrected_as = "Zuvor waren {usd} gemeldet; {reason}."
    spent = "Ausgegeben"
    budget = "Budget"
    budget_is = "{share} von {ceiling}{extra}; {rest}"
    over = "{usd} darüber"
    left = "{usd} übrig"
    extra = ", {usd} davon zusätzlich erlaubt"
    week_before = "Derselbe Tag eine Woche davor"
    nothing = "nichts"
    this_day = "{usd} (dieser Tag {change})"
    judge = "Prüfer, enthalten"
    unpriced_on_top = "Ohne Preis, nicht enthalten"
    loops = "Schleifen"
    loops_are = "{loops}, davon {stops} gestoppt"
    saved_by_stops = "Durch Stopps gespart"
    groups = {"agent": "Agent", "model": "Modell", "project": "Projekt"}
    columns = ("Kosten", "Woche davor", "Läufe", "Schleifen", "Schleifen, 7 Tage")
    no_name = "nicht genannt"
    none = "keine"
    unpriced = "ohne Preis"
    as_much = "unverändert"
    saved = "etwa {usd} gespart"
    no_estimate = "noch keine Schätzung"
    calls_unpriced = "{calls} ohne Preis{models}"
    parts = "Agenten {agents} + Prüfer {judge}"
    all = "ganz"
    empty = "nichts"
    no_call = "Kein Modellaufruf wurde gezählt."
    total = "Summe mit Prüfer {total}: {parts}."
    in_no_amount = "Aufrufe ohne Preis stehen in keinem Betrag."
    open = "In Mission Control öffnen"
    how_saved = (
        "Wie „gespart“ gezählt wird: eine Schätzung. Jeder Stopp zählt die Schritte, die nicht "
        "gestoppte Schleifen seiner Art hier im Median brauchten, abzüglich der schon gemachten, "
        "mal den Kosten je Schritt der eigenen Schleife; nie mehr, als vom Budget des Laufs übrig "
        "war."
    )
    no_estimate_yet = "Noch keine Schätzung: {samples} von {enough} solchen Schleifen sind bekannt."
    samples = "{samples} solche Schleifen brauchten {turns} Schritte, im Median."
    likely = "Wahrscheinlich {low} bis {high}."
    counted = {"loop": ("Schleife", "Schleifen"), "call": ("Aufruf", "Aufrufe")}


class German(Texts):
    language = "de"
    figures = Figures(
        has_decimal_comma=True,
        dollars="{n}\u00a0$",
        percent="{n}\u00a0%",
        under_a_minute="unter einer Minute",
    )
    report = GermanReport()
    still_held = "Noch angehalten: {name}"
    still_open = "Noch offen: {name}"
    reached = "{name} erreichte {limit}"
    is_held = "{name} angehalten"
    is_circling = "{name} dreht sich im Kreis"
    is_repeating = "{name} wiederholt sich"
    is_over_budget = "{name} über Budget"
    is_asking = "{name} fragt Sie"
    is_at = "{name} bei {share}"
    shared = {
        "tree": "{name} mit Baum",
        "day": "Tag",
        "project": "Projekt",
        "organisation": "Organisation",
    }
    of_all_projects = "{ceiling} am Tag für alle Projekte"
    still_running = "Läuft weiter, {rate}."
    held_at = {
        "run": "Am Budget des Laufs angehalten.",
        "agent": "Am Budget des Agenten angehalten.",
        "tree": "Am Budget des Laufbaums angehalten.",
        "project": "Am Budget des Projekts angehalten.",
        "day": "Am Tagesbudget angehalten.",
        "organisation": "Am Tagesbudget der Organisation angehalten.",
    }
    fix = "Korrektur: „{fix}“"
    an_hour = "{usd}/h"
    used = "{spent} von {ceiling}"
    left = ": noch etwa {time}"
    units = {
        "tokens": ("Token", "Tokens"),
        "calls": ("Aufruf", "Aufrufe"),
        "turns": ("Schritt", "Schritte"),
        "seconds": ("Sekunde", "Sekunden"),
        "failures": ("Fehler", "Fehler"),
    }
    calls_unpriced = "Seine Aufrufe sind ohne Preis."
    no_cost = "Keine Kosten gemeldet."
    unpriced_too = ", {n} Aufrufe ohne Preis"
    in_the_loop = "{usd} in der Schleife, "
    in_all = "{loop}{usd} insgesamt{unpriced}."
    nobody_answered = "Seit {time} antwortet niemand."
    meanwhile = "Er läuft so lange weiter."
    may_it = "Darf er {tool} benutzen? {call}"
    terminal_asks_too = "Sein Terminal fragt dasselbe."
    will = {"proceed": "In {time} läuft er weiter.", "stop": "In {time} wird er gestoppt."}
    only_warns = "Er läuft weiter: dieser Lauf warnt nur. {what} {cost}"
    is_over = "Er ist zu Ende: seine Telemetrie kam auf einmal. {what} {cost}"
    was_ended = "{name} wurde beendet"
    ended_by_policy = "Seine Regeln haben ihn beendet. {what} {cost}"
    agent = "Agent: {agent}"
    suggested_fix = "Vorgeschlagene Korrektur: {fix}"
    read_fix_there = "Auf der Karte steht eine vorgeschlagene Korrektur."
    answer_here = "Hier antworten: {link}"
    answer_there = "In Mission Control antworten."
    test_title = "Ein Test von Mission Control"
    test_body = "{by} hat ihn aus {project} gesendet. So kommen auch Karten an."
    signed_out_title = "Abgemeldet"
    signed_out_body = (
        "Dieses Gerät wurde von Mission Control abgemeldet. "
        "Es bekommt keine Benachrichtigungen mehr."
    )
    allow_once = "Einmal erlauben"
    deny = "Ablehnen"
    read_call = "Lesen"
    inject_fix = "Korrigieren"
    read_fix = "Korrektur lesen"
    proceed = "Weiter"
    hold = "Anhalten"
    terminate_there = "Beenden…"
    allow_more = "{amount} mehr erlauben"
    stop = "Stoppen…"
    stop_now = "Jetzt stoppen"
    answered = "{name}: beantwortet"
    by_person = {
        "continue": "{by} ließ ihn weiterlaufen.",
        "inject": "{by} gab die Korrektur.",
        "terminate": "{by} hat ihn beendet.",
        "allowlist": "{by} hat den Aufruf erlaubt.",
        "allow_budget": "{by} hat mehr erlaubt.",
        "finish": "{by} ließ ihn abschließen.",
        "restart": "{by} hat ihn neu gestartet.",
        "allow_once": "{by} hat es einmal erlaubt.",
        "deny": "{by} hat es abgelehnt.",
    }
    by_itself = {
        "dismissed": "Der Prüfer sah keine Schleife.",
        "autofix": "Er wurde automatisch korrigiert.",
        "proceed": "Niemand antwortete: er läuft weiter.",
        "stop": "Niemand antwortete: er wurde gestoppt.",
        "ended": "Der Lauf ist zu Ende.",
        "superseded": "Eine andere Karte hat sie ersetzt.",
        "answered": "Die Antwort kam an seinem Terminal.",
        "timed_out": "Er fragt nur noch an seinem Terminal.",
    }

    def sentence(self, english: str) -> str:
        return sentence(english)


# Each deed as what it does, and what follows the count.
DEEDS: Mapping[str, tuple[str, str]] = {
    "made the same edit": ("machte dieselbe Änderung", ""),
    "said the same": ("sagte dasselbe", ""),
    "read the same thing": ("las dasselbe", ""),
    "made the same search": ("suchte dasselbe", ""),
    "ran the same command": ("führte denselben Befehl", " aus"),
    "ran the same test": ("führte denselben Test", " aus"),
    "made the same call": ("machte denselben Aufruf", ""),
}
UNITS: Mapping[str, str] = {
    "turns": "Schritten",
    "tokens": "Tokens",
    "calls": "Aufrufen",
    "seconds": "Sekunden",
}
DEED = "|".join(DEEDS)
TIMES = r"once|\d+ times"
# Whose ceilings they are: the run's own, or those that it shares with others.
HAS = r"It|The project(?: today)?|The tree of .{1,300}|Agent .{1,300}"
TABLE = resources.files("missioncontrol.notify.texts").joinpath("german_sentences.toml")
SENTENCES: tuple[tuple[str, str], ...] = tuple(
    (pattern.replace("@deed", DEED).replace("@times", TIMES).replace("@has", HAS), says)
    for pattern, says in tomllib.loads(TABLE.read_text("utf-8")).items()
)


def sentence(text: str) -> str:
    """Say a sentence of the guard in German.

    >>> sentence("It ran the same test 4 times and got the same error.")
    'Er führte denselben Test 4-mal aus und bekam denselben Fehler.'
    """
    for pattern, says in _PATTERNS:
        if found := pattern.fullmatch(text):
            parts = found.groupdict()
            does, rest = DEEDS.get(parts.get("deed", ""), ("", ""))
            written = {name: _WRITERS.get(name, str)(part) for name, part in parts.items()}
            return says.format_map({**written, "does": does, "rest": rest})
    return text


_ANSWERS = {
    "the same error": "denselben Fehler",
    "the same answer": "dieselbe Antwort",
    "nearly the same answer": "fast dieselbe Antwort",
    "nothing it did not know": "nichts, was er nicht wusste",
}
_MET = {"met the same error": "derselbe Fehler kam", "nothing changed": "nichts änderte sich"}
_ACTS = {
    "file edit": "Änderung",
    "test run": "Testlauf",
    "shell exec": "Befehl",
    "search": "Suche",
    "read": "Lesezugriff",
    "message": "Nachricht",
    "other": "anderer Aufruf",
}
_SORTS = {
    "column": "die Spalte",
    "table": "die Tabelle",
    "command": "der Befehl",
    "option": "die Option",
    "attribute": "das Attribut",
    "key": "der Schlüssel",
    "name": "der Name",
}
_OWNERS = tuple(
    (re.compile(english, re.DOTALL), german)
    for english, german in (
        (r"It", r"Er hat"),
        (r"The project", r"Das Projekt hat"),
        (r"The project today", r"Das Projekt hat heute"),
        (r"The tree of (.{1,300})", r"Der Laufbaum von \1 hat"),
        (r"Agent (.{1,300}) of this run", r"Agent \1 dieses Laufs hat"),
        (r"Agent (.{1,300})", r"Agent \1 hat"),
    )
)


def _act(english: str) -> str:
    kind, on, place = english.partition(" on ")
    return f"{_ACTS.get(kind, kind)}{on and ': '}{place.replace(' files', ' Dateien')}"


def _comma(english: str) -> str:
    return english.replace(".", ",")


def _dollars(english: str) -> str:
    return f"{_comma(english)}\u00a0$"


_WRITERS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "times": lambda english: (
            "einmal" if english == "once" else f"{english.removesuffix(' times')}-mal"
        ),
        "got": lambda english: _ANSWERS.get(english, english),
        "few": _comma,
        "used": _comma,
        "most": _comma,
        "unit": lambda english: UNITS.get(english, english),
        "usd_spent": _dollars,
        "usd_of": _dollars,
        "has": lambda english: next(
            match.expand(german)
            for pattern, german in _OWNERS
            if (match := pattern.fullmatch(english))
        ),
        "who": lambda english: english.replace("one without a name", "ein Agent ohne Namen"),
        "act": _act,
        "met": _MET.__getitem__,
        "sort": _SORTS.__getitem__,
    }
)
# At a text's start only, and the first of two gaps is bounded: else some take quadratic time.
_PATTERNS = tuple((re.compile(rf"\A{pattern}", re.DOTALL), says) for pattern, says in SENTENCES)
