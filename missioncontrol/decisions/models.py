"""Decisions (the cards), interventions, messages, autofixes, allowlist.

Tables are called `oversight_…`, after the package's name when they were created.
"""

from __future__ import annotations

from typing import Any, cast

from django.db import models
from django.db.models import Q

from guard.deciding import AllowPattern
from guard.signals import Kind
from missioncontrol.accounts.models import Project
from missioncontrol.ids import new_id
from missioncontrol.runs.models import Run
from missioncontrol.wire.decisions import PERMISSION

# Kinds of cards that are not about a loop.
NOT_LOOPS = (Kind.BUDGET, PERMISSION)
# Who made a choice that an agent reports from its terminal.
SPOKE = {"terminal": "agent terminal", "policy": "policy", "guard": "guard"}


class Decision(models.Model):
    """The card a person sees. `holds`: the agent is asked to wait for the answer.

    A run has at most one open card, and in addition one for each permission its agent asks for.
    """

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
    heard_at = models.DateTimeField(
        null=True, help_text="of a permission: when its agent's request was last known open"
    )
    resolution = models.CharField(max_length=12, null=True)
    resolved_by = models.CharField(max_length=150, null=True)
    resolved_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "oversight_decision"
        constraints = [
            models.UniqueConstraint(
                fields=["run"],
                # Permission cards are separate: an agent may ask for several at once.
                condition=Q(status__in=["judging", "open"]) & ~Q(kind=PERMISSION),
                name="one_open_card",
            )
        ]
        # The inbox lists open cards, and the sweeper those whose judge is late.
        indexes = [models.Index(fields=["status", "opened_at"], name="decision_inbox")]


class Intervention(models.Model):
    """What a person did. `body` is the request as received, to recognise repeats."""

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="interventions")
    decision = models.ForeignKey(
        Decision, null=True, on_delete=models.CASCADE, related_name="interventions"
    )
    key = models.CharField(max_length=200)
    # As received: the same key with another body is another tap, and is refused.
    body = models.TextField()
    action = models.CharField(max_length=12)
    message = models.TextField(null=True)
    status = models.CharField(max_length=12)
    by = models.CharField(max_length=150)
    version = models.IntegerField()
    at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    # The tap stays on record after the new run is deleted.
    new_run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="+")
    ceilings = models.JSONField(null=True, help_text="before and after it raised them")
    held_from = models.IntegerField(
        null=True, help_text="first turn of the hold that it ended; null: nobody was held"
    )

    class Meta:
        db_table = "oversight_intervention"
        # A phone that got no answer sends the tap again: it must not be carried out twice.
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="one_intervention")]


class Message(models.Model):
    """A text for the model. It is sent once: an answer claims it, and records when it has left.

    Until then its sender may withdraw it.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="messages")
    intervention = models.ForeignKey(
        Intervention, null=True, on_delete=models.CASCADE, related_name="queued"
    )
    text = models.TextField()
    agent = models.CharField(max_length=100, null=True)
    escalation = models.JSONField(null=True, help_text="a guard.wire.Escalation")
    queued_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True, help_text="by an answer that may have left since")
    claimed_obs = models.IntegerField(
        null=True, help_text="the hook's observation whose answer carries it"
    )
    delivered_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "oversight_message"


class ControllerNote(models.Model):
    """What a run's controller, which is another run or a webhook, is to be told.

    Stored in the transaction in which it happened, sent afterwards; `due_at` is None once it is
    settled.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="controller_notes")
    event = models.CharField(max_length=30)
    decision = models.UUIDField(null=True)
    # Both are written when it happens: a note sent later still says what was true then.
    text = models.TextField(help_text="for a model to read")
    payload = models.JSONField(help_text="for a program to read")
    at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)
    tries = models.IntegerField(default=0)

    class Meta:
        db_table = "oversight_controllernote"
        indexes = [
            # Settled notes are never due again, so the sweeper's index holds only the open ones.
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

    class Meta:
        db_table = "oversight_autofix"


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

    class Meta:
        db_table = "oversight_allowlistentry"

    @property
    def as_pattern(self) -> AllowPattern:
        return AllowPattern(pattern=self.pattern, match=cast(Any, self.match))


class LetGo(models.Model):
    """A call of a card that a person let go on; three of the same make an offer (`allowlist`)."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    decision = models.ForeignKey(Decision, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, help_text="of the pattern: it may be long")
    pattern = models.TextField()
    agent = models.CharField(max_length=100, default="")
    by = models.CharField(max_length=150)
    at = models.DateTimeField()

    class Meta:
        db_table = "oversight_letgo"
        # By digest: a pattern may be longer than an index allows.
        indexes = [models.Index(fields=["project", "digest", "at"], name="let_go_again")]
