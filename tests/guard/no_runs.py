"""Texts of which lines recur, and that are no runs of agents: each a name and the text."""

from __future__ import annotations

import json

NO_RUNS = {
    "a chat": "".join(f"Ada: shall we sail at {n}?\nOle: at {n}, yes\n" for n in range(9)),
    "a chat with times": "".join(
        f"[10:0{n}] <ada> did you see the tide?\n[10:0{n}] <ole> it got high\n" for n in range(9)
    ),
    "questions and answers": "".join(
        f"Question: how high is tide {n}?\nAnswer: {n} feet.\n\n" for n in range(6)
    ),
    "examples of a task": "".join(
        f"Example {n}\nInput: {n} 2\nOutput: {n + 2}\nExplanation: a sum.\n\n" for n in range(6)
    ),
    "tests of Go": "".join(
        f"=== RUN   TestTide{n}\n--- PASS: TestTide{n} (0.0{n}s)\n" for n in range(9)
    ),
    "tests of pytest": "".join(
        f"tests/test_tide.py::test_tide[{n}] PASSED   [ {n}0%]\n" for n in range(9)
    ),
    "a container's build": "".join(
        f"Step {n}/9 : RUN make tide{n}\n ---> Running in 7fa{n}\nRemoving 7fa{n}\n ---> 9be{n}\n"
        for n in range(1, 9)
    ),
    "steps of a pipeline": "".join(
        f"##[group]Run make tide{n}\nmake tide{n}\nshell: bash\n##[endgroup]\ndone {n}\n"
        for n in range(9)
    ),
    "a playbook": "".join(
        f"TASK [install tide {n}] ****\nok: [pier]\nchanged: [quay]\n\n" for n in range(9)
    ),
    "system calls": "".join(
        f'openat(AT_FDCWD, "/pier/{n}", O_RDONLY) = {n}\nread({n}, "", 4096) = 0\n'
        for n in range(9)
    ),
    "a server's log": "".join(
        f'10.0.0.{n} - - [01/Mar/2026:10:00:0{n}] "GET /pier/{n} HTTP/1.1" 200 5{n}\n'
        for n in range(9)
    ),
    "requests and responses": "".join(
        f"--> GET /pier/{n}\nHost: quay\n<-- 200 OK ({n}ms)\n\n" for n in range(9)
    ),
    "a terminal": "".join(f"$ ls pier{n}\nrope{n}\n" for n in range(9)),
    "examples in a shell of Python": "".join(f">>> tide({n})\n{n * 2}\n" for n in range(9)),
    "functions of a library": "".join(
        f"### `tide{n}(at, by=1)`\n\nTells the tide.\n\n**Returns:** a number\n\n" for n in range(9)
    ),
    "functions in a list": "".join(f"- `tide{n}(at=1)` -> int: the tide\n" for n in range(9)),
    "what was changed": "".join(
        f"## 1.{n}.0\n\n### Added\n- `run_tide` ({n})\n\n### Fixed\n- the result of `tide`\n\n"
        for n in range(6)
    ),
    "settings": "".join(f"[pier.{n}]\ncommand = moor\noutput = rope\n\n" for n in range(6)),
    "settings of a service": "".join(
        f"  pier{n}:\n    command: moor --at {n}\n    environment:\n      A: b\n" for n in range(6)
    ),
    "a lock file": "".join(
        f'[[package]]\nname = "rope"\nversion = "1.{n}"\nsource = {{ registry = "x" }}\n\n'
        for n in range(9)
    ),
    "letters": "".join(
        f"From: ada@pier\nSubject: tide {n}\n\nI ran to the pier and got wet.\n\n" for n in range(6)
    ),
    "a play": "".join(f"ADA. What is the tide, {n}?\n\nOLE. It is high.\n\n" for n in range(6)),
    "a recipe": "".join(
        f"Step {n}: stir for {n} minutes.\nResult: it thickens.\n" for n in range(6)
    ),
    "a table of games": "day,action,result\n" + "".join(f"{n},row,won\n" for n in range(9)),
    "examples for a model": "".join(
        f'{{"instruction": "Add.", "input": "{n} 2", "output": "{n + 2}"}}\n' for n in range(9)
    ),
    "a server's log in JSON": "".join(
        f'{{"time": "10:0{n}", "method": "GET", "path": "/pier/{n}", "response": "ok"}}\n'
        for n in range(9)
    ),
    "minutes": "".join(
        f"## Item {n}\n\nDecision: mend it.\nAction: Ole to call the yard.\nOutcome: agreed\n\n"
        for n in range(6)
    ),
    "a chat about commands": "".join(
        f"10:0{n}:11 <kim> run make install{n} first\n10:0{n}:31 <ola> error: no such rule\n"
        for n in range(9)
    ),
    "a recipe in German": "".join(
        f"Schritt {n}\nAktion: {n} Minuten rühren\nErgebnis: es wird dick\n\n" for n in range(6)
    ),
    "minutes in Chinese": "".join(f"议题{n}\n行动: 联系船厂\n结果: 同意\n\n" for n in range(6)),
    "a report of an outage": "".join(
        f"10:0{n} Action: moored the pier {n} anew\n10:0{n} Result: still adrift\n"
        for n in range(6)
    ),
    "how a command is used": "".join(
        f"Command: tide --at {n}\nOutput: tide at {n} is high\n\n" for n in range(6)
    ),
    "how an interface is used": "".join(
        f'### Call {n}: get_tide\n\nRequest:\n```json\n{{"at": {n}}}\n```\n\n'
        f'Response:\n```json\n{{"tide": {n}}}\n```\n\n'
        for n in range(6)
    ),
    "a plan of tests": "".join(
        f"TC-{n}\nAction: click_login\nExpected result: the pier\nActual result: the pier\n\n"
        for n in range(9)
    ),
    "a report of tests": "".join(
        f"Running test_tide_{n}\nOutput: {n}\nResult: PASSED ({n}ms)\n" for n in range(9)
    ),
    "a game of chess": "".join(f"{n}. e4 e5 (a fork) Nf3 -> Nc6\n" for n in range(1, 9)),
    "a table of commands": "| Command | Arguments | Output |\n|---|---|---|\n"
    + "".join(f"| `tide_{n}` | at={n} | a number |\n" for n in range(9)),
    "who did what": json.dumps(
        [{"action": "login", "user": f"ada{n}", "result": "success"} for n in range(9)]
    ),
    "who did what, line by line": "".join(
        f'{{"actor": "ada", "action": "pier.open", "success": true, "ip": "10.0.0.{n}"}}\n'
        for n in range(9)
    ),
    "an interview": "".join(
        f"Q: What did you do in year {n}?\n\nA: I ran the pier and used rope.\n\n" for n in range(8)
    ),
    "a thread of letters": "".join(
        f"On Wed, Mar {n}, Ada wrote:\n> did you run it?\nYes, the output was {n}.\n\n"
        for n in range(1, 9)
    ),
    "subtitles": "".join(
        f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n- Call the pier!\n- It answered.\n\n"
        for n in range(1, 9)
    ),
    "commits": "".join(
        f"commit 7fa{n}\nAuthor: Ada <ada@pier>\n\n    Run tide_{n} before the call returns\n\n"
        for n in range(9)
    ),
    "translated words": "".join(
        f'msgid "Run tool {n}"\nmsgstr "Werkzeug {n} ausführen"\n\n' for n in range(9)
    ),
    "a dump of orders": "".join(
        f"INSERT INTO orders (id, command, output) VALUES ({n}, 'moor --at {n}', 'done {n}');\n"  # noqa: S608 - read only
        for n in range(9)
    ),
    "tasks of a queue": "".join(
        f"[10:00:0{n}: INFO] Task pier.send[7fa{n}] received\n"
        f"[10:00:0{n}: INFO] Task pier.send[7fa{n}] succeeded in {n}s: None\n"
        for n in range(9)
    ),
    "statements of a database": "".join(
        f"10:00:0{n} LOG: execute S_{n}: SELECT {n}\n10:00:0{n} LOG: duration: {n} ms\n"
        for n in range(9)
    ),
    "a debugger": "".join(f"(gdb) print tide{n}\n$1{n} = {n}\n" for n in range(9)),
    "what functions ask for": "".join(
        f"Needs:\n    all(0 <= tide < {n} for tide in tides)\n\nOutput:\n    tide {n}\n\n"
        for n in range(6)
    ),
    "a form that nobody filled in": "".join(
        f"Werkzeug: read_tide\nEingabe: at={n}\nErgebnis:\n\n" for n in range(6)
    ),
    "how a model calls functions": (
        "# Function calling\n\n## Request\n\n```bash\ncurl https://pier.example/v1/chat -d '{\n"
        '  "messages": [{"role": "user", "content": "the tide?"}],\n  "tools": [{"type":'
        ' "function", "function": {"name": "get_tide", "parameters": {}}}]\n}\'\n```\n\n'
        "## Response\n\nThe message has `tool_calls`:\n\n```json\n"
        '{"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function":'
        ' {"name": "get_tide", "arguments": "{}"}}]}\n```\n\nSend the result back:\n\n```json\n'
        '{"role": "tool", "tool_call_id": "call_1", "content": "high"}\n```\n'
    ),
    "what commands of a cloud answer": "".join(
        f"**Example {n}: To get a pier**\n\nThe following gets a pier. ::\n\n"
        f"    cloud get-pier --pier {n}\n\nOutput::\n\n"
        f'    {{\n        "StepName": "moor{n}",\n        "Action": "cloud:moor",\n'
        f'        "Inputs": {{"at": "{n}"}},\n        "Outputs": {{}}\n    }}\n\n'
        for n in range(3)
    ),
    "functions that a program prints": (
        "# Listeners\n\n```js\nconsole.log(tide.listeners('high'));\n// Prints:\n// [\n"
        + "".join(f"//   [Function: listener{n}],\n" for n in range(4))
        + "// ]\n```\n"
    ),
    "how long a program takes": (
        "## Benchmarks\n\n```\nCold run\ntide/*.js (3057 KiB)\n> 13ms\n\nWarm runs\n"
        + "".join(f"tide/{n}.js ({n} KiB)\n> {n}ms\n" for n in range(1, 9))
        + "```\n"
    ),
    "what servers offer": (
        "# Status\n\n```\nServers:\n\n"
        + "".join(f"server{n} (CONNECTED)\n  Tools: moor_{n}, cast_off_{n}\n\n" for n in range(3))
        + "State: COMPLETED\n```\n"
    ),
    "a reference with anchors": "".join(
        f'<a name="api_tide_{n}"></a>\n### Tide{n}\n\nTells it.\n\n```c++\nint Tide{n}();\n```\n\n'
        for n in range(6)
    ),
    "settings in fences, and who may read them": (
        '# Settings\n\n```json\n{\n  "user": "ada",\n  "agent": "ole"\n}\n```\n\n'
        + "".join(
            f"```bash\nexport PIER={n}\n```\n\n```yaml\nuser: ada{n}\nassistant: ole{n}\n```\n\n"
            for n in range(4)
        )
    ),
    "a prompt that says how to act": (
        "# The template\n\n```\nUse this form:\n\nThought: do I need a tool? Yes\n"
        "Action: the action to take, one of [{tool_names}]\nAction Input: the input\n"
        "Observation: the result of the action\n```\n\nThen:\n\n```python\nrun(prompt)\n```\n"
    ),
    "a tutorial of an agent": (
        "# An agent in ten lines\n\n```python\nfrom harbour import Agent, tool\n\n\n@tool\n"
        "def read_tide(pier: str) -> str:\n    return 'high'\n```\n\n```python\n"
        "agent = Agent(tools=[read_tide])\nresult = agent.run('the tide?')\nprint(result)\n```\n\n"
        "```output\nhigh\n```\n\n```python\nfor step in result.steps:\n"
        "    print(step.tool, step.args)\n```\n"
    ),
}
