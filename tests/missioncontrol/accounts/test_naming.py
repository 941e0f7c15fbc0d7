"""A name shows every sign that it holds."""

import pytest

from missioncontrol.accounts.people import clean_name
from missioncontrol.errors import InvalidRequest


@pytest.mark.parametrize(
    "name",
    [
        "\U0001f469\u200d\U0001f4bb laptop",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "\u2764\ufe0f\u200d\U0001f525",
    ],
)
def test_one_picture_made_of_several_is_seen(name):
    assert clean_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "lap\u200dtop",
        "\U0001f469\u200d",
        "\u200d\U0001f4bb",
        "\U0001f469\u200d\u200d\U0001f4bb",
        "\u200d",
    ],
)
def test_a_joiner_of_anything_else_is_hidden(name):
    with pytest.raises(InvalidRequest):
        clean_name(name)
