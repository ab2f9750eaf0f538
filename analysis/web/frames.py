"""From the database to the three tables; the only place where they are made.

Rows come straight from queries, so that a download needs no pandas; `*_frame` puts the
same rows into data frames, checked like a file would be.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.db.models import F, Q

from annotate.models import Choice, Purpose, Rating, Slot, Study
from evalcore.models import MetricScore, Story

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]

ANSWER_COLUMNS = (
    "round", "session", "slot", "started_at", "submitted_at", "seconds", "is_gold",
    "is_repeat", "excluded",
)  # fmt: skip
RATING_HEADER = (
    "story", "method", "dimension", "annotator", "rating", *ANSWER_COLUMNS,
)  # fmt: skip
CHOICE_HEADER = (
    "story", "method_a", "method_b", "criterion", "annotator", "choice", "left_method",
    *ANSWER_COLUMNS,
)  # fmt: skip
SCORE_HEADER = (
    "story", "method", "metric", "score", "shot", "higher_is_better", "metric_version",
    "backend",
)  # fmt: skip


def rating_rows(study: Study) -> Iterator[Row]:
    """Yield submitted ratings; excluded and surplus ones are marked `excluded`."""
    answers = _submitted(Rating, study).annotate(
        story=F("slot__unit__story__key"),
        method=F("slot__unit__output_a__method__name"),
    )
    for row in answers.values(*_FIELDS, "story", "method").iterator(2000):
        yield {
            "story": row["story"],
            "method": row["method"],
            "dimension": row["question__key"],
            "annotator": row["annotator__name"],
            "rating": row["value"],
            **_about_slot(row),
        }


def choice_rows(study: Study) -> Iterator[Row]:
    """Yield submitted choices, the two methods in alphabetical order."""
    answers = _submitted(Choice, study).annotate(
        story=F("slot__unit__story__key"),
        first=F("slot__unit__output_a__method__name"),
        second=F("slot__unit__output_b__method__name"),
    )
    for row in answers.values(
        *_FIELDS, "story", "first", "second", "a_is_left"
    ).iterator(2000):
        yield {
            "story": row["story"],
            "method_a": row["first"],
            "method_b": row["second"],
            "criterion": row["question__key"],
            "annotator": row["annotator__name"],
            "choice": row["value"],
            "left_method": _left(row),
            **_about_slot(row),
        }


def _left(row: Row) -> str:
    if row["a_is_left"] is None:
        return ""
    return row["first"] if row["a_is_left"] else row["second"]


_FIELDS = (
    "value", "question__key", "annotator__name", "slot__round", "slot__session",
    "slot__code", "slot__state", "slot__ordinal", "slot__started_at",
    "slot__submitted_at", "slot__seconds", "slot__purpose",
)  # fmt: skip


def _submitted(model: type[Rating] | type[Choice], study: Study) -> Any:
    """Return the current answers of those who submitted the slots.

    The training round, which happens before the study, is no part of the tables.
    """
    given = model.objects.exclude(slot__purpose=Purpose.TRAINING)
    return given.filter(
        slot__study=study,
        slot__submitted_at__isnull=False,
        is_current=True,
        annotator=F("slot__annotator"),
    ).order_by("slot__unit", "slot__round", "slot", "question__ordinal")


def _about_slot(row: Row) -> Row:
    purpose = row["slot__purpose"]
    surplus = purpose == Purpose.REAL and row["slot__ordinal"] is None
    return {
        "round": row["slot__round"],
        "session": row["slot__session"],
        "slot": row["slot__code"],
        "started_at": _stamp(row["slot__started_at"]),
        "submitted_at": _stamp(row["slot__submitted_at"]),
        "seconds": row["slot__seconds"],
        "is_gold": purpose not in (Purpose.REAL, Purpose.REPEAT),
        "is_repeat": purpose == Purpose.REPEAT,
        "excluded": surplus or row["slot__state"] == Slot.State.EXCLUDED,
    }


def _stamp(value: Any) -> str:
    return value.isoformat(timespec="seconds") if value else ""


def score_rows(study: Study) -> Iterator[Row]:
    """Yield the scores of the study's stories and methods, in every version."""
    units = study.units.all()
    methods = set(units.values_list("output_a__method", flat=True)) | set(
        units.filter(output_b__isnull=False).values_list("output_b__method", flat=True)
    )
    stories = set(units.values_list("story", flat=True))
    scores = MetricScore.objects.filter(
        benchmark=study.benchmark, method__in=methods
    ).filter(Q(story__isnull=True) | Q(story__in=stories))
    rows = scores.order_by(
        "metric", "metric_version", "backend", "story__key", "method__name",
        "shot__number",
    )  # fmt: skip
    for row in rows.values(
        "story__key", "method__name", "metric", "value", "shot__number",
        "higher_is_better", "metric_version", "backend",
    ).iterator(2000):  # fmt: skip
        yield {
            "story": row["story__key"] or "",
            "method": row["method__name"],
            "metric": row["metric"],
            "score": row["value"],
            "shot": "" if row["shot__number"] is None else row["shot__number"],
            "higher_is_better": row["higher_is_better"],
            "metric_version": row["metric_version"],
            "backend": row["backend"],
        }


def story_tags(study: Study) -> dict[str, dict[str, str]]:
    """Return the tags of the study's stories, as text, by the story's key."""
    stories = Story.objects.filter(units__study=study).distinct().order_by("key")
    return {
        story.key: {str(tag): str(value) for tag, value in story.tags.items()}
        for story in stories
    }


def tag_names(study: Study) -> list[str]:
    """Return the names of the tags that the study's stories have."""
    return sorted({tag for tags in story_tags(study).values() for tag in tags})


def tags_frame(study: Study) -> "pd.DataFrame | None":
    """Return a table with column story and one column a tag; None without any."""
    import pandas as pd

    tags = tag_names(study)
    if not tags:
        return None
    rows = [
        {"story": key, **{tag: own.get(tag, "") for tag in tags}}
        for key, own in story_tags(study).items()
    ]
    return pd.DataFrame(rows, columns=["story", *tags])


def ratings_frame(study: Study) -> "pd.DataFrame":
    """Return the table of ratings, checked."""
    from analysis.reading.inputs import check_ratings

    frame = _frame(rating_rows(study), RATING_HEADER)
    return check_ratings(frame, file=study.slug, scale=scale(study))


def choices_frame(study: Study) -> "pd.DataFrame":
    """Return the table of choices, checked."""
    from analysis.reading.inputs import check_choices

    return check_choices(_frame(choice_rows(study), CHOICE_HEADER), file=study.slug)


def scores_frame(study: Study) -> "pd.DataFrame":
    """Return the table of scores, checked."""
    from analysis.reading.inputs import check_scores

    return check_scores(_frame(score_rows(study), SCORE_HEADER), file=study.slug)


def scale(study: Study) -> tuple[int, int] | None:
    """Return the scale that all questions share, if they do."""
    scales = set(study.questions.values_list("scale_min", "scale_max"))
    low, high = scales.pop() if len(scales) == 1 else (None, None)
    return None if low is None else (low, high)


def _frame(rows: Iterator[Row], header: tuple[str, ...]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(header)).astype(object)
