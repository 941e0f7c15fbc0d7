"""A plain loop over `litellm.acompletion`: greets, then looks for settings until it is ended."""

import asyncio
import json

import litellm

from guard import Stopped
from guard.adapters.litellm import MissionControl
from tests.agents.frameworks.play import GREET, LOOK, list_files, name, read_file, tell

LOOP_ENDED = "was ended"
TOOLS = {"read_file": (read_file, "path"), "list_files": (list_files, "folder")}


def declared(tool, argument):
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}}
    return {"type": "function", "function": {"name": tool, "parameters": parameters}}


def answered(call):
    function, _ = TOOLS[call.function.name]
    result = function(**json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "content": result}


async def converse(prompt):
    messages = [{"role": "user", "content": prompt}]
    tools = [declared(tool, argument) for tool, (_, argument) in TOOLS.items()]
    while True:
        answer = await litellm.acompletion(
            model="openai/gpt-4o-mini", messages=messages, tools=tools
        )
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        messages += map(answered, message.tool_calls)


async def refused(prompt):
    """Whether a further request is refused."""
    try:
        await converse(prompt)
    except Stopped:
        return True
    return False


async def play():
    async with MissionControl(name("greet")) as watch:
        litellm.callbacks = [watch]
        await converse(GREET)
    async with MissionControl(name("loop"), agent="reader") as watch:
        litellm.callbacks = [watch]
        ended = await converse(LOOK)
        tell(ended=ended, refused=LOOP_ENDED in ended and await refused(LOOK))


asyncio.run(play())
