"""Sentences nobody wrote: what pages, documents and people say."""

from __future__ import annotations

from tests.guard.drawings.drawing import Log, fill, pool

_WORDS = {
    "noun": "noun",
    "noun2": "noun",
    "noun3": "noun",
    "adj": "adj",
    "adj2": "adj",
    "role": "roles",
    "body": "bodies",
    "person": "people",
    "town": "towns",
    "said": "said",
    "fate": "fates",
    "when": "whens",
    "when2": "whens_now",
    "plans": "plans",
    "plans2": "plans_now",
    "reached": "reached",
    "means": "means",
    "means2": "means",
    "measure": "measures",
}


# Real texts never run out of names.
_UNHEARD = 0.4
_SYLLABLES = (
    "an",
    "bel",
    "bor",
    "cas",
    "dal",
    "dun",
    "el",
    "fal",
    "gar",
    "hol",
    "ist",
    "jor",
    "kel",
    "lin",
    "mar",
    "nes",
    "ol",
    "per",
    "quin",
    "ros",
    "sel",
    "tor",
    "ul",
    "ver",
    "wen",
    "yar",
    "zel",
    "mun",
    "tri",
    "och",
)


def _made_name(log: Log) -> str:
    return "".join(log.rng.choice(_SYLLABLES) for _ in range(log.number(2, 3))).title()


def words(log: Log) -> dict[str, object]:
    """Draw a word for each place of a sentence."""
    drawn: dict[str, object] = {}
    for name, section in _WORDS.items():
        drawn[name] = log.rng.choice(pool("prose")[section])
    if log.rng.random() < _UNHEARD:
        drawn["person"] = f"{_made_name(log)} {_made_name(log)}"
    if log.rng.random() < _UNHEARD:
        drawn["town"] = _made_name(log)
    for name in ("noun", "adj", "person", "town"):
        text = str(drawn[name])
        drawn[name.title()] = text[0].upper() + text[1:]
    return drawn


def sentence(log: Log) -> str:
    """Write a sentence."""
    return fill(log.deal("prose.frames"), **words(log))


def passage(log: Log, least: int = 4, most: int = 9) -> list[str]:
    """Write a few sentences, one a line."""
    return [sentence(log) for _ in range(log.number(least, most))]
