"""The Claude Agent SDK over a real Claude Code: looks for settings until it is stopped."""

import asyncio
import os

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, query

from guard import Stopped
from guard.adapters.claude_agent_sdk import MissionControl
from tests.agents.frameworks.play import GREET, LOOK, name, tell

OPTIONS = ClaudeAgentOptions(
    cli_path=os.environ["CLAUDE"],
    model="claude-sonnet-4-5",
    allowed_tools=["Read", "Bash"],
    cwd=os.getcwd(),  # noqa: PTH109
)


async def play():
    watch = MissionControl(name("greet"))
    async with watch, ClaudeSDKClient(watch.options(OPTIONS)) as client:
        for _ in range(2):
            await client.query(GREET)
            async for _ in watch.messages(client.receive_response()):
                pass
    async with MissionControl(name("loop"), agent="reader") as watch:
        asking = query(prompt=LOOK, options=watch.options(OPTIONS))
        async for _ in watch.messages(asking):
            pass


try:
    asyncio.run(play())
except Stopped as stopped:
    tell(ended=f"ended: {stopped}")
