"""Values that are asked again or deleted; unusable answers of judges are failures."""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

STATES = [
    ("queued", "queued"),
    ("running", "running"),
    ("done", "done"),
    ("failed", "failed"),
    ("stopped", "stopped"),
    ("deleted", "deleted"),
]
# Reasons of absences that were a judge's unusable answers.
UNUSABLE = (
    Q(reason__startswith="the judge gave no usable answer")
    | Q(reason__startswith="no picture could be read: ")
    | Q(reason="no picture got a usable answer to all questions")
    | Q(reason="no pair of questions has two answers")
)


def turn_unusable_answers_into_failures(apps: Any, _editor: object) -> None:
    """Delete their absences, so that the next run asks again.

    They become failures of their run, since an output that keeps values of other shots
    is found again only among the failures.
    """
    absences = apps.get_model("evalcore", "MetricAbsence").objects.filter(
        UNUSABLE, run__source="computed"
    )
    chunks = apps.get_model("evalcore", "MetricChunk").objects
    for absence in absences.select_related("run", "method", "story").iterator():
        names = [
            name
            for name in absence.run.metrics
            if name.partition("@")[0] == absence.metric
        ]
        chunk = chunks.filter(run=absence.run_id, queue="judge").first()
        if names and chunk:
            story = f" / {absence.story.key}" if absence.story else ""
            failure = [f"{absence.method.name}{story}", names[0], absence.reason]
            if failure not in chunk.failures:
                chunk.failures.append(failure)
                chunk.save(update_fields=["failures"])
    absences.delete()


class Migration(migrations.Migration):
    dependencies = [("evalcore", "0003_score_identity")]

    operations = [
        migrations.RemoveConstraint("metricrun", "metric_run_state_known"),
        migrations.AddField(
            "metricchunk",
            "replaced",
            models.JSONField(
                db_default=models.Value([], models.JSONField()),
                default=list,
                help_text="Earlier values: [method, story, shot, metric, version, "
                "backend, value or null, reason, date]",
            ),
        ),
        migrations.AlterField(
            "metricchunk",
            "state",
            models.CharField(choices=STATES, default="queued", max_length=10),
        ),
        migrations.AlterField(
            "metricrun",
            "options",
            models.JSONField(
                blank=True,
                default=dict,
                help_text="What it was asked for beside metrics: the method with true "
                "outputs, outputs, what is asked again; and what of it was deleted "
                "since.",
            ),
        ),
        migrations.AlterField(
            "metricrun",
            "state",
            models.CharField(choices=STATES, default="queued", max_length=10),
        ),
        migrations.AddConstraint(
            "metricrun",
            models.CheckConstraint(
                condition=Q(state__in=[value for value, _label in STATES]),
                name="metric_run_state_known",
            ),
        ),
        migrations.RunPython(
            turn_unusable_answers_into_failures, migrations.RunPython.noop
        ),
    ]
