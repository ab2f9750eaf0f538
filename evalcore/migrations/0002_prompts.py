"""Rename profiles of metrics whose judge got this project's own wording.

Scores under a program's name were never made with the program's prompts. Values that
the programs made themselves were imported and keep their names.
"""

from typing import Any

from django.db import migrations
from django.db.models import F, Value
from django.db.models.functions import Concat, Replace

# By the beginning of a metric's name: old profiles, and what they are.
RENAMED = {
    "pa_": {
        "vsb-code-2026.02": "plumbline-1",
        "vsb-paper": "plumbline-1-plain",
    },
    "envision_": {
        "envision-paper": "plumbline-1",
        "envision-code-05be960": "plumbline-1-code",
    },
    "oneig_text": {"oneig-judge": "plumbline-1"},
    "oneig_alignment": {"grid-": "plumbline-1-grid-"},
}
OWN = " plumbline-1"


def rename_profiles(apps: Any, _schema_editor: object) -> None:
    for table in ("MetricScore", "MetricAbsence", "TwinScore"):
        rows = apps.get_model("evalcore", table).objects.all()
        if table != "TwinScore":
            rows = rows.filter(run__source="computed")
        # Without a profile so far.
        rows.filter(metric="oneig_alignment").exclude(
            metric_version__contains=" "
        ).update(metric_version=Concat(F("metric_version"), Value(OWN)))
        for beginning, profiles in RENAMED.items():
            for old, new in profiles.items():
                rows.filter(
                    metric__startswith=beginning, metric_version__contains=f" {old}"
                ).update(
                    metric_version=Replace(
                        F("metric_version"), Value(f" {old}"), Value(f" {new}")
                    )
                )
    for table in ("MetricRun", "MetricChunk"):
        for row in apps.get_model("evalcore", table).objects.iterator():
            names = [_renamed(name) for name in row.metrics]
            if names != row.metrics:
                row.metrics = names
                row.save(update_fields=["metrics"])


def _renamed(name: str) -> str:
    for beginning, profiles in RENAMED.items():
        for old, new in profiles.items():
            if name.startswith(beginning) and f"@{old}" in name:
                return name.replace(f"@{old}", f"@{new}")
    return name


class Migration(migrations.Migration):
    dependencies = [("evalcore", "0001_squashed_0004_worker_for_judges")]

    operations = [
        migrations.RunPython(rename_profiles, migrations.RunPython.noop, elidable=True)
    ]
