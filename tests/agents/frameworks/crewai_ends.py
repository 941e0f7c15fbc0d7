"""A crew that ends otherwise than by its own answer: `limit`, `raises`, `interrupted`."""

import os

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

from guard.adapters.crewai import MissionControl
from tests.agents.frameworks.play import LOOK, break_down, interrupt, name, read_file, stay, tell

tools = [tool("read_file")(read_file), tool("break_down")(break_down), tool("interrupt")(interrupt)]
llm = LLM(model="openai/gpt-4o-mini", base_url=os.environ["OPENAI_BASE_URL"], api_key="dummy")
reader = Agent(role="reader", goal="answer", backstory="careful", tools=tools, llm=llm, max_iter=4)
asked = Task(description=LOOK, expected_output="an answer", agent=reader)
ended = "answered"
try:
    with MissionControl(name("loop")):
        Crew(agents=[reader], tasks=[asked], cache=False).kickoff()
except BaseException as error:  # noqa: BLE001 - the test asks which
    ended = type(error).__name__
stay()
tell(ended=ended)
