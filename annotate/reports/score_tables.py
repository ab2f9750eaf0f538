"""Tables of scores of a study, made from the database."""

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

from django.db.models import Q

from annotate.audit_log.as_of_event import Moment
from annotate.models import Study
from annotate.reports.study_scores import Choice, scores_of, twin_scores
from annotate.reports.study_tables import AnswerRow, as_frame
from evalcore.formats.score_table import MADE_BY, written_time
from evalcore.metrics.identity import PARTS, Identity
from evalcore.models import MetricRun, Story
from evalcore.scoring.identities import FIELDS, ORDER, Identities

if TYPE_CHECKING:
    import pandas as pd

SCORE_HEADER = (
    "story",
    "method",
    "metric",
    "score",
    "shot",
    "higher_is_better",
    *MADE_BY,
    "origin",
)
ALL_IDENTITIES: Choice = MappingProxyType({})
# The identity as asked.
ASKED = FIELDS[:-1]


def score_rows(
    study: Study,
    *,
    as_of: Moment | None = None,
    story: Story | None = None,
    choice: Choice = ALL_IDENTITIES,
) -> Iterator[AnswerRow]:
    """Yield the scores of rated outputs, in every identity that `choice` leaves."""
    scores = scores_of(study, as_of)
    if as_of is not None:
        scores = scores.filter(run__finished_at__lte=as_of.at)
    elif story is not None:
        scores = scores.filter(run__finished_at__isnull=False)
    own = scores.filter(posted_to=study.slug).order_by()
    directions = own.values_list(*ASKED, "higher_is_better").distinct()
    turned = {tuple(key): higher for *key, higher in directions}
    if story is not None:
        scores = scores.filter(Q(story=story) | Q(story__isnull=True))
    place = ("story__key", "method__name", "shot__number")
    rows = scores.order_by(*ORDER[:-1], *place, "posted_to").values(
        *FIELDS,
        *place,
        "value",
        "higher_is_better",
        "posted_to",
        "computed_at",
        "run__source",
        "run__finished_at",
    )
    by_place = groupby(rows.iterator(2000), itemgetter(*ASKED, *place))
    identities = Identities()
    for _place, same in by_place:
        *_below, row = same  # the study's score comes last
        identity = identities.of(itemgetter(*FIELDS)(row))
        if choice.get(row["metric"], identity.key) != identity.key:
            continue
        asked = itemgetter(*ASKED)(row)
        yield {
            "story": row["story__key"] or "",
            "method": row["method__name"],
            "metric": row["metric"],
            "score": row["value"],
            "shot": "" if row["shot__number"] is None else row["shot__number"],
            "higher_is_better": turned.get(asked, row["higher_is_better"]),
            **identity.columns,
            "computed_at": written_time(_computed_at(row)),
            "origin": "posted" if row["posted_to"] else row["run__source"],
        }


def _computed_at(row: AnswerRow) -> datetime | None:
    """Return when a score was computed; None for imports that do not say it."""
    found: datetime | None = row["computed_at"]
    if found is None and row["run__source"] == MetricRun.Source.COMPUTED:
        found = row["run__finished_at"]
    return found


def identities(study: Study) -> set[Identity]:
    """Return what made the scores of rated outputs."""
    known = Identities()
    rows = scores_of(study).order_by().values_list(*FIELDS).distinct()
    return {known.of((a, b, c, d, e)) for a, b, c, d, e in rows}


def scores_frame(
    study: Study, *, as_of: Moment | None = None, choice: Choice = ALL_IDENTITIES
) -> "pd.DataFrame":
    from analysis.reading.inputs import check_scores

    rows = score_rows(study, as_of=as_of, choice=choice)
    return check_scores(as_frame(rows, SCORE_HEADER), file=study.slug)


def twins_frame(
    study: Study,
    scores: "pd.DataFrame",
    *,
    excluded: tuple[str, ...] = (),
    as_of: Moment,
) -> "pd.DataFrame | None":
    """Return the scores of degraded copies, or None."""
    import pandas as pd

    from analysis.reading.inputs import TWIN_COLUMNS, read_twins

    output = ("twin__story__key", "twin__method__name", "twin__degradation")
    found = twin_scores(study, as_of).order_by(*output, *ORDER)
    names = _metric_names(scores, excluded) if found.exists() else {}
    known = Identities()
    rows = [
        (*place, names[asked], value, original)
        for *place, value, original, a, b, c, d, e in found.values_list(
            *output, "value", "original", *FIELDS
        )
        if (asked := known.of((a, b, c, d, e)).asked) in names
    ]
    if not rows:
        return None
    frame = pd.DataFrame(rows, columns=[*TWIN_COLUMNS, "original"])
    return read_twins(frame, {*frame["metric"]})


def _metric_names(scores: "pd.DataFrame", excluded: tuple[str, ...]) -> dict[str, str]:
    """Return the names in tables of each identity of a metric with a score."""
    from analysis.reading.column_cleaning import key_texts, without_methods
    from analysis.reading.identities import versioned_names

    kept = without_methods(scores, excluded, ("method",)).dropna(subset=["score"])
    columns = ["metric", *PARTS]
    rows = kept.drop_duplicates(columns)
    cells = zip(*(key_texts(rows[name]) for name in columns), strict=True)
    asked = [Identity(*texts).asked for texts in cells]
    return dict(zip(asked, versioned_names(rows), strict=True))
