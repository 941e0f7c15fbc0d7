"""Agents that hand work on in one run, and a run that started others: for pictures of both."""

from __future__ import annotations

from typing import Any

from tests.contract.conversation import Caller, a_turn

GOAL = "Ship 2.4: endpoint, docs and release notes"
STORY = (
    ("planner", "I split 2.4 into the endpoint, its docs and the notes. Backend begins."),
    ("backend", "cat app/exports/views.py", "class ExportView(View): formats = ('csv',)"),
    ("backend", "sed -i s/csv/json/ app/exports/views.py", "1 line changed"),
    ("backend", "The endpoint answers JSON now. Tester: does the old form still work?"),
    ("tester", "pytest -q tests/exports", "14 passed, 2 failed: test_csv, test_bom"),
    ("tester", "CSV is gone from the answer. Backend, please keep both."),
    ("backend", "git diff app/exports", "-    formats = ('csv',)\n+    formats = ('json',)"),
    ("backend", "sed -i s/json/csv,json/ app/exports/views.py", "1 line changed"),
    ("backend", "Both are there. Please test again."),
    ("tester", "pytest -q tests/exports tests/api", "31 passed"),
    ("tester", "All pass. Writer, the answer has a field `format` now."),
    ("writer", "grep -rn format docs/exports.md", "12:The answer has no format."),
    ("writer", "sed -i s/no/a/ docs/exports.md", "1 line changed"),
    ("writer", "The page on exports is right again. Planner, what goes into the notes?"),
    ("planner", "The JSON answer and the field. Writer, one line for each."),
    ("writer", "cat CHANGELOG.md", "## 2.3\n\n- Exports as CSV"),
    ("writer", "git log --oneline v2.3..", "a1b2c3d Answer JSON\ne4f5a6b Keep CSV"),
)
"""Who said a thing, or who ran what and read what came back."""


def work_together(agent: Caller) -> str:
    """Let four agents hand a release on to each other, and be at it; return the run."""
    run = agent.open_run(name="ship-2.4", agent="release-crew", goal=GOAL)
    for step in STORY:
        agent.post_turns(run, _turn(*step))
    return run


def start_others(agent: Caller) -> str:
    """Let one run start three, two of them done; return the first."""
    lead = agent.open_run(name="market-sizing", agent="claude-code", goal="Size three markets")
    agent.post_turns(lead, a_turn("ls notes", result="brief.md", cost_usd="0.31"))
    for name, status in (("nordics", "completed"), ("benelux", "failed"), ("iberia", "running")):
        child = agent.open_run(name=f"size-{name}", agent="claude-code", parent=lead)
        for step in ("population", "prices", "shops"):
            found = f"{name}: {step} of 2025"
            agent.post_turns(child, a_turn(f"cat {step}.csv", result=found, cost_usd="0.22"))
        if status != "running":
            agent.ask("PATCH", f"/api/v1/runs/{child}/", {"status": status})
    return lead


def _turn(who: str, did: str, got: str | None = None) -> dict[str, Any]:
    fields = {"agent": who, "cost_usd": "0.09"}
    if got is None:
        return {"key": did, "role": "assistant", "content": did, **fields}
    return a_turn(did, result=got, **fields)
