"""Put the built front end into a wheel, so that an installation needs no Node.

Runs when a wheel is made (`uv build`, `pip install .`), not for a checkout's
editable installation: there `manage.py up` builds. It also tells pip where `guard` is.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GUARD = "missioncontrol-guard"


class WheelHook(BuildHookInterface[Any]):
    """Builds `frontend/` if it is stale and ships it inside the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and add what was built to the wheel."""
        if self.target_name != "wheel":
            return
        if "PIP_BUILD_TRACKER" in os.environ:
            self._name_the_folder_of_guard()
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from missioncontrol.up import frontend

        cache = Path(self.directory) / "cache"
        frontend.ensure_built(cache=cache, report=self.app.display_info)
        build_data["force_include"][str(frontend.BUILT)] = "missioncontrol/frontend_dist"

    def _name_the_folder_of_guard(self) -> None:
        """Say where our guard is: pip reads no `[tool.uv.sources]`, and would ask a registry."""
        wanted = self.metadata.core.dependencies
        ours = next(one for one in wanted if one.startswith(GUARD))
        wanted[wanted.index(ours)] = f"{GUARD}[prices] @ {(Path(self.root) / 'guard').as_uri()}"
