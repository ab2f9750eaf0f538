"""Identities of scores; values stored before have one with unknown weights."""

import hashlib
import json
import re
from collections import defaultdict
from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Case, When

# As `evalcore.metrics.identity` had it when identities came.
TEXT = re.compile(
    r"(?P<version>\d+)(?: (?P<profile>\S+))??(?: against (?P<truth>.+))?"
)
LABEL = ("metric", "metric_version", "backend")
# What an index finds the rows of a metric by.
FOUND_BY = {
    "MetricScore": ("benchmark", "metric"),
    "MetricAbsence": ("benchmark", "metric"),
    "TwinScore": ("metric",),
}


def name_identities(apps: Any, schema_editor: Any) -> None:
    """Give every row the identity that follows from its version and backend."""
    identities, known = apps.get_model("evalcore", "ScoreIdentity"), {}
    for name, found_by in FOUND_BY.items():
        rows = apps.get_model("evalcore", name)._base_manager.order_by()
        labels = defaultdict(list)
        for *place, metric, version, backend in rows.values_list(
            *found_by, *LABEL
        ).distinct():
            labels[tuple(place)].append((metric, version, backend))
        for place, those in sorted(labels.items()):
            whens = []
            for label in those:
                if label not in known:
                    known[label] = create(identities, label).pk
                same = dict(zip(LABEL, label, strict=True))
                whens.append(When(**same, then=known[label]))
            own = rows.filter(**dict(zip(found_by, place, strict=True)))
            own.update(identity=Case(*whens))
    if schema_editor.connection.vendor == "postgresql":
        # It alters no table while foreign keys are still to be checked.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def create(identities: Any, label: tuple[str, str, str]) -> Any:
    """Store the identity of a label."""
    metric, version, backend = label
    profile = settings = ""
    if (match := TEXT.fullmatch(version)) is not None:
        version, profile = match["version"], match["profile"] or ""
        if match["truth"]:
            truth = match["truth"].replace("%", "%25").replace(";", "%3B")
            settings = f"true_outputs={truth}"
    texts = [metric, version, profile, backend, "", "", "", "", settings]
    told = json.dumps(texts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return identities.objects.create(
        key=hashlib.sha256(told).hexdigest()[:12],
        metric=metric,
        metric_version=version,
        profile=profile,
        backend=backend,
        settings=settings,
    )


class Migration(migrations.Migration):

    dependencies = [
        ('evalcore', '0002_prompts'),
    ]

    operations = [
        migrations.CreateModel(
            name='ScoreIdentity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(help_text='The identity as asked, a hash.', max_length=12, unique=True)),
                ('metric', models.CharField(max_length=100)),
                ('metric_version', models.CharField(blank=True, max_length=300)),
                ('profile', models.CharField(blank=True, max_length=100)),
                ('backend', models.CharField(blank=True, max_length=100)),
                ('weights', models.CharField(blank=True, max_length=8)),
                ('precision', models.CharField(blank=True, max_length=20)),
                ('judge', models.CharField(blank=True, max_length=200)),
                ('settings', models.TextField(blank=True)),
                ('files', models.JSONField(blank=True, default=dict, help_text='Full hashes of weights and prompts.')),
            ],
            options={
                'ordering': ['metric', 'pk'],
            },
        ),
        migrations.AddField(
            model_name='metricabsence',
            name='judge_version',
            field=models.CharField(blank=True, db_default='', default='', help_text='Name under which the judge answered.', max_length=200),
        ),
        migrations.AddField(
            model_name='metricchunk',
            name='guessed',
            field=models.PositiveIntegerField(blank=True, help_text='Pieces counted where weights were missing; a worker counts again.', null=True),
        ),
        migrations.AddField(
            model_name='metricscore',
            name='computed_at',
            field=models.DateTimeField(blank=True, help_text='Empty: when its run ended.', null=True),
        ),
        migrations.AddField(
            model_name='metricscore',
            name='judge_version',
            field=models.CharField(blank=True, db_default='', default='', help_text='Name under which the judge answered.', max_length=200),
        ),
        migrations.AddField(
            model_name='twinscore',
            name='judge_version',
            field=models.CharField(blank=True, db_default='', default='', help_text='Name under which the judge answered.', max_length=200),
        ),
        migrations.AddField(
            model_name='metricabsence',
            name='identity',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='evalcore.scoreidentity'),
        ),
        migrations.AddField(
            model_name='metricscore',
            name='identity',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='evalcore.scoreidentity'),
        ),
        migrations.AddField(
            model_name='twinscore',
            name='identity',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='evalcore.scoreidentity'),
        ),
        migrations.RemoveConstraint(
            model_name='metricabsence',
            name='absence_unique_for_method',
        ),
        migrations.RemoveConstraint(
            model_name='metricabsence',
            name='absence_unique_for_output',
        ),
        migrations.RemoveConstraint(
            model_name='metricabsence',
            name='absence_unique_for_shot',
        ),
        migrations.RemoveConstraint(
            model_name='metricscore',
            name='score_unique_for_method',
        ),
        migrations.RemoveConstraint(
            model_name='metricscore',
            name='score_unique_for_output',
        ),
        migrations.RemoveConstraint(
            model_name='metricscore',
            name='score_unique_for_shot',
        ),
        migrations.RemoveConstraint(
            model_name='twinscore',
            name='twin_score_unique',
        ),
        migrations.RunPython(name_identities, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name='metricabsence',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', False), ('story__isnull', True)), fields=('benchmark', 'identity', 'method'), name='absence_once_for_method'),
        ),
        migrations.AddConstraint(
            model_name='metricabsence',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', False), ('shot__isnull', True), ('story__isnull', False)), fields=('identity', 'method', 'story'), name='absence_once_for_output'),
        ),
        migrations.AddConstraint(
            model_name='metricabsence',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', False), ('shot__isnull', False)), fields=('identity', 'method', 'shot'), name='absence_once_for_shot'),
        ),
        migrations.AddConstraint(
            model_name='metricabsence',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', True), ('story__isnull', True)), fields=('benchmark', 'metric', 'metric_version', 'backend', 'method'), name='old_absence_once_for_method'),
        ),
        migrations.AddConstraint(
            model_name='metricabsence',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', True), ('shot__isnull', True), ('story__isnull', False)), fields=('metric', 'metric_version', 'backend', 'method', 'story'), name='old_absence_once_for_output'),
        ),
        migrations.AddConstraint(
            model_name='metricabsence',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', True), ('shot__isnull', False)), fields=('metric', 'metric_version', 'backend', 'method', 'shot'), name='old_absence_once_for_shot'),
        ),
        migrations.AddConstraint(
            model_name='metricscore',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', False), ('story__isnull', True)), fields=('benchmark', 'posted_to', 'identity', 'method'), name='score_once_for_method'),
        ),
        migrations.AddConstraint(
            model_name='metricscore',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', False), ('shot__isnull', True), ('story__isnull', False)), fields=('posted_to', 'identity', 'method', 'story'), name='score_once_for_output'),
        ),
        migrations.AddConstraint(
            model_name='metricscore',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', False), ('shot__isnull', False)), fields=('posted_to', 'identity', 'method', 'shot'), name='score_once_for_shot'),
        ),
        migrations.AddConstraint(
            model_name='metricscore',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', True), ('story__isnull', True)), fields=('benchmark', 'posted_to', 'metric', 'metric_version', 'backend', 'method'), name='old_score_once_for_method'),
        ),
        migrations.AddConstraint(
            model_name='metricscore',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', True), ('shot__isnull', True), ('story__isnull', False)), fields=('posted_to', 'metric', 'metric_version', 'backend', 'method', 'story'), name='old_score_once_for_output'),
        ),
        migrations.AddConstraint(
            model_name='metricscore',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', True), ('shot__isnull', False)), fields=('posted_to', 'metric', 'metric_version', 'backend', 'method', 'shot'), name='old_score_once_for_shot'),
        ),
        migrations.AddConstraint(
            model_name='twinscore',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', False)), fields=('twin', 'identity'), name='twin_score_once'),
        ),
        migrations.AddConstraint(
            model_name='twinscore',
            constraint=models.UniqueConstraint(condition=models.Q(('identity__isnull', True)), fields=('twin', 'metric', 'metric_version', 'backend'), name='old_twin_score_once'),
        ),
    ]
