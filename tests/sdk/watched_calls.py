"""What the server heard of functions under guard, and one of them."""

import guard


def turns(server):
    return [turn for asked in server.requests_to("POST", "turns/") for turn in asked.turns]


def proposals(server):
    return [turn for turn in turns(server) if turn.get("phase") == "proposed"]


def outcomes(server):
    return [turn for turn in turns(server) if turn.get("phase") == "done"]


@guard.watch
def add(a, b=1):
    """Add two numbers."""
    return a + b
