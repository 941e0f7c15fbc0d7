"""A crew of one: greets, then looks for settings until it is stopped."""

import os

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

from guard import Stopped
from guard.adapters.crewai import MissionControl
from tests.agents.frameworks.play import GREET, LOOK, list_files, name, read_file, tell

llm = LLM(model="openai/gpt-4o-mini", base_url=os.environ["OPENAI_BASE_URL"], api_key="dummy")
tools = [tool("read_file")(read_file), tool("list_files")(list_files)]
for one in tools:
    one.cache_function = lambda *_: False  # CrewAI would answer a repeat from its cache


def crew(task):
    reader = Agent(role="reader", goal="answer", backstory="careful", tools=tools, llm=llm)
    asked = Task(description=task, expected_output="an answer", agent=reader)
    return Crew(agents=[reader], tasks=[asked], cache=False)


with MissionControl(name("greet")):
    crew(GREET).kickoff()
try:
    with MissionControl(name("loop")):
        crew(LOOK).kickoff()
    tell(ended="answered")
except Stopped as stopped:
    tell(ended=f"ended: {stopped}")
