"""The scores that a study reads: those of what it judges, and those posted to it."""

from collections import Counter
from typing import TypeVar

from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from analysis.tables import UNVERSIONED
from annotate.history.as_of_event import Moment
from annotate.models import Purpose, Slot, Study, Unit
from evalcore.models import MetricScore, TwinScore

ScoreModel = TypeVar("ScoreModel", bound=Model)
# Metric, version and backend.
MetricKey = tuple[str, str, str]
METRIC = ("metric", "metric_version", "backend")


def judged_units(study: Study, as_of: Moment | None = None) -> QuerySet[Unit]:
    """Return the units whose outputs are judged for themselves, as of a moment."""
    units = study.units.filter(purpose=Purpose.REAL)
    if as_of is None:
        return units
    slots = Slot.objects.filter(study=study).values_list("pk", "unit")
    return units.filter(pk__in={unit for slot, unit in slots if slot in as_of.slots})


def about_judged(
    rows: QuerySet[ScoreModel], study: Study, as_of: Moment | None = None
) -> QuerySet[ScoreModel]:
    """Keep the rows about a method or an output that the study judges."""
    units = judged_units(study, as_of)
    methods = {
        method
        for pair in units.values_list(*study.output_paths(below="__method"))
        for method in pair
    }
    same_output = Q()
    for path in study.output_paths(below="__method"):
        same_output |= Q(**{path: OuterRef("method")})
    judged = units.filter(same_output, story=OuterRef("story")).order_by()
    return rows.filter(benchmark=study.benchmark).filter(
        Q(story__isnull=True, method__in=methods - {None}) | Exists(judged)
    )


def metric_names(study: Study) -> list[str]:
    """Return the metrics that have scores of what is judged."""
    names = scores_of(study).order_by().values_list("metric", flat=True)
    return sorted(names.distinct())


def versioned_name(key: MetricKey, versions: Counter[str]) -> str:
    """Return the name of a metric as the tables of reports have it."""
    metric, *told = key
    more = ", ".join(filter(None, told)) or UNVERSIONED
    return f"{metric} ({more})" if versions[metric] > 1 else metric


def twin_scores(study: Study, as_of: Moment) -> QuerySet[TwinScore]:
    """Return the scores of degraded twins of what is judged, as of a moment."""
    pairs = judged_units(study, as_of).values_list(*study.output_paths())
    outputs = {output for pair in pairs for output in pair if output is not None}
    same = scores_of(study, as_of).filter(
        run__finished_at__lte=as_of.at,
        **{name: OuterRef(name) for name in METRIC},
    )
    rows = TwinScore.objects.filter(Exists(same), twin__twin_of__in=outputs)
    return rows.filter(created_at__lte=as_of.at)


def scores_of(study: Study, as_of: Moment | None = None) -> QuerySet[MetricScore]:
    """Return the benchmark's scores of what is judged, and the study's own."""
    rows = MetricScore.everything.filter(posted_to__in=("", study.slug))
    return about_judged(rows, study, as_of)
