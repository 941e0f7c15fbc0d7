from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0014_final_ceilings'),
    ]

    operations = [
        migrations.RenameField(model_name='turn', old_name='similarity', new_name='score'),
        migrations.AlterField(
            model_name='turn',
            name='score',
            field=models.FloatField(help_text='how near a card, in [0, 1]; 1 opens one', null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='highest_score',
            field=models.FloatField(help_text='stuck score of the turn that was most stuck, in [0, 1); null: none was judged', null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='highest_score_seq',
            field=models.IntegerField(help_text='that turn', null=True),
        ),
    ]
