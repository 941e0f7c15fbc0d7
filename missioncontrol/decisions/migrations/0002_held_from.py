"""An answer keeps the first turn of the hold that it ended: the hold itself goes with it."""

from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def keep_where_it_began(apps, schema_editor):
    Intervention = apps.get_model('decisions', 'Intervention')
    Run = apps.get_model('runs', 'Run')
    began = Run.objects.filter(pk=OuterRef('run_id')).values('hold_seq')
    Intervention.objects.filter(lifted=True).update(held_from=Subquery(began))


def keep_that_it_lifted(apps, schema_editor):
    apps.get_model('decisions', 'Intervention').objects.filter(held_from=None).update(lifted=False)


class Migration(migrations.Migration):

    dependencies = [
        ('decisions', '0001_initial'),
        ('runs', '0017_erased_turns'),
    ]

    operations = [
        migrations.AddField(
            model_name='intervention',
            name='held_from',
            field=models.IntegerField(help_text='first turn of the hold that it ended; null: nobody was held', null=True),
        ),
        migrations.RunPython(keep_where_it_began, keep_that_it_lifted),
        migrations.RemoveField(
            model_name='intervention',
            name='lifted',
        ),
    ]
