"""Mask secrets in text before it is stored or shown."""

from __future__ import annotations

import re
from typing import Any, cast

MASK = "[masked]"

# Substring tests cost 0.1 to 0.5 us a kilobyte each, the expressions a hundred
# times that: an expression runs only where one of its hints stands in the
# lower-cased text. Group 1 (and 2) of an expression is kept, the rest masked.
# Every repetition is bounded, so that no text takes more than linear time.
_Rule = tuple[tuple[str, ...], re.Pattern[str]]

_VALUE = r"(?!\[masked\]|[<$%{(\[])[^\s\"',;)}\]]"
_WORDS = (
    r"(?:secret|token|passwd|password|passphrase|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|secret[_-]?key|credentials?)"
)

_RULES: tuple[_Rule, ...] = (
    (
        ("private key",),
        re.compile(
            r"(-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----)"
            r"(?:(?!-----)[\s\S])*(-----END [A-Z ]{0,20}PRIVATE KEY-----)?"
        ),
    ),
    (
        (
            "sk-",
            "k_live",
            "k_test",
            "mc_",
            "mcu_",
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "xox",
            "akia",
            "asia",
            "aiza",
            "ya29.",
            "eyj",
            "hf_",
            "npm_",
            "pypi-",
            "dop_v1_",
            "sg.",
            "shpat_",
            "gsk_",
            "csk-",
            "xai-",
            "r8_",
        ),
        re.compile(
            r"(?<![A-Za-z0-9])()(?:"
            r"sk-(?:ant-|proj-|or-|svcacct-)?(?=[A-Za-z_-]{0,200}\d)[A-Za-z0-9_-]{16,}"
            r"|[srp]k_(?:live|test)_[A-Za-z0-9]{10,}"
            r"|mcu?_(?=[A-Za-z_-]{0,200}\d)[A-Za-z0-9_-]{16,}"
            r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
            r"|xox[abeoprs]-[A-Za-z0-9-]{10,}"
            r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
            r"|AIza[\w-]{30,}|ya29\.[\w-]{20,}"
            r"|(?<![\w-])eyJ[\w-]{8,4000}\.eyJ[\w-]{8,8000}\.[\w-]{4,}"
            r"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|dop_v1_[0-9a-f]{32,}"
            r"|SG\.[\w-]{16,100}\.[\w-]{16,}|shpat_[0-9a-f]{20,}|gsk_[A-Za-z0-9]{20,}"
            r"|csk-[a-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{20,}"
            r")"
        ),
    ),
    (
        ("bearer ", "basic "),
        re.compile(r"(?i)\b((?:bearer|basic) {1,3})(?=[A-Za-z._~+/=-]{0,200}\d)[\w.~+/=-]{12,}"),
    ),
    # user:password@host; the user's name stays.
    (("://",), re.compile(r"(://[^\s/:@'\"]{0,100}:)[^\s/@'\"]{1,200}(?=@)")),
    (("cookie:",), re.compile(r"(?i)(cookie: ?)[^\r\n]{8,}")),
    (
        ("--password", "--token", "--api-key", "--secret"),
        re.compile(
            r"(?i)(--(?:password|token|api-key|secret)[= ][\"']?)(?!\[masked\])[^\s\"']{4,}"
        ),
    ),
)

# Words like "key" and "token" fill code and prose: one quick look for a secret's
# name that is being assigned spares the three slow expressions.
_ASSIGNED = re.compile(
    r"(?:secret|token|passw(?:or)?d|passphrase|key|credentials?)[a-z0-9_]{0,30}"
    r"[\"']?[ \t]{0,3}[=:]"
)
# name=value, name: value, "name": value. A value that is only a word of prose or
# code ("token: str", "password = None") is no secret.
_ASSIGNMENTS: tuple[re.Pattern[str], ...] = (
    re.compile(
        rf"(?i)({_WORDS}[\"']?[ \t]{{0,3}}(?:=>|[=:])[ \t]{{0,3}}[\"']?)"
        rf"(?=[^\s\"',;]{{0,100}}[\d!@#$%^&*~+/]){_VALUE}{{6,}}"
    ),
    # The environment's way of writing: any value counts, "API_KEY=hunter".
    re.compile(
        r"((?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY)"
        rf"(?:_[A-Z0-9_]{{1,30}})?=[\"']?){_VALUE}{{4,}}"
    ),
    re.compile(
        rf"(?i)({_WORDS}[\"'][ \t]{{0,3}}:[ \t]{{0,3}}\")(?!\[masked\])[^\"\\\n]{{4,}}(?=\")"
    ),
)


def redact(text: str) -> str:
    """Mask the secrets in a text and keep what stands around them.

    Known vendors' keys, bearer tokens, private keys, passwords in addresses,
    AWS keys, cookies, and assignments to names that say secret.

    >>> redact("export OPENAI_API_KEY=abcd1234 && run")
    'export OPENAI_API_KEY=[masked] && run'
    >>> redact("postgres://app:hunter2@db/main")
    'postgres://app:[masked]@db/main'
    >>> redact("the token count grew")
    'the token count grew'
    """
    lowered = text.lower()
    for hints, rule in _RULES:
        for hint in hints:
            if hint in lowered:
                text = rule.sub(_mask, text)
                break
    if _ASSIGNED.search(lowered):
        for rule in _ASSIGNMENTS:
            text = rule.sub(_mask, text)
    return text


def _mask(match: re.Match[str]) -> str:
    tail = match.group(2) if match.re.groups > 1 else None
    return f"{match.group(1)}{MASK}{tail or ''}"


_SECRET_NAME = re.compile(
    r"(?i)(?:^|[_-]|(?<=[a-z])(?=[A-Z]))(?:secret|passwd|password|passphrase|api[_-]?key"
    r"|access[_-]?key|private[_-]?key|authorization|(?:auth|access|refresh|bearer|api)[_-]?token)$"
)
_DEEPEST = 60


def redact_json(value: Any) -> Any:
    """Mask the secrets in every text of a JSON value, and by the field's name.

    >>> redact_json({"headers": {"Authorization": "opaque"}, "n": 1})
    {'headers': {'Authorization': '[masked]'}, 'n': 1}
    """
    return _redact_value(value, 0)


def _redact_value(value: object, depth: int) -> Any:
    if isinstance(value, str):
        return redact(value)
    if depth > _DEEPEST:
        # Nothing real nests like this, and what cannot be looked at is not kept.
        return MASK if isinstance(value, dict | list | tuple) else value
    if isinstance(value, dict):
        return {key: _redact_field(key, inner, depth) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_redact_value(inner, depth + 1) for inner in value]
    return value


def _redact_field(name: object, value: object, depth: int) -> Any:
    if isinstance(value, str) and value and isinstance(name, str) and _SECRET_NAME.search(name):
        return MASK
    return cast("Any", _redact_value(value, depth + 1))
