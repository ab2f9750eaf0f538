"""Who manages a study over a benchmark goes on seeing the benchmark: as a member.

Owners are named afterwards, by managers of everything: nothing here tells whose a
benchmark is.
"""

from django.db import migrations


def add_managers(apps, schema_editor):
    """Make the managers of studies members of what the studies are about."""
    member = apps.get_model("evalcore", "BenchmarkMember")
    managing = apps.get_model("annotate", "StudyMember").objects.filter(role="manager")
    pairs = managing.values_list("study__benchmark", "user").distinct()
    member.objects.bulk_create(
        [member(benchmark_id=benchmark, user_id=user) for benchmark, user in pairs],
        ignore_conflicts=True,
        batch_size=500,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0012_snapshots_anew"),
        ("evalcore", "0010_owners_and_posted_scores"),
    ]

    operations = [migrations.RunPython(add_managers, migrations.RunPython.noop)]
