"""A small tool-calling loop over any OpenAI-compatible endpoint, watched by a Session.

For demos and tests: it shows everything an agent must do to be held, corrected and stopped.
"""

from guard.runtime.loop import Agent, Tool, Workspace, run_agent, run_multi_agent
from guard.runtime.model import ChatModel

__all__ = ["Agent", "ChatModel", "Tool", "Workspace", "run_agent", "run_multi_agent"]
