"""The tables are those that the app `oversight` made: no row is touched, nothing is made."""

import django.db.models.deletion
import missioncontrol.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('oversight', '0011_permissions'),
        ('accounts', '0010_hashed_sessions'),
        ('decisions', '0001_initial'),
        ('runs', '0016_permissions'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Backtest',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('policy', models.JSONField(help_text='the proposed one')),
                        ('today', models.JSONField(help_text="the project's, when it was asked")),
                        ('policy_version', models.IntegerField(help_text="of today's")),
                        ('since', models.DateTimeField(null=True)),
                        ('runs', models.JSONField(help_text='ids of the chosen runs, newest first')),
                        ('left_out', models.IntegerField(default=0, help_text='runs beyond the bound')),
                        ('status', models.CharField(default='queued', max_length=8)),
                        ('error', models.TextField(default='')),
                        ('by', models.CharField(max_length=150)),
                        ('at', models.DateTimeField()),
                        ('beat_at', models.DateTimeField(help_text='last sign of life of its task')),
                        ('tries', models.IntegerField(default=0)),
                        ('finished_at', models.DateTimeField(null=True)),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='backtests', to='accounts.project')),
                    ],
                    options={
                        'db_table': 'oversight_backtest',
                    },
                ),
                migrations.CreateModel(
                    name='BacktestRun',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('turns', models.IntegerField()),
                        ('proposed', models.JSONField(help_text='a wire.BacktestFlag, or null', null=True)),
                        ('today', models.JSONField(null=True)),
                        ('backtest', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='results', to='detection.backtest')),
                        ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run')),
                    ],
                    options={
                        'db_table': 'oversight_backtestrun',
                    },
                ),
                migrations.CreateModel(
                    name='PolicyVersion',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('number', models.IntegerField()),
                        ('policy', models.JSONField()),
                        ('text', models.TextField(default='', help_text='as it was typed; empty: it came as JSON')),
                        ('changes', models.JSONField(default=list, help_text='wire.PolicyChange rows')),
                        ('note', models.TextField(default='')),
                        ('by', models.CharField(max_length=150)),
                        ('at', models.DateTimeField()),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='policy_versions', to='accounts.project')),
                    ],
                    options={
                        'db_table': 'oversight_policyversion',
                    },
                ),
                migrations.CreateModel(
                    name='Question',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('turn_seq', models.IntegerField()),
                        ('obs', models.IntegerField()),
                        ('signal', models.JSONField(help_text='the guard.signals.Signal that suspects')),
                        ('confidence', models.FloatField(help_text='how sure of a loop the judge must be')),
                        ('opened_at', models.DateTimeField()),
                        ('asked_at', models.DateTimeField(null=True)),
                        ('judge', models.CharField(default='', max_length=100)),
                        ('verdict', models.JSONField(help_text='a wire.VerdictRow', null=True)),
                        ('failure', models.TextField(default='', help_text='why there is no verdict')),
                        ('decision', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='question', to='decisions.decision')),
                        ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='runs.run')),
                    ],
                    options={
                        'db_table': 'oversight_question',
                    },
                ),
                migrations.AddIndex(
                    model_name='backtest',
                    index=models.Index(fields=['status', 'beat_at'], name='backtest_open'),
                ),
                migrations.AddConstraint(
                    model_name='backtestrun',
                    constraint=models.UniqueConstraint(fields=('backtest', 'run'), name='one_backtest_result'),
                ),
                migrations.AddConstraint(
                    model_name='policyversion',
                    constraint=models.UniqueConstraint(fields=('project', 'number'), name='one_policy_version'),
                ),
                migrations.AddIndex(
                    model_name='question',
                    index=models.Index(fields=['run', '-turn_seq'], name='question_latest'),
                ),
            ]
        ),
    ]
