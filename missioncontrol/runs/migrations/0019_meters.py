"""What turns move of a run goes to a row of its own, and no index is over it.

The rows go over in one statement each way. The columns go in one statement on PostgreSQL and
with one copy of the table on SQLite: one by one, each would copy it again.
"""

import decimal
import django.db.models.deletion
from django.db import migrations, models

COLUMNS = (
    'last_seq',
    'last_obs',
    'detected_obs',
    'event_seq',
    'head',
    'anchored_seq',
    'erased_seq',
    'streak_obs',
    'skip_from_seq',
    'skip_through_seq',
    'finish_seq',
    'last_turn_at',
    'presence',
    'witness',
    'expected_by',
    'held_seconds',
    'queued_messages',
    'open_permissions',
    'unconfirmed',
    'recovering',
    'input_tokens',
    'cache_read_tokens',
    'cache_write_5m_tokens',
    'cache_write_1h_tokens',
    'output_tokens',
    'reasoning_tokens',
    'cost_usd',
    'judge_cost_usd',
    'unpriced_calls',
    'usage_source',
    'done_turns',
    'tool_calls',
    'failures',
    'agents_spent',
    'budget_told',
    'final_ceilings',
    'recent_costs',
    'doing',
    'model',
    'tape',
    'judged_turns',
    'highest_score',
    'highest_score_seq',
    'corrected',
    'kin_forgotten',
)


def make_rows(apps, schema_editor):
    quote = schema_editor.quote_name
    runs, meters = _tables(apps, quote)
    columns = ', '.join(map(quote, COLUMNS))
    if schema_editor.connection.vendor == 'postgresql':  # a new version of a row beside the old
        schema_editor.execute(f'ALTER TABLE {meters} SET (fillfactor = 50)')
    schema_editor.execute(
        f'INSERT INTO {meters} ({quote("run_id")}, {columns}) SELECT {quote("id")}, {columns} FROM {runs}'
    )


def fill_columns(apps, schema_editor):
    quote = schema_editor.quote_name
    runs, meters = _tables(apps, quote)
    assigned = ', '.join(f'{quote(name)} = {meters}.{quote(name)}' for name in COLUMNS)
    schema_editor.execute(
        f'UPDATE {runs} SET {assigned} FROM {meters} WHERE {meters}.{quote("run_id")} = {runs}.{quote("id")}'
    )


def _tables(apps, quote):
    models_ = (apps.get_model('runs', name) for name in ('Run', 'RunMeters'))
    return [quote(model._meta.db_table) for model in models_]


class RemoveTogether(migrations.SeparateDatabaseAndState):
    """Remove many columns of `Run` at once; going back, add them one by one."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        run = to_state.apps.get_model(app_label, 'Run')
        if schema_editor.connection.vendor == 'sqlite':
            schema_editor._remake_table(run)
            return
        quote = schema_editor.quote_name
        dropped = ', '.join(f'DROP COLUMN {quote(name)}' for name in COLUMNS)
        schema_editor.execute(f'ALTER TABLE {quote(run._meta.db_table)} {dropped}')

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        self.database_operations = self.state_operations
        super().database_backwards(app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0018_hold'),
    ]

    operations = [
        migrations.CreateModel(
            name='RunMeters',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='meters', serialize=False, to='runs.run')),
                ('last_seq', models.IntegerField(default=-1, help_text='turns')),
                ('last_obs', models.IntegerField(default=0, help_text='observations stored')),
                ('detected_obs', models.IntegerField(default=0, help_text='observations judged')),
                ('event_seq', models.IntegerField(default=-1)),
                ('head', models.CharField(default='0000000000000000000000000000000000000000000000000000000000000000', max_length=64)),
                ('anchored_seq', models.IntegerField(default=-1, help_text="events tied to the project's chain")),
                ('erased_seq', models.IntegerField(default=-1, help_text='turns without words: through')),
                ('streak_obs', models.IntegerField(default=0, help_text='observations forgotten by a reset')),
                ('skip_from_seq', models.IntegerField(default=0, help_text='held calls answered `skip`: from')),
                ('skip_through_seq', models.IntegerField(default=-1, help_text='... through')),
                ('finish_seq', models.IntegerField(help_text='last turn that is let through: it was asked to finish', null=True)),
                ('last_turn_at', models.DateTimeField(null=True)),
                ('presence', models.CharField(default='working', help_text='a wire.runs.Presence', max_length=8)),
                ('witness', models.CharField(default='', help_text="which process speaks for its client's", max_length=32)),
                ('expected_by', models.DateTimeField(help_text='a sign of life was promised by then; null: nobody promised', null=True)),
                ('held_seconds', models.FloatField(default=0, help_text='of earlier holds: no run time')),
                ('queued_messages', models.IntegerField(default=0)),
                ('open_permissions', models.IntegerField(default=0, help_text='cards on which its agent asks for a permission')),
                ('unconfirmed', models.UUIDField(help_text='an intervention the agent has not acted on', null=True)),
                ('recovering', models.UUIDField(help_text='an autofix whose effect is not known yet', null=True)),
                ('input_tokens', models.BigIntegerField(default=0)),
                ('cache_read_tokens', models.BigIntegerField(default=0)),
                ('cache_write_5m_tokens', models.BigIntegerField(default=0)),
                ('cache_write_1h_tokens', models.BigIntegerField(default=0)),
                ('output_tokens', models.BigIntegerField(default=0)),
                ('reasoning_tokens', models.BigIntegerField(default=0)),
                ('cost_usd', models.DecimalField(decimal_places=6, default=decimal.Decimal, max_digits=16)),
                ('judge_cost_usd', models.DecimalField(decimal_places=6, default=decimal.Decimal, max_digits=16)),
                ('unpriced_calls', models.IntegerField(default=0)),
                ('usage_source', models.CharField(default='', help_text='who told what it used; empty: nobody yet', max_length=10)),
                ('done_turns', models.IntegerField(default=0)),
                ('tool_calls', models.IntegerField(default=0)),
                ('failures', models.IntegerField(default=0, help_text='in a row')),
                ('agents_spent', models.JSONField(default=dict, help_text='agent -> [dollars, tokens, calls, turns, failures in a row, last observation]')),
                ('budget_told', models.JSONField(default=list, help_text='the wire.BudgetStates told since the ceilings last moved')),
                ('final_ceilings', models.JSONField(help_text="once it ended: its policy's and project's ceilings at its end", null=True)),
                ('recent_costs', models.JSONField(default=list, help_text='[epoch minute, dollars], last 5')),
                ('doing', models.CharField(default='', max_length=200)),
                ('model', models.CharField(default='', max_length=100)),
                ('tape', models.JSONField(default=list)),
                ('judged_turns', models.IntegerField(default=0)),
                ('highest_score', models.FloatField(help_text='stuck score of the turn that was most stuck, in [0, 1); null: none was judged', null=True)),
                ('highest_score_seq', models.IntegerField(help_text='that turn', null=True)),
                ('corrected', models.JSONField(default=list, help_text='calls answered with a correction, each as the turns it repeats, itself last')),
                ('kin_forgotten', models.JSONField(default=dict, help_text='by run of its tree, the observations a reset here forgot')),
            ],
        ),
        migrations.RemoveIndex(model_name='run', name='run_unjudged'),
        migrations.AddIndex(model_name='run', index=models.Index(fields=['ended_at'], name='run_ended')),
        migrations.RunPython(make_rows, fill_columns),
        RemoveTogether(
            state_operations=[migrations.RemoveField(model_name='run', name=name) for name in COLUMNS]
        ),
    ]
