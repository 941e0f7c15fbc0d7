from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0015_own_redaction'),
    ]

    operations = [
        migrations.CreateModel(
            name='Installation',
            fields=[
                ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('day_budget', models.JSONField(default=dict, help_text='ceiling of all projects, a day in UTC')),
                ('day_extra', models.JSONField(default=dict, help_text='what was allowed on top, for one day')),
            ],
        ),
    ]
