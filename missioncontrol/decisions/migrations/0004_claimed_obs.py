from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('decisions', '0003_claimed_texts'),
    ]

    operations = [
        migrations.AddField(
            model_name='message',
            name='claimed_obs',
            field=models.IntegerField(help_text="the hook's observation whose answer carries it", null=True),
        ),
    ]
