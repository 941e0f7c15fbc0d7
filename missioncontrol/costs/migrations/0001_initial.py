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
                    name='Spend',
                    fields=[
                        ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                        ('scope', models.CharField(max_length=7)),
                        ('name', models.CharField(default='', max_length=100)),
                        ('usd', models.DecimalField(decimal_places=6, default=0, max_digits=30)),
                        ('tokens', models.BigIntegerField(default=0)),
                        ('calls', models.BigIntegerField(default=0)),
                        ('turns', models.BigIntegerField(default=0)),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='spends', to='accounts.project')),
                    ],
                    options={
                        'db_table': 'oversight_spend',
                        'constraints': [models.UniqueConstraint(fields=('project', 'scope', 'name'), name='one_spend')],
                    },
                ),
            ]
        ),
    ]
