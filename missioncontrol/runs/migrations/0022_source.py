"""One column says who tells of a run, in place of two flags; two more have plainer names."""

from django.db import migrations, models

SOURCES = {'imported': 'recording', 'observed_only': 'telemetry'}


def tell(apps, schema_editor):
    runs = apps.get_model('runs', 'Run').objects
    for flag, source in SOURCES.items():
        runs.filter(**{flag: True}).update(source=source)


def flag(apps, schema_editor):
    runs = apps.get_model('runs', 'Run').objects
    for flag, source in SOURCES.items():
        runs.filter(source=source).update(**{flag: True})


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0021_no_second_index'),
    ]

    operations = [
        migrations.AddField(
            'run',
            'source',
            models.CharField(default='agent', help_text='who tells of it', max_length=9),
        ),
        migrations.RunPython(tell, flag),
        migrations.RemoveField('run', 'imported'),
        migrations.RemoveField('run', 'observed_only'),
        migrations.RenameField('runmeters', 'budget_told', 'notified_budgets'),
        migrations.RenameField('runmeters', 'kin_forgotten', 'lineage_forgotten'),
        migrations.AlterField(
            'runmeters',
            'notified_budgets',
            models.JSONField(
                default=list,
                help_text='the wire.BudgetStates people heard of since the ceilings last moved',
            ),
        ),
    ]
