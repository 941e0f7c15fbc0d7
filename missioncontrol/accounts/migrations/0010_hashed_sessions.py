"""End the sessions whose keys stood in the database as text: everybody signs in once more."""

from django.db import migrations


def end_all(apps, schema_editor):
    apps.get_model("sessions", "Session").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_key_reach"), ("sessions", "0001_initial")]
    operations = [migrations.RunPython(end_all, migrations.RunPython.noop)]
