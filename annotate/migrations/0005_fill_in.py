"""Fill in what studies from before need: redundancy and counts of units, views, log."""

from django.db import migrations
from django.db.models import Count, F, Max, Q

CHUNK = 1000
VIEWS = (
    ("main", "Everything but what was excluded"),
    ("everything", "All answers within the redundancy, excluded ones too"),
)


def fill_in(apps, schema_editor):
    Study = apps.get_model("annotate", "Study")
    Slot = apps.get_model("annotate", "Slot")
    Slot.objects.update(draw=F("id") % 2**31)
    Slot.objects.filter(ordinal__isnull=False).update(level=F("ordinal"))
    for study in Study.objects.all():
        _count_units(apps, study)
        _add_views(apps, study)
        _list_slots(apps, study)


def _count_units(apps, study):
    Unit = apps.get_model("annotate", "Unit")
    done = Q(slots__ordinal__isnull=False, slots__state="submitted")
    counted = Unit.objects.filter(study=study).annotate(
        n=Count("slots", filter=done), most=Max("slots__ordinal")
    )
    rows = []
    for unit in counted.iterator(CHUNK):
        unit.submitted = unit.n
        unit.redundancy = study.redundancy if study.template else unit.most or 0
        rows.append(unit)
    Unit.objects.bulk_update(rows, ["submitted", "redundancy"], batch_size=500)


def _add_views(apps, study):
    View = apps.get_model("annotate", "AnalysisView")
    Exclusion = apps.get_model("annotate", "Exclusion")
    main, _everything = [
        View.objects.create(study=study, key=key, title=title) for key, title in VIEWS
    ]
    for exclusion in Exclusion.objects.filter(slot__study=study):
        exclusion.views.add(main)


def _list_slots(apps, study):
    Event = apps.get_model("annotate", "Event")
    rows = list(
        study.slots.order_by("pk").values_list(
            "pk", "state", "annotator", "ordinal"
        )
    )
    Event.objects.bulk_create(
        Event(
            study=study,
            kind="slots listed",
            details={"slots": [list(row) for row in rows[start : start + CHUNK]]},
        )
        for start in range(0, len(rows), CHUNK)
    )


class Migration(migrations.Migration):

    dependencies = [("annotate", "0004_quality_and_open_studies")]

    operations = [migrations.RunPython(fill_in, migrations.RunPython.noop)]
