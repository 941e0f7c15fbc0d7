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


class Unanswered(models.TextChoices):
    PROCEED = "proceed"
    STOP = "stop"


class Fail(models.TextChoices):
    OPEN = "open"
    CLOSED = "closed"


class Project(models.Model):
    """The tenant. Its own journal chain (`event_seq`, `head`) holds what belongs
    to no run.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    name = models.CharField(max_length=200)
    mode = models.CharField(max_length=8, default=Mode.PAUSE)
    # As it was written, not as it is read: an old project gets the defaults of the day.
    policy = models.JSONField(default=dict)
    policy_version = models.IntegerField(default=0, help_text="0: never changed")
    budget = models.JSONField(default=dict, help_text="ceilings of each run")
    budgets = models.JSONField(default=dict, help_text="of all runs together: project, day, agents")
    day_extra = models.JSONField(default=dict, help_text="what was allowed on top, for one day")
    time_zone = models.CharField(max_length=64, default="UTC", help_text="where a day begins")
    hold_limit = models.PositiveIntegerField(default=3600, help_text="seconds")
    # A loop that nobody looks at costs money for as long as it runs.
    unanswered = models.CharField(max_length=8, choices=Unanswered.choices, default=Unanswered.STOP)
    # Agents go on without us, unless somebody decides that they must not.
    fail = models.CharField(max_length=8, choices=Fail.choices, default=Fail.OPEN)
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
    # The journal's chain: written under this row's lock alone (`runs.journal`). Processes keep what
    # stands above for as long as `head` does: who changes it records that, too.
    event_seq = models.IntegerField(default=-1)
    head = models.CharField(max_length=64, default="0" * 64)
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, help_text="since then it can only be read")
    # No columns: what `Installation` says, where a transaction of runs read it along.
    organisation_budget: dict[str, str] | None = None
    organisation_extra: dict[str, Any] | None = None

    @property
    def redaction(self) -> Redaction:
        return Redaction(tuple(self.redact_rules), salt=str(self.pk))


class Installation(models.Model):
    """What holds for all projects together: one row, made when something is first set."""

    ONLY = 1

    # Always the same: a second row cannot be made.
    id = models.SmallIntegerField(primary_key=True, default=ONLY)
    day_budget = models.JSONField(default=dict, help_text="ceiling of all projects, a day in UTC")
    day_extra = models.JSONField(default=dict, help_text="what was allowed on top, for one day")


class Membership(models.Model):
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.CharField(max_length=8, choices=Role.choices)
    joined_at = models.DateTimeField(null=True, help_text="null: before this was noted")

    class Meta:
        # Two roles of one person would leave it to chance which of them counts.
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_membership")]


class Identity(models.Model):
    """A person as an identity provider knows them: `subject` never means anybody else there."""

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
    """Of a verified e-mail address."""
    GROUP = "group"


class JoiningRule(models.Model):
    """Who signs in at the identity provider and fulfils it is let into its project."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    by = models.CharField(max_length=6, choices=JoiningBy.choices)
    value = models.CharField(max_length=255)
    role = models.CharField(max_length=8, choices=Role.choices)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            # Whatever the role: two rules of one domain could let somebody in as both.
            models.UniqueConstraint(fields=["project", "by", "value"], name="one_joining_rule")
        ]


class Invitation(models.Model):
    """A link that lets one person into a project, once, with or without an account."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=8, choices=Role.choices)
    note = models.CharField(max_length=100, default="", help_text="whom it is for")
    # An invitation outlives whoever gave it, and whoever came in by it.
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
    """Those it opened itself."""
    AGENT = "agent"
    """Those of the agent it names."""
    PROJECT = "project"


class AgentKey(models.Model):
    """`mc_…`: lets an agent report to one project."""

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=12)
    # Keys made before there was a choice go on reaching what they reached.
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
    """Stands in a command line for a key: `guard connect --once` exchanges it for one, once."""

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
    """From where a key or a token was used, and on which run; to the minute."""

    key = models.ForeignKey(AgentKey, null=True, on_delete=models.CASCADE, related_name="uses")
    token = models.ForeignKey(
        PersonalToken, null=True, on_delete=models.CASCADE, related_name="uses"
    )
    # No foreign key: runs live in a room above this one.
    run = models.UUIDField(null=True, help_text="null: none was named")
    # The longest writing of an IPv6 address (INET6_ADDRSTRLEN without its NUL).
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
    """A one-time way in. `on_get`: signs in without the button, from loopback.

    `code_digest`: it pairs a phone, which may type a code instead; `browser` is the phone.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64, unique=True)
    on_get = models.BooleanField(default=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    # Unique where it is there: links without a code have none.
    code_digest = models.CharField(max_length=64, unique=True, null=True)
    browser = models.ForeignKey(Browser, null=True, on_delete=models.SET_NULL)


class SignInAttempts(models.Model):
    """Tries in a row of an account from an address; names neither, as its key is a fingerprint."""

    who = models.CharField(primary_key=True, max_length=64)
    tries = models.PositiveIntegerField()
    free_at = models.DateTimeField(db_index=True, help_text="when the next one is taken")


class PacedTries(models.Model):
    """How much one name tried of late, or all together; names nobody, its key is a fingerprint."""

    who = models.CharField(primary_key=True, max_length=64)
    even_at = models.DateTimeField(db_index=True, help_text="when all of it is given back")


class PrivilegeChange(models.Model):
    """When what a person may do changed last: session keys from before are exchanged."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    at = models.DateTimeField()
