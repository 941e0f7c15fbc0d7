"""What happened: runs, their turns, and the journal."""

from __future__ import annotations

from decimal import Decimal

from django.db import models
from django.db.models import Q

from guard.wire import Mode
from missioncontrol.accounts.models import Project
from missioncontrol.ids import new_id
from missioncontrol.runs.lifecycle import NEVER_HELD, Source, Status

# The condition that a run is a recording.
RECORDED = Q(source=Source.RECORDING)
# The hash that the first row of a chain refers to.
GENESIS = "0" * 64
# Not read with a locked run: no verdict needs them, and they are long.
LONG_COLUMNS = ("goal", "metadata", "workspace")
# As many points as a row of the board draws.
TAPE_POINTS = 44


class Run(models.Model):
    """One agent session: its description and its state; the rest is in its `meters`.

    Its state columns change only in `runs.journal`.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    # `db_index=False`, here and below: another index begins with this column, and each row would
    # have to write both.
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="runs", db_index=False
    )
    key = models.CharField(max_length=200, null=True)
    name = models.CharField(max_length=200)
    agent = models.CharField(max_length=100, default="")
    opened_by = models.UUIDField(null=True, help_text="the agent key that opened it, if one did")
    goal = models.TextField(default="")
    task_type = models.CharField(max_length=100, default="")
    policy = models.JSONField(null=True)
    policy_version = models.IntegerField(
        null=True, help_text="of the project's policy it runs under; null: its own"
    )
    budget = models.JSONField(default=dict)
    capabilities = models.JSONField(default=dict)
    metadata = models.JSONField(default=dict)
    workspace = models.JSONField(default=list)
    parent = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="children"
    )
    relation = models.CharField(
        max_length=8, default="", help_text="to its parent: child, resumed, forked or restart"
    )
    parent_key = models.CharField(
        max_length=200, default="", help_text="names a parent that may not be known yet"
    )
    root = models.UUIDField(
        null=True, db_index=True, help_text="of the tree it belongs to; null: it is alone"
    )
    lineage = models.JSONField(default=list, help_text="the runs above it, outermost first")
    controller = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    controller_url = models.CharField(max_length=500, default="")
    started_at = models.DateTimeField()

    status = models.CharField(max_length=10, default=Status.RUNNING)
    mode = models.CharField(max_length=8, default=Mode.PAUSE)
    version = models.IntegerField(default=0)
    reason = models.TextField(default="", help_text="why it is held or stopped")
    open_decision = models.UUIDField(null=True)
    ended_at = models.DateTimeField(null=True)
    parked = models.BooleanField(
        default=False, help_text="its process ended in a hold; it goes on when it is resumed"
    )
    source = models.CharField(max_length=9, default=Source.AGENT, help_text="who tells of it")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                # An agent that reconnects names its run by key: two openings must find one run.
                fields=["project", "key"],
                condition=Q(key__isnull=False),
                name="one_run_a_key",
            )
        ]
        indexes = [
            models.Index(fields=["project", "-started_at"], name="run_history"),
            models.Index(fields=["status"], name="run_status"),
            # Retention and the sweeper ask for runs that ended before or after a moment.
            models.Index(fields=["ended_at"], name="run_ended"),
            models.Index(
                # Partial: the sweeper asks for these few every two seconds.
                fields=["started_at"],
                condition=Q(parent__isnull=True) & ~Q(parent_key=""),
                name="run_awaits_parent",
            ),
        ]

    @property
    def imported(self) -> bool:
        """Whether the run is a recording."""
        return self.source == Source.RECORDING

    @property
    def hold(self) -> Hold | None:
        """The run's hold; None: it has none."""
        # If there is no row, Django raises an AttributeError and `getattr` returns None.
        return None if self.status in NEVER_HELD else getattr(self, "hold_row", None)

    @hold.setter
    def hold(self, hold: Hold | None) -> None:
        # Django's cache for the other end of a one-to-one: reading it then needs no query.
        self._state.fields_cache["hold_row"] = hold


class TokenCounts(models.Model):
    """Tokens by kind (`rows.USAGE_COLUMNS`); output includes reasoning."""

    input_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_5m_tokens = models.BigIntegerField(default=0)
    cache_write_1h_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    reasoning_tokens = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class RunMeters(TokenCounts):
    """What turns change about a run; created with it, and changed only in `runs.journal`.

    A turn that changes no state writes this row alone. None of the columns that it changes is
    in an index, so PostgreSQL updates no index (a heap-only update).
    """

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="meters"
    )
    last_seq = models.IntegerField(default=-1, help_text="turns")
    last_obs = models.IntegerField(default=0, help_text="observations stored")
    detected_obs = models.IntegerField(default=0, help_text="observations judged")
    event_seq = models.IntegerField(default=-1)
    head = models.CharField(max_length=64, default=GENESIS)
    anchored_seq = models.IntegerField(default=-1, help_text="events tied to the project's chain")

    erased_seq = models.IntegerField(default=-1, help_text="turns without words: through")
    streak_obs = models.IntegerField(default=0, help_text="observations forgotten by a reset")
    skip_from_seq = models.IntegerField(default=0, help_text="held calls answered `skip`: from")
    skip_through_seq = models.IntegerField(default=-1, help_text="... through")
    finish_seq = models.IntegerField(
        null=True, help_text="last turn that is let through: it was asked to finish"
    )

    last_turn_at = models.DateTimeField(null=True)
    presence = models.CharField(max_length=8, default="working", help_text="a wire.runs.Presence")
    witness = models.CharField(
        max_length=32, default="", help_text="which process speaks for its client's"
    )
    expected_by = models.DateTimeField(
        null=True, help_text="a sign of life was promised by then; null: nobody promised"
    )
    held_seconds = models.FloatField(default=0, help_text="of earlier holds: no run time")

    queued_messages = models.IntegerField(default=0)
    open_permissions = models.IntegerField(
        default=0, help_text="cards on which its agent asks for a permission"
    )
    unconfirmed = models.UUIDField(
        null=True, help_text="an intervention the agent has not acted on"
    )
    recovering = models.UUIDField(null=True, help_text="an autofix whose effect is not known yet")

    cost_usd = models.DecimalField(max_digits=16, decimal_places=6, default=Decimal)
    judge_cost_usd = models.DecimalField(max_digits=16, decimal_places=6, default=Decimal)
    unpriced_calls = models.IntegerField(default=0)
    usage_source = models.CharField(
        max_length=10, default="", help_text="who told what it used; empty: nobody yet"
    )
    done_turns = models.IntegerField(default=0)
    tool_calls = models.IntegerField(default=0)
    failures = models.IntegerField(default=0, help_text="in a row")
    agents_spent = models.JSONField(
        default=dict,
        help_text="agent -> [dollars, tokens, calls, turns, failures in a row, last observation]",
    )
    notified_budgets = models.JSONField(
        default=list,
        help_text="the wire.BudgetStates people heard of since the ceilings last moved",
    )
    final_ceilings = models.JSONField(
        null=True, help_text="once it ended: its policy's and project's ceilings at its end"
    )
    recent_costs = models.JSONField(default=list, help_text="[epoch minute, dollars], last 5")

    doing = models.CharField(max_length=200, default="")
    model = models.CharField(max_length=100, default="")
    tape = models.JSONField(default=list)
    judged_turns = models.IntegerField(default=0)
    highest_score = models.FloatField(
        null=True,
        help_text="stuck score of the turn that was most stuck, in [0, 1); null: none was judged",
    )
    highest_score_seq = models.IntegerField(null=True, help_text="that turn")
    corrected = models.JSONField(
        default=list,
        help_text="calls answered with a correction, each as the turns it repeats, itself last",
    )
    lineage_forgotten = models.JSONField(
        default=dict, help_text="by run of its tree, the observations a reset here forgot"
    )


class Hold(models.Model):
    """A request to an agent to wait: the row exists while and because its run is held.

    It outlives the session unless the run is terminated: a run that comes back is held again.
    Only `runs.journal` creates, changes and deletes it; only `waiting_at` is written elsewhere.
    """

    run = models.OneToOneField(
        Run,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="hold_row",
        related_query_name="hold",
    )
    since = models.DateTimeField(help_text="when it was asked to wait")
    from_seq = models.IntegerField(default=0, help_text="first turn that is being held")
    expires_at = models.DateTimeField(null=True)
    waiting_at = models.DateTimeField(null=True, help_text="last known open request")
    waiting_since = models.DateTimeField(null=True)
    gave_up_at = models.DateTimeField(null=True)
    stands = models.BooleanField(
        default=False, help_text="its session ended in it; it is asked to wait when it comes back"
    )


class Turn(models.Model):
    """One step of one agent. `obs` is its newest observation, `first_obs` its first."""

    id = models.UUIDField(primary_key=True, default=new_id)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="turn_rows", db_index=False)
    seq = models.IntegerField()
    first_obs = models.IntegerField()
    obs = models.IntegerField()
    key = models.CharField(max_length=200, null=True)
    agent = models.CharField(max_length=100, default="")
    role = models.CharField(max_length=10)
    phase = models.CharField(max_length=8)
    skipped = models.BooleanField(default=False)
    tool = models.CharField(max_length=200, null=True)
    args = models.JSONField(null=True)
    content = models.TextField(null=True)
    result = models.TextField(null=True)
    error = models.TextField(null=True)
    files = models.JSONField(default=list)
    state = models.CharField(max_length=200, null=True)
    action_class = models.CharField(max_length=50)
    call_id = models.CharField(max_length=200, null=True)
    model = models.CharField(max_length=100, null=True)
    provider = models.CharField(max_length=50, null=True)
    usage = models.JSONField(null=True)
    cost_usd = models.DecimalField(max_digits=16, decimal_places=6, null=True)
    score = models.FloatField(null=True, help_text="how near a card, in [0, 1]; 1 opens one")
    changed = models.BooleanField(null=True)
    detector = models.CharField(max_length=50, null=True)
    nature = models.JSONField(null=True, help_text="a guard.nature.ToolNature")
    ts = models.DateTimeField()
    done_at = models.DateTimeField(null=True)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "seq"], name="turn_seq"),
            models.UniqueConstraint(
                # By this key a completion finds its proposal, and a repeat the original turn.
                fields=["run", "key"],
                condition=Q(key__isnull=False),
                name="turn_key",
            ),
        ]
        # Detection reads the observations above a run's watermark.
        indexes = [models.Index(fields=["run", "obs"], name="turn_obs")]


class ModelCall(TokenCounts):
    """One model call of a run or of its judge: usage under one `call_id` counts once."""

    # Has an index of its own too: SQLite reads a run's newest calls in order by it.
    run = models.ForeignKey(Run, on_delete=models.CASCADE)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, db_index=False)
    call_id = models.CharField(max_length=200)
    at = models.DateTimeField(null=True, help_text="when it was counted")
    agent = models.CharField(max_length=100, default="")
    model = models.CharField(max_length=100, default="")
    source = models.CharField(max_length=10, default="turns")
    cost_usd = models.DecimalField(
        max_digits=16, decimal_places=6, null=True, help_text="null: no price is known"
    )
    began_at = models.DateTimeField(null=True, help_text="by the clock of who told it")
    turn_key = models.CharField(
        max_length=200, null=True, help_text="of the turn it led to, as it was told"
    )
    turn_seq = models.IntegerField(null=True, help_text="the turn it led to, once found")

    class Meta:
        # A turn's completion repeats its proposal's usage, and exporters retry.
        constraints = [models.UniqueConstraint(fields=["run", "call_id"], name="one_model_call")]
        # Costs are queried by project and time span.
        indexes = [models.Index(fields=["project", "at"], name="model_call_time")]


class TelemetryRecord(models.Model):
    """A span or log record as the agent sent it, stored once; masked and bounded.

    `turn_key` names the turn that it reports, `began_at` when that began by the sender's clock.
    """

    # Has an index of its own too: pages of records are read in order of arrival.
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="telemetry")
    key = models.CharField(max_length=200)
    name = models.CharField(max_length=200)
    agent = models.CharField(max_length=100, default="")
    attributes = models.JSONField(default=dict)
    turn_key = models.CharField(max_length=200, null=True)
    began_at = models.DateTimeField(null=True)
    at = models.DateTimeField(help_text="when it arrived")

    class Meta:
        # Exporters send a record again if they got no answer.
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="one_telemetry_record")]


class JournalRow(models.Model):
    """One event. Its `hash` covers the header, the previous hash and a salted
    digest of the payload: payload and salt can be erased, the row stays.
    """

    id = models.UUIDField(primary_key=True, default=new_id)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    run = models.ForeignKey(
        Run, null=True, on_delete=models.CASCADE, related_name="journal", db_index=False
    )
    seq = models.IntegerField()
    type = models.CharField(max_length=30)
    at = models.DateTimeField()
    by = models.CharField(max_length=150)
    version = models.IntegerField()
    status = models.CharField(max_length=10, null=True)
    # Text, not a JSON column: a database may return JSON in another form than was hashed.
    payload = models.TextField(null=True, help_text="canonical JSON, as hashed")
    salt = models.CharField(max_length=32, null=True)
    digest = models.CharField(max_length=64)
    previous = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                # Two chains share the table: a run's, and the project's own, whose rows have no
                # run.
                fields=["run", "seq"],
                condition=Q(run__isnull=False),
                name="journal_run_seq",
            ),
            models.UniqueConstraint(
                fields=["project", "seq"], condition=Q(run__isnull=True), name="journal_project_seq"
            ),
        ]
        # Checkpoints look up what happened since a moment, for which no other index serves.
        indexes = [models.Index(fields=["project", "-at"], name="journal_time")]
