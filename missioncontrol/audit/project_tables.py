"""What of a project is carried from one installation to another, and as what lines.

A file of JSON Lines: a signed `header`, the file of heads, a line for each row of each table,
and an `end` with the number of rows. What belongs to an installation stays there: people, keys,
channels, devices, what was delivered, saved views, shared links, the search index.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import AutoField, Model

from missioncontrol.accounts.models import Project
from missioncontrol.costs.models import Spend
from missioncontrol.decisions.models import (
    AllowlistEntry,
    Autofix,
    ControllerNote,
    Decision,
    Intervention,
    LetGo,
    Message,
)
from missioncontrol.detection.models import (
    Backtest,
    BacktestRun,
    PolicyVersion,
    Question,
    Recording,
)
from missioncontrol.reports.models import CostReport
from missioncontrol.runs.models import (
    Hold,
    JournalRow,
    ModelCall,
    Run,
    RunMeters,
    TelemetryRecord,
    Turn,
)

FORMAT = 1
# Each kind of line, its table, and how a row leads to its project.
# What refers stands below what it refers to: an import inserts in this order, and foreign keys
# hold at each step. People, keys and channels are left out: they are the installation's.
TABLES: Mapping[str, tuple[type[Model], str]] = {
    "project": (Project, "pk"),
    "policy_version": (PolicyVersion, "project"),
    "run": (Run, "project"),
    "run_meters": (RunMeters, "run__project"),
    "hold": (Hold, "run__project"),
    "turn": (Turn, "run__project"),
    "model_call": (ModelCall, "run__project"),
    "telemetry": (TelemetryRecord, "run__project"),
    "event": (JournalRow, "project"),
    "decision": (Decision, "run__project"),
    "question": (Question, "run__project"),
    "intervention": (Intervention, "run__project"),
    "message": (Message, "run__project"),
    "controller_note": (ControllerNote, "run__project"),
    "autofix": (Autofix, "run__project"),
    "allowlist_entry": (AllowlistEntry, "project"),
    "spend": (Spend, "project"),
    "cost_report": (CostReport, "project"),
    "let_go": (LetGo, "project"),
    "backtest": (Backtest, "project"),
    "recording": (Recording, "project"),
    "backtest_run": (BacktestRun, "backtest__project"),
}


def columns_of(model: type[Model]) -> dict[str, Any]:
    """Return a table's columns by name; a number that the database counts up is its own."""
    fields = model._meta.concrete_fields
    return {field.attname: field for field in fields if not isinstance(field, AutoField)}
