"""Notifications and commands say the glossary's terms, as the screens do."""

import json
import re
from collections.abc import Iterator

import pytest

from guard.cli import COMMANDS
from missioncontrol.translation import LANGUAGES, tables_of
from tests.installations import ROOT

GLOSSARY = json.loads((ROOT / "frontend/src/messages/glossary.json").read_text())
OTHER_NAMES = {"en": "notEn", "de": "notDe"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("term", GLOSSARY["terms"], ids=lambda term: term["en"])
def test_a_notification_uses_the_term(language, term):
    texts = texts_in(tables_of(language))

    assert [text for text in texts if says_one_of(text, term[OTHER_NAMES[language]])] == []


@pytest.mark.parametrize("term", GLOSSARY["terms"], ids=lambda term: term["en"])
def test_the_help_of_a_command_uses_the_term(term):
    assert [text for _, text in COMMANDS.values() if says_one_of(text, term["notEn"])] == []


def says_one_of(text, phrases):
    return any(re.search(rf"(?<!\w){phrase}(?!\w)", text, re.IGNORECASE) for phrase in phrases)


def texts_in(node: object) -> Iterator[str]:
    """Give every text of a language's file, however deep; names in braces are no text."""
    if isinstance(node, str):
        yield re.sub(r"\{\w+\}", "", node)
    elif isinstance(node, dict | list):
        for part in node.values() if isinstance(node, dict) else node:
            yield from texts_in(part)
