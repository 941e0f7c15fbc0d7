"""Daily cost reports, as they were sent."""

from __future__ import annotations

from django.db import models

from missioncontrol.accounts.models import Project
from missioncontrol.ids import new_id


class CostReport(models.Model):
    """The costs of a day, as reported. A row is never changed: a new version corrects it."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="cost_reports")
    day = models.DateField(help_text="in the project's time zone")
    version = models.IntegerField()
    reason = models.CharField(max_length=200, default="", help_text="why it corrects")
    made_at = models.DateTimeField()
    time_zone = models.CharField(max_length=64)
    account = models.JSONField(help_text="a wire.CostAccount by agent")
    by_model = models.JSONField(help_text="wire.CostGroup rows")
    by_project = models.JSONField(help_text="wire.CostGroup rows")
    counted = models.CharField(max_length=200, help_text="what its model calls added up to")

    class Meta:
        # The table was made by a migration of `oversight`, which this was part of.
        db_table = "oversight_costreport"
        constraints = [
            models.UniqueConstraint(fields=["project", "day", "version"], name="one_cost_report")
        ]
