"""Drop the indexes of foreign keys by which another index begins: each turn wrote both."""

import django.db.models.deletion
from django.db import migrations, models

COVERED = (
    ('run', 'project'),
    ('turn', 'run'),
    ('modelcall', 'project'),
    ('journalrow', 'project'),
    ('journalrow', 'run'),
)


def fields_of(apps, schema_editor):
    for name, field_name in COVERED:
        model = apps.get_model('runs', name)
        yield model, model._meta.get_field(field_name)


def drop(apps, schema_editor):
    connection, quote = schema_editor.connection, schema_editor.quote_name
    for model, field in fields_of(apps, schema_editor):
        # By what it is: its name has been another one in other versions of Django.
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, model._meta.db_table)
        for name, one in found.items():
            if one['index'] and not one['unique'] and one['columns'] == [field.column]:
                schema_editor.execute(f'DROP INDEX {quote(name)}')


def make(apps, schema_editor):
    for model, field in fields_of(apps, schema_editor):
        schema_editor.execute(schema_editor._create_index_sql(model, fields=[field]))


def without_index(model, field, to, **options):
    changed = models.ForeignKey(
        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=to, **options
    )
    return migrations.AlterField(model, field, changed)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0018_paces_and_privilege_changes'),
        ('runs', '0020_imported'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            # Not by Django's own step: at SQLite it would copy each table, once for each field.
            database_operations=[migrations.RunPython(drop, make)],
            state_operations=[
                without_index('run', 'project', 'accounts.project', related_name='runs'),
                without_index('turn', 'run', 'runs.run', related_name='turn_rows'),
                without_index('modelcall', 'project', 'accounts.project', null=True),
                without_index('journalrow', 'project', 'accounts.project'),
                without_index('journalrow', 'run', 'runs.run', null=True, related_name='journal'),
            ],
        ),
    ]
