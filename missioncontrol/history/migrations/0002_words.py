"""The table of words, in each database's own kind of index."""

from django.db import migrations

from missioncontrol.history import index


def make(apps, editor):
    index.run_statements(index.MAKE, editor)


def drop(apps, editor):
    index.run_statements(index.DROP, editor)


class Migration(migrations.Migration):

    dependencies = [
        ('history', '0001_initial'),
    ]

    operations = [
        migrations.RunPython(make, drop),
    ]
