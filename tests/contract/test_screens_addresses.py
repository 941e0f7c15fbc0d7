"""The screens ask only for addresses that the API has.

A request to any other is answered 404, and a part of a screen silently stays away.
"""

import json
import re

import pytest

from tests.installations import ROOT

SOURCES = ROOT / "frontend/src"
ADDRESSES = [
    re.sub(r"\{[^}]+\}", "x", path).removeprefix("/api/v1/")
    for path in json.loads((SOURCES / "wire/openapi.json").read_text())["paths"]
]
CALL = re.compile(r"\bread(?:<[^(]*?>)?\(\s*[`\"]([a-z][^`\"\n]*)")
"""`read<T>("…")` and with a template, which ends here where an expression in it has quotes."""


def find_requests():
    files = [*SOURCES.rglob("*.ts"), *SOURCES.rglob("*.svelte")]
    for path in files:
        if not path.name.endswith(".test.ts"):
            for written in CALL.findall(path.read_text()):
                yield pytest.param(written, id=f"{path.name}: {written}")


def is_one_of(known, written):
    """Compare up to the query, or to the first expression that has quotes of its own."""
    path = re.split(r"\$\{query\(|\?(?=[\w$])", written)[0]
    plain = re.sub(r"\$\{[^}]*\}", "x", path)
    start, is_cut, _ = plain.partition("${")
    # An expression at its end may as well be the query.
    return known.startswith(start) if is_cut else known in {plain, plain.removesuffix("x")}


@pytest.mark.parametrize("written", list(find_requests()))
def test_the_api_has_what_a_screen_asks_for(written):
    assert any(is_one_of(known, written) for known in ADDRESSES)
