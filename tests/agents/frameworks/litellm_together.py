"""Two loops at once over `litellm.acompletion`; or one, given up: `cancelled`, `raises`.

`beside`: given up by an error, while two others go on asking their model.
"""

import asyncio
import json
import sys

import litellm

from guard.adapters.litellm import MissionControl
from tests.agents.frameworks.play import (
    LOOK,
    SURVEY,
    list_files,
    name,
    read_file,
    stay,
    tell,
    until,
)

TOOLS = {"read_file": (read_file, "path"), "list_files": (list_files, "folder")}

others: list[asyncio.Task[object]] = []


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


async def survey():
    await asyncio.to_thread(until, "survey")
    await converse(SURVEY, name("survey"))


async def give_up():
    """Leave the loop as it is held: cancelled, or by an error of what runs beside it."""
    await asyncio.to_thread(until, "survey")
    if "beside" in sys.argv:
        going_on = (converse(SURVEY, name(story)) for story in ("survey", "another"))
        others.extend(map(asyncio.create_task, going_on))
        await asyncio.to_thread(until, "give up")
    if "cancelled" not in sys.argv:
        raise ValueError("it broke beside the loop")
    raise asyncio.CancelledError


async def play():
    beside = give_up if sys.argv[1:] else survey
    async with MissionControl(name("both"), agent="reader") as watch:
        litellm.callbacks = [watch]
        ended, _ = await asyncio.gather(converse(LOOK, name("loop")), beside())
        tell(ended=ended)


async def main():
    """What ends this run must not end its process: that would tell of it, too."""
    try:
        await play()
    except (asyncio.CancelledError, ValueError) as error:
        await asyncio.to_thread(stay)
        tell(ended=type(error).__name__)


asyncio.run(main())
