"""The tables are those that the app `oversight` made: no row is touched, nothing is made."""

import django.db.models.deletion
import missioncontrol.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('oversight', '0011_permissions'),
        ('accounts', '0010_hashed_sessions'),
        ('runs', '0016_permissions'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='AllowlistEntry',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('scope', models.CharField(max_length=8)),
                        ('agent', models.CharField(max_length=100, null=True)),
                        ('pattern', models.TextField()),
                        ('match', models.CharField(default='exact', max_length=5)),
                        ('hits', models.IntegerField(default=0)),
                        ('last_hit_at', models.DateTimeField(null=True)),
                        ('expires_at', models.DateTimeField(null=True)),
                        ('created_by', models.CharField(max_length=150)),
                        ('created_at', models.DateTimeField()),
                        ('reason', models.TextField(default='')),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='allowlist', to='accounts.project')),
                        ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to='runs.run')),
                    ],
                    options={
                        'db_table': 'oversight_allowlistentry',
                    },
                ),
                migrations.CreateModel(
                    name='Decision',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('status', models.CharField(max_length=8)),
                        ('kind', models.CharField(max_length=30)),
                        ('detector', models.CharField(max_length=50)),
                        ('holds', models.BooleanField()),
                        ('agent', models.CharField(default='', max_length=100)),
                        ('signal', models.JSONField(help_text='the guard.signals.Signal it was opened on')),
                        ('evidence', models.JSONField(help_text='a wire.CardEvidence')),
                        ('asked_at', models.DateTimeField(help_text='when the configured judge was asked', null=True)),
                        ('verdict', models.JSONField(help_text='a wire.VerdictRow', null=True)),
                        ('version', models.IntegerField(help_text="the run's, when it opened or closed")),
                        ('opened_at', models.DateTimeField()),
                        ('expires_at', models.DateTimeField(null=True)),
                        ('heard_at', models.DateTimeField(help_text="of a permission: when its agent's request was last known open", null=True)),
                        ('resolution', models.CharField(max_length=12, null=True)),
                        ('resolved_by', models.CharField(max_length=150, null=True)),
                        ('resolved_at', models.DateTimeField(null=True)),
                        ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='runs.run')),
                    ],
                    options={
                        'db_table': 'oversight_decision',
                    },
                ),
                migrations.CreateModel(
                    name='Intervention',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('key', models.CharField(max_length=200)),
                        ('body', models.TextField()),
                        ('action', models.CharField(max_length=12)),
                        ('message', models.TextField(null=True)),
                        ('status', models.CharField(max_length=12)),
                        ('by', models.CharField(max_length=150)),
                        ('version', models.IntegerField()),
                        ('at', models.DateTimeField()),
                        ('delivered_at', models.DateTimeField(null=True)),
                        ('acknowledged_at', models.DateTimeField(null=True)),
                        ('ceilings', models.JSONField(help_text='before and after it raised them', null=True)),
                        ('lifted', models.BooleanField(default=True, help_text='it let an agent go on that was held')),
                        ('decision', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='interventions', to='decisions.decision')),
                        ('new_run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.run')),
                        ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='interventions', to='runs.run')),
                    ],
                    options={
                        'db_table': 'oversight_intervention',
                    },
                ),
                migrations.CreateModel(
                    name='LetGo',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('digest', models.CharField(help_text='of the pattern: it may be long', max_length=64)),
                        ('pattern', models.TextField()),
                        ('agent', models.CharField(default='', max_length=100)),
                        ('by', models.CharField(max_length=150)),
                        ('at', models.DateTimeField()),
                        ('decision', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='decisions.decision')),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.project')),
                    ],
                    options={
                        'db_table': 'oversight_letgo',
                    },
                ),
                migrations.CreateModel(
                    name='Message',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('text', models.TextField()),
                        ('agent', models.CharField(max_length=100, null=True)),
                        ('escalation', models.JSONField(help_text='a guard.wire.Escalation', null=True)),
                        ('queued_at', models.DateTimeField()),
                        ('delivered_at', models.DateTimeField(null=True)),
                        ('withdrawn_at', models.DateTimeField(null=True)),
                        ('intervention', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='queued', to='decisions.intervention')),
                        ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='runs.run')),
                    ],
                    options={
                        'db_table': 'oversight_message',
                    },
                ),
                migrations.CreateModel(
                    name='Autofix',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('applied_at', models.DateTimeField()),
                        ('turns_after', models.IntegerField(default=0)),
                        ('news', models.BooleanField(default=False, help_text='new information since')),
                        ('recovered', models.BooleanField(null=True)),
                        ('judged_at', models.DateTimeField(null=True)),
                        ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='autofixes', to='runs.run')),
                        ('decision', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='autofix', to='decisions.decision')),
                        ('message', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='autofix', to='decisions.message')),
                    ],
                    options={
                        'db_table': 'oversight_autofix',
                    },
                ),
                migrations.CreateModel(
                    name='ControllerNote',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('event', models.CharField(max_length=30)),
                        ('decision', models.UUIDField(null=True)),
                        ('text', models.TextField(help_text='for a model to read')),
                        ('payload', models.JSONField(help_text='for a program to read')),
                        ('at', models.DateTimeField()),
                        ('due_at', models.DateTimeField(null=True)),
                        ('tries', models.IntegerField(default=0)),
                        ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='controller_notes', to='runs.run')),
                    ],
                    options={
                        'db_table': 'oversight_controllernote',
                        'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='note_due')],
                    },
                ),
                migrations.AddIndex(
                    model_name='decision',
                    index=models.Index(fields=['status', 'opened_at'], name='decision_inbox'),
                ),
                migrations.AddConstraint(
                    model_name='decision',
                    constraint=models.UniqueConstraint(condition=models.Q(('status__in', ['judging', 'open']), models.Q(('kind', 'permission'), _negated=True)), fields=('run',), name='one_open_card'),
                ),
                migrations.AddConstraint(
                    model_name='intervention',
                    constraint=models.UniqueConstraint(fields=('run', 'key'), name='one_intervention'),
                ),
                migrations.AddIndex(
                    model_name='letgo',
                    index=models.Index(fields=['project', 'digest', 'at'], name='let_go_again'),
                ),
            ]
        ),
    ]
