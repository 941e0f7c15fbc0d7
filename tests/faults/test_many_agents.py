"""Three thousand agents open runs at once; a person goes on answering meanwhile."""

import asyncio
import collections
import json
import time
from urllib.parse import urlsplit

import pytest

from tests.contract.conversation import an_agent_of
from tests.faults.tapping import tapping
from tests.installations import an_installation

pytestmark = pytest.mark.faults
AGENTS = 3000
PATIENCE_S = 90.0
"""Nine times what our own SDK waits: these agents share the processors with the server, and with
the tests beside them."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with an_installation(tmp_path_factory.mktemp("crowd")) as running:
        yield running


async def opened(server, number):
    """Open a run as an agent does.

    Returns the status, None if no answer came in time, and whether it says when to come again.
    """
    at = urlsplit(server.url)
    body = json.dumps({"name": f"crowd {number}", "agent": "coder"}).encode()
    head = (
        f"POST /api/v1/runs/ HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {server.agent_key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer = None
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection(at.hostname, at.port)
            writer.write(head.encode() + body)
            reply = await reader.readuntil(b"\r\n\r\n")
    except (TimeoutError, OSError, asyncio.IncompleteReadError):
        return None, False
    finally:
        if writer is not None:
            writer.close()
    return int(reply.split()[1]), b"retry-after:" in reply.lower()


async def crowd(server):
    return await asyncio.gather(*(opened(server, number) for number in range(AGENTS)))


def test_agents_are_served_or_told_to_retry_and_people_do_not_wait(server):
    agent = an_agent_of(server)
    run = agent.open_run()

    with tapping(server, run) as kept, tapping(server, run, fresh=True) as fresh:
        began = time.monotonic()
        answers = asyncio.run(crowd(server))
        took = time.monotonic() - began

    statuses = collections.Counter(status for status, _ in answers)
    print(  # noqa: T201 - measured, beside what is asserted
        json.dumps(
            {
                "answers": {str(status): count for status, count in statuses.items()},
                "crowd_s": round(took, 2),
                "kept": kept.distribution(),
                "fresh": fresh.distribution(),
            }
        )
    )
    assert set(statuses) <= {201, 429, 503}
    assert statuses[201] > 0
    assert all(is_told_when for status, is_told_when in answers if status != 201)
    for taps in (kept, fresh):  # they do not stand in the agents' queue; else it is 0.35 to 0.5
        assert taps.worst_s < took / 4
