"""Tenants and who may do what. Secrets are stored as SHA-256 hashes only."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models

from guard.wire import Mode
from missioncontrol.ids import new_id
from missioncontrol.redaction import Redaction


class Role(models.TextChoices):
    OWNER = "owner"
    OPERATOR = "operator"
    VIEWER = "viewer"


class UnansweredAction(models.TextChoices):
    PROCEED = "proceed"
    STOP = "stop"


class FailMode(models.TextChoices):
    OPEN = "open"
    CLOSED = "closed"


class Project(models.Model):
    """The tenant. Its own journal chain (`event_seq`, `head`) holds what belongs to no run."""

    id = models.UUIDField(primary_key=True, default=new_id)
    name = models.CharField(max_length=200)
    mode = models.CharField(max_length=8, default=Mode.PAUSE)
    # Stored as written: settings it leaves out get the defaults of the running version.
    policy = models.JSONField(default=dict)
    policy_version = models.IntegerField(default=0, help_text="0: never changed")
    budget = models.JSONField(default=dict, help_text="ceilings of each run")
    budgets = models.JSONField(default=dict, help_text="of all runs together: project, day, agents")
    day_extra = models.JSONField(default=dict, help_text="what was allowed on top, for one day")
    time_zone = models.CharField(max_length=64, default="UTC", help_text="where a day begins")
    hold_limit = models.PositiveIntegerField(default=3600, help_text="seconds")
    # A loop that nobody looks at costs money as long as it runs.
    unanswered = models.CharField(
        max_length=8, choices=UnansweredAction.choices, default=UnansweredAction.STOP
    )
    # Agents go on if the server is away, unless somebody decides that they must not.
    fail = models.CharField(max_length=8, choices=FailMode.choices, default=FailMode.OPEN)
    agents_choose = models.BooleanField(default=True)
    prices = models.JSONField(
        default=dict, help_text="of models, in dollars a million tokens: its own"
    )
    daily_report = models.BooleanField(default=True, help_text="of what each day cost")
    keep_words_days = models.PositiveIntegerField(
        default=0, help_text="how long turns of ended runs keep their words; 0: for ever"
    )
    redact_rules = models.JSONField(
        default=list, help_text="what is masked of its turns, besides secrets"
    )
    second_factor = models.BooleanField(default=False, help_text="who lacks one stays out")
    kept_out = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        related_name="+",
        help_text="removed by an owner: no joining rule brings them back",
    )
    # The journal's chain, written only under this row's lock (`runs.journal`). Processes cache the
    # fields above until `head` changes, so every change to them must be recorded.
    event_seq = models.IntegerField(default=-1)
    head = models.CharField(max_length=64, default="0" * 64)
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, help_text="since then it can only be read")
    # No columns: copies from `Installation`, set where a transaction of runs has read it too.
    organisation_budget: dict[str, str] | None = None
    organisation_extra: dict[str, Any] | None = None

    @property
    def redaction(self) -> Redaction:
        return Redaction(tuple(self.redact_rules), salt=str(self.pk))


class Installation(models.Model):
    """What applies to all projects together: one row, made when something is first set."""

    ONLY = 1

    # Always the same id: there can be no second row.
    id = models.SmallIntegerField(primary_key=True, default=ONLY)
    day_budget = models.JSONField(default=dict, help_text="ceiling of all projects, a day in UTC")
    day_extra = models.JSONField(default=dict, help_text="what was allowed on top, for one day")


class Membership(models.Model):
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.CharField(max_length=8, choices=Role.choices)
    joined_at = models.DateTimeField(null=True, help_text="null: before this was noted")

    class Meta:
        # With two roles it would be left to chance which one counts.
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_membership")]


class Identity(models.Model):
    """A person at an identity provider: there, `subject` never means anybody else."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    label = models.CharField(max_length=254, default="", help_text="as the person knows it")
    created_at = models.DateTimeField()
    used_at = models.DateTimeField()

    class Meta:
        constraints = [
            # By the issuer too: another one may give the same subject to somebody else.
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_person_an_identity")
        ]


class JoiningBy(models.TextChoices):
    DOMAIN = "domain"
    """The domain of a verified e-mail address."""
    GROUP = "group"


class JoiningRule(models.Model):
    """Lets people who sign in at the identity provider and match it into its project."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    by = models.CharField(max_length=6, choices=JoiningBy.choices)
    value = models.CharField(max_length=255)
    role = models.CharField(max_length=8, choices=Role.choices)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            # Without the role: two rules for one domain could let somebody in with both.
            models.UniqueConstraint(fields=["project", "by", "value"], name="one_joining_rule")
        ]


class Invitation(models.Model):
    """A link that lets one person into a project, once, with or without an account."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=8, choices=Role.choices)
    note = models.CharField(max_length=100, default="", help_text="whom it is for")
    # An invitation outlives the person who made it, and the one who used it.
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )


class Reach(models.TextChoices):
    """Which runs of its project an agent key speaks for."""

    OWN = "own"
    """Runs that it opened itself."""
    AGENT = "agent"
    """Runs of the agent that it names."""
    PROJECT = "project"


class AgentKey(models.Model):
    """`mc_…`: lets an agent report to one project."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=12)
    # Keys made before `reach` existed keep the reach that they had.
    reach = models.CharField(max_length=7, choices=Reach.choices, default=Reach.PROJECT)
    agent = models.CharField(
        max_length=100, default="", help_text="whose runs it reaches, where `reach` is `agent`"
    )
    reports_only = models.BooleanField(
        default=False, help_text="it is told nothing, and its runs cannot be held"
    )
    line = models.UUIDField(
        null=True, db_index=True, help_text="the first of those it was rotated with; null: none"
    )
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150, default="")
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True, help_text="to the minute")
    revoked_at = models.DateTimeField(null=True)


class SetupCode(models.Model):
    """A code used in a command line instead of a key; `guard connect --once` exchanges it, once."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.CharField(max_length=150)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_on = models.CharField(max_length=100, default="", help_text="as its machine calls itself")


class Scope(models.TextChoices):
    READ = "read"
    WRITE = "write"


class PersonalToken(models.Model):
    """`mcu_…`: lets a person's script act as that person."""

    id = models.UUIDField(primary_key=True, default=new_id)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=12)
    scope = models.CharField(max_length=5, choices=Scope.choices, default=Scope.WRITE)
    project = models.ForeignKey(
        Project, null=True, on_delete=models.CASCADE, help_text="null: all of its person's"
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True, help_text="to the minute")
    revoked_at = models.DateTimeField(null=True)


class SecretUse(models.Model):
    """Where a key or a token was used, and on which run; to the minute."""

    key = models.ForeignKey(AgentKey, null=True, on_delete=models.CASCADE, related_name="uses")
    token = models.ForeignKey(
        PersonalToken, null=True, on_delete=models.CASCADE, related_name="uses"
    )
    # No foreign key: `runs` is a package above this one.
    run = models.UUIDField(null=True, help_text="null: none was named")
    # The longest text form of an IPv6 address (INET6_ADDRSTRLEN without its NUL).
    address = models.CharField(max_length=45)
    program = models.CharField(max_length=100)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()


class Browser(models.Model):
    """A browser in which somebody is signed in; its session carries this id."""

    id = models.UUIDField(primary_key=True, default=new_id)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="browsers"
    )
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=7, default="desktop", help_text="phone or desktop")
    program = models.CharField(max_length=100, default="")
    created_at = models.DateTimeField()
    seen_at = models.DateTimeField()


class LoginLink(models.Model):
    """A one-time way in. `on_get`: it signs in without the button, from loopback.

    With `code_digest` it pairs a phone, where a code can be typed instead; `browser` is the phone.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64, unique=True)
    on_get = models.BooleanField(default=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    # Unique if set: links without a code have none.
    code_digest = models.CharField(max_length=64, unique=True, null=True)
    browser = models.ForeignKey(Browser, null=True, on_delete=models.SET_NULL)


class SignInAttempts(models.Model):
    """Consecutive tries for an account from an address; stores only a fingerprint of both."""

    who = models.CharField(primary_key=True, max_length=64)
    tries = models.PositiveIntegerField()
    free_at = models.DateTimeField(db_index=True, help_text="when the next one is taken")


class PacedTries(models.Model):
    """Recent tries of one name, or of all together; stores only a fingerprint of the name."""

    who = models.CharField(primary_key=True, max_length=64)
    even_at = models.DateTimeField(db_index=True, help_text="when all of it is given back")


class PrivilegeChange(models.Model):
    """When a person's rights last changed: older session keys are replaced."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    at = models.DateTimeField()
