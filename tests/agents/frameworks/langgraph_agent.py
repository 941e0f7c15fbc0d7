"""A LangGraph agent: greets, then looks for settings until somebody stops it."""

import asyncio
import sys

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from guard.adapters.langchain import MissionControl
from tests.agents.frameworks.play import GREET, LOOK, list_files, name, read_file, tell


def agent(story):
    return create_agent(
        ChatOpenAI(model="gpt-4o-mini"),
        [read_file, list_files],
        middleware=[MissionControl(name(story), agent="reader")],
    )


def prompted(prompt):
    return {"messages": [{"role": "user", "content": prompt}]}


def invoked():
    agent("greet").invoke(prompted(GREET))
    return agent("loop").invoke(prompted(LOOK))


async def awaited():
    await agent("greet").ainvoke(prompted(GREET))
    return await agent("loop").ainvoke(prompted(LOOK))


state = asyncio.run(awaited()) if "async" in sys.argv else invoked()
tell(ended=state["messages"][-1].text)
