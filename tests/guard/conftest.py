"""What tests of recordings share."""

import pytest

from guard.formats import read_recording


@pytest.fixture
def read(tmp_path):
    """Return a reader of a text, as it would be read from a file: its turns."""

    def read_text(text):
        file = tmp_path / "recording.txt"
        file.write_text(text, encoding="utf-8")
        return [turn for turn in read_recording(file).turns if turn is not None]

    return read_text
