"""What is nested too deep to be read is told as text, whatever stands around it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.adapters.parsing import read_arguments
from guard.json_depth import limit_depth, read_json

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='ab"\\[]{}:, é', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
)


def with_texts(value, deepest, level=0):
    """What `limit_depth` should return, computed slowly; groups hold plain numbers."""
    if not isinstance(value, dict | list):
        return value
    if level >= deepest:
        return json.dumps(value)
    if isinstance(value, list):
        return [with_texts(one, deepest, level + 1) for one in value]
    return {name: with_texts(one, deepest, level + 1) for name, one in value.items()}


@given(VALUES, st.integers(1, 4))
def test_groups_beyond_a_depth_become_texts_and_nothing_else_changes(value, deepest):
    assert json.loads(limit_depth(json.dumps(value).encode(), deepest)) == with_texts(
        value, deepest
    )


@given(st.binary(max_size=60) | st.text(alphabet='"\\[]{}a', max_size=60).map(str.encode))
def test_any_bytes_come_through(raw):
    assert limit_depth(raw) == raw


def test_a_text_that_never_ends_takes_no_longer_than_its_length():
    # Tried anew from each of its signs, it would take hours.
    raw = b"[" * 70 + b'{"a' + b'\\"' * 1_000_000

    assert limit_depth(raw) == raw


@pytest.mark.parametrize("raw", [b"[" * 50_000, b'{"a":' * 50_000 + b"1"])
def test_what_is_nested_deep_and_never_closed_is_no_json(raw):
    with pytest.raises(ValueError, match="never closed"):
        read_json(raw)


@pytest.mark.parametrize("depth", [100, 990, 50_000])
def test_arguments_that_a_model_wrote_are_read_however_deep(depth):
    written = '{"path": "a.txt", "at": ' + "[" * depth + "]" * depth + "}"

    assert read_arguments(written)["path"] == "a.txt"
