from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('decisions', '0002_held_from'),
    ]

    operations = [
        migrations.AddField(
            model_name='message',
            name='claimed_at',
            field=models.DateTimeField(help_text='by an answer that may have left since', null=True),
        ),
    ]
