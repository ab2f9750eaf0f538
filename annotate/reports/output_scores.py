"""The scores of one output, beside those of its story's other outputs."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import fsum

from django.db.models import Q
from django.utils.translation import gettext

from annotate.models import Study
from annotate.reports.story_ranks import RankedValue, ranked
from annotate.reports.study_scores import (
    METRIC,
    MetricKey,
    scores_of,
    versioned_name,
)
from annotate.reports.study_tables import AnswerRow, score_rows
from evalcore.metrics import registry
from evalcore.models import MetricAbsence, Output

# Scores by method, each with the shot it is of.
Scores = dict[str, list[tuple[str, float]]]


@dataclass(frozen=True)
class ShownScore:
    """What a metric says of an output."""

    name: str
    title: str
    higher_is_better: bool
    is_of_method: bool
    measures: list[str]
    ranked: RankedValue | None
    reason: str


def output_scores(
    study: Study, output: Output, methods: Collection[str]
) -> list[ShownScore]:
    """Return what every metric says of an output, the declared ones first."""
    known, reasons = _known(study), _reasons(output)
    versions = Counter(metric for metric, *_told in known)
    every = Counter(metric for metric, *_told in known.keys() | reasons.keys())
    rows: dict[MetricKey, list[AnswerRow]] = {key: [] for key in reasons}
    rows |= {
        key: own
        for key, own in _rows(study, output, methods).items()
        if bool(own[0]["story"]) == known[key]
    }
    shown = [
        _shown(
            study,
            output,
            key,
            own,
            versioned_name(key, versions if key in known else every),
            reasons,
        )
        for key, own in rows.items()
    ]
    return sorted(shown, key=lambda one: (not one.measures, one.name))


def _known(study: Study) -> dict[MetricKey, bool]:
    """Return every version of a metric, and whether it has scores of stories."""
    rows = scores_of(study).filter(run__finished_at__isnull=False).order_by()
    stories = rows.annotate(of_story=Q(story__isnull=False))
    found: dict[MetricKey, bool] = {}
    for *key, of_story in stories.values_list(*METRIC, "of_story").distinct():
        metric = (key[0], key[1], key[2])
        found[metric] = found.get(metric, False) or bool(of_story)
    return found


def _rows(
    study: Study, output: Output, methods: Collection[str]
) -> dict[MetricKey, list[AnswerRow]]:
    """Return the rows of each metric: of the story, or else of whole methods."""
    found: dict[MetricKey, list[AnswerRow]] = defaultdict(list)
    for row in score_rows(study, story=output.story):
        if row["method"] in methods:
            found[row["metric"], row["metric_version"], row["backend"]].append(row)
    return {
        key: [row for row in rows if row["story"]] or rows
        for key, rows in found.items()
    }


def _shown(
    study: Study,
    output: Output,
    key: MetricKey,
    rows: list[AnswerRow],
    name: str,
    reasons: dict[MetricKey, str],
) -> ShownScore:
    higher = all(row["higher_is_better"] for row in rows)
    method = output.method.name
    return ShownScore(
        name,
        _title(key[0]),
        higher,
        bool(rows) and not rows[0]["story"],
        [one.full_title for one in study.asked if one.metric in (key[0], name)],
        ranked(_means(rows), method, higher_is_better=higher),
        reasons.get(key, ""),
    )


def _title(metric: str) -> str:
    if metric not in registry.METRICS:
        return ""
    return gettext(registry.load(metric).info.title)


def _means(rows: Iterable[AnswerRow]) -> dict[str, float]:
    """Return each method's score; the mean of shots where the whole has none."""
    of_methods: Scores = defaultdict(list)
    for row in rows:
        of_methods[row["method"]].append((row["shot"], row["score"]))
    means = {}
    for method, scores in of_methods.items():
        whole = [score for shot, score in scores if shot == ""]
        kept = whole or [score for _shot, score in scores]
        means[method] = fsum(kept) / len(kept)
    return means


def _reasons(output: Output) -> dict[MetricKey, str]:
    """Return why metrics have no value of an output, or of a shot of it."""
    rows = MetricAbsence.objects.filter(story=output.story, method=output.method)
    return {
        (metric, version, backend): reason
        for metric, version, backend, reason in rows.values_list(*METRIC, "reason")
    }
