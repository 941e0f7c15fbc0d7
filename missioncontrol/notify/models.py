"""How a person is reached: devices, channels, and the outbox of what they are to hear."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from missioncontrol.accounts.models import Browser, Project
from missioncontrol.ids import new_id
from missioncontrol.runs.models import Run


class Device(models.Model):
    """A person's browser that takes pushes. What a push needs is kept sealed."""

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
    # An address is sealed anew each time: it is found by this.
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
    """A way to reach the people of a project. Its address holds secrets: it is kept sealed.

    `step_minutes`: 0, it hears of a card at once; else only if nobody answered so long.
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
    """Something people are to hear, once: `subject` names it within its project.

    `settled_at`: it has been answered, and whoever was not told yet is not told.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="notices")
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="notices")
    # No foreign key: cards live in a room above this one.
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
            # Whichever process notices a thing first tells of it; the others find that it was told.
            models.UniqueConstraint(fields=["project", "what", "subject"], name="one_notice")
        ]
        indexes = [models.Index(fields=["decision"], name="notice_of_decision")]


class Delivery(models.Model):
    """One notice for one target: the outbox. Written where it happened, sent afterwards.

    A worker takes it by `leased_until`; one that dies with it leaves it to the next.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="deliveries")
    # Its notice's too: lists of a project's deliveries filter by it without a join.
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="deliveries")
    what = models.CharField(max_length=10, help_text="the notice's, or withdrawal")
    kind = models.CharField(max_length=8, help_text="push, or the channel's")
    # A copy: what was told is still read when its target is gone.
    target = models.CharField(max_length=100, help_text="the device's or channel's name then")
    # What was told stays when its target goes.
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
            # Whoever announces or takes away twice, in whichever process: one push each.
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
    def language(self) -> str:
        """The target's; English once it is gone."""
        target = self.device or self.channel
        return target.language if target else "en"
