"""What we think and do: decisions, interventions, messages, autofixes, allowlist."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from missioncontrol.accounts.models import Project
from missioncontrol.ids import new_id
from missioncontrol.runs.models import Run

SPOKE = {"terminal": "agent terminal", "policy": "policy", "guard": "guard"}
"""Who made what an agent tells us was chosen at its end."""


class Decision(models.Model):
    """The card a person sees. `holds`: the agent is asked to wait for the answer."""

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="decisions")
    status = models.CharField(max_length=8)
    kind = models.CharField(max_length=30)
    detector = models.CharField(max_length=50)
    holds = models.BooleanField()
    agent = models.CharField(max_length=100, default="")
    signal = models.JSONField(help_text="the guard.signals.Signal it was opened on")
    evidence = models.JSONField(help_text="a wire.CardEvidence")
    asked_at = models.DateTimeField(null=True, help_text="when the configured judge was asked")
    verdict = models.JSONField(null=True, help_text="a wire.VerdictRow")
    version = models.IntegerField(help_text="the run's, when it opened or closed")
    opened_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    resolution = models.CharField(max_length=12, null=True)
    resolved_by = models.CharField(max_length=150, null=True)
    resolved_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run"], condition=Q(status__in=["judging", "open"]), name="one_open_card"
            )
        ]
        indexes = [models.Index(fields=["status", "opened_at"], name="decision_inbox")]


class Question(models.Model):
    """A suspicion put to the judge: no card, unless it says *loop* and is sure.

    `obs` is the run's observation that raised it: a reset after it makes it void.
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
        indexes = [models.Index(fields=["run", "-turn_seq"], name="question_latest")]


class Intervention(models.Model):
    """What a person did. `body` is the request as it came, for repeated keys."""

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="interventions")
    decision = models.ForeignKey(
        Decision, null=True, on_delete=models.CASCADE, related_name="interventions"
    )
    key = models.CharField(max_length=200)
    body = models.TextField()
    action = models.CharField(max_length=12)
    message = models.TextField(null=True)
    status = models.CharField(max_length=12)
    by = models.CharField(max_length=150)
    version = models.IntegerField()
    at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    new_run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="one_intervention")]


class Message(models.Model):
    """A text for the model. It is given once: `delivered_at` is claimed by one UPDATE."""

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="messages")
    intervention = models.ForeignKey(
        Intervention, null=True, on_delete=models.CASCADE, related_name="queued"
    )
    text = models.TextField()
    agent = models.CharField(max_length=100, null=True)
    escalation = models.JSONField(null=True, help_text="a guard.wire.Escalation")
    queued_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)


class ControllerNote(models.Model):
    """What a run's controller is to be told: another run, or a webhook.

    Written where it happened, told afterwards; `due_at` is None once it is settled.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="controller_notes")
    event = models.CharField(max_length=30)
    decision = models.UUIDField(null=True)
    text = models.TextField(help_text="for a model to read")
    payload = models.JSONField(help_text="for a program to read")
    at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)
    tries = models.IntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="note_due")
        ]


class Autofix(models.Model):
    """A correction injected without a tap, and whether the agent recovered."""

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="autofixes")
    decision = models.OneToOneField(Decision, on_delete=models.CASCADE, related_name="autofix")
    message = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="autofix")
    applied_at = models.DateTimeField()
    turns_after = models.IntegerField(default=0)
    news = models.BooleanField(default=False, help_text="new information since")
    recovered = models.BooleanField(null=True)
    judged_at = models.DateTimeField(null=True)


class AllowlistEntry(models.Model):
    """A call that is never flagged again, within its scope and until it expires."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="allowlist")
    scope = models.CharField(max_length=8)
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE)
    agent = models.CharField(max_length=100, null=True)
    pattern = models.TextField()
    match = models.CharField(max_length=5, default="exact")
    hits = models.IntegerField(default=0)
    last_hit_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    reason = models.TextField(default="")


class Spend(models.Model):
    """What all runs of a project used together: in all, on one day, or by one agent.

    Counters, added to at the end of a transaction that counted (`spending`). `name`
    is the agent's, or the day as the project's time zone has it ("2026-11-21").
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="spends")
    scope = models.CharField(max_length=7)
    name = models.CharField(max_length=100, default="")
    usd = models.DecimalField(max_digits=30, decimal_places=6, default=0)
    tokens = models.BigIntegerField(default=0)
    calls = models.BigIntegerField(default=0)
    turns = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "scope", "name"], name="one_spend")
        ]


class CostReport(models.Model):
    """What a day cost, as it was told. A row is never changed: a new version corrects it."""

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
        constraints = [
            models.UniqueConstraint(fields=["project", "day", "version"], name="one_cost_report")
        ]


class LetGo(models.Model):
    """A call of a card that a person let go on; three of them are an offer (`suggestions`)."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    decision = models.ForeignKey(Decision, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, help_text="of the pattern: it may be long")
    pattern = models.TextField()
    agent = models.CharField(max_length=100, default="")
    by = models.CharField(max_length=150)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["project", "digest", "at"], name="let_go_again")]


class PolicyVersion(models.Model):
    """A project's policy as it stood from `at` on. Numbers are dense from 1."""

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
        indexes = [models.Index(fields=["status", "beat_at"], name="backtest_open")]


class BacktestRun(models.Model):
    """What both policies said of one run; a stopped backtest goes on from these."""

    id = models.UUIDField(primary_key=True, default=new_id)
    backtest = models.ForeignKey(Backtest, on_delete=models.CASCADE, related_name="results")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    turns = models.IntegerField()
    proposed = models.JSONField(null=True, help_text="a wire.BacktestFlag, or null")
    today = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["backtest", "run"], name="one_backtest_result")
        ]
