import django.db.models.deletion
import django.utils.timezone
import missioncontrol.ids
from django.db import migrations, models


def enter_first_versions(apps, schema_editor):
    """A policy that was set before versions were kept is the first of them."""
    Project = apps.get_model('accounts', 'Project')
    PolicyVersion = apps.get_model('oversight', 'PolicyVersion')
    Run = apps.get_model('runs', 'Run')
    for project in Project.objects.exclude(policy={}):
        PolicyVersion.objects.create(
            project=project, number=1, policy=project.policy, by='policy',
            note='set before versions were kept', at=django.utils.timezone.now(),
        )
        project.policy_version = 1
        project.save(update_fields=['policy_version'])
        Run.objects.filter(project=project, policy__isnull=True).update(policy_version=1)
    Run.objects.filter(policy__isnull=True, policy_version=None).update(policy_version=0)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_policies'),
        ('oversight', '0003_budgets'),
        ('runs', '0003_policies'),
    ]

    operations = [
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
                'constraints': [models.UniqueConstraint(fields=('project', 'number'), name='one_policy_version')],
            },
        ),
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
                'indexes': [models.Index(fields=['status', 'beat_at'], name='backtest_open')],
            },
        ),
        migrations.CreateModel(
            name='BacktestRun',
            fields=[
                ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                ('turns', models.IntegerField()),
                ('proposed', models.JSONField(help_text='a wire.BacktestFlag, or null', null=True)),
                ('today', models.JSONField(null=True)),
                ('backtest', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='results', to='oversight.backtest')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('backtest', 'run'), name='one_backtest_result')],
            },
        ),
        migrations.RunPython(enter_first_versions, migrations.RunPython.noop),
    ]
