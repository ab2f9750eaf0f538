"""The scores that a study uses, and those that a report lacks."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext

from analysis.options import AlignOptions, OptionError
from analysis.sentences import chained, sentence
from annotate.audit_log.as_of_event import Moment
from annotate.models import Purpose, Slot, Study, Unit
from evalcore.metrics import registry
from evalcore.metrics.identity import Identity
from evalcore.metrics.vistar.prompt_language import is_asked
from evalcore.models import MetricAbsence, MetricRun, MetricScore, Output, TwinScore
from evalcore.scoring import judged_outputs, score_rows
from evalcore.scoring.identities import (
    FIELDS,
    Identities,
    MetricIdentity,
    by_metric,
    knows_weights,
    words,
)

ScoreModel = TypeVar("ScoreModel", bound=Model)
# The identity to use of metrics that have several.
Choice = Mapping[str, str]


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
    """Keep the rows about a method or an output that the study rates.

    Rows about these methods' outputs of stories that could be drawn stay, too.
    """
    units, paths = judged_units(study, as_of), study.output_paths(below="__method")
    stories: dict[int, set[int]] = defaultdict(set)
    for story, *methods in units.values_list("story", *paths).distinct():
        for method in set(methods) - {None}:
            stories[method].add(story)
    every = {story for own in stories.values() for story in own}
    judged = Q(story__in=every)
    if any(own != every for own in stories.values()):
        # It looks up each row, and so is slower.
        same_output = Q()
        for path in paths:
            same_output |= Q(**{path: OuterRef("method")})
        unit = units.filter(same_output, story=OuterRef("story")).order_by()
        judged = Q(Exists(unit))
    judged |= Q(story__in=study.story_draws.values("story"))
    return rows.filter(
        Q(story__isnull=True) | judged, benchmark=study.benchmark, method__in=stories
    )


def metric_names(study: Study) -> list[str]:
    """Return the metrics with scores for the rated outputs."""
    names = scores_of(study).order_by().values_list("metric", flat=True)
    return sorted(names.distinct())


def named(identity: Identity, several: Counter[str]) -> str:
    """Return the name of a metric, with its identity if it has several."""
    metric = identity.metric
    return f"{metric} ({words(identity)})" if several[metric] > 1 else metric


def twin_scores(study: Study, as_of: Moment) -> QuerySet[TwinScore]:
    """Return the scores of degraded copies of rated outputs, as of a moment."""
    pairs = judged_units(study, as_of).values_list(*study.output_paths())
    outputs = {output for pair in pairs for output in pair if output is not None}
    rows = TwinScore.objects.filter(twin__twin_of__in=outputs)
    return rows.filter(created_at__lte=as_of.at)


def scores_of(study: Study, as_of: Moment | None = None) -> QuerySet[MetricScore]:
    """Return the benchmark's scores for rated outputs, and the study's."""
    rows = MetricScore.everything.filter(posted_to__in=("", study.slug))
    return about_judged(rows, study, as_of)


def identities_of(
    study: Study, as_of: Moment | None = None
) -> dict[str, list[MetricIdentity]]:
    """Return the identities of each metric; reports use the first by default."""
    return by_metric(_ended(scores_of(study, as_of), as_of))


def metrics_among(
    study: Study, names: Iterable[str], as_of: Moment | None = None
) -> set[str]:
    """Return those of the named metrics that have scores a report can use."""
    rows = _ended(scores_of(study, as_of), as_of).filter(metric__in=names)
    return {*rows.order_by().values_list("metric", flat=True).distinct()}


def _ended(rows: QuerySet[Any], as_of: Moment | None) -> QuerySet[Any]:
    """Return the rows of runs that have ended, or had at a moment."""
    if as_of is None:
        return rows.filter(run__finished_at__isnull=False)
    return rows.filter(run__finished_at__lte=as_of.at)


def choice_of(study: Study, options: AlignOptions, moment: Moment) -> Choice:
    """Return which identity a report uses of each metric that has several.

    Raises
    ------
    OptionError
        The options name an identity that the study does not have.
    """
    found = identities_of(study, moment)
    chosen = {}
    for metric, start in options.identity.items():
        keys = [one.identity.key for one in found.get(metric, [])]
        fitting = [key for key in keys if key.startswith(start)]
        if len(fitting) != 1:
            expected = " or ".join(keys) or "no identity: it has no scores"
            raise OptionError(f"--identity: {metric}={start}: expected {expected}")
        (chosen[metric],) = fitting
    if options.compare_identities or options.mix_identities:
        return chosen
    usual = {m: those[0].identity.key for m, those in found.items() if len(those) > 1}
    return usual | chosen


def distinguished(those: Sequence[MetricIdentity]) -> list[tuple[str, str]]:
    """Return the keys of a metric's identities, and what tells each from the others."""
    parts = [[one.identity.label, *details(one.identity)] for one in those]
    shared = set.intersection(*map(set, parts))
    return [
        (
            one.identity.key,
            " · ".join(
                [
                    *(part for part in own if part and part not in shared),
                    ngettext("%(n)d output", "%(n)d outputs", one.outputs)
                    % {"n": one.outputs},
                    date_format(localtime(one.newest), "Y-m-d"),
                    one.identity.key,
                ]
            ),
        )
        for one, own in zip(those, parts, strict=True)
    ]


def details(identity: Identity) -> list[str]:
    """Return what made scores beside their metric's version, in words of the page."""
    said = [identity.backend]
    if identity.weights:
        said.append(gettext("weights %(key)s") % {"key": identity.weights})
    elif not knows_weights(identity):
        said.append(gettext("weights unknown"))
    said.append(identity.precision)
    if identity.judge_version:
        said.append(gettext("answered as %(name)s") % {"name": identity.judge_version})
    said.append(identity.settings)
    return [part for part in said if part]


SHOWN_REASONS = 3


def missing_now(study: Study) -> list[str]:
    """Return the metrics that a report would lack now, in full or in part."""
    computed = MetricRun.Source.COMPUTED
    runs = study.benchmark.metric_runs.filter(source=computed, finished_at=None)
    return _under_way(runs, _outputs(study)) if runs else []


def notes(study: Study, moment: Moment, choice: Choice) -> list[str]:
    """Return remarks on the scores that a report as of a moment left out."""
    return [
        *_not_ended(study, moment),
        *_not_chosen(study, moment, choice),
        *_without_value(study, moment, choice),
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


def _not_chosen(study: Study, moment: Moment, choice: Choice) -> Iterator[str]:
    """Yield a remark on each metric whose other identities are not used."""
    for metric, those in sorted(identities_of(study, moment).items()):
        used = [one for one in those if one.identity.key == choice.get(metric)]
        rest = [one for one in those if one not in used]
        if not used or not rest:
            continue
        yield sentence(
            "Metric {metric}: scores of one identity are used, {used}. Others are left "
            "out: {others}.",
            metric=metric,
            used=_counted(used[0]),
            others=chained("{first}; {second}", [_counted(one) for one in rest]),
        )


def _counted(one: MetricIdentity) -> str:
    # Web workers do not import this, which loads pandas.
    from analysis.sentences import counted

    outputs = counted(one.outputs, "output")
    return f"{one.identity.key} ({words(one.identity)}; {outputs})"


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


def _without_value(study: Study, moment: Moment, choice: Choice) -> Iterator[str]:
    """Yield remarks on outputs without a value of a metric that others have."""
    judged = {
        (story, method)
        for story, *pair in judged_units(study, moment).values_list(
            "story", *study.output_paths(below="__method__name")
        )
        for method in pair
        if method is not None
    }
    # By identity as asked: a missing value has no judge that answered.
    present: dict[Identity, set[tuple[int, str]]] = defaultdict(set)
    others: set[Identity] = set()
    for story, method, identity in _cells(scores_of(study, moment), moment):
        asked = replace(identity, judge_version="")
        if identity.key != choice.get(identity.metric, identity.key):
            others.add(asked)
        else:
            present[asked].add((story, method))
    absent: dict[Identity, set[tuple[int, str]]] = defaultdict(set)
    reasons: dict[Identity, Counter[str]] = defaultdict(Counter)
    absences = about_judged(MetricAbsence.objects.all(), study, moment)
    for story, method, identity, reason in _cells(absences, moment, "reason"):
        cell, asked = (story, method), replace(identity, judge_version="")
        if cell not in judged:
            continue
        if cell not in absent[asked]:
            reasons[asked][reason] += 1
        absent[asked].add(cell)
    valued = Counter(identity.metric for identity in present)
    every = Counter(identity.metric for identity in present.keys() | absent.keys())
    unasked = _unasked(study, every)
    # Web workers do not import this, which loads pandas.
    from analysis.sentences import counted

    for one in sorted(present.keys() | absent.keys(), key=_order):
        if one in others and one not in present:
            continue
        expected = {
            (s, m) for s, m in judged if s not in unasked[one.metric] and m != one.truth
        }
        values = present.get(one, set())
        lacking = expected - values
        if not lacking or not (values or absent[one]):
            continue
        counts = reasons[one].most_common()
        unknown = len(lacking - absent[one])
        why = [f"{reason} ({n})" for reason, n in counts[:SHOWN_REASONS]]
        if len(counts) > SHOWN_REASONS:
            why.append(sentence("other reasons"))
        if unknown:
            why.append(sentence("not computed, or failed ({n})", n=unknown))
        yield sentence(
            "Metric {metric}: {outputs} of {total} left out, without a value: {why}.",
            metric=named(one, valued if one in present else every),
            outputs=counted(len(lacking), "output"),
            total=len(expected),
            why=chained("{first}; {second}", why),
        )


def _order(identity: Identity) -> tuple[str, ...]:
    return (identity.metric, *identity.columns.values())


def _cells(
    rows: QuerySet[Any], moment: Moment, *more: str
) -> Iterator[tuple[Any, ...]]:
    """Yield story, method and identity of rows about outputs, as of the moment."""
    known = Identities()
    ended = rows.filter(run__finished_at__lte=moment.at, story__isnull=False)
    for story, method, a, b, c, d, e, *rest in (
        ended.order_by("story", "method", *FIELDS)
        .values_list("story", "method__name", *FIELDS, *more)
        .distinct()
    ):
        yield story, method, known.of((a, b, c, d, e)), *rest


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
