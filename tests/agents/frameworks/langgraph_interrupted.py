"""A LangGraph agent whose tool asks a person first: interrupted, then resumed elsewhere."""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from guard.adapters.langchain import MissionControl
from tests.agents.frameworks.play import LOOK, list_files, name, tell

memory = InMemorySaver()
thread = {"configurable": {"thread_id": name("thread")}}


def approved_list_files(folder: str) -> str:
    """List the files of a folder, if a person agrees."""
    return list_files(folder) if interrupt("May I?") else "no"


def agent(watch):
    model = ChatOpenAI(model="gpt-4o-mini")
    return create_agent(model, [approved_list_files], middleware=[watch], checkpointer=memory)


same = MissionControl(name("interrupted"))
agent(same).invoke({"messages": [{"role": "user", "content": LOOK}]}, thread)
state = agent(same).invoke(Command(resume=True), thread)
elsewhere = MissionControl(name("interrupted"))
again = agent(elsewhere).invoke({"messages": [{"role": "user", "content": LOOK}]}, thread)
tell(ended=state["messages"][-1].text, again=again["messages"][-1].text)
