from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0002_budgets'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='policy_version',
            field=models.IntegerField(help_text="of the project's policy it runs under; null: its own", null=True),
        ),
        migrations.AddField(
            model_name='turn',
            name='nature',
            field=models.JSONField(help_text='a guard.nature.ToolNature', null=True),
        ),
    ]
