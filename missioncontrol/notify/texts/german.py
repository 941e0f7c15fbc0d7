"""German."""

from __future__ import annotations

from missioncontrol.notify.texts.catalogue import Figures, ReportTexts, Texts
from missioncontrol.notify.texts.german_sentences import sentence

REPORT = ReportTexts(
    weekdays=(
        "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag",
    ),
    months=(
        "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
        "Oktober", "November", "Dezember",
    ),
    date="{weekday}, {day}. {month} {year}",
    title="{weekday} kostete {cost}",
    corrected_title="Berichtigt: {title}",
    was_told="gemeldet waren {usd}; {reason}.",
    reasons={
        "usage or a price became known after it was made":
            "Verbrauch oder ein Preis wurde erst danach bekannt",
    },
    of_day_budget="{share} des Tagesbudgets.",
    on_week_before="{change} gegenüber der Woche davor.",
    loops_stopped="{loops} gestoppt, {saved}.",
    corrected="Berichtigt.",
    corrected_as="Zuvor waren {usd} gemeldet; {reason}.",
    spent="Ausgegeben",
    budget="Budget",
    budget_is="{share} von {ceiling}{extra}; {rest}",
    over="{usd} darüber",
    left="{usd} übrig",
    extra=", {usd} davon zusätzlich erlaubt",
    week_before="Derselbe Tag eine Woche davor",
    nothing="nichts",
    this_day="{usd} (dieser Tag {change})",
    judge="Prüfer, in der Summe",
    unpriced_on_top="Ohne Preis, zusätzlich",
    loops="Schleifen",
    loops_are="{loops}, davon {stops} gestoppt",
    saved_by_stops="Durch Stopps gespart",
    groups={"agent": "Agent", "model": "Modell", "project": "Projekt"},
    columns=("Kosten", "Woche davor", "Läufe", "Schleifen", "Schleifen, 7 Tage"),
    no_name="nicht genannt",
    none="keine",
    unpriced="ohne Preis",
    as_much="gleich viel",
    saved="etwa {usd} gespart",
    no_estimate="noch keine Schätzung",
    calls_unpriced="{calls} ohne Preis{models}",
    parts="Agenten {agents} + Prüfer {judge}",
    all="ganz",
    empty="nichts",
    no_call="Kein Modellaufruf wurde gezählt.",
    total="Summe mit Prüfer {total}: {parts}.",
    in_no_amount="Aufrufe ohne Preis stehen in keinem Betrag.",
    open="In Mission Control öffnen",
    how_saved=(
        "Wie „gespart“ gezählt wird: eine Schätzung. Ein Stopp zählt mit den Schritten, die "
        "Schleifen seiner Art hier brauchten, wenn niemand sie stoppte, ohne die schon gemachten, "
        "zu dem, was ein Schritt der eigenen Schleife kostete; nie mehr, als die Grenze seines "
        "Laufs noch ließ."
    ),
    no_estimate_yet="Noch keine Schätzung: {samples} von {enough} solchen Schleifen sind bekannt.",
    samples="{samples} solche Schleifen brauchten {turns} Schritte, im Median.",
    likely="Wahrscheinlich {low} bis {high}.",
    counted={"loop": ("Schleife", "Schleifen"), "call": ("Aufruf", "Aufrufe")},
)  # fmt: skip

GERMAN = Texts(
    language="de",
    figures=Figures(
        has_decimal_comma=True, dollars="{n}\u00a0$", percent="{n}\u00a0%",
        under_a_minute="unter einer Minute",
    ),
    sentence=sentence,
    report=REPORT,
    still_held="Noch angehalten: {name}",
    still_open="Noch offen: {name}",
    reached="{name} erreichte {limit}",
    is_held="{name} angehalten",
    is_circling="{name} dreht sich",
    is_repeating="{name} wiederholt sich",
    is_over_budget="{name} über Budget",
    is_at="{name} bei {share}",
    shared={"tree": "{name} mit Baum", "day": "Tag", "project": "Projekt"},
    still_running="Läuft weiter, {rate}.",
    held_at={
        "run": "Am Budget des Laufs angehalten.", "agent": "Am Budget des Agenten angehalten.",
        "tree": "Am Budget des Laufbaums angehalten.",
        "project": "Am Budget des Projekts angehalten.", "day": "Am Tagesbudget angehalten.",
    },
    fix="Korrektur: „{fix}“",
    an_hour="{usd}/h",
    used="{spent} von {ceiling}",
    left=": noch etwa {time}",
    units={
        "tokens": "Tokens", "calls": "Aufrufe", "turns": "Schritte", "seconds": "Sekunden",
        "failures": "Fehler",
    },
    calls_unpriced="Seine Aufrufe sind ohne Preis.",
    unpriced_too=", {n} Aufrufe ohne Preis",
    in_the_loop="{usd} in der Schleife, ",
    in_all="{loop}{usd} insgesamt{unpriced}.",
    nobody_answered="Seit {time} antwortet niemand.",
    meanwhile="Er läuft so lange weiter.",
    will={
        "proceed": "In {time} läuft er weiter.", "stop": "In {time} wird er gestoppt.",
    },
    only_warns="Er läuft weiter: dieser Lauf warnt nur. {what} {usd} insgesamt.",
    agent="Agent: {agent}",
    suggested_fix="Vorgeschlagene Korrektur: {fix}",
    read_fix_there="Es gibt eine vorgeschlagene Korrektur: sie steht auf der Karte.",
    answer_here="Hier antworten: {link}",
    answer_there="In Mission Control antworten.",
    test_title="Eine Probe von Mission Control",
    test_body="{by} hat sie aus {project} gesandt. Sie kommt an: Karten werden es auch.",
    inject_fix="Korrigieren",
    read_fix="Korrektur lesen",
    proceed="Weiter",
    hold="Anhalten",
    terminate_there="Beenden…",
    allow_more="{amount} mehr erlauben",
    stop="Stoppen",
    answered="{name}: beantwortet",
    deeds={
        "continue": "{by} ließ ihn weiterlaufen.", "inject": "{by} gab die Korrektur.",
        "terminate": "{by} hat ihn beendet.", "allowlist": "{by} hat den Aufruf erlaubt.",
        "allow_budget": "{by} hat mehr erlaubt.", "finish": "{by} ließ ihn abschließen.",
        "restart": "{by} hat ihn neu gestartet.",
    },
    by_itself={
        "dismissed": "Der Prüfer sah keine Schleife.", "autofix": "Er wurde von selbst korrigiert.",
        "proceed": "Niemand antwortete: er läuft weiter.",
        "stop": "Niemand antwortete: er wurde gestoppt.",
        "ended": "Der Lauf ist zu Ende.", "superseded": "Eine andere Karte trat an ihre Stelle.",
    },
)  # fmt: skip
