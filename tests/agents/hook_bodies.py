"""What an adapter is tested with: bodies that real agents sent, and directives to answer with."""

import json

import pytest

from guard.wire import Directive, DirectiveAction, Message
from tests.installations import SHARED


def sampled_bodies(name):
    """Read the bodies kept of a real agent, event by event; they lie outside the repository."""
    samples = SHARED / "agents" / "samples" / name
    if not samples.exists():
        pytest.skip(f"no samples: {samples} is not there (set MISSIONCONTROL_SHARED)")
    return json.loads(samples.read_text())


def a_directive(action=DirectiveAction.PROCEED, *texts, **fields):
    messages = tuple(Message(id=text, text=text) for text in texts)
    return Directive(version=1, action=action, messages=messages, **fields)
