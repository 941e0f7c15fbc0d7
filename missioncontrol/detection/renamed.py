"""The names by which migration 0003 imports `old_policies`; a released migration is not edited."""

from missioncontrol.detection.old_policies import upgrade_policy, upgrade_text

renewed, renewed_text = upgrade_policy, upgrade_text
