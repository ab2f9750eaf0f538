"""From the database to the three tables; the only place where they are made.

Rows come straight from queries, so that a download needs no pandas; `*_frame` puts the
same rows into data frames, checked like a file would be.

Answers are seen through a view of the study, as they are now or as of a moment. Those
that the view hides, and surplus ones, are marked `excluded`. What checks an annotator
is marked `is_gold` and has its purpose in the method's name, so that no row of it has
the key of a real one: "UNO [gold]", "UNO [twin: blurred]". Training is left out.
Ratings of a checklist have a column more, the number of their `shot`. `seconds` is
empty where the browser measured nothing.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from django.db.models import Exists, F, OuterRef, Q

from annotate.answers.analysis_views import MAIN
from annotate.history.as_of_event import Moment
from annotate.models import Choice, Exclusion, Purpose, Rating, Study
from annotate.reports.study_scores import scores_of
from annotate.slots import timing
from evalcore.models import Story

if TYPE_CHECKING:
    import pandas as pd

AnswerRow = dict[str, Any]

ANSWER_COLUMNS = (
    "round",
    "session",
    "slot",
    "started_at",
    "submitted_at",
    "seconds",
    "is_gold",
    "is_repeat",
    "excluded",
)
RATING_HEADER = (
    "story",
    "method",
    "dimension",
    "annotator",
    "rating",
    *ANSWER_COLUMNS,
)
CHECKLIST_HEADER = (
    "story",
    "method",
    "shot",
    "dimension",
    "annotator",
    "rating",
    *ANSWER_COLUMNS,
)
CHOICE_HEADER = (
    "story",
    "method_a",
    "method_b",
    "criterion",
    "annotator",
    "choice",
    "left_method",
    *ANSWER_COLUMNS,
    "probability",
    "alternatives",
)
SCORE_HEADER = (
    "story",
    "method",
    "metric",
    "score",
    "shot",
    "higher_is_better",
    "metric_version",
    "backend",
    "origin",
)


def rating_rows(
    study: Study, *, view: str = MAIN, as_of: Moment | None = None
) -> Iterator[AnswerRow]:
    """Yield submitted ratings through a view, with the columns of `rating_header`."""
    for row in _answers(Rating, study, view, as_of):
        yield {
            "story": row["story"],
            "method": _shown(row, "a"),
            **({"shot": row["shot"]} if study.is_checklist else {}),
            "dimension": row["question__key"],
            "annotator": row["annotator__name"],
            "rating": row["value"],
            **_about_slot(row),
        }


def rating_header(study: Study) -> tuple[str, ...]:
    """Return the columns of a study's ratings."""
    return CHECKLIST_HEADER if study.is_checklist else RATING_HEADER


def choice_rows(
    study: Study, *, view: str = MAIN, as_of: Moment | None = None
) -> Iterator[AnswerRow]:
    """Yield submitted choices through a view; the methods stand as in the unit."""
    for row in _answers(Choice, study, view, as_of):
        first, second = _shown(row, "a"), _shown(row, "b")
        left = "" if row["a_is_left"] is None else second
        yield {
            "story": row["story"],
            "method_a": first,
            "method_b": second,
            "criterion": row["question__key"],
            "annotator": row["annotator__name"],
            "choice": row["value"],
            "left_method": first if row["a_is_left"] else left,
            **_about_slot(row),
            "probability": row["slot__probability"],
            "alternatives": row["slot__alternatives"],
        }


# How an adaptive study chose a pair; empty in all others.
_CHOICE_FIELDS = ("a_is_left", "slot__probability", "slot__alternatives")
_FIELDS = (
    "value",
    "question__key",
    "annotator",
    "annotator__name",
    "slot",
    "slot__round",
    "slot__session",
    "slot__code",
    "slot__ordinal",
    "slot__started_at",
    "slot__submitted_at",
    "seconds",
    "slot__purpose",
    "slot__unit__purpose",
    "story",
    "method_a",
    "method_b",
    "degradation_a",
    "degradation_b",
)


def _answers(
    model: type[Rating] | type[Choice], study: Study, view: str, as_of: Moment | None
) -> Iterator[AnswerRow]:
    """Yield the answers of those who submitted the slots, and which are excluded.

    Of a changed answer it is the newest revision, or the newest of the moment.
    """
    answers = _answers_now(model, study)
    if as_of is None:
        hidden = _hidden_now(study, view)
    else:
        hidden = as_of.hidden_from(view)
        answers = _answers_then(model, study, as_of)
    fields = (*_FIELDS, *(("shot",) if model is Rating else _CHOICE_FIELDS))
    order = ["shot"] if study.is_checklist else []
    for row in _with_names(answers, order).values(*fields).iterator(2000):
        if as_of is not None:
            slot = as_of.submitted.get(row["slot"])
            if slot is None or slot.annotator != row["annotator"]:
                continue
            row["slot__ordinal"] = slot.ordinal
        surplus = row["slot__purpose"] == Purpose.REAL and row["slot__ordinal"] is None
        yield row | {"excluded": surplus or row["slot"] in hidden}


def _answers_now(model: type[Rating] | type[Choice], study: Study) -> Any:
    return model.objects.filter(
        slot__study=study,
        slot__submitted_at__isnull=False,
        is_current=True,
        annotator=F("slot__annotator"),
    )


def _answers_then(
    model: type[Rating] | type[Choice], study: Study, as_of: Moment
) -> Any:
    """Return each newest revision until then.

    Times of imported answers need not fit those of the log; they have one revision.
    """
    then = Q(created_at__lte=as_of.at) | Q(revision=1)
    same = {"shot": OuterRef("shot")} if model is Rating else {}
    later = model.objects.filter(
        **same,
        slot=OuterRef("slot"),
        question=OuterRef("question"),
        annotator=OuterRef("annotator"),
        revision__gt=OuterRef("revision"),
        created_at__lte=as_of.at,
    )
    return model.objects.filter(then, ~Exists(later), slot__study=study)


def _hidden_now(study: Study, view: str) -> set[int]:
    hiding = Exclusion.objects.filter(
        slot__study=study, undone_at__isnull=True, views__key=view
    )
    return set(hiding.values_list("slot", flat=True))


def _with_names(answers: Any, order: list[str]) -> Any:
    """Add story, methods, time; leave training out; in an order that never changes."""
    return (
        answers.exclude(slot__purpose=Purpose.TRAINING)
        .annotate(
            story=F("slot__unit__story__key"),
            method_a=F("slot__unit__output_a__method__name"),
            method_b=F("slot__unit__output_b__method__name"),
            degradation_a=F("slot__unit__output_a__degradation"),
            degradation_b=F("slot__unit__output_b__degradation"),
            seconds=timing.measured("slot__"),
        )
        .order_by("slot__unit", "slot__round", "slot", *order, "question__ordinal")
    )


def _shown(row: AnswerRow, side: str) -> str:
    """Return the name of a method, with what its output was shown for.

    Beside its twin an output has its own name. Since an output has one twin of each
    degradation, and a unit of each purpose, no two units have the same names.
    """
    name, degradation = row[f"method_{side}"], row[f"degradation_{side}"]
    purpose = row["slot__unit__purpose"]
    beside = row["degradation_b" if side == "a" else "degradation_a"]
    if purpose == Purpose.REAL or (beside and not degradation):
        return name
    return (
        f"{name} [{purpose}: {degradation}]" if degradation else f"{name} [{purpose}]"
    )


def _about_slot(row: AnswerRow) -> AnswerRow:
    purpose = row["slot__purpose"]
    return {
        "round": row["slot__round"],
        "session": row["slot__session"],
        "slot": row["slot__code"],
        "started_at": _stamp(row["slot__started_at"]),
        "submitted_at": _stamp(row["slot__submitted_at"]),
        "seconds": row["seconds"],
        "is_gold": purpose not in (Purpose.REAL, Purpose.REPEAT),
        "is_repeat": purpose == Purpose.REPEAT,
        "excluded": row["excluded"],
    }


def _stamp(value: Any) -> str:
    return value.isoformat(timespec="seconds") if value else ""


def score_rows(study: Study, *, as_of: Moment | None = None) -> Iterator[AnswerRow]:
    """Yield the scores of what is judged, in every version.

    A score that was posted to the study stands instead of the benchmark's, and tells
    the metric's direction. As of a moment: of units that had slots, by runs that had
    ended.
    """
    scores = scores_of(study, as_of)
    if as_of is not None:
        scores = scores.filter(run__finished_at__lte=as_of.at)
    own = scores.filter(posted_to=study.slug).order_by()
    turned = {
        key: higher
        for *key_parts, higher in own.values_list(
            *_METRIC, "higher_is_better"
        ).distinct()
        for key in [tuple(key_parts)]
    }
    place = (*_METRIC, "story__key", "method__name", "shot__number")
    rows = scores.order_by(*place, "posted_to").values(
        *place, "value", "higher_is_better", "posted_to", "run__source"
    )
    for _place, same in groupby(
        rows.iterator(2000), lambda row: [row[name] for name in place]
    ):
        *_below, row = same  # the study's own comes last
        metric = tuple(row[name] for name in _METRIC)
        yield {
            "story": row["story__key"] or "",
            "method": row["method__name"],
            "metric": row["metric"],
            "score": row["value"],
            "shot": "" if row["shot__number"] is None else row["shot__number"],
            "higher_is_better": turned.get(metric, row["higher_is_better"]),
            "metric_version": row["metric_version"],
            "backend": row["backend"],
            "origin": "posted" if row["posted_to"] else row["run__source"],
        }


_METRIC = ("metric", "metric_version", "backend")


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


def ratings_frame(
    study: Study, *, view: str = MAIN, as_of: Moment | None = None
) -> "pd.DataFrame":
    """Return the table of ratings, checked."""
    from analysis.reading.inputs import check_ratings

    rows = rating_rows(study, view=view, as_of=as_of)
    frame = _frame(rows, rating_header(study))
    return check_ratings(frame, file=study.slug, scale=scale(study))


def choices_frame(
    study: Study, *, view: str = MAIN, as_of: Moment | None = None
) -> "pd.DataFrame":
    """Return the table of choices, checked."""
    from analysis.reading.inputs import check_choices

    rows = choice_rows(study, view=view, as_of=as_of)
    return check_choices(_frame(rows, CHOICE_HEADER), file=study.slug)


def scores_frame(study: Study, *, as_of: Moment | None = None) -> "pd.DataFrame":
    """Return the table of scores, checked."""
    from analysis.reading.inputs import check_scores

    rows = score_rows(study, as_of=as_of)
    return check_scores(_frame(rows, SCORE_HEADER), file=study.slug)


def scale(study: Study) -> tuple[int, int] | None:
    """Return the scale that all questions share, if they do."""
    scales = set(study.questions.values_list("scale_min", "scale_max"))
    low, high = scales.pop() if len(scales) == 1 else (None, None)
    return None if low is None else (low, high)


def _frame(rows: Iterator[AnswerRow], header: tuple[str, ...]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(header)).astype(object)
