"""Policies written before there were five rules, in the words of the five; what they mean stays."""

from django.db import migrations

from missioncontrol.detection.renamed import renewed, renewed_text


def renew(apps, schema_editor):
    def rows(app, model):
        return apps.get_model(app, model).objects.using(schema_editor.connection.alias)

    for app, model, field in (
        ("accounts", "Project", "policy"),
        ("runs", "Run", "policy"),
        ("detection", "Backtest", "policy"),
        ("detection", "Backtest", "today"),
    ):
        for pk, policy in list(rows(app, model).exclude(**{field: None}).values_list("pk", field)):
            if (new := renewed(policy)) != policy:
                rows(app, model).filter(pk=pk).update(**{field: new})
    for pk, policy, text in list(rows("detection", "PolicyVersion").values_list("pk", "policy", "text")):
        if (new := renewed(policy)) != policy:
            # A text in the old words would be refused when it is saved again; its comments stay.
            rows("detection", "PolicyVersion").filter(pk=pk).update(policy=new, text=renewed_text(new, text))


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_paces_and_privilege_changes"),
        ("detection", "0002_recording"),
        ("oversight", "0012_rooms"),
        ("runs", "0021_no_second_index"),
    ]

    operations = [migrations.RunPython(renew, migrations.RunPython.noop, elidable=True)]
