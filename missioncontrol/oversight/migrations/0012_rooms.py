"""Every model has an app of its own room now; the tables stay as they are, under their names."""

from django.db import migrations

MOVED = [  # each before what it refers to
    'LetGo', 'Autofix', 'ControllerNote', 'Question', 'Message', 'Intervention', 'Decision',
    'AllowlistEntry', 'Spend', 'CostReport', 'PolicyVersion', 'BacktestRun', 'Backtest',
]


class Migration(migrations.Migration):

    dependencies = [
        ('oversight', '0011_permissions'),
        ('costs', '0001_initial'),
        ('decisions', '0001_initial'),
        ('detection', '0001_initial'),
        ('reports', '0001_initial'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name=name) for name in MOVED]
        ),
    ]
