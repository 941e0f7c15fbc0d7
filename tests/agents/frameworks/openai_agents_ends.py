"""An agent of the OpenAI Agents SDK that ends otherwise than by its answer: `[stream-]HOW`."""

import asyncio
import sys

from agents import Agent, Runner, function_tool

from guard import Stopped
from guard.adapters.openai_agents import MissionControl
from tests.agents.frameworks.play import (
    LOOK,
    SURVEY,
    break_down,
    list_files,
    name,
    read_file,
    stay,
    tell,
    until,
)

HOW = sys.argv[1]
reader = Agent(
    name="reader",
    model="gpt-4o-mini",
    tools=[
        function_tool(read_file),
        function_tool(list_files),
        function_tool(break_down, failure_error_function=None),
    ],
)


async def play(story, prompt):
    async with MissionControl(name(story)) as watch:
        if HOW.startswith("stream"):
            result = Runner.run_streamed(
                reader, prompt, hooks=watch, run_config=watch.run_config, max_turns=6
            )
            async for _ in result.stream_events():
                pass
        else:
            await Runner.run(reader, prompt, hooks=watch, run_config=watch.run_config, max_turns=6)


async def cancelled():
    playing = asyncio.create_task(play("loop", LOOK))
    await asyncio.to_thread(until, "cancel")
    playing.cancel()
    await playing


async def survey():
    await asyncio.to_thread(until, "survey")
    await play("survey", SURVEY)


async def together():
    await asyncio.gather(play("loop", LOOK), survey())


async def main():
    """What ends this run must not end its process: that would tell of it, too."""
    try:
        if HOW.endswith("cancelled"):
            await cancelled()
        elif HOW.endswith("together"):
            await together()
        else:
            await play("loop", LOOK)
    except Stopped as stopped:
        tell(ended=f"ended: {stopped}")
    except BaseException as error:  # noqa: BLE001 - the test asks which
        await asyncio.to_thread(stay)
        tell(ended=type(error).__name__)


asyncio.run(main())
