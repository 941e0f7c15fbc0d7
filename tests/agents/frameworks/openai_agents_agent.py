"""An agent of the OpenAI Agents SDK: greets, then looks for settings until it is stopped."""

import asyncio
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
from openai import AsyncOpenAI

from guard import Stopped
from guard.adapters.openai_agents import MissionControl
from tests.agents.frameworks.play import GREET, LOOK, list_files, name, read_file, tell

MODEL = "gpt-4o-mini"
chat = "chat" in sys.argv
reader = Agent(
    name="reader",
    model=OpenAIChatCompletionsModel(MODEL, AsyncOpenAI()) if chat else MODEL,
    tools=[function_tool(read_file), function_tool(list_files)],
)
desk = Agent(name="desk", model=reader.model, handoffs=[reader])


async def play():
    greeted = MissionControl(name("greet"))
    await Runner.run(desk, GREET, hooks=greeted, run_config=greeted.run_config)
    async with MissionControl(name("loop")) as watch:
        await Runner.run(desk, LOOK, hooks=watch, run_config=watch.run_config)


try:
    asyncio.run(play())
    tell(ended="answered")
except Stopped as stopped:
    tell(ended=f"ended: {stopped}")
