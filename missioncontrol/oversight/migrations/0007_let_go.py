from hashlib import sha256

import django.db.models.deletion
import missioncontrol.ids
from django.db import migrations, models


def enter_answered_cards(apps, schema_editor):
    """Cards that people let go on before this was kept count too."""
    Decision = apps.get_model('oversight', 'Decision')
    LetGo = apps.get_model('oversight', 'LetGo')
    answered = Decision.objects.filter(resolution__in=('continue', 'allowlist'), resolved_at__isnull=False)
    for decision in answered.select_related('run').order_by('resolved_at').iterator(chunk_size=500):
        LetGo.objects.bulk_create(
            LetGo(
                project_id=decision.run.project_id, decision=decision, pattern=call,
                digest=sha256(call.encode(errors='surrogatepass')).hexdigest(),
                agent=decision.agent, by=decision.resolved_by or '', at=decision.resolved_at,
            )
            for call in dict.fromkeys(decision.evidence.get('calls') or [])
        )


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_policies'),
        ('oversight', '0006_ladder'),
    ]

    operations = [
        migrations.CreateModel(
            name='LetGo',
            fields=[
                ('id', models.UUIDField(default=missioncontrol.ids.new_id, primary_key=True, serialize=False)),
                ('digest', models.CharField(help_text='of the pattern: it may be long', max_length=64)),
                ('pattern', models.TextField()),
                ('agent', models.CharField(default='', max_length=100)),
                ('by', models.CharField(max_length=150)),
                ('at', models.DateTimeField()),
                ('decision', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oversight.decision')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', 'digest', 'at'], name='let_go_again')],
            },
        ),
        migrations.RunPython(enter_answered_cards, migrations.RunPython.noop),
    ]
