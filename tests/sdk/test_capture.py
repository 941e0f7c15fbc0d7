"""What is told of a call's arguments and its result."""

import inspect
from decimal import Decimal
from enum import Enum
from pathlib import Path

import pytest

from guard.sdk.capture import capture_args, capture_result


class Colour(Enum):
    RED = "red"


class Hostile:
    def __repr__(self):
        raise RuntimeError("never asked")

    __str__ = __repr__


def take(value):
    """Take one value."""


def captured(*args, function=take, **kwargs):
    return capture_args(inspect.signature(function), args, kwargs, True)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Hostile(), "<Hostile>"),
        ([Hostile(), 1], ["<Hostile>", 1]),
        ({"a": {1: Path("b.py")}}, {"a": {"1": "b.py"}}),
        (Decimal("1.5"), "1.5"),
        (Colour.RED, "red"),
        (b"abc", "<3 bytes>"),
        ({2, 1}, ["1", "2"]),
        (iter([1]), "<list_iterator>"),
        (None, None),
    ],
)
def test_an_argument_is_plain_data_or_the_name_of_its_type(value, plain):
    assert captured(value) == {"value": plain}


def test_long_texts_and_collections_are_cut():
    shown = captured({"text": "x" * 10_000, "list": list(range(1000))})["value"]

    assert len(shown["text"]) < 2100
    assert len(shown["list"]) == 51
    assert shown["list"][-1] == "… 950 more"


def test_a_value_that_contains_itself_is_cut_off():
    endless = []
    endless.append(endless)

    assert "<list>" in str(captured(endless))


def test_secrets_are_masked_by_name_and_by_form():
    def login(host, api_key, **more):
        pass

    shown = captured("db", "opaque", token="sk-abcdefghij0123456789", function=login)

    assert shown["api_key"] == "[masked]"
    assert "abcdefghij" not in str(shown)


def test_a_long_result_is_cut():
    assert len(capture_result("x" * 100_000)) < 21_000
