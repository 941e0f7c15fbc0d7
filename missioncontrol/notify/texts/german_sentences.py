"""The guard's sentences in German; one that is not known here stays as it was written.

The screens say the same of them (`frontend/src/messages/de/record.ts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

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
SENTENCES: tuple[tuple[str, str], ...] = (
    (
        r"It asks for permission to use (?P<tool>.*)\.",
        "Er bittet um Erlaubnis, {tool} zu benutzen.",
    ),
    (
        rf"It (?P<deed>{DEED}) (?P<times>{TIMES})\.",
        "Er {does} {times}{rest}.",
    ),
    (
        rf"It (?P<deed>{DEED}) (?P<times>{TIMES}); what came back is not known\.",
        "Er {does} {times}{rest}; was zurückkam, ist nicht bekannt.",
    ),
    (
        (
            rf"It (?P<deed>{DEED}) (?P<times>{TIMES}), got (?P<got>(?:nearly )?the same \w+), "
            r"and is about to do so again\."
        ),
        "Er {does} {times}{rest}, bekam {got} und will es wieder tun.",
    ),
    (
        r"It was corrected and is about to do the same again\.",
        "Er wurde korrigiert und will dasselbe wieder tun.",
    ),
    (
        r"It was corrected and did the same again\.",
        "Er wurde korrigiert und tat dasselbe wieder.",
    ),
    (
        rf"It (?P<deed>{DEED}) (?P<times>{TIMES}) and got (?P<got>(?:nearly )?the same \w+)\.",
        "Er {does} {times}{rest} und bekam {got}.",
    ),
    (
        (
            rf"It (?P<deed>{DEED}) (?P<n>\d+) times, with other steps between, and "
            r"got (?P<got>(?:nearly )?the same \w+)\."
        ),
        "Er {does} {n}-mal{rest}, mit anderen Schritten dazwischen, und bekam {got}.",
    ),
    (
        r"It tried (?P<n>\d+) times and failed the same way each time\.",
        "Er versuchte es {n}-mal und scheiterte jedes Mal gleich.",
    ),
    (
        r"It tried (?P<n>\d+) variants of one call and none succeeded\.",
        "Er versuchte {n} Varianten eines Aufrufs, und keine gelang.",
    ),
    (
        r"Its last (?P<n>\d+) attempts, of several kinds, failed or found nothing\.",
        "Seine letzten {n} Versuche verschiedener Art scheiterten oder fanden nichts.",
    ),
    (
        r"It made its last (?P<n>\d+) calls before and got the same answers\.",
        "Seine letzten {n} Aufrufe hatte er schon gemacht, mit denselben Antworten.",
    ),
    (
        r"It handed in its work (?P<n>\d+) times; each was refused alike\.",
        "Er gab seine Arbeit {n}-mal ab; jede wurde gleich abgelehnt.",
    ),
    (
        (
            r"Its last (?P<n>\d+) calls ask for nothing that it had not asked for; "
            r"what came back is not known\."
        ),
        (
            "Seine letzten {n} Aufrufe fragen nach nichts, wonach er nicht schon gefragt hatte; "
            "was zurückkam, ist nicht bekannt."
        ),
    ),
    (
        r"It said the same (?P<n>\d+) times in other words\.",
        "Er sagte {n}-mal dasselbe mit anderen Worten.",
    ),
    (
        rf"It repeated itself (?P<times>{TIMES}), almost word for word\.",
        "Er wiederholte sich {times} fast wörtlich.",
    ),
    (
        r"It sent (?P<n>\d+) messages in a row and said nothing new in them\.",
        "Er sandte {n} Nachrichten hintereinander ohne etwas Neues.",
    ),
    (
        r'It said "(?P<what>.*)" again and again in one message\.',
        "Er sagte „{what}“ immer wieder in einer Nachricht.",
    ),
    (
        r"It asked (?P<n>\d+) times in different ways and got (?P<got>.*)\.",
        "Er fragte {n}-mal auf verschiedene Weise und bekam {got}.",
    ),
    (
        r"It went to and fro between the same two turns (?P<n>\d+) times\.",
        "Er ging {n}-mal zwischen denselben zwei Schritten hin und her.",
    ),
    (
        r"(?P<one>.{0,300}) and (?P<other>.*) answered each other the same way (?P<n>\d+) times\.",
        "{one} und {other} antworteten einander {n}-mal gleich.",
    ),
    (
        (
            r"It went through the same (?P<turns>\d+) turns (?P<few>[\d.]+) times "
            r"and came out where it began\."
        ),
        "Er durchlief dieselben {turns} Schritte {few}-mal und kam heraus, wo er begann.",
    ),
    (
        r"Nothing new has come of its last (?P<n>\d+) attempts\.",
        "Seine letzten {n} Versuche brachten nichts Neues.",
    ),
    (
        r"(?P<n>\d+) agents, one after another, ended on the same failure\.",
        "{n} Agenten nacheinander endeten am selben Fehler.",
    ),
    (
        r"(?P<who>.*) said (?P<n>\d+) things to each other and added nothing\.",
        "{who} sagten einander {n} Dinge und fügten nichts hinzu.",
    ),
    (
        rf"(?P<has>{HAS}) has spent \$(?P<usd_spent>[\d.]+) of \$(?P<usd_of>[\d.]+)\.",
        "{has} {usd_spent} von {usd_of} verbraucht.",
    ),
    (
        r"The organisation's budget of \$(?P<usd_of>[\d.]+) for today is reached\.",
        "Das heutige Budget der Organisation von {usd_of} ist erreicht.",
    ),
    (
        r"The organisation's budget of \$(?P<usd_of>[\d.]+) for today is nearly used up\.",
        "Das heutige Budget der Organisation von {usd_of} ist fast verbraucht.",
    ),
    (
        rf"(?P<has>{HAS}) has used (?P<part>\d+)% of its budget\.",
        "{has} {part}\u00a0% seines Budgets verbraucht.",
    ),
    (
        rf"(?P<has>{HAS}) has failed (?P<n>\d+) times in a row; (?P<of>\d+) are allowed\.",
        "{has} {n}-mal hintereinander versagt; {of}-mal ist erlaubt.",
    ),
    (
        rf"(?P<has>{HAS}) has used (?P<used>[\d.]+) of (?P<most>[\d.]+) (?P<unit>\w+)\.",
        "{has} {used} von {most} {unit} verbraucht.",
    ),
    (
        (
            r"(?P<vain>\d+) attempts have brought little, "
            r"(?P<n>\d+) of its last (?P<of>\d+) steps repeat an earlier one\."
        ),
        (
            "{vain} Versuche haben wenig gebracht, {n} seiner letzten {of} Schritte "
            "wiederholen einen früheren."
        ),
    ),
    (
        r"(?P<n>\d+) attempts have brought little\.",
        "{n} Versuche haben wenig gebracht.",
    ),
    (
        r"(?P<n>\d+) of its last (?P<of>\d+) steps repeat an earlier one\.",
        "{n} seiner letzten {of} Schritte wiederholen einen früheren.",
    ),
    (
        r"The last (?P<n>\d+) events are the same\.",
        "Die letzten {n} Ereignisse sind gleich.",
    ),
    (
        r"The last four events go to and fro between two\.",
        "Die letzten vier Ereignisse gehen zwischen zweien hin und her.",
    ),
    (
        r"The last (?P<n>\d+) events are alike in their words\.",
        "Die letzten {n} Ereignisse gleichen sich im Wortlaut.",
    ),
    (
        (
            r"It did the same \((?P<act>.*)\) (?P<n>\d+) times "
            r"and (?P<met>met the same error|nothing changed)\."
        ),
        "Er tat {n}-mal dasselbe ({act}), und {met}.",
    ),
    (
        r"Its output is to (?P<few>[\d.]+)% one it gave shortly before\.",
        "Seine Ausgabe gleicht zu {few}\u00a0% einer kurz zuvor.",
    ),
    (
        r"It reached the maximum of (?P<n>\d+) iterations\.",
        "Er erreichte die Höchstzahl von {n} Durchläufen.",
    ),
    (
        r"It reached the maximum run time \((?P<few>[\d.]+) hours\)\.",
        "Er erreichte die längste Laufzeit ({few} Stunden).",
    ),
    (
        r"It reached the maximum cost \(\$(?P<usd_of>[\d.]+)\)\.",
        "Er erreichte die höchsten Kosten ({usd_of}).",
    ),
    (
        r"It failed (?P<n>\d+) times in a row\.",
        "Er scheiterte {n}-mal hintereinander.",
    ),
    (
        r"Its iterations take too long on average\.",
        "Seine Durchläufe dauern im Mittel zu lange.",
    ),
    (
        (
            r"It misses the (?P<sort>column|table|command|option|attribute|key|name) "
            r"(?P<name>.*), (?P<n>\d+) times\."
        ),
        "Es fehlt {sort} {name}, {n}-mal.",
    ),
    (
        (
            r"It misses the (?P<sort>column|table|command|option|attribute|key|name) "
            r"(?P<name>.*)\."
        ),
        "Es fehlt {sort} {name}.",
    ),
    (
        r"It calls (?P<name>.*), a tool that does not exist here\.",
        "Er ruft {name}, ein Werkzeug, das es hier nicht gibt.",
    ),
    (
        r"There is no module (?P<name>.*) here\.",
        "Es gibt hier kein Modul {name}.",
    ),
    (
        r"There is no module (?P<name>.{0,300}); the nearest file is (?P<file>.*)\.",
        "Es gibt kein Modul {name}; die nächste Datei ist {file}.",
    ),
    (
        r"(?P<name>.*) is in the project, but not where it is looked for\.",
        "{name} gibt es im Projekt, aber nicht dort, wo gesucht wird.",
    ),
    (
        (
            r"It looks for (?P<name>.{0,300}), which does not exist\. "
            r"The closest file is (?P<file>.*)\."
        ),
        "Gesucht wird {name}, was es nicht gibt. Die nächste Datei ist {file}.",
    ),
    (
        r"It looks for (?P<name>.*), which does not exist\.",
        "Gesucht wird {name}, was es nicht gibt.",
    ),
    (
        "The service refuses for now: (?P<quote>.*)",
        "Der Dienst lehnt vorerst ab: {quote}",
    ),
    (
        r"It pages on past the end: (?P<begin>.{0,300}) to (?P<to>.*)\.",
        "Er blättert über das Ende hinaus: {begin} bis {to}.",
    ),
    (
        r"What it waits for has not moved in (?P<n>\d+) looks: (?P<quote>.*)",
        "Worauf er wartet, hat sich in {n} Blicken nicht bewegt: {quote}",
    ),
    (
        r"It edits (?P<path>.*) with a text that is not in it\.",
        "Er ändert {path} mit einem Text, der nicht darin steht.",
    ),
    (
        r"(?P<name>.*) fails in each of (?P<n>\d+) runs after (?P<edits>\d+) edits\.",
        "{name} scheitert in jedem von {n} Läufen nach {edits} Änderungen.",
    ),
    (
        r"(?P<name>.*) fails in each of (?P<n>\d+) runs\.",
        "{name} scheitert in jedem von {n} Läufen.",
    ),
    (
        r"It makes and undoes the same edits: (?P<what>.*)\.",
        "Er macht dieselben Änderungen und nimmt sie zurück: {what}.",
    ),
    (
        r"(?P<n>\d+) different calls failed the same way: (?P<quote>.*)",
        "{n} verschiedene Aufrufe scheiterten gleich: {quote}",
    ),
    (
        r"The same failure came back (?P<n>\d+) times: (?P<quote>.*)",
        "Derselbe Fehler kam {n}-mal: {quote}",
    ),
    (
        r"It ran checks that pass (?P<n>\d+) times\.",
        "Er führte {n}-mal Prüfungen aus, die bestehen.",
    ),
    (
        r"(?P<one>.{0,300}) and (?P<other>.*) hand one matter to each other\.",
        "{one} und {other} reichen einander dieselbe Sache zu.",
    ),
    (
        r"Fewer checks fail each time: (?P<begin>\d+), now (?P<to>\d+)\.",
        "Es scheitern jedes Mal weniger Prüfungen: {begin}, jetzt {to}.",
    ),
    (
        r"It waits for something that is still moving\.",
        "Er wartet auf etwas, das sich noch bewegt.",
    ),
    (
        r"Each answer brings something new\.",
        "Jede Antwort bringt etwas Neues.",
    ),
    (
        "nothing",
        "nichts",
    ),
    # Of rules that are gone: cards and journals of their time keep what they said.
    (
        rf"It looked (?P<times>{TIMES}) in a row; only figures went up and down\.",
        "Er sah {times} hintereinander nach; nur Zahlen schwankten.",
    ),
    (
        (
            r"It checked the same thing (?P<n>\d+) times in different ways; it "
            r"holds, and nothing was changed between\."
        ),
        (
            "Er prüfte dasselbe {n}-mal auf verschiedene Weise; es stimmt, und "
            "dazwischen wurde nichts geändert."
        ),
    ),
    (
        r"It tried nearly the same (?P<n>\d+) times and got (?P<got>(?:nearly )?the same \w+)\.",
        "Er versuchte {n}-mal fast dasselbe und bekam {got}.",
    ),
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
_MET = {
    "met the same error": "derselbe Fehler kam",
    "nothing changed": "nichts änderte sich",
}
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
