"""Sums that runs share."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from missioncontrol.accounts.models import Project
from missioncontrol.ids import new_id


class Spend(models.Model):
    """What all runs of a project used together: in total, on one day, or by one agent.

    Counters, added to at the end of a transaction that counted (`spending`). `name` is the
    agent's, or the day in the project's time zone ("2026-11-21"). For the project's part in
    the organisation's day, it is the day in UTC.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="spends")
    scope = models.CharField(max_length=12)
    name = models.CharField(max_length=100, default="")
    usd = models.DecimalField(max_digits=30, decimal_places=6, default=0)
    tokens = models.BigIntegerField(default=0)
    calls = models.BigIntegerField(default=0)
    turns = models.BigIntegerField(default=0)

    class Meta:
        db_table = "oversight_spend"
        constraints = [
            # The target of the upsert that adds to a counter.
            models.UniqueConstraint(fields=["project", "scope", "name"], name="one_spend")
        ]
        indexes = [
            models.Index(
                # One row for each project and day: they are added up by day, over all projects.
                fields=["name"],
                condition=Q(scope="organisation"),
                name="spend_of_organisation",
            )
        ]
