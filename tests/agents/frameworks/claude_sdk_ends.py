"""The Claude Agent SDK, ending otherwise than by an answer: `limit`, `cancelled`, `together`."""

import asyncio
import os
import sys

from claude_agent_sdk import ClaudeAgentOptions, query

from guard import Stopped
from guard.adapters.claude_agent_sdk import MissionControl
from tests.agents.frameworks.play import LOOK, SURVEY, name, stay, tell, until

HOW = sys.argv[1]
OPTIONS = ClaudeAgentOptions(
    cli_path=os.environ["CLAUDE"],
    model="claude-sonnet-4-5",
    allowed_tools=["Read"],
    cwd=os.getcwd(),  # noqa: PTH109
    max_turns=2 if HOW == "limit" else None,
)


async def play(story, prompt):
    async with MissionControl(name(story), agent="reader") as watch:
        asking = query(prompt=prompt, options=watch.options(OPTIONS))
        async for _ in watch.messages(asking):
            pass


async def cancelled():
    playing = asyncio.create_task(play("loop", LOOK))
    await asyncio.to_thread(until, "cancel")
    playing.cancel()
    await playing


async def survey():
    await asyncio.to_thread(until, "survey")
    await play("survey", SURVEY)


async def main():
    """What ends this run must not end its process: that would tell of it, too."""
    ended = "answered"
    try:
        if HOW == "cancelled":
            await cancelled()
        elif HOW == "together":
            await asyncio.gather(play("loop", LOOK), survey())
        else:
            await play("loop", LOOK)
    except Stopped as stopped:
        tell(ended=f"ended: {stopped}")
        return
    except BaseException as error:  # noqa: BLE001 - the test asks which
        ended = type(error).__name__
    await asyncio.to_thread(stay)
    tell(ended=ended)


asyncio.run(main())
