"""Pages that quote a log within prose: an issue, a report, a letter.

A quote is a fenced code block, a `<pre>` element, or an indented block after a blank line; each
may be inside a list item or a block quote. It is read as if it were a file; the prose is not part
of the run.

Source: CommonMark 0.31, sections 4.4 and 4.5; issues of langchain, crewAI, codex, gemini-cli.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

from guard.reading.text_calls import unescape_html

# In characters: a GitHub issue has up to 65,536, and a thread several times as many.
_MAX_PAGE_LENGTH, _MAX_QUOTES = 1 << 21, 12
_OPENS = re.compile(
    r"((?:[ \t>]|[-*+] |\d{1,3}[.)] ){0,12})(`{3,}+|~{3,}+)[ \t]*+([\w+.-]*+)[^`]*$"
)
_TAG = re.compile(r"</?[a-z][^<>\n]{0,200}>", re.IGNORECASE)
_INDENT, _FENCE = "    ", "~" * 9


def quotes_in(text: str) -> list[str]:
    r"""Return a page's largest quotes, and then the quotes of each language joined.

    The steps of one run may each have their own fence, between other fences.

    >>> quotes_in("See:\n\n```\na\n```\n\nThen, in a list:\n\n- ```sh\n  make\n  ```\n")
    ['make', 'a']
    """
    if len(text) > _MAX_PAGE_LENGTH:
        return []
    languages = defaultdict[str, list[str]](list)
    for language, quote in _find_quotes(_fence_pre_elements(text).splitlines()):
        languages[language].append(quote)
    alone = chain.from_iterable(languages.values())
    together = ("\n".join(quotes) for quotes in languages.values() if len(quotes) > 1)
    return [*_largest(alone), *_largest(together)]


def _largest(quotes: Iterable[str]) -> list[str]:
    return sorted(quotes, key=len, reverse=True)[:_MAX_QUOTES]


def _find_quotes(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Return each quote as (language, text)."""
    quote, language, end, margin = list[str](), "", "", 0
    is_blank = True  # the line before
    for line in [*lines, ""]:
        bare = line.strip()
        is_right = line.startswith((_INDENT, "\t"))
        if end == _INDENT and bare and not is_right:
            yield "", "\n".join(quote)
            end = ""
        if end == _INDENT:
            quote.append(line.removeprefix("\t").removeprefix(_INDENT))
        elif end:
            # Inside a list item or a block quote, lines have its margin or a part of it.
            inner = line[:margin].lstrip(" \t>") + line[margin:]
            if bare and inner.strip().startswith(end) and not inner.strip().strip(end[0]):
                yield language, "\n".join(quote)
                end = ""
            else:
                quote.append(inner)
        elif opened := _OPENS.match(line):
            margin, end, language, quote = len(opened[1]), opened[2], opened[3], []
        elif is_blank and bare and is_right:
            end, quote = _INDENT, [line.removeprefix("\t").removeprefix(_INDENT)]
        is_blank = not bare
    if end:
        yield language if end != _INDENT else "", "\n".join(quote)


def _fence_pre_elements(text: str) -> str:
    """Turn `<pre>` elements into fences."""
    head, *parts = text.split("<pre")
    for part in parts:
        inner, closing, rest = part.partition("</pre>")
        shown = unescape_html(_TAG.sub("", inner.partition(">")[2]))
        head += f"\n{_FENCE}\n{shown}\n{_FENCE}\n{rest}" if closing else f"<pre{part}"
    return head
