"""Reports name the view they see and the event they are as of; earlier ones saw main."""

import django.db.models.deletion
from django.db import migrations, models


def see_main(apps, schema_editor):
    Report = apps.get_model("analysis_web", "Report")
    View = apps.get_model("annotate", "AnalysisView")
    for view in View.objects.filter(key="main"):
        Report.objects.filter(study=view.study_id).update(view=view)


class Migration(migrations.Migration):

    dependencies = [
        ("annotate", "0006_report_asked"),
        ("analysis_web", "0003_report_step_and_labels"),
    ]

    operations = [
        migrations.AddField(
            model_name="report",
            name="view",
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="reports", to="annotate.analysisview"),
        ),
        migrations.AddField(
            model_name="report",
            name="as_of",
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotate.event"),
        ),
        migrations.RunPython(see_main, migrations.RunPython.noop),
    ]
