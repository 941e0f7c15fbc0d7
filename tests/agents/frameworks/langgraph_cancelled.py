"""A LangGraph agent whose host gives it up, once the test says so."""

import asyncio
from pathlib import Path

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from guard.adapters.langchain import MissionControl
from tests.agents.frameworks.play import LOOK, list_files, name, read_file, tell
from tests.installations import wait_for

agent = create_agent(
    ChatOpenAI(model="gpt-4o-mini"),
    [read_file, list_files],
    middleware=[MissionControl(name("loop"), agent="reader")],
)


async def play():
    prompt = {"messages": [{"role": "user", "content": LOOK}]}
    working = asyncio.create_task(agent.ainvoke(prompt))
    await asyncio.to_thread(wait_for, Path("cancel").exists)
    working.cancel()
    try:
        await working
    except asyncio.CancelledError:
        tell(ended="cancelled")
    # The process lives on, as a server's does: nothing else may tell that the run is over.
    await asyncio.to_thread(wait_for, Path("leave").exists)


asyncio.run(play())
