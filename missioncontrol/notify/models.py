"""How people are reached: devices, channels, and the outbox of notices."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from missioncontrol.accounts.models import Browser, Project
from missioncontrol.ids import new_id
from missioncontrol.runs.models import Run


class Device(models.Model):
    """A person's browser that takes pushes. The data that a push needs is stored sealed."""

    id = models.UUIDField(primary_key=True, default=new_id)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="devices"
    )
    # Null once it was signed out: the row outlives its browser for one last push.
    browser = models.OneToOneField(
        Browser, null=True, on_delete=models.CASCADE, related_name="device"
    )
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=7, default="phone", help_text="phone or desktop")
    endpoint = models.TextField(help_text="sealed: the push service's address")
    # Sealing gives another text each time, so the address is found by this.
    endpoint_digest = models.CharField(max_length=64, unique=True)
    p256dh = models.TextField(help_text="sealed")
    auth = models.TextField(help_text="sealed")
    vapid_key = models.CharField(max_length=100, help_text="which of our keys it subscribed with")
    created_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    left_at = models.DateTimeField(null=True, help_text="signed out: told so once, then forgotten")
    enabled = models.BooleanField(default=True)
    hears_reports = models.BooleanField(default=False, help_text="the daily cost report too")
    show_details = models.BooleanField(default=True, help_text="off: pushes carry a title only")
    quiet_from = models.TimeField(null=True)
    quiet_to = models.TimeField(null=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    language = models.CharField(max_length=8, default="en")


class Channel(models.Model):
    """A way to reach the people of a project. Its address holds secrets, so it is stored sealed.

    `step_minutes`: 0, it hears of a card at once; otherwise only after this long without an answer.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="channels")
    kind = models.CharField(max_length=8)
    name = models.CharField(max_length=100)
    address = models.TextField(help_text="sealed")
    enabled = models.BooleanField(default=True)
    step_minutes = models.PositiveIntegerField(default=0)
    quiet_from = models.TimeField(null=True, help_text="in the project's time zone")
    quiet_to = models.TimeField(null=True)
    hears_decisions = models.BooleanField(default=True)
    hears_budgets = models.BooleanField(default=True)
    hears_reports = models.BooleanField(default=False)
    language = models.CharField(max_length=8, default="en")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()


class Notice(models.Model):
    """Something that people are told, once: `subject` identifies it within its project.

    `settled_at`: when it was answered; waiting deliveries are then not sent.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="notices")
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="notices")
    # No foreign key: cards are in a package above this one.
    decision = models.UUIDField(null=True)
    what = models.CharField(max_length=8)
    subject = models.CharField(max_length=200)
    content = models.JSONField(help_text="a notify.content.Card or Announcement")
    at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=12, default="", help_text="how it was answered")
    settled_by = models.CharField(max_length=150, default="")

    class Meta:
        constraints = [
            # The first process that notices something creates the notice; the others find it.
            models.UniqueConstraint(fields=["project", "what", "subject"], name="one_notice")
        ]
        indexes = [models.Index(fields=["decision"], name="notice_of_decision")]


class Delivery(models.Model):
    """One notice for one target: the outbox. Stored in the causing transaction, sent afterwards.

    A worker claims it with `leased_until`; if the worker dies, another takes over.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="deliveries")
    # The same as its notice's: lists of a project's deliveries filter by it without a join.
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="deliveries")
    what = models.CharField(max_length=10, help_text="the notice's, or withdrawal")
    kind = models.CharField(max_length=8, help_text="push, or the channel's")
    # A copy: the name can still be read when the target is deleted.
    target = models.CharField(max_length=100, help_text="the device's or channel's name then")
    # Deliveries stay when their target is deleted.
    device = models.ForeignKey(
        Device, null=True, on_delete=models.SET_NULL, related_name="deliveries"
    )
    channel = models.ForeignKey(
        Channel, null=True, on_delete=models.SET_NULL, related_name="deliveries"
    )
    step_minutes = models.PositiveIntegerField(default=0)
    status = models.CharField(max_length=9, default="waiting")
    tries = models.IntegerField(default=0)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, help_text="null: settled")
    leased_until = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    last_error = models.TextField(default="", help_text="in words, never with the address")

    class Meta:
        constraints = [
            # One push each, however often and in whichever process it is announced or withdrawn.
            models.UniqueConstraint(
                fields=["device", "what", "notice"], name="one_delivery_a_device"
            ),
            models.UniqueConstraint(
                fields=["channel", "what", "notice"], name="one_delivery_a_channel"
            ),
        ]
        indexes = [
            # Few wait among very many that are settled.
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="delivery_due"),
            models.Index(fields=["project", "status"], name="delivery_of_project"),
        ]

    @property
    def recipient(self) -> Device | Channel | None:
        """The device or channel; None once it is deleted."""
        return self.device or self.channel

    @property
    def language(self) -> str:
        """The target's language; English once the target is deleted."""
        return self.recipient.language if self.recipient else "en"
