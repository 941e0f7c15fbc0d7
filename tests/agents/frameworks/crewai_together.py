"""Two crews at once, each in a thread of its own; `stream`: their models stream."""

import os
import sys
import threading

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

from guard import Stopped
from guard.adapters.crewai import MissionControl
from tests.agents.frameworks.play import LOOK, SURVEY, list_files, name, read_file, tell, until

tools = [tool("read_file")(read_file), tool("list_files")(list_files)]
for one in tools:
    one.cache_function = lambda *_: False  # CrewAI would answer a repeat from its cache


def crew(task):
    llm = LLM(
        model="openai/gpt-4o-mini",
        base_url=os.environ["OPENAI_BASE_URL"],
        api_key="dummy",
        stream="stream" in sys.argv,
    )
    reader = Agent(role="reader", goal="answer", backstory="careful", tools=tools, llm=llm)
    asked = Task(description=task, expected_output="an answer", agent=reader)
    return Crew(agents=[reader], tasks=[asked], cache=False)


def survey():
    until("survey")
    with MissionControl(name("survey")):
        crew(SURVEY).kickoff()


beside = threading.Thread(target=survey)
beside.start()
try:
    with MissionControl(name("loop")):
        crew(LOOK).kickoff()
    ended = "answered"
except Stopped as stopped:
    ended = f"ended: {stopped}"
beside.join()
tell(ended=ended)
