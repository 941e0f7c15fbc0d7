"""A hold becomes a row of its own, there while and because its run is held."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

HELD = Q(status__in=['holding', 'held']) | Q(
    status__in=['completed', 'failed', 'lost'], hold_stands=True
)
SAME = ('waiting_at', 'waiting_since', 'gave_up_at')


def make_rows(apps, schema_editor):
    Run, Hold = apps.get_model('runs', 'Run'), apps.get_model('runs', 'Hold')
    columns = ('started_at', 'last_turn_at', 'held_since', 'hold_seq', 'hold_expires_at', 'hold_stands')
    held = Run.objects.filter(HELD).only(*columns, *SAME)
    Hold.objects.bulk_create(
        (
            Hold(
                run_id=run.pk,
                since=run.held_since or run.last_turn_at or run.started_at,
                from_seq=run.hold_seq,
                expires_at=run.hold_expires_at,
                stands=run.hold_stands,
                **{name: getattr(run, name) for name in SAME},
            )
            for run in held.iterator(chunk_size=500)
        ),
        batch_size=500,
    )


def make_columns(apps, schema_editor):
    Run, Hold = apps.get_model('runs', 'Run'), apps.get_model('runs', 'Hold')
    for hold in Hold.objects.iterator(chunk_size=500):
        Run.objects.filter(pk=hold.run_id).update(
            held_since=hold.since,
            hold_seq=hold.from_seq,
            hold_expires_at=hold.expires_at,
            hold_stands=hold.stands,
            **{name: getattr(hold, name) for name in SAME},
        )


class Migration(migrations.Migration):

    dependencies = [
        ('decisions', '0002_held_from'),
        ('runs', '0017_erased_turns'),
    ]

    operations = [
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='hold_row', related_query_name='hold', serialize=False, to='runs.run')),
                ('since', models.DateTimeField(help_text='when it was asked to wait')),
                ('from_seq', models.IntegerField(default=0, help_text='first turn that is being held')),
                ('expires_at', models.DateTimeField(null=True)),
                ('waiting_at', models.DateTimeField(help_text='last known open request', null=True)),
                ('waiting_since', models.DateTimeField(null=True)),
                ('gave_up_at', models.DateTimeField(null=True)),
                ('stands', models.BooleanField(default=False, help_text='its session ended in it; it is asked to wait when it comes back')),
            ],
        ),
        migrations.RunPython(make_rows, make_columns),
        migrations.RemoveField(model_name='run', name='gave_up_at'),
        migrations.RemoveField(model_name='run', name='held_since'),
        migrations.RemoveField(model_name='run', name='hold_expires_at'),
        migrations.RemoveField(model_name='run', name='hold_seq'),
        migrations.RemoveField(model_name='run', name='hold_stands'),
        migrations.RemoveField(model_name='run', name='waiting_at'),
        migrations.RemoveField(model_name='run', name='waiting_since'),
    ]
