"""A run printed in forms that no program has.

`OPEN` were looked at while the reader was made; `SEALED` were written before it, and first scored
when it was done: 15 of 21 were read whole, 90 of 126 calls with their answers. Later those rules
were taken out that only one of these needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """What an agent thought and did, and what came back."""

    thought: str
    tool: str
    args: dict[str, Any]
    came: str

    @property
    def given(self) -> str:
        """Give its arguments as JSON."""
        return json.dumps(self.args)

    @property
    def pairs(self) -> str:
        """Give its arguments as names and values."""
        return ", ".join(f"{name}={value!r}" for name, value in self.args.items())


STEPS = [
    Step(
        "I need the list of orders first.",
        "list_orders",
        {"day": "monday", "limit": 5},
        "id  loaves\n17  12\n18  4",
    ),
    Step(
        "Order 17 looks odd, I open it.",
        "open_order",
        {"id": 17},
        "status: late\nbaker: Ole\nnote: oven 2 was cold",
    ),
    Step(
        "The oven has a log.",
        "read_file",
        {"path": "logs/oven2.txt"},
        "Error: no such file logs/oven2.txt",
    ),
    Step(
        "Perhaps it is called otherwise.",
        "find_files",
        {"pattern": "logs/*oven*"},
        "logs/oven-2.log\nlogs/oven-1.log",
    ),
    Step(
        "That one, then.",
        "read_file",
        {"path": "logs/oven-2.log"},
        "06:00 heat 40\n06:10 heat 41\n\nTraceback (most recent call last):\n"
        '  File "oven.py", line 3, in heat\nValueError: heater disconnected',
    ),
    Step(
        "The heater is off, so I tell the baker.",
        "send_message",
        {"to": "ole", "text": "the heater of oven 2 is off"},
        "sent",
    ),
]
Steps = Sequence[Step]
Form = Callable[[Steps], str]


def _each(steps: Steps, write: Callable[[int, Step], str], *, head: str = "", end: str = "") -> str:
    return head + "".join(write(n, step) for n, step in enumerate(steps, 1)) + end


def _indented(text: str, by: str = "    ") -> str:
    return "\n".join(by + line for line in text.splitlines())


# --- looked at while the reader was written ---


def brackets(steps: Steps) -> str:
    return _each(
        steps,
        lambda _, s: f"[THINK] {s.thought}\n[DO] {s.tool} {s.given}\n[SEE] {s.came}\n",
        head="bakery-bot 0.3\n\n",
    )


def arrows(steps: Steps) -> str:
    return _each(steps, lambda _, s: f"=> {s.tool}({s.pairs})\n<= {s.came}\n\n")


def headings(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"## Move {n}\n\n### Why\n{s.thought}\n\n### What I run\n`{s.tool}`\n\n"
            f"```json\n{s.given}\n```\n\n### What I got\n```\n{s.came}\n```\n\n"
        ),
        head="# Journal of the bakery's helper\n\n",
    )


def one_line_a_step(steps: Steps) -> str:
    return _each(
        steps, lambda n, s: f"{n}. {s.tool}({s.pairs}) -> {s.came.splitlines()[0]}\n", head="Run:\n"
    )


def markdown_table(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: f"| {n} | {s.thought} | `{s.tool} {s.given}` | {s.came.splitlines()[0]} |\n",
        head="# Run 12\n\n| Step | Reasoning | Action | Outcome |\n|---|---|---|---|\n",
    )


def unknown_keys(steps: Steps) -> str:
    rows = [
        {"nr": n, "gedanke": s.thought, "werkzeug": s.tool, "eingabe": s.args, "ergebnis": s.came}
        for n, s in enumerate(steps, 1)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def yaml_list(steps: Steps) -> str:
    def item(n: int, s: Step) -> str:
        given = "".join(f"      {name}: {value}\n" for name, value in s.args.items())
        return (
            f"  - id: {n}\n    reason: {s.thought}\n    op: {s.tool}\n    with:\n{given}"
            f"    got: |\n{_indented(s.came, '      ')}\n"
        )

    return _each(steps, item, head="session: bakery\nmoves:\n")


def spanish(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"Paso {n}\nRazonamiento: {s.thought}\nHerramienta: {s.tool}\n"
            f"Parámetros: {s.given}\nResultado:\n{s.came}\n\n"
        ),
    )


def stamped(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"2026-03-04 10:0{n}:11,120 bakery.core INFO planner says: {s.thought}\n"
            f"2026-03-04 10:0{n}:12,411 bakery.exec INFO dispatching {s.tool} {s.given}\n"
            f"2026-03-04 10:0{n}:13,002 bakery.exec INFO received: {s.came}\n"
        ),
    )


def xml_elements(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f'<move n="{n}">\n  <idea>{s.thought}</idea>\n  <invoke fn="{s.tool}">{s.given}'
            f"</invoke>\n  <reply>{s.came}</reply>\n</move>\n"
        ),
        head="<log>\n",
        end="</log>\n",
    )


def python_repr(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"Step(index={n}, thought={s.thought!r}, call=ToolCall(name={s.tool!r},"
            f" kwargs={s.args!r}), output={s.came!r})\n"
        ),
    )


def semicolons(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: f'{n};{s.tool};{s.pairs};"{s.came.splitlines()[0]}"\n',
        head="no;operation;params;returned\n",
    )


def starred(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"*** step {n} of 30 ***\nmodel> {s.thought}\nrunning {s.tool} with {s.given}\n"
            f"----\n{s.came}\n----\n"
        ),
    )


def emoji(steps: Steps) -> str:
    return _each(
        steps,
        lambda _, s: f"💭 {s.thought}\n🔧 {s.tool}: {s.given}\n📥 {s.came}\n\n",
        head="🚀 Starting\n",
        end="🏁 Finished\n",
    )


def shell_turns(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"--- turn {n} ---\nLM: {s.thought}\n$ {s.tool} --{s.pairs}\n"
            f"[stdout]\n{s.came}\n[exit 0]\n"
        ),
    )


def events_of_json(steps: Steps) -> str:
    rows = list[dict[str, Any]]()
    for n, s in enumerate(steps):
        rows += [
            {"at": 10 * n, "phase": "reflect", "body": s.thought},
            {"at": 10 * n + 1, "phase": "invoke", "body": {"target": s.tool, "with": s.args}},
            {"at": 10 * n + 2, "phase": "outcome", "body": s.came},
        ]
    return json.dumps({"meta": {"who": "bakery-bot"}, "log": rows})


def boxed_table(steps: Steps) -> str:
    rows = [[str(n), f"{s.tool} {s.given}", s.came.splitlines()[0]] for n, s in enumerate(steps, 1)]
    rows = [["#", "command", "result"], *rows]
    wide = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = [
        "│" + "│".join(f" {c:<{w}} " for c, w in zip(r, wide, strict=True)) + "│" for r in rows
    ]
    rule = "─┼─".join("─" * w for w in wide)
    return "\n".join([f"┌─{rule}─┐", lines[0], f"├─{rule}─┤", *lines[1:], f"└─{rule}─┘"]) + "\n"


def game(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"Turn {n}\nPlayer: {s.tool} {' '.join(map(str, s.args.values()))}\n"
            f"World: {s.came}\nScore: {n}\n\n"
        ),
    )


def french(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"--- Étape {n} ---\nPensée : {s.thought}\nAppel : {s.tool}({s.pairs})\n"
            f"Réponse : {s.came}\n"
        ),
    )


def named_blocks(steps: Steps) -> str:
    return _each(
        steps,
        lambda _, s: (
            f"BEGIN CALL {s.tool}\n{s.given}\nEND CALL\nBEGIN RETURN\n{s.came}\nEND RETURN\n"
        ),
    )


# --- written before the reader, scored at the end ---


def logfmt_words(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"ts=10:0{n}:01 lvl=info op=exec fn={s.tool} in={json.dumps(s.given)}\n"
            f"ts=10:0{n}:02 lvl=info op=done fn={s.tool} out={json.dumps(s.came)}\n"
        ),
    )


def ini_sections(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"[step.{n}]\nplan = {s.thought}\ncommand = {s.tool} {s.given}\n"
            f"reply = {json.dumps(s.came)}\n\n"
        ),
    )


def s_expressions(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"(step {n}\n  (think {json.dumps(s.thought)})\n"
            f"  (call {s.tool} {json.dumps(s.given)})\n"
            f"  (result {json.dumps(s.came)}))\n"
        ),
    )


def russian(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"Шаг {n}\nРассуждение: {s.thought}\nВызов: {s.tool}({s.given})\nОтвет: {s.came}\n\n"  # noqa: RUF001 - of another script
        ),
    )


def chinese(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"【第{n}步】\n【思考】{s.thought}\n【调用工具】{s.tool}\n【参数】{s.given}\n【返回】{s.came}\n"
        ),
    )


def rulers(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"{'=' * 40}\nITERATION {n}\n{'=' * 40}\n{s.thought}\n\nTOOL >> {s.tool}\n"
            f"ARGS >> {s.given}\nOUT  >> {s.came}\n"
        ),
    )


def nested_json(steps: Steps) -> str:
    moves = [
        {
            "seq": n,
            "plan": {"note": s.thought},
            "request": {"verb": s.tool, "body": s.args},
            "reply": {"ms": 12 + n, "payload": s.came},
        }
        for n, s in enumerate(steps)
    ]
    return json.dumps({"episode": {"id": "e-9", "moves": moves}}, indent=1)


def tabs(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: f"{n}\t{s.tool}\t{s.given}\t{s.came.splitlines()[0]}\n",
        head="idx\tcmd\tpayload\tobs\n",
    )


def sql_dump(steps: Steps) -> str:
    def line(*values: object) -> str:
        told = [str(one).replace("'", "''").replace("\n", "\\n") for one in values]
        return ", ".join(told[:1] + [f"'{one}'" for one in told[1:]])

    begins = "INSERT INTO steps (id, tool, input, output) VALUES ("
    return _each(
        steps,
        lambda n, s: begins + line(n, s.tool, s.given, s.came) + ");\n",
        head="BEGIN TRANSACTION;\n",
        end="COMMIT;\n",
    )


def quoted_answers(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"**{n}.** {s.thought}\n\n**Call** `{s.tool}({s.pairs})`\n\n"
            f"{_indented(s.came, '> ')}\n\n"
        ),
        head="# What the agent did\n\n",
    )


def invoked_in_words(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"[{n}/6] Agent decided: {s.thought}\n[{n}/6] Agent invokes {s.tool} with arguments"
            f" {s.given}\n[{n}/6] {s.tool} responded: {s.came}\n"
        ),
    )


def timed_pairs(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"10:0{n}:01.5 → {s.tool} {s.given}\n10:0{n}:02.7 ← {s.came}\n"
            f"10:0{n}:03.0 · {s.thought}\n"
        ),
    )


def stamped_json(steps: Steps) -> str:
    def line(n: int, kind: str, **data: Any) -> str:
        return f"2026-03-04T10:00:{n:02}Z worker-3 {json.dumps({'what': kind, **data})}\n"

    return _each(
        steps,
        lambda n, s: (
            line(3 * n, "plan", text=s.thought)
            + line(3 * n + 1, "tool.begin", which=s.tool, given=s.args)
            + line(3 * n + 2, "tool.end", which=s.tool, yielded=s.came)
        ),
    )


def xml_attributes(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f'<exec tool="{s.tool}" step="{n}">\n<in>{s.given}</in>\n'
            f"<out>\n{s.came}\n</out>\n</exec>\n"
        ),
    )


def python_dicts(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            repr({"turn": n, "cmd": s.tool, "cmd_args": s.args, "feedback": s.came}) + "\n"
        ),
    )


def portuguese(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"### Passo {n}\n- **Raciocínio:** {s.thought}\n- **Ferramenta:** `{s.tool}`\n"
            f"- **Argumentos:** `{s.given}`\n- **Retorno:**\n\n```\n{s.came}\n```\n\n"
        ),
    )


def capitals(steps: Steps) -> str:
    return _each(
        steps,
        lambda _, s: (
            f"THOUGHTS\n{s.thought}\n\nCOMMAND\n{s.tool} {s.given}\n\nCOMMAND OUTPUT\n{s.came}\n\n"
        ),
    )


def trees(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"├── step {n}: {s.thought}\n│   ├── call: {s.tool}({s.pairs})\n"
            f"│   └── returned: {s.came.splitlines()[0]}\n"
        ),
        head="run\n",
    )


def keyed_steps(steps: Steps) -> str:
    return json.dumps(
        {
            f"step_{n}": {
                "agent_says": s.thought,
                "executes": f"{s.tool}({s.pairs})",
                "sees": s.came,
            }
            for n, s in enumerate(steps)
        }
    )


def hashes(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: f"#{n} AGENT -> ENV: {s.tool} {s.given}\n#{n} ENV -> AGENT: {s.came}\n",
    )


def lisp_like_words(steps: Steps) -> str:
    return _each(
        steps,
        lambda n, s: (
            f"Round {n}\n  Intent   {s.thought}\n  Executed {s.tool} {s.given}\n"
            f"  Observed {s.came.splitlines()[0]}\n"
        ),
    )


OPEN: list[Form] = [
    *(brackets, arrows, headings, one_line_a_step, markdown_table, unknown_keys, yaml_list),
    *(spanish, stamped, xml_elements, python_repr, semicolons, starred, emoji, shell_turns),
    *(events_of_json, boxed_table, game, french, named_blocks),
]
SEALED: list[Form] = [
    *(logfmt_words, ini_sections, s_expressions, russian, chinese, rulers, nested_json, tabs),
    *(sql_dump, quoted_answers, invoked_in_words, timed_pairs, stamped_json, xml_attributes),
    *(python_dicts, portuguese, capitals, trees, keyed_steps, hashes, lisp_like_words),
]
# Nothing in these tells a call from what other texts say again and again, or to read them takes a
# rule that no other form needs.
OPEN_UNREAD: list[Form] = [game, python_repr, starred, named_blocks]
SEALED_UNREAD: list[Form] = [nested_json, quoted_answers, sql_dump, stamped_json, hashes]
# These print the first line of what came back.
cut_short: list[Form] = [
    *(one_line_a_step, markdown_table, semicolons, boxed_table, tabs, trees, lisp_like_words)
]
