"""Questions to the judge, policy versions, backtests and recordings."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from missioncontrol.accounts.models import Project
from missioncontrol.decisions.models import Decision
from missioncontrol.ids import new_id
from missioncontrol.runs.models import Run


class Question(models.Model):
    """A suspicion put to the judge: a card opens only if it says *loop* and is sure.

    `obs` is the run's observation that raised it: a later reset makes the question void.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="questions")
    turn_seq = models.IntegerField()
    obs = models.IntegerField()
    signal = models.JSONField(help_text="the guard.signals.Signal that suspects")
    confidence = models.FloatField(help_text="how sure of a loop the judge must be")
    opened_at = models.DateTimeField()
    asked_at = models.DateTimeField(null=True)
    judge = models.CharField(max_length=100, default="")
    verdict = models.JSONField(null=True, help_text="a wire.VerdictRow")
    failure = models.TextField(default="", help_text="why there is no verdict")
    decision = models.OneToOneField(
        Decision, null=True, on_delete=models.SET_NULL, related_name="question"
    )

    class Meta:
        db_table = "oversight_question"
        # A run's newest question tells whether the next one comes too soon (`create_question`).
        indexes = [models.Index(fields=["run", "-turn_seq"], name="question_latest")]


class PolicyVersion(models.Model):
    """A project's policy as it was from `at` on, numbered from 1 without gaps."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="policy_versions")
    number = models.IntegerField()
    policy = models.JSONField()
    text = models.TextField(default="", help_text="as it was typed; empty: it came as JSON")
    changes = models.JSONField(default=list, help_text="wire.PolicyChange rows")
    note = models.TextField(default="")
    by = models.CharField(max_length=150)
    at = models.DateTimeField()

    class Meta:
        db_table = "oversight_policyversion"
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="one_policy_version")
        ]


class Backtest(models.Model):
    """Recorded runs replayed under a proposed policy and under today's."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="backtests")
    policy = models.JSONField(help_text="the proposed one")
    today = models.JSONField(help_text="the project's, when it was asked")
    policy_version = models.IntegerField(help_text="of today's")
    since = models.DateTimeField(null=True)
    runs = models.JSONField(help_text="ids of the chosen runs, newest first")
    left_out = models.IntegerField(default=0, help_text="runs beyond the bound")
    status = models.CharField(max_length=8, default="queued")
    error = models.TextField(default="")
    by = models.CharField(max_length=150)
    at = models.DateTimeField()
    beat_at = models.DateTimeField(help_text="last sign of life of its task")
    tries = models.IntegerField(default=0)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "oversight_backtest"
        # Every two seconds the sweeper looks for backtests whose task went silent.
        indexes = [models.Index(fields=["status", "beat_at"], name="backtest_open")]


class Recording(models.Model):
    """The file a run was imported from, and where a card would have opened in it."""

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="recording")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    sha256 = models.CharField(max_length=64, help_text="of the file; empty: it was erased")
    file = models.CharField(max_length=200, help_text="its name; empty: it was erased")
    form = models.CharField(max_length=20, help_text="as what it was read")
    unreadable = models.IntegerField(default=0, help_text="entries that could not be read")
    alarms = models.JSONField(default=list, help_text="wire.RecordedAlarm rows")
    by = models.CharField(max_length=150)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                # Erased ones have no hash left: a project may have any number of them.
                fields=["project", "sha256"],
                condition=~Q(sha256=""),
                name="one_recording_a_file",
            )
        ]


class BacktestRun(models.Model):
    """What both policies said about one run; an interrupted backtest continues from these."""

    id = models.UUIDField(primary_key=True, default=new_id)
    backtest = models.ForeignKey(Backtest, on_delete=models.CASCADE, related_name="results")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    turns = models.IntegerField()
    proposed = models.JSONField(null=True, help_text="a wire.BacktestFlag, or null")
    today = models.JSONField(null=True)

    class Meta:
        db_table = "oversight_backtestrun"
        constraints = [
            # Two workers may take the same slice; only one result of a run is stored.
            models.UniqueConstraint(fields=["backtest", "run"], name="one_backtest_result")
        ]
