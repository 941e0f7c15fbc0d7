"""What is kept of a record beside its turns: its attributes, masked and bounded."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from missioncontrol.api.otlp.reading import Reading
from missioncontrol.redaction import Redaction
from missioncontrol.runs.cleaning import masked_json, masked_name, storable_moment
from missioncontrol.runs.models import TelemetryRecord

MOST_ATTRIBUTES = 100
LONGEST_TEXT = 1000
LONGEST_VALUE = 4000
# Conversations are turns, and instructions are long: with every model call again.
NOT_KEPT = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.prompt",
    "gen_ai.completion",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "llm.input_messages",
    "llm.output_messages",
    "response_text",
)


def kept_record(run: UUID, reading: Reading, *, at: datetime, own: Redaction) -> TelemetryRecord:
    """Return the row that keeps a record."""
    record, facts = reading.record, reading.facts
    return TelemetryRecord(
        run_id=run,
        key=record.key,
        name=masked_name(record.name, 200, own),
        agent=facts.agent,
        attributes=kept(record.attributes, own),
        turn_key=facts.tool_key,
        began_at=storable_moment(record.began_at),
        at=at,
    )


def kept(attributes: Mapping[str, Any], own: Redaction) -> dict[str, Any]:
    """Return attributes as they are stored: no conversations, no secrets, not too long."""
    named = ((name, value) for name, value in attributes.items() if not name.startswith(NOT_KEPT))
    chosen: dict[str, Any] = {}
    for name, value in itertools.islice(named, MOST_ATTRIBUTES):
        # Cut what is far too long before masking reads it.
        is_nested = isinstance(value, list | dict)
        text = json.dumps(value, ensure_ascii=False, default=str) if is_nested else value
        is_long = isinstance(text, str) and len(text) > LONGEST_VALUE
        chosen[name[:200]] = text[:LONGEST_VALUE] if is_long else value
    masked: dict[str, Any] = masked_json(chosen, own) or {}
    # Cut only once masked: half a number would not have been known for one.
    return {
        name: (value[:LONGEST_TEXT] if isinstance(value, str) else value)
        for name, value in masked.items()
    }
