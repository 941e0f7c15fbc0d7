"""The doorbell and the ingest thread of this web process."""

from __future__ import annotations

from missioncontrol.oversight.doorbell import Doorbell
from missioncontrol.runs.ingest import Writer

doorbell = Doorbell()
writer = Writer()
