"""The scores that a study uses, and those that a report lacks."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from analysis.sentences import chained, sentence
from analysis.tables import UNVERSIONED
from annotate.audit_log.as_of_event import Moment
from annotate.models import Purpose, Slot, Study, Unit
from evalcore.metrics import registry
from evalcore.metrics.vistar.prompt_language import is_asked
from evalcore.models import MetricAbsence, MetricRun, MetricScore, Output, TwinScore
from evalcore.scoring import judged_outputs, score_rows

ScoreModel = TypeVar("ScoreModel", bound=Model)
# Metric, version and backend.
MetricKey = tuple[str, str, str]
METRIC = ("metric", "metric_version", "backend")


def judged_units(study: Study, as_of: Moment | None = None) -> QuerySet[Unit]:
    """Return the units of real ratings, not of checks, as of a moment."""
    units = study.units.filter(purpose=Purpose.REAL)
    if as_of is None:
        return units
    slots = Slot.objects.filter(study=study).values_list("pk", "unit")
    return units.filter(pk__in={unit for slot, unit in slots if slot in as_of.slots})


def about_judged(
    rows: QuerySet[ScoreModel], study: Study, as_of: Moment | None = None
) -> QuerySet[ScoreModel]:
    """Keep the rows about a method or an output that the study rates."""
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
    """Return the metrics with scores for the rated outputs."""
    names = scores_of(study).order_by().values_list("metric", flat=True)
    return sorted(names.distinct())


def versioned_name(key: MetricKey, versions: Counter[str]) -> str:
    """Return the name of a metric in the tables of reports."""
    metric, *version = key
    more = ", ".join(filter(None, version)) or UNVERSIONED
    return f"{metric} ({more})" if versions[metric] > 1 else metric


def twin_scores(study: Study, as_of: Moment) -> QuerySet[TwinScore]:
    """Return the scores of degraded copies of rated outputs, as of a moment."""
    pairs = judged_units(study, as_of).values_list(*study.output_paths())
    outputs = {output for pair in pairs for output in pair if output is not None}
    same = scores_of(study, as_of).filter(
        run__finished_at__lte=as_of.at, **{name: OuterRef(name) for name in METRIC}
    )
    rows = TwinScore.objects.filter(Exists(same), twin__twin_of__in=outputs)
    return rows.filter(created_at__lte=as_of.at)


def scores_of(study: Study, as_of: Moment | None = None) -> QuerySet[MetricScore]:
    """Return the benchmark's scores for rated outputs, and the study's."""
    rows = MetricScore.everything.filter(posted_to__in=("", study.slug))
    return about_judged(rows, study, as_of)


SHOWN_REASONS = 3


def missing_now(study: Study) -> list[str]:
    """Return the metrics that a report would lack now, in full or in part."""
    computed = MetricRun.Source.COMPUTED
    runs = study.benchmark.metric_runs.filter(source=computed, finished_at=None)
    return _under_way(runs, _outputs(study)) if runs else []


def notes(study: Study, moment: Moment) -> list[str]:
    """Return remarks on the scores that a report as of a moment left out."""
    return [
        *_not_ended(study, moment),
        *_without_value(study, moment),
        *_posted(study, moment),
    ]


def _not_ended(study: Study, moment: Moment) -> Iterator[str]:
    """Yield remarks on metrics of runs that had not ended at the moment."""
    later = Q(finished_at__isnull=True) | Q(finished_at__gt=moment.at)
    runs = study.benchmark.metric_runs.filter(later)
    begun = runs.filter(source=MetricRun.Source.COMPUTED, created_at__lte=moment.at)
    missing = _under_way(begun, _outputs(study, moment), moment.at)
    if missing:
        yield sentence(
            "Left out in full or in part, since their computation was not finished at "
            "the moment of this report: {metrics}. Build another report when it is.",
            metrics=missing,
        )
    stored = scores_of(study, moment).filter(run__in=runs)
    others = {*stored.values_list("metric", flat=True)} - set(missing)
    if others:
        yield sentence(
            "Left out, since they were stored after the moment of this report: scores "
            "of {metrics}.",
            metrics=sorted(others),
        )


def _under_way(
    runs: Iterable[MetricRun], outputs: Sequence[Output], at: datetime | None = None
) -> list[str]:
    """Return the metrics of runs that outputs lacked at a moment."""
    missing: set[str] = set()
    used = Q(run__finished_at__lte=at) if at else Q(run__finished_at__isnull=False)
    for run in runs:
        try:
            wanted = score_rows.metrics_of(run.metrics, run.options)
        except registry.UnknownMetricError:
            continue  # the run reports the error when it starts
        ended = score_rows.existing_rows(run.benchmark_id, wanted, outputs, only=used)
        methods = {output.method for output in outputs}
        lacking = [
            score_rows.missing_metrics(output, wanted, ended) for output in outputs
        ]
        lacking += [
            score_rows.missing_method_metrics(one, wanted, ended) for one in methods
        ]
        missing |= {one.name for found in lacking for one in found}
    return sorted(missing)


def _outputs(study: Study, moment: Moment | None = None) -> list[Output]:
    """Return the rated outputs that have pictures or a video."""
    pairs = judged_units(study, moment).values_list(*study.output_paths())
    shown = {output for pair in pairs for output in pair if output is not None}
    return list(judged_outputs.outputs(study.benchmark).filter(pk__in=shown))


def _unasked(study: Study, metrics: Iterable[str]) -> dict[str, set[int]]:
    """Return the stories that do not ask for a metric, by its name."""
    papers = [registry.declared(m) for m in metrics if m in registry.declarations()]
    routed = [info for info in papers if info.angles]
    unasked: dict[str, set[int]] = defaultdict(set)
    if routed:
        angles = study.benchmark.stories.values_list("pk", "extra__vistar__angle")
        for story, angle in angles:
            for info in routed:
                if not is_asked(info, {"vistar": {"angle": angle}}):
                    unasked[info.name].add(story)
    return unasked


def _without_value(study: Study, moment: Moment) -> Iterator[str]:
    """Yield remarks on outputs without a value of a metric that others have."""
    judged = {
        (story, method)
        for story, *pair in judged_units(study, moment).values_list(
            "story", *study.output_paths(below="__method__name")
        )
        for method in pair
        if method is not None
    }
    present: dict[MetricKey, set[tuple[int, str]]] = defaultdict(set)
    for story, method, *name in _cells(scores_of(study, moment), moment):
        present[name[0], name[1], name[2]].add((story, method))
    absent: dict[MetricKey, set[tuple[int, str]]] = defaultdict(set)
    reasons: dict[MetricKey, Counter[str]] = defaultdict(Counter)
    absences = about_judged(MetricAbsence.objects.all(), study, moment)
    for story, method, *name, reason in _cells(absences, moment, "reason"):
        cell, metric = (story, method), (name[0], name[1], name[2])
        if cell not in absent[metric]:
            reasons[metric][reason] += 1
        absent[metric].add(cell)
    with_scores = scores_of(study, moment).filter(run__finished_at__lte=moment.at)
    valued = set(with_scores.order_by().values_list(*METRIC).distinct())
    versions = Counter(metric for metric, *_version in valued)
    every = Counter(metric for metric, *_version in valued | absent.keys())
    unasked = _unasked(study, every)
    # Web workers do not import this, which loads pandas.
    from analysis.sentences import counted

    for key in sorted(present.keys() | absent.keys()):
        expected = {
            (s, m)
            for s, m in judged
            if s not in unasked[key[0]] and not key[1].endswith(f" against {m}")
        }
        lacking = expected - present[key]
        if not lacking or not (present[key] or absent[key]):
            continue
        counts = reasons[key].most_common()
        unknown = len(lacking - absent[key])
        why = [f"{reason} ({n})" for reason, n in counts[:SHOWN_REASONS]]
        if len(counts) > SHOWN_REASONS:
            why.append(sentence("other reasons"))
        if unknown:
            why.append(sentence("not computed, or failed ({n})", n=unknown))
        yield sentence(
            "Metric {metric}: {outputs} of {total} left out, without a value: {why}.",
            metric=versioned_name(key, versions if key in valued else every),
            outputs=counted(len(lacking), "output"),
            total=len(expected),
            why=chained("{first}; {second}", why),
        )


def _cells(
    rows: QuerySet[Any], moment: Moment, *more: str
) -> Iterable[tuple[Any, ...]]:
    """Yield story, method and metric of rows about outputs, as of the moment."""
    ended = rows.filter(run__finished_at__lte=moment.at, story__isnull=False)
    return (
        ended.order_by("story", "method", *METRIC)
        .values_list("story", "method__name", *METRIC, *more)
        .distinct()
    )


def _posted(study: Study, moment: Moment) -> Iterator[str]:
    """Yield a remark on metrics whose scores only this study uses."""
    rows = scores_of(study, moment).filter(
        posted_to=study.slug, run__finished_at__lte=moment.at
    )
    counts = Counter(rows.values_list("metric", flat=True))
    if counts:
        yield sentence(
            "Scores posted to this study replace the benchmark's: {metrics}. All "
            "others are the benchmark's; scores.csv names the origin of each score.",
            metrics=[f"{name} ({n})" for name, n in sorted(counts.items())],
        )
