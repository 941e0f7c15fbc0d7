"""What is needed to find runs (progress of the word index, saved views) and to share them.

The words themselves are in the table `history_words`, which is no model: each
database has its own kind of index (`index`).
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from missioncontrol.accounts.models import Project
from missioncontrol.decisions.models import Decision
from missioncontrol.ids import new_id
from missioncontrol.runs.models import Run


class IndexedRun(models.Model):
    """How far a run's words are indexed. `id` numbers its documents.

    A database trigger deletes the words with this row, and this row is deleted with its run.
    """

    # A number, not a UUID: it is the upper half of a 64-bit document id (`index`).
    id = models.BigAutoField(primary_key=True)
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="indexed")
    obs = models.IntegerField(default=0, help_text="observations indexed")
    event_seq = models.IntegerField(default=-1, help_text="events seen by then")
    at = models.DateTimeField(null=True, help_text="when it was last visited")


class SavedView(models.Model):
    """A line of search that one person saves in one project."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    q = models.CharField(max_length=1000)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user", "name"], name="one_saved_view")
        ]


class Share(models.Model):
    """A link that shows one run, card or week of costs to whoever has it. Its secret is hashed."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="+")
    decision = models.ForeignKey(Decision, null=True, on_delete=models.CASCADE, related_name="+")
    week = models.DateField(null=True, help_text="a day of the week whose costs it shows")
    language = models.CharField(max_length=2)
    # The link is a secret: reading the database does not allow to open it.
    digest = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
