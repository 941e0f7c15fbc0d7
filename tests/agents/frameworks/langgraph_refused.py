"""A LangGraph agent whose calls another middleware refuses before ours hears of them."""

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI

from guard.adapters.langchain import MissionControl
from tests.agents.frameworks.play import LOOK, name, read_file, tell


class Refuses(AgentMiddleware):  # type: ignore[misc]  # their types are not installed
    """Somebody else's middleware: no tool runs."""

    def wrap_tool_call(self, request, handler):
        call = request.tool_call
        return ToolMessage("Not allowed.", tool_call_id=call["id"], name=call["name"])


agent = create_agent(
    ChatOpenAI(model="gpt-4o-mini"),
    [read_file],
    middleware=[Refuses(), MissionControl(name("refused"))],
)
state = agent.invoke({"messages": [{"role": "user", "content": LOOK}]})
tell(ended=state["messages"][-1].text)
