"""One LangGraph agent with two invocations at once: threads, or tasks with `async`."""

import asyncio
import sys
import threading

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from guard.adapters.langchain import MissionControl
from tests.agents.frameworks.play import LOOK, SURVEY, list_files, name, read_file, tell, until


def agent(story):
    watch = MissionControl(name(story), agent="reader")
    model = ChatOpenAI(model="gpt-4o-mini", stream_usage=True)
    return create_agent(model, [read_file, list_files], middleware=[watch])


def prompted(prompt):
    return {"messages": [{"role": "user", "content": prompt}]}


def survey():
    until("survey")
    for _ in agent("survey").stream(prompted(SURVEY), stream_mode="messages"):
        pass


def together():
    beside = threading.Thread(target=survey)
    beside.start()
    state = agent("loop").invoke(prompted(LOOK))
    beside.join()
    return state


async def asurvey():
    await asyncio.to_thread(until, "survey")
    async for _ in agent("survey").astream(prompted(SURVEY), stream_mode="messages"):
        pass


async def atogether():
    state, _ = await asyncio.gather(agent("loop").ainvoke(prompted(LOOK)), asurvey())
    return state


state = asyncio.run(atogether()) if "async" in sys.argv else together()
tell(ended=state["messages"][-1].text)
