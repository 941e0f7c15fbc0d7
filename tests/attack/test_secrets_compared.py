"""Secrets are looked up by their hash or compared in constant time: never by `==`, whose time
tells how far a guess was right.
"""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.installations import ROOT

SECRET = re.compile(
    r"secret|token|digest|password|signature|hmac|bearer|session_key|api_key|^(mac|code|seal)$",
    re.IGNORECASE,
)
TELLS_EARLY = (ast.Eq, ast.NotEq)
PUBLIC = {
    "guard/adapters/litellm.py": "where a conversation began, in this process's own memory",
    "guard/connect/settings_file.py": "of files on the agent's machine, compared by their owner",
    "missioncontrol/audit/checking.py": "of turns, against what the journal tells",
    "missioncontrol/proof.py": "of an export that is verified by who has it",
    "missioncontrol/up/frontend.py": "of the front end's sources",
    "missioncontrol/up/tls.py": "key identifiers of certificates",
}
"""Where digests and codes are compared that are nobody's secret, and what they are of."""
PLAIN = re.compile(r"^(secret|token|password|code|session_key)(__exact|__iexact)?$")
LOOKS_UP = {"filter", "get", "exclude", "get_or_create", "update_or_create"}
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text()
    for package in ("guard", "missioncontrol")
    for path in sorted((ROOT / package).rglob("*.py"))
    if "migrations" not in path.parts
}


parsed = cache(ast.parse)


def compared(source):
    """Give each comparison by `==` of what is named like a secret."""
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Compare) and any(isinstance(op, TELLS_EARLY) for op in node.ops):
            sides = [node.left, *node.comparators]
            is_public = any(isinstance(side, ast.Constant) for side in sides)
            if any(map(is_secret, sides)) and not is_public:
                yield ast.unparse(node)


def is_secret(node):
    if isinstance(node, ast.Call):
        return is_secret(node.func)
    if isinstance(node, ast.Subscript):
        return is_secret(node.slice) or is_secret(node.value)
    name = {ast.Name: "id", ast.Attribute: "attr", ast.Constant: "value"}.get(type(node), "")
    return bool(SECRET.search(str(getattr(node, name, ""))))


def looked_up(source):
    """Give each look-up of a row by a secret itself; one that is hashed on the spot is none."""
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in LOOKS_UP:
            named = [keyword for keyword in node.keywords if PLAIN.match(keyword.arg or "")]
            yield from (ast.unparse(node) for keyword in named if not is_hashed(keyword.value))


def is_hashed(value):
    return isinstance(value, ast.Call) and getattr(value.func, "id", "") in {"hash_key", "digest"}


def test_every_secret_is_compared_in_constant_time():
    found = {path: lines for path, source in SOURCES.items() if (lines := [*compared(source)])}

    assert {path: lines for path, lines in found.items() if path not in PUBLIC} == {}
    assert set(PUBLIC) == set(found)
    assert len(SOURCES) > 300


def test_no_row_is_looked_up_by_a_secret_itself():
    found = {path: lines for path, source in SOURCES.items() if (lines := [*looked_up(source)])}

    assert found == {}


@pytest.mark.parametrize("line", ["token == kept", "row.digest != sha(x)", "a['secret'] == b"])
def test_a_timing_dependent_comparison_is_found(line):
    assert [*compared(line)] == [ast.unparse(ast.parse(line))]


def test_a_lookup_by_secret_is_found():
    assert [*looked_up("Row.objects.filter(token=given)")]
