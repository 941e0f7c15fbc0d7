"""A project's part in the organisation's day; of the day of the update, what its own day has."""

from django.db import migrations, models

from missioncontrol.clock import now
from missioncontrol.ids import new_id


def begin_the_day(apps, schema_editor):
    """Count what was used today so far: exact where the project's day is UTC's."""
    spend = apps.get_model('costs', 'Spend')
    parts = [
        spend(
            id=new_id(), project_id=one.project_id, scope='organisation', name=one.name,
            usd=one.usd, tokens=one.tokens, calls=one.calls, turns=one.turns,
        )
        for one in spend.objects.filter(scope='day', name=now().date().isoformat())
    ]
    spend.objects.bulk_create(parts)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0016_organisation_budget'),
        ('costs', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='spend',
            name='scope',
            field=models.CharField(max_length=12),
        ),
        migrations.AddIndex(
            model_name='spend',
            index=models.Index(condition=models.Q(('scope', 'organisation')), fields=['name'], name='spend_of_organisation'),
        ),
        migrations.RunPython(begin_the_day, migrations.RunPython.noop),
    ]
