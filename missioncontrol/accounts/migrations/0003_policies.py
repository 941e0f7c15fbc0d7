from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_budgets'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='policy_version',
            field=models.IntegerField(default=0, help_text='0: never changed'),
        ),
    ]
