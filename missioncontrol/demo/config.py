"""What `manage.py up --demo` tells its demo agents."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where the server is, the key of each demo project, where files may lie.

    `model_url` is a real OpenAI-compatible endpoint; None: the scripted one.
    """

    url: str
    projects: dict[str, str]
    directory: Path
    model_url: str | None = None
    model_name: str = "gpt-4o-mini"
    model_key: str = ""

    @classmethod
    def of_environment(cls) -> Self:
        """Read $MISSIONCONTROL_DEMO, a JSON object."""
        # By the environment: a command line, where keys would stand, is everybody's to read.
        given = json.loads(os.environ["MISSIONCONTROL_DEMO"])
        return cls(
            url=given["url"],
            projects=given["projects"],
            directory=Path(given["dir"]),
            model_url=given.get("model_url"),
            model_name=os.environ.get("MISSIONCONTROL_DEMO_MODEL") or "gpt-4o-mini",
            model_key=os.environ.get("OPENAI_API_KEY") or "",
        )
