"""Put the built front end into a wheel, so that an installation needs no Node.

Runs when a wheel is made (`uv build`, `pip install .`), not for a checkout's
editable installation: there `manage.py up` builds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FrontEndHook(BuildHookInterface[Any]):
    """Builds `frontend/` if it is stale and ships it inside the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and add what was built to the wheel."""
        if self.target_name != "wheel" or version == "editable":
            return
        sys.path.insert(0, self.root)
        from missioncontrol.up import frontend

        cache = Path(self.directory) / "cache"
        frontend.ensure_built(cache=cache, say=self.app.display_info)
        build_data["force_include"][str(frontend.BUILT)] = "missioncontrol/frontend_dist"
