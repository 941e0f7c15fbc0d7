"""German. Each text of `english` stands here again: what is left out would be said in English."""

from __future__ import annotations

from missioncontrol.notify.texts import german_sentences
from missioncontrol.notify.texts.english import ReportTexts, Texts
from missioncontrol.notify.texts.figures import Figures


class GermanReport(ReportTexts):
    date = "l, j. F Y"
    title = "{weekday} kostete {cost}"
    corrected_title = "Berichtigt: {title}"
    was_told = "gemeldet waren {usd}; {reason}."
    reasons = {
        "usage or a price became known after it was made": "Verbrauch oder ein Preis wurde erst danach bekannt",  # noqa: E501 - a text, in one piece
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
    will = {
        "proceed": "In {time} läuft er weiter.",
        "stop": "In {time} wird er gestoppt.",
    }
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
        return german_sentences.sentence(english)
