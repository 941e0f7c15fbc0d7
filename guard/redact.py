"""Mask secrets in text before it is stored or shown.

An agent may send any text, so the time must depend on its length alone: a text is
shortened before it is masked, and no rule reads a character more than a few times.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MASK = "[masked]"
# Texts up to this many characters are kept whole.
MAX_LENGTH = 1_048_576
_MIN_LENGTH = 6
# Characters dropped next to a cut, where a secret may be broken; a key has 3,300.
_CUT_MARGIN = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One form of secret; what its group `value` matches is masked.

    A pattern begins with a literal, which `re` finds as fast as `str.find`, and its
    quantifiers are possessive: both keep the time linear on hostile text.

    Attributes:
        hint: The pattern runs only where this occurs in the lower-cased text.
        pattern: Applied to the text, or to the lower-cased text where `lowercase`.
        is_secret: Distinguishes a secret from what only looks like one.
    """

    hint: str
    pattern: re.Pattern[str]
    lowercase: bool = False
    is_secret: Callable[[re.Match[str]], bool] | None = None


def _has_digit(match: re.Match[str]) -> bool:
    return _DIGIT.search(match["value"]) is not None


def _has_sign(match: re.Match[str]) -> bool:
    """Return whether a value is more than a word of prose or code, as in "token: str"."""
    return _SIGN.search(match["value"]) is not None and _is_value(match)


def _is_value(match: re.Match[str]) -> bool:
    """Return whether it is a value, not a type, a remark or asterisks in its place."""
    return not _NO_VALUE.fullmatch(match["value"]) and bool(match["value"].strip("*•.x"))


def _is_password(match: re.Match[str]) -> bool:
    """Return whether it is a password, not a variable."""
    return _is_value(match) and not _NAMED.search(match["value"])


def _is_in_connection_string(match: re.Match[str]) -> bool:
    """Return whether it is in "Server=db;Password=…;Encrypt=yes", and not in a statement."""
    before = match.string[max(0, match.start() - 8) : match.start()].rstrip()
    return before.endswith(";") or _NEXT_SETTING.match(match.string, match.end()) is not None


def _is_option_of(command: str) -> Callable[[re.Match[str]], bool]:
    """Return a check that an option belongs to this command and not to another."""
    # Here it is no command: `find -name mysql -print`, `docker run --name=mysql -p 3306:3306`.
    called = re.compile(
        rf"{command}(?<!name[ =]{command})(?<!host[ =]{command})(?<!-[a-z] {command})"
    )

    def is_secret(match: re.Match[str]) -> bool:
        begins = max(0, match.start() - _MAX_COMMAND_LENGTH)
        before = match.string[begins : match.start()]
        if command not in before:
            return False
        before = before.replace("\\\n", "  ")
        return called.search(before, max(map(before.rfind, "\n;|&")) + 1) is not None

    return is_secret


_MAX_COMMAND_LENGTH = 400
_DIGIT = re.compile(r"\d")
_SIGN = re.compile(r"[\d!@#$%^&*~+/]")
_NEXT_SETTING = re.compile(r";\s{0,3}[a-z][a-z ]{1,40}=")
_NAMED = re.compile(r"passw|secret|token|[a-z]\.[a-z]|_|^[/.~]|[<({\[]")
_NO_VALUE = re.compile(
    r"any|auto|bool|boolean|bytes|changed|char|correct|default|deny|disabled|empty|enabled"
    r"|expired|failed|false|file|field|hidden|incorrect|input|integer|invalid|missing|never"
    r"|none|null|number|object|optional|prompt|read|required|reset|rejected|string|text|true"
    r"|undefined|unset|updated|username|value|varchar|wrong"
)


def _value_pattern(shortest: int) -> str:
    """Return a pattern of a value that is no reference ("$KEY", "<key>") or call ("get_key()")."""
    return rf"(?P<value>(?![<$%{{(\[])[^\s\"',;)}}\](\[{{<]{{{shortest},}}+)(?![(\[])"


# The backslashes: JSON within JSON escapes its quotes, and each deeper level does so again.
_IS = r"\\{0,3}[\"']?[ \t]{0,3}(?:=>|[=:])[ \t]{0,3}\\{0,3}[\"']?"


def _key_rule(prefix: str, body: str, *, hint: str = "", digit: bool = False) -> Rule:
    """Return the rule for a vendor's key, which is known by its prefix."""
    return Rule(
        hint=hint or prefix.replace("\\", "").lower(),
        pattern=re.compile(rf"(?P<value>{prefix}(?<![A-Za-z0-9]{prefix}){body})"),
        is_secret=_has_digit if digit else None,
    )


def _lowercase_rule(
    hint: str, pattern: str, is_secret: Callable[[re.Match[str]], bool] | None = None
) -> Rule:
    return Rule(hint=hint, pattern=re.compile(pattern), lowercase=True, is_secret=is_secret)


_KEY_RULES: tuple[Rule, ...] = (
    # Ordinary words begin like this too ("sk-learn"), but a key has a digit.
    _key_rule("sk-", r"[A-Za-z0-9_-]{16,}+", digit=True),
    # Our own keys: an agent's, and a person's token.
    _key_rule("mc_", r"[A-Za-z0-9_-]{16,}+", digit=True),
    _key_rule("mcu_", r"[A-Za-z0-9_-]{16,}+", digit=True),
    _key_rule("[srp]k_live_", r"[A-Za-z0-9]{10,}+", hint="k_live_"),
    _key_rule("[srp]k_test_", r"[A-Za-z0-9]{10,}+", hint="k_test_"),
    _key_rule("gh[pousr]_", r"[A-Za-z0-9]{20,}+", hint="gh"),
    _key_rule("github_pat_", r"\w{20,}+"),
    _key_rule("glpat-", r"[\w-]{16,}+"),
    _key_rule("xox[abeoprs]-", r"[A-Za-z0-9-]{10,}+", hint="xox"),
    _key_rule("xapp-", r"[A-Za-z0-9-]{10,}+"),
    _key_rule("AKIA", r"[A-Z0-9]{16}"),
    _key_rule("ASIA", r"[A-Z0-9]{16}"),
    _key_rule("AIza", r"[\w-]{30,}+"),
    _key_rule(r"ya29\.", r"[\w-]{20,}+"),
    Rule(
        hint="eyj",
        pattern=re.compile(r"(?P<value>eyJ(?<![\w-]eyJ)[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]{4,}+)"),
    ),
    _key_rule("hf_", r"[A-Za-z0-9]{20,}+"),
    _key_rule("npm_", r"[A-Za-z0-9]{30,}+"),
    _key_rule("pypi-", r"[\w-]{30,}+"),
    _key_rule("dop_v1_", r"[0-9a-f]{32,}+"),
    _key_rule(r"SG\.", r"[\w-]{16,}+\.[\w-]{16,}+"),
    _key_rule("shpat_", r"[0-9a-f]{20,}+"),
    _key_rule("gsk_", r"[A-Za-z0-9]{20,}+"),
    _key_rule("csk-", r"[a-z0-9]{20,}+", hint="sk-"),
    _key_rule("xai-", r"[A-Za-z0-9]{20,}+"),
    _key_rule("r8_", r"[A-Za-z0-9]{20,}+"),
    # A Telegram bot's token, alone or in an address: the bot's number stays.
    Rule(hint=":aa", pattern=re.compile(r":(?P<value>AA(?<=\d{6}:AA)[\w-]{30,}+)")),
    Rule(
        hint="private",
        pattern=re.compile(
            r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----"
            r"(?P<value>[^-]*+(?:-(?!----)[^-]*+)*+)(?:-----END [A-Z ]{0,20}PRIVATE KEY-----)?"
        ),
    ),
)

_ADDRESS_RULES: tuple[Rule, ...] = (
    # user:password@host; the user's name stays.
    _lowercase_rule(
        "://", r"://[^\s/:@'\"]{0,100}+:(?P<value>(?!\d{1,5}[?#,])[^\s/'\"]{1,200})(?=@)"
    ),
    _lowercase_rule(
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[\w/-]{8,}+)",
    ),
    _lowercase_rule(
        "discord",
        r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{5,25}+/(?P<value>[\w-]{20,}+)",
    ),
    _lowercase_rule("sig=", r"sig=(?<=[?&;]sig=)(?P<value>[\w%+/=-]{20,}+)"),
)

_COMMAND_RULES: tuple[Rule, ...] = (
    _lowercase_rule("bearer ", r"bearer(?<!\wbearer) {1,3}(?P<value>[\w.~+/=-]{12,}+)", _has_digit),
    _lowercase_rule("basic ", r"basic(?<!\wbasic) {1,3}(?P<value>[\w.~+/=-]{12,}+)", _has_digit),
    _lowercase_rule("cookie:", r"cookie: ?(?P<value>[^\r\n]{8,}+)"),
    _lowercase_rule(
        "--",
        r"--(?:password|passphrase|token|api-key|secret)[= ][\"']?"
        r"(?P<value>(?![<$%{(\[-])[^\s\"']{4,}+)",
    ),
    _lowercase_rule(
        "curl",
        r"-(?:u(?<=\s-u) ?|-(?:proxy-)?user[= ])[\"']?[^\s:\"'/]{1,100}+:"
        r"(?P<value>[^\s\"'$<{%][^\s\"']*+)",
        _is_option_of("curl"),
    ),
    *(
        _lowercase_rule(
            command,
            r"-p(?<=\s-p)[\"']?(?P<value>(?!\d{1,5}:)[^\s\"'$<{-][^\s\"']{2,}+)",
            _is_option_of(command),
        )
        for command in ("mysql", "mariadb")
    ),
    _lowercase_rule("sshpass", r"sshpass -p [\"']?(?P<value>[^\s\"'$<{-][^\s\"']*+)"),
    _lowercase_rule(
        "machine",
        r"machine\s{1,20}+\S{1,200}+\s{1,20}+login\s{1,20}+\S{1,200}+\s{1,20}+"
        r"password\s{1,20}+(?P<value>\S{1,1000}+)",
    ),
)


def _assignment_rules(name: str, hint: str) -> tuple[Rule, ...]:
    """Return the rules for a secret's name: name=value, name: value, "name": "value"."""
    return (
        _lowercase_rule(hint, name + _IS + _value_pattern(6), _has_sign),
        _lowercase_rule(
            hint,
            name + r"\\{0,3}[\"'][ \t]{0,3}:[ \t]{0,3}\\{0,3}[\"']"
            r"(?P<value>[^\"'\\\n]{4,}+)(?=\\{0,3}[\"'])",
            _is_value,
        ),
    )


_ASSIGNMENT_RULES: tuple[Rule, ...] = (
    *_assignment_rules("secret(?:[_-]?key)?", "secret"),
    *_assignment_rules("token", "token"),
    *_assignment_rules("passw(?:or)?d", "passw"),
    *_assignment_rules("passphrase", "passphrase"),
    *_assignment_rules("api[_-]?key", "api"),
    *_assignment_rules("access[_-]?key", "access"),
    *_assignment_rules("account[_-]?key", "account"),
    *_assignment_rules("private[_-]?key", "private"),
    *_assignment_rules("credentials?", "credential"),
    # As a line of its own, in a query or as an option; and in quotes after "=".
    _lowercase_rule(
        "passw",
        rf"passw(?:or)?d: {{1,3}}{_value_pattern(4)}[ \t]{{0,8}}(?=[\r\n]|\Z)",
        _is_password,
    ),
    _lowercase_rule("passw", rf"passw(?:or)?d={_value_pattern(4)}(?=\s|\Z)", _is_password),
    _lowercase_rule(
        "passw",
        r"passw(?:or)?d[ \t]{0,3}=[ \t]{0,3}\\{0,3}[\"'](?P<value>[^\s\"'\\]{4,}+)(?=\\{0,3}[\"'])",
        _is_password,
    ),
    _lowercase_rule("passw", r"password=(?P<value>[^;\"'\n]{1,200}+)", _is_in_connection_string),
    _lowercase_rule("pwd", r"pwd=(?P<value>[^;\"'\n]{1,200}+)", _is_in_connection_string),
    # Environment variables: any value counts, "API_KEY=hunter".
    *(
        Rule(
            hint=hint,
            pattern=re.compile(rf"{name}(?:_[A-Z0-9_]{{1,30}}+)?=[\"']?{_value_pattern(4)}"),
        )
        for hint, name in (
            ("secret", "SECRET"),
            ("token", "TOKEN"),
            ("passw", "PASSW(?:OR)?D"),
            ("api", "API_?KEY"),
            ("access", "ACCESS_KEY"),
            ("private", "PRIVATE_KEY"),
        )
    ),
    Rule(hint="pwd", pattern=re.compile(rf"MYSQL_PWD=[\"']?{_value_pattern(1)}")),
)

RULES: tuple[Rule, ...] = (*_KEY_RULES, *_ADDRESS_RULES, *_COMMAND_RULES, *_ASSIGNMENT_RULES)
# A text is searched for a hint once, however many rules share it.
_BY_HINT = {rule.hint: tuple(one for one in RULES if one.hint == rule.hint) for rule in RULES}


def redact(text: str) -> str:
    """Mask the secrets in a text and keep the rest.

    Masked are keys and webhooks of known vendors, bearer tokens, private keys, passwords in
    addresses, connection strings and commands, cookies, and values assigned to secret names.
    Of a text longer than `MAX_LENGTH` only the head and the tail are kept.

    >>> redact("export OPENAI_API_KEY=abcd1234 && run")
    'export OPENAI_API_KEY=[masked] && run'
    >>> redact("postgres://app:hunter2@db/main")
    'postgres://app:[masked]@db/main'
    >>> redact("the token count grew")
    'the token count grew'
    """
    return _redact(text, _BY_HINT)


def _redact(text: str, by_hint: Mapping[str, tuple[Rule, ...]]) -> str:
    if len(text) < _MIN_LENGTH:
        return text
    text = cut_middle(text)
    if not by_hint:
        return text
    lowercase = _lower(text)
    for hint, rules in by_hint.items():
        for rule in rules if hint in lowercase else ():
            parts: list[str] = []
            done = 0
            for match in rule.pattern.finditer(lowercase if rule.lowercase else text):
                if rule.is_secret is None or rule.is_secret(match):
                    start, end = match.span("value")
                    parts += (text[done:start], MASK)
                    done = end
            # Lower-cased again only if something was masked: a text may be a megabyte.
            if parts:
                text = "".join((*parts, text[done:]))
                lowercase = _lower(text)
    return text


def cut_middle(text: str) -> str:
    """Cut the middle out of a text longer than `MAX_LENGTH`, and say so in its place.

    The text next to the cut is dropped too, since half a secret cannot be recognised.
    """
    if len(text) <= MAX_LENGTH:
        return text
    head, tail = text[: MAX_LENGTH // 2], text[-MAX_LENGTH // 2 :]
    head = head[
        : max(head.rfind("\n", -_CUT_MARGIN), head.rfind(" ", -_CUT_MARGIN), 0) or -_CUT_MARGIN
    ]
    first_line = tail.find("\n", 0, _CUT_MARGIN)
    tail = tail[_CUT_MARGIN if first_line < 0 else first_line :]
    # The cut went through a private key, which no rule recognises without its first line.
    ends, begins = tail.find("PRIVATE KEY-----"), tail.find("-----BEGIN")
    if ends >= 0 and not 0 <= begins < ends:
        tail = tail[ends:]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out:,} characters left out …]\n{tail}"


def _lower(text: str) -> str:
    """Lower-case a text and keep every position: `lower` makes two characters of one letter."""
    return text.replace("İ", "i").lower()


_SECRET_NAME = re.compile(
    r"(?i)(?:^|[_-]|(?<=[a-z])(?=[A-Z]))(?:secret|passwd|password|passphrase|api[_-]?key"
    r"|access[_-]?key|private[_-]?key|account[_-]?key|authorization"
    r"|(?:auth|access|refresh|bearer|api)[_-]?token)$"
)
_MAX_NAME_LENGTH = 40
_MAX_NAME_WITHOUT_SECRET = 12
_MAX_DEPTH = 60
_COMMANDS_WITH_OPTIONS = frozenset({"curl", "mysql", "mariadb", "sshpass"})
_MAX_OPTION_LENGTH = 30


def redact_json(value: Any) -> Any:
    """Mask the secrets in every text of a JSON value, and values of fields with secret names.

    >>> redact_json({"headers": {"Authorization": "opaque"}, "n": 1})
    {'headers': {'Authorization': '[masked]'}, 'n': 1}
    """
    # Look for hints in all texts at once: one by one, a hundred thousand short ones took seconds.
    # Each text is followed by a space, because a list's words are read as one line.
    lowercase = _lower(" ".join([*_texts_in(value, 0), ""]))
    met = {hint: rules for hint, rules in _BY_HINT.items() if hint in lowercase}
    return _redact_json(value, met, 0)


def _texts_in(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth <= _MAX_DEPTH and isinstance(value, dict | list | tuple):
        parts = itertools.chain.from_iterable(value.items()) if isinstance(value, dict) else value
        for part in parts:
            yield from _texts_in(part, depth + 1)


def _redact_json(value: Any, by_hint: Mapping[str, tuple[Rule, ...]], depth: int) -> Any:
    if isinstance(value, str):
        return _redact(value, by_hint)
    if depth > _MAX_DEPTH:
        # No real value is nested this deep, and what cannot be inspected is not kept.
        return MASK if isinstance(value, dict | list | tuple) else value
    if isinstance(value, dict):
        masked_fields = {}
        for name, inner in value.items():
            named = name if isinstance(name, str) else ""
            # Only the end: the telling word stands last in a name, and a name may have any length.
            is_secret = (
                isinstance(inner, str) and inner and _SECRET_NAME.search(named[-_MAX_NAME_LENGTH:])
            )
            # Few names are long enough to hold a secret.
            shown = _redact(named, by_hint) if len(named) > _MAX_NAME_WITHOUT_SECRET else name
            masked_fields[shown] = MASK if is_secret else _redact_json(inner, by_hint, depth + 1)
        return masked_fields
    if isinstance(value, list | tuple):
        # The words of a list are masked as if a command's words stood in one line. Besides a word,
        # a rule needs only its command and the option before it. Each word is read with these two
        # alone, so that the time is linear in the list's length.
        masked: list[Any] = []
        command = option = ""
        for word in value:
            if isinstance(word, str):
                before = "".join(f"{one} " for one in (command, option) if one)
                line = _redact(before + word, by_hint)
                # If the text before it is masked too, that text held a secret of its own.
                masked.append(
                    line[len(before) :] if line.startswith(before) else _redact(word, by_hint)
                )
                name = word[-_MAX_OPTION_LENGTH:].rpartition("/")[2]
                command = name if name in _COMMANDS_WITH_OPTIONS else command
                option = word if word.startswith("-") and len(word) < _MAX_OPTION_LENGTH else ""
            else:
                masked.append(_redact_json(word, by_hint, depth + 1))
                option = ""
        return masked
    return value
