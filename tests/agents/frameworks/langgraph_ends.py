"""A LangGraph agent that ends otherwise than by its last answer: `HOW [async]`."""

import asyncio
import sys

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_openai import ChatOpenAI

from guard.adapters.langchain import MissionControl
from tests.agents.frameworks.play import (
    LOOK,
    break_down,
    interrupt,
    list_files,
    name,
    read_file,
    stay,
    tell,
)

HOW = sys.argv[1]
LIMIT = {"recursion_limit": 12}
PROMPT = {"messages": [{"role": "user", "content": LOOK}]}


class Fails(AgentMiddleware):  # type: ignore[misc]  # their types are not installed
    """Somebody else's middleware: it fails behind the second model call."""

    calls = 0

    def after_model(self, state, runtime):
        self.calls += 1
        if HOW == "elsewhere" and self.calls == 2:
            raise ValueError("it broke elsewhere")


agent = create_agent(
    ChatOpenAI(model="gpt-4o-mini"),
    [read_file, list_files, break_down, interrupt],
    middleware=[MissionControl(name("loop"), agent="reader"), Fails()],
)


def streamed():
    for number, _ in enumerate(agent.stream(PROMPT, LIMIT, stream_mode="updates")):
        if number == 3:
            break


async def astreamed():
    steps = agent.astream(PROMPT, LIMIT, stream_mode="updates")
    number = 0
    async for _ in steps:
        if (number := number + 1) == 3:
            break
    await steps.aclose()


def play():
    if HOW == "left":
        streamed()
    else:
        agent.invoke(PROMPT, LIMIT)


async def aplay():
    if HOW == "left":
        await astreamed()
    else:
        await agent.ainvoke(PROMPT, LIMIT)


ended = "answered"
try:
    if "async" in sys.argv:
        asyncio.run(aplay())
    else:
        play()
except BaseException as error:  # noqa: BLE001 - the test asks which
    ended = type(error).__name__
stay()
tell(ended=ended)
