"""The loop itself: ask the model, ask Mission Control, run its tools, report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guard.errors import ToolFailed
from guard.runtime.model import ChatModel, Completion, ToolCall
from guard.sdk.session import Session
from guard.turn import Role

# Characters of one file that the model reads; it is told that the rest was cut.
MAX_CHARS = 4000

# Most paths listed: a folder of packages has tens of thousands, too many for any context.
MAX_FILES = 2000
# A last resort: the engine should find loops long before.
MAX_STEPS = 200
OnText = Callable[[str, str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent: a name, instructions, and the model behind it."""

    name: str
    instructions: str
    model: ChatModel


def run_agent(
    session: Session,
    goal: str,
    *,
    agent: Agent,
    workspace: Workspace,
    tools: Sequence[Tool] = (),
    most_steps: int = MAX_STEPS,
    on_text: OnText | None = None,
) -> str:
    """Work on a goal until the model answers without a tool call.

    Args:
        session: Every turn is reported to it, and its directives are followed.
        goal: What the person asks.
        agent: Who works on it.
        workspace: The only files it can access.
        tools: Further tools.
        most_steps: Model calls before it gives up.
        on_text: Called with the agent's name and each piece of text as it arrives; then the answers
            are streamed.

    Returns:
        The final answer; empty if it gave up.

    Raises:
        Stopped: A person ended the run.
        ModelFailed: The endpoint failed.
    """
    return run_multi_agent(
        session,
        goal,
        agents=[agent],
        workspace=workspace,
        tools=tools,
        most_steps=most_steps,
        on_text=on_text,
    )


def run_multi_agent(
    session: Session,
    goal: str,
    *,
    agents: Sequence[Agent],
    workspace: Workspace,
    tools: Sequence[Tool] = (),
    most_steps: int = MAX_STEPS,
    on_text: OnText | None = None,
) -> str:
    """Let several agents work on one goal and hand it over to one another.

    The first agent gets the goal. Each has a tool `hand_over(to, note)`: the named agent reads the
    note and continues. A hand-over is a turn like any other call, so a task that is handed round in
    a circle is detected. Every turn has its agent's name. Everything else is as in `run_agent`.

    Raises:
        ValueError: Two agents have the same name, or there is none.
        Stopped: A person ended the run.
        ModelFailed: The endpoint failed.
    """
    if not agents or len({agent.name for agent in agents}) < len(agents):
        raise ValueError("each agent needs a name of its own")
    session.say(goal, role=Role.USER)
    threads: dict[str, _AgentThread] = {}
    current = agents[0].name

    def hand_over(to: str, note: str) -> str:
        nonlocal current
        if to not in threads or to == current:
            raise ToolFailed(f"there is no other agent {to}")
        # The agent that hands over still reads its tool's result: it may get the task back.
        sender, current = current, to
        threads[to].add_message(f"{sender}: {note}")
        return f"{to} has it now"

    all_tools = [*workspace.tools(), *tools]
    # A single agent has nobody to hand over to, and a model would still try.
    if len(agents) > 1:
        hand_over_tool = Tool(
            name="hand_over",
            description="Hand the matter to another agent",
            parameters={
                "to": f"who: {', '.join(agent.name for agent in agents)}",
                "note": "what to tell them",
            },
            run=hand_over,
        )
        all_tools.append(hand_over_tool)
    by_name = {tool.name: tool for tool in all_tools}
    for one in agents:
        threads[one.name] = _AgentThread(session=session, agent=one, tools=by_name, on_text=on_text)
    threads[current].add_message(goal)
    for _ in range(most_steps):
        if (answer := threads[current].step()) is not None:
            return answer
    return ""


@dataclass(slots=True, kw_only=True)
class _AgentThread:
    """One agent's conversation with its model."""

    session: Session
    agent: Agent
    tools: Mapping[str, Tool]
    on_text: OnText | None
    messages: list[Any] = field(default_factory=list)

    def add_message(self, text: str) -> None:
        """Add a text of a person, another agent or Mission Control."""
        # Created only now: an agent that never gets the task has no conversation.
        if not self.messages:
            self.messages.append({"role": "system", "content": self.agent.instructions})
        self.messages.append({"role": "user", "content": text})

    def step(self) -> str | None:
        """Make one model call and run what it asks for; return the answer, if it is one."""
        declared = [tool.declared() for tool in self.tools.values()]
        listener, name = self.on_text, self.agent.name
        completion = self.agent.model.complete(
            self.messages,
            declared,
            on_text=(lambda text: listener(name, text)) if listener else None,
        )
        self.messages.append(completion.message)
        if not completion.calls:
            facts = _facts(completion, self.agent)
            notes = self.session.say(completion.text, agent=self.agent.name, **facts)
            for note in notes:
                self.add_message(note)
            # A message that came back is one more thing to do: the agent goes on.
            return None if notes else completion.text
        # Added after all results: a chat API allows nothing between a call and its result.
        for note in [
            note for call in completion.calls for note in self._run_call(call, completion)
        ]:
            self.add_message(note)
        return None

    def _run_call(self, call: ToolCall, completion: Completion) -> tuple[str, ...]:
        """Ask, run, report; the model reads the result, or the text in its place."""
        facts = _facts(completion, self.agent)
        # The cost of the model call is reported with each of its calls; its id counts it once.
        go = self.session.before(call.tool, call.args, agent=self.agent.name, **facts)
        if not go.run:
            # Each call needs a result; otherwise the endpoint refuses the conversation.
            self._add_result(call, go.text)
            return ()
        tool = self.tools.get(call.tool)
        if tool is None or call.fault:
            result, error = "", call.fault or f"there is no tool {call.tool}"
        else:
            try:
                result, error = tool.run(**call.args), None
            except ToolFailed as failure:
                result, error = "", str(failure)
            # The model gave arguments that the tool does not have: it is told, and may try again.
            except TypeError as mismatch:
                result, error = "", f"wrong arguments for {call.tool}: {mismatch}"
        self._add_result(call, error or result)
        notes = self.session.after(go, result=None if error else result, error=error)
        return (*go.messages, *notes)

    def _add_result(self, call: ToolCall, text: str) -> None:
        self.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


def _facts(completion: Completion, agent: Agent) -> dict[str, Any]:
    """Return a turn's fields about the model call behind it."""
    return {
        "usage": completion.usage,
        "call_id": completion.call_id,
        "model": completion.model,
        "provider": agent.model.provider,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may call, and its description for the model.

    Attributes:
        name: What the model calls it.
        description: What it does, for the model.
        run: Called with the arguments by name; returns the text for the model, or raises
            `guard.errors.ToolFailed` with a sentence for it.
        parameters: Each parameter with its meaning; all are required strings.
    """

    name: str
    description: str
    run: Callable[..., str]
    parameters: Mapping[str, str] = field(default_factory=dict)

    def declared(self) -> dict[str, Any]:
        """Write it in the form in which a chat endpoint takes tools."""
        properties = {
            parameter: {"type": "string", "description": meaning}
            for parameter, meaning in self.parameters.items()
        }
        accepted = {"type": "object", "properties": properties, "required": list(self.parameters)}
        function = {"name": self.name, "description": self.description, "parameters": accepted}
        return {"type": "function", "function": function}


class Workspace:
    """A sandboxed directory with the tools that work in it.

    A path that leads outside, by `..`, as an absolute path or through a symbolic link, is refused.
    """

    def __init__(self, root: Path) -> None:
        # Resolved once: a path is compared with the real place of the root.
        self.root = root.resolve()

    def tools(self) -> list[Tool]:
        """Return the tools that work in it."""
        return [
            Tool(
                name="read_file",
                description="Read a text file of the workspace",
                parameters={"path": "path from its root"},
                run=self.read_file,
            ),
            Tool(
                name="list_files",
                description="List all files of the workspace",
                run=self.list_files,
            ),
            Tool(
                name="write_file",
                description="Write a text file of the workspace",
                parameters={"path": "path from its root", "text": "the whole text"},
                run=self.write_file,
            ),
        ]

    def read_file(self, path: str) -> str:
        """Return a file's text.

        Raises:
            ToolFailed: It is outside, missing, or not text.
        """
        try:
            text = self._path_inside(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ToolFailed(f"{path}: {_error_reason(error)}") from error
        # Stated in the text: otherwise the model would take this part for the whole.
        return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + "\n[cut here]"

    def list_files(self) -> str:
        """Return the paths of all files, one a line."""
        return "\n".join(self.names())

    def write_file(self, path: str, text: str) -> str:
        """Write a file, and create its folders.

        Raises:
            ToolFailed: It is outside, or cannot be written.
        """
        target = self._path_inside(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
        except OSError as error:
            raise ToolFailed(f"{path}: {_error_reason(error)}") from error
        return f"wrote {len(text)} characters to {path}"

    def names(self) -> list[str]:
        """Return the paths of all files, relative to the root, in order."""
        files = (path for path in sorted(self.root.rglob("*")) if path.is_file())
        return [path.relative_to(self.root).as_posix() for path in files][:MAX_FILES]

    def _path_inside(self, path: str) -> Path:
        # Resolved before it is compared: `..` and links could lead outside.
        target = (self.root / path).resolve()
        if not target.is_relative_to(self.root):
            raise ToolFailed(f"{path}: outside the workspace")
        return target


def _error_reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "no text file"
    return (error.strerror or type(error).__name__).lower()
