"""The tables are those that the app `oversight` made: no row is touched, nothing is made."""

import django.db.models.deletion
import missioncontrol.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('oversight', '0011_permissions'),
        ('accounts', '0010_hashed_sessions'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='CostReport',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('day', models.DateField(help_text="in the project's time zone")),
                        ('version', models.IntegerField()),
                        ('reason', models.CharField(default='', help_text='why it corrects', max_length=200)),
                        ('made_at', models.DateTimeField()),
                        ('time_zone', models.CharField(max_length=64)),
                        ('account', models.JSONField(help_text='a wire.CostAccount by agent')),
                        ('by_model', models.JSONField(help_text='wire.CostGroup rows')),
                        ('by_project', models.JSONField(help_text='wire.CostGroup rows')),
                        ('counted', models.CharField(help_text='what its model calls added up to', max_length=200)),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='cost_reports', to='accounts.project')),
                    ],
                    options={
                        'db_table': 'oversight_costreport',
                        'constraints': [models.UniqueConstraint(fields=('project', 'day', 'version'), name='one_cost_report')],
                    },
                ),
            ]
        ),
    ]
