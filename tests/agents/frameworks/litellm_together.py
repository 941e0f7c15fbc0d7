"""Two loops at once over `litellm.acompletion`, told apart by their sessions."""

import asyncio
import json

import litellm

from guard.adapters.litellm import MissionControl
from tests.agents.frameworks.play import LOOK, SURVEY, list_files, name, read_file, tell, until

TOOLS = {"read_file": (read_file, "path"), "list_files": (list_files, "folder")}


def declared(tool, argument):
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}}
    return {"type": "function", "function": {"name": tool, "parameters": parameters}}


def answered(call):
    function, _ = TOOLS[call.function.name]
    result = function(**json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "content": result}


async def converse(prompt, session):
    messages = [{"role": "user", "content": prompt}]
    while True:
        answer = await litellm.acompletion(
            model="openai/gpt-4o-mini",
            messages=messages,
            tools=[declared(tool, argument) for tool, (_, argument) in TOOLS.items()],
            litellm_session_id=session,
        )
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        messages += map(answered, message.tool_calls)


async def survey(watch):
    await asyncio.to_thread(until, "survey")
    await converse(SURVEY, name("survey"))


async def play():
    async with MissionControl(name("both"), agent="reader") as watch:
        litellm.callbacks = [watch]
        ended, _ = await asyncio.gather(converse(LOOK, name("loop")), survey(watch))
        tell(ended=ended)


asyncio.run(play())
