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
        "Er wurde berichtigt und will dasselbe wieder tun.",
    ),
    (
        r"It was corrected and did the same again\.",
        "Er wurde berichtigt und tat dasselbe wieder.",
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
        rf"It said nearly the same as just before (?P<times>{TIMES}) in a row\.",
        "Er sagte {times} hintereinander fast dasselbe wie eben.",
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
        r"It has spent \$(?P<usd_spent>[\d.]+) of \$(?P<usd_of>[\d.]+)\.",
        "Er hat {usd_spent} von {usd_of} verbraucht.",
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
        r"It has used (?P<part>\d+)% of its budget\.",
        "Er hat {part} % seines Budgets verbraucht.",
    ),
    (
        r"It has failed (?P<n>\d+) times in a row; (?P<of>\d+) are allowed\.",
        "Er scheiterte {n}-mal hintereinander; {of} sind erlaubt.",
    ),
    (
        r"It has used (?P<n>[\d.]+) of (?P<of>[\d.]+) (?P<unit>\w+)\.",
        "Er hat {n} von {of} {unit} verbraucht.",
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
            said = found.groupdict()
            does, rest = DEEDS.get(said.get("deed", ""), ("", ""))
            written = {name: _WRITERS.get(name, str)(part) for name, part in said.items()}
            return says.format_map({**written, "does": does, "rest": rest})
    return text


_ANSWERS = {
    "the same error": "denselben Fehler",
    "the same answer": "dieselbe Antwort",
    "nearly the same answer": "fast dieselbe Antwort",
}


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
        "unit": lambda english: UNITS.get(english, english),
        "usd_spent": _dollars,
        "usd_of": _dollars,
    }
)
# At a text's start only, and the first of two gaps is bounded: else some take quadratic time.
_PATTERNS = tuple((re.compile(rf"\A{pattern}", re.DOTALL), says) for pattern, says in SENTENCES)
