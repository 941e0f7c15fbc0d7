"""Pages that quote a run's log among prose: each with the calls that the log tells.

`INVENTED` are of no page in particular; `AFTER_REAL` have the form of an issue that was found, with
other words, and name it.
"""

from __future__ import annotations

import json
from textwrap import indent
from typing import Any

# A tool, and what its call came to; None where the log does not show it.
Told = list[tuple[str, str | None]]
Pages = dict[str, tuple[str, Told]]


def _fenced(text: str, language: str = "", *, fence: str = "```") -> str:
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _issue(log: str, *, title: str = "The agent walks in circles") -> str:
    return (
        f"# {title}\n\nAda opened this issue on 3 March.\n\n### What happened?\n\n"
        f"I asked for the tide and it went on for an hour. Action taken: none.\n\n{log}\n"
        "### What did you expect?\n\nThat it stops.\n\n**Version:** 1.4.2\n"
    )


# --- the logs ---

CHAIN = "".join(
    f"\x1b[32;1m\x1b[1;3mI need the tide of pier {n}.\nAction: read_tide\nAction Input: pier {n}"
    f"\x1b[0m\nObservation: \x1b[36;1m\x1b[1;3mhigh at {n}\x1b[0m\nThought:"
    for n in range(1, 4)
)
CHAIN = (
    f"\x1b[1m> Entering new AgentExecutor chain...\x1b[0m\n{CHAIN}\x1b[32;1m\x1b[1;3m I know it."
)
CHAIN += "\nFinal Answer: high\x1b[0m\n\n\x1b[1m> Finished chain.\x1b[0m\n"
CHAIN_TOLD: Told = [("read_tide", f"high at {n}") for n in range(1, 4)]

CODEX = (
    "OpenAI Codex v0.58.0 (research preview)\n--------\nworkdir: /srv/pier\nmodel: gpt-5.1-codex\n"
    "approval: never\nsandbox: read-only\n--------\nuser\nWhat does the tide file say?\nthinking\n"
    "**Reading the file**\nexec\nbash -lc 'cat tide.txt' in /srv/pier succeeded in 21ms:\n"
    "high at four\ncodex\nIt is high at four.\ntokens used\n2,113\n"
)
CODEX_TOLD: Told = [("bash", "high at four")]

TERMINAL = (
    "> mend the rope\n\n⏺ I'll look at it first.\n\n⏺ Read(rope.py)\n  ⎿  Read 20 lines\n\n"
    "⏺ Update(rope.py)\n  ⎿  Error: String to replace not found in file.\n\n"
    "⏺ Update(rope.py)\n  ⎿  Error: String to replace not found in file.\n\n"
    "⏺ Bash(make rope)\n  ⎿  make: no rule for rope\n     make: stop\n"
)
TERMINAL_TOLD: Told = [
    ("Read", "Read 20 lines"),
    ("Update", "not found in file"),
    ("Update", "not found in file"),
    ("Bash", "no rule for rope"),
]


def _messages() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Find the tide."}]
    for n in range(3):
        call = {"name": "read_tide", "arguments": json.dumps({"pier": n})}
        rows += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{n}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"call_{n}", "content": f"no tide at {n}"},
        ]
    return rows


MESSAGES_TOLD: Told = [("read_tide", f"no tide at {n}") for n in range(3)]

SESSION = "".join(
    json.dumps({"type": kind, "sessionId": "df28", "message": {"role": kind, "content": [block]}})
    + "\n"
    for n in range(3)
    for kind, block in (
        ("assistant", {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"at": n}}),
        ("user", {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"fog {n}"}),
    )
)
SESSION_TOLD: Told = [("Read", f"fog {n}") for n in range(3)]

AIDER = (
    "# aider chat started at 2026-03-04 10:00:11\n\n> Aider v0.82.0\n> Model: gpt-4.1\n\n"
    "#### mend the rope\n\nI will run the tests.\n\n> make test\n> 1 failed\n\n"
    "#### again\n\nI will run them again.\n\n> make test\n> 1 failed\n"
)

AUTOGEN = "".join(
    f"assistant (to user_proxy):\n\n***** Suggested tool call (call_{n}): read_tide *****\n"
    f'Arguments: \n{{"pier": {n}}}\n*****************************************************\n\n'
    "--------------------------------------------------------------------------------\n"
    f"user_proxy (to assistant):\n\n***** Response from calling tool (call_{n}) *****\nlow {n}\n"
    "************************************************\n\n"
    "--------------------------------------------------------------------------------\n"
    for n in range(2)
)
AUTOGEN_TOLD: Told = [("read_tide", "low 0"), ("read_tide", "low 1")]

REACT = "".join(
    f"Thought: I look again.\nAction: look\nAction Input: north {n}\nObservation: fog {n}\n\n"
    for n in range(3)
)
REACT_TOLD: Told = [("look", f"fog {n}") for n in range(3)]

PANEL = (
    " ╭──────────────────────────────╮\n │ {sign}  {what:<26}│\n │                              │\n"
)
PANEL += " │    {came:<26}│\n ╰──────────────────────────────╯\n"
PANELS = "".join(
    "✦ I am sorry. I will read it again.\n"
    + PANEL.format(sign="x", what="ReadFile tide.txt", came=f"no such path {n}")
    for n in range(3)
)
PANELS_TOLD: Told = [("ReadFile", f"no such path {n}") for n in range(3)]

CODE = """from langchain.agents import AgentExecutor, create_react_agent

def read_tide(pier: str) -> str:
    return f"high at {pier}"

agent = create_react_agent(llm, [read_tide], prompt)
AgentExecutor(agent=agent, tools=[read_tide], verbose=True).invoke({"input": "the tide?"})
"""

INVENTED: Pages = {
    "a chain with colours": (_issue(_fenced(CHAIN)), CHAIN_TOLD),
    "a chain behind the code that runs it": (
        _issue("Code:\n\n" + _fenced(CODE, "python") + "\nOutput:\n\n" + _fenced(CHAIN, "shell")),
        CHAIN_TOLD,
    ),
    "one call of a program with a head": (_issue(_fenced(CODEX)), CODEX_TOLD),
    "a terminal between tildes": (_issue(_fenced(TERMINAL, fence="~~~")), TERMINAL_TOLD),
    "a terminal that is indented": (_issue(indent(TERMINAL, "    ")), TERMINAL_TOLD),
    "a terminal in a quotation": (
        _issue(indent(_fenced(TERMINAL), "> ", lambda _: True)),
        TERMINAL_TOLD,
    ),
    "messages in JSON": (
        _issue(_fenced(json.dumps(_messages(), indent=2), "json")),
        MESSAGES_TOLD,
    ),
    "messages in JSON behind a fold": (
        _issue(
            "<details>\n<summary>Log</summary>\n\n"
            + _fenced(json.dumps({"messages": _messages()}), "json")
            + "\n</details>\n"
        ),
        MESSAGES_TOLD,
    ),
    "a session in JSON Lines": (_issue(_fenced(SESSION, "jsonl")), SESSION_TOLD),
    "a session whose lines have a fence each": (
        _issue("\nThen:\n\n".join(_fenced(line, "json") for line in SESSION.splitlines())),
        SESSION_TOLD,
    ),
    "a chat of an editor in a longer fence": (
        _issue(_fenced(AIDER + "\n```py\ntie()\n```\n", fence="````")),
        [],
    ),
    "a console of two that talk": (_issue(_fenced(AUTOGEN, "text")), AUTOGEN_TOLD),
    "steps of one run in several fences": (
        _issue("\nand then\n\n".join(_fenced(step) for step in REACT.split("\n\n") if step)),
        REACT_TOLD,
    ),
    "steps in an item of a list": (
        _issue("1. Start it.\n2. See:\n\n" + indent(_fenced(REACT), "   ") + "\n3. Stop it.\n"),
        REACT_TOLD,
    ),
    "steps in an element that keeps blanks": (_issue(f"<pre>\n{REACT}</pre>\n"), REACT_TOLD),
    "panels behind a fold": (
        _issue(f"<details><summary>Log</summary>\n<p>\n\n{_fenced(PANELS, 'bash')}</p></details>"),
        PANELS_TOLD,
    ),
    "steps in a fence that nobody closed": (
        _issue("").partition("### What did")[0] + "```\n" + REACT,
        REACT_TOLD,
    ),
}

AFTER_REAL: Pages = {
    # After crewAIInc/crewAI#6: observations begin behind what the tool is given.
    "a crew's chain": (
        "@kim Hi, is the example in the README to work yet? I get the output below, and the writer"
        " goes on to use tools that it has not.\n\n"
        + _fenced(
            "Working Agent: Senior Pilot\nStarting Task: Study the tides of 2026.\n"
            "  Name those that are high. ...\n\n\n> Entering new CrewAgentExecutor chain...\n"
            + "".join(
                f"Thought: Do I need to use a tool? Yes\nAction: search_tides\n"
                f"Action Input: tides in {n}\nObservation: Tide {n} is high. (Image: Kim)\n"
                for n in range(2)
            )
            + "\nThought: Do I need to use a tool? No\nFinal Answer: High.\n\n> Finished chain.\n"
        )
        + "\nAny ideas?\n",
        [("search_tides", "Tide 0 is high"), ("search_tides", "Tide 1 is high")],
    ),
    # After tmc/langchaingo#1225: a thought begins with the question anew.
    "a chain in Go": (
        "I ran it without any limit, and got the output below:\n\n"
        + _fenced(
            "> Entering new AgentExecutor chain...\nQuestion: Who keeps the pier?\n\n"
            "Thought: I use a source.\n\n"
            + "".join(
                f'Action: Harbour Search\nAction Input: "keeper {n}"\n'
                f"Observation: Ole is keeper {n}.\nThought:Question: Who is keeper {n}?\n\n"
                "Thought: I should check.\n\n"
                for n in range(3)
            )
        )
        + "\nIs it the prompt?\n\nvera · comment · 2025-05-05\n+1\n",
        [("Harbour Search", f"Ole is keeper {n}") for n in range(3)],
    ),
    # After anthropics/claude-code#167: one call, and a list in what is said.
    "a terminal with one call": (
        "Same here.\nIt went like a charm yesterday, and today I fall in a lot of:\n\n"
        + _fenced(
            "● Update(file_path: pier/t.json)…  \n  ⎿  String to replace not found in file.  \n\n"
            "● I cannot edit the file. Do so by hand:  \n  1. Open `pier/tide.json`.  \n"
            "  2. Find the tide.\n\n"
            "● Update(file_path: pier/tide.json)…  \n  ⎿  String to replace not found in file.  \n"
        )
        + "\nole · comment · 2025-02-28\n![Image](https://pier.example/1)\n\nsame thing here.\n",
        [("Update", "not found in file"), ("Update", "not found in file")],
    ),
    # After openai/codex#5133: events of JSON below a rule, in no fence.
    "events of JSON below a rule": (
        "# It cannot see new files\n\n### Which model?\n\ngpt-4.1\n\n### Steps\n\n"
        'codex exec --json "tie the rope"\n\n-------\n\n'
        '{"type":"thread.started","thread_id":"0199"}\n{"type":"turn.started"}\n'
        + "".join(
            json.dumps(
                {
                    "type": "item.completed",
                    "item": {
                        "id": f"item_{n}",
                        "type": "command_execution",
                        "command": f"tie {n}",
                        "aggregated_output": f"no rope {n}",
                        "exit_code": 1,
                        "status": "failed",
                    },
                }
            )
            + "\n"
            for n in range(3)
        )
        + "\n### What is expected?\n\nThat it can.\n",
        [("shell", f"no rope {n}") for n in range(3)],
    ),
    # After openai/codex#40617: a whole log under a heading, in no fence.
    "a log with a head under a heading": (
        f"# It fails\n\n### Steps\n\nReading from stdin...\n{CODEX}\n### Anything else?\n\nNo.\n",
        CODEX_TOLD,
    ),
    # After google-gemini/gemini-cli#4936: the fence begins within a panel.
    "panels of which the first is cut off": (
        "# It reads in a loop\n\n### What happened?\n\nIt never ends:\n\n"
        + _fenced(f" ╰──────────────────────────────╯\n{PANELS}", "bash")
        + "\n### Client information\n\n<details>\n\n"
        + _fenced("$ gemini /about\n╭────╮\n│ About Gemini CLI │\n╰────╯", "console")
        + "\n</details>\n",
        PANELS_TOLD,
    ),
    # After huggingface/smolagents#201: the code that runs it, and what it printed.
    "code between rules, behind the code that runs it": (
        "That is the solution. A full example:\n\n"
        + _fenced("from smolagents import CodeAgent\nCodeAgent(tools=[]).run('How far?')", "py")
        + "\n"
        + _fenced(
            "".join(
                f"━━━━━━━━━━━━━━━━━━━━━━━━ Step {n} ━━━━━━━━━━━━━━━━━━━━━━━━\n"
                f" ─ Executing this code: ───────────────────────────\n  far = {n} * 2\n"
                "  print(far)\n ──────────────────────────────────────────────────\n"
                f"Execution logs:\n{n * 2}\n\nOut: None\n"
                f"[Step {n}: Duration 2.1 seconds| Input tokens: 4]\n"
                for n in range(1, 4)
            )
        ),
        [("python", str(n * 2)) for n in range(1, 4)],
    ),
    # After Significant-Gravitas/AutoGPT#3994: a log under a heading, and templates in fences.
    "a log under a heading, and forms to fill in": (
        "# Dead loop\n\n### ⚠️ Search first ⚠️\n\n- [X] I have searched\n\n"
        "### Current behavior 😯\n\nCRITICISM:  none\n"
        + "".join(
            f"NEXT ACTION:  COMMAND = sail ARGUMENTS = {{'to': 'pier {n}'}}\n"
            f"SYSTEM:  Command sail returned: Unknown pier {n}\n THOUGHTS:  thought\n"
            "REASONING:  reasoning\nPLAN: \n-  short bulleted\n-  list\nCRITICISM:  none\n"
            for n in range(3)
        )
        + "\n### Your prompt 📝\n\n"
        + _fenced("# Paste your prompt here", "yaml")
        + "\n### Your Logs 📒\n\n"
        + _fenced("<insert your logs here>", "log"),
        [("sail", f"Unknown pier {n}") for n in range(3)],
    ),
    # After anthropics/claude-code#82376 and others: a form filled in, a log in its last fence.
    "a filled form with a terminal": (
        "### Preflight Checklist\n\n- [x] I have searched\n- [x] This is a single report\n\n"
        "### What's Wrong?\n\nBash stops.\n\n### Error Messages/Logs\n\n"
        + _fenced(TERMINAL, "shell")
        + "\n### Steps to Reproduce\n\n1. Run `claude`\n2. Ask for rope:\n\n"
        + _fenced("claude -p 'mend the rope'", "bash")
        + "\n### Claude Model\n\nOpus\n",
        TERMINAL_TOLD,
    ),
    # After a notebook's page about LangChain: code in fences, and an output that is one.
    "a notebook's output": (
        "## Scenario 3\n\nThe third is an agent with tools.\n\n"
        + _fenced("from langchain.agents import load_tools", "python")
        + "\n"
        + _fenced("agent.run('Who keeps the pier?')", "python")
        + "\n"
        + _fenced(
            "\n\n> Entering new AgentExecutor chain...\n I need to find the keeper.\n"
            + "".join(
                f'Action: Search\nAction Input: "keeper {n}"\nObservation: {n} years\n'
                f"Thought: I need more of {n}.\n"
                for n in range(3)
            )
            + "Final Answer: Ole.\n\n> Finished chain.\n",
            "output",
        ),
        [("Search", f"{n} years") for n in range(3)],
    ),
}
