"""The tables of a bundle, for readers without Plumbline."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from annotate.audit_log.as_of_event import Moment
from annotate.bundles.parts import Selection
from annotate.kinds.registry import answer_tables
from annotate.models import MAIN, Study
from annotate.reports import downloads, study_scores, study_tables
from annotate.reports.table_files import Table
from annotate.reports.table_schema import schema, table_schema
from evalcore.metrics.identity import PARTS
from evalcore.models import Frame, Output, Story
from evalcore.scoring.identities import FIELDS, Identities

# Tables that only bundles have, with the meaning of their columns.
TWINS = {
    "story": "key of the story",
    "method": "method of the original",
    "twin": "what makes the degraded copy worse",
    "metric": "name of the metric",
    "score": "value of the degraded copy",
    "original": "value of its original, computed together with it",
    **dict.fromkeys(PARTS, "what made the values"),
}
PICTURES = {
    "file": "where it lies in the bundle",
    "sha256": "hash of the file",
    "story": "key of the story",
    "method": "method of the output",
    "degradation": "what makes it worse, if it is a degraded copy",
    "shot": "number of the shot; empty for a video of all shots",
}
HYPOTHESES = {
    "question": "key of the question",
    "metric": "metric that was declared to measure it",
    "epsilon": "how much worse than an annotator it may be",
}
TRAINED_ON = {
    "method": "name of the method",
    "metric": "metric that it was trained on or chosen by",
}
NUMBERS = {
    "score": "number",
    "original": "number",
    "epsilon": "number",
    "shot": "integer",
}
# The meaning of a row.
ROWS = {
    "twins": "one value of one metric for one degraded copy",
    "pictures": "one picture or video of one output",
    "hypotheses": "one metric that was declared to measure a question",
    "trained_on": "one metric that shaped a method",
}


def main_tables(study: Study, moment: Moment, chosen: Selection) -> Iterator[Table]:
    """Yield all tables; answers are of the view `main`."""
    for name in downloads.exported_tables(study):
        rows = downloads.table_rows(study, name)
        yield Table(name, table_schema(study, name), rows)
    own = {
        "twins": (TWINS, _twin_rows(study, moment)),
        "pictures": (PICTURES, _picture_rows(chosen)),
        "hypotheses": (
            HYPOTHESES,
            downloads.frame_rows(study_tables.hypotheses_frame(study)),
        ),
        "trained_on": (
            TRAINED_ON,
            downloads.frame_rows(study_tables.trained_on_frame(study)),
        ),
    }
    for name, (about, rows) in own.items():
        first = next(iter(rows := iter(rows)), None)
        if first is not None:
            yield _table(name, about, chain([first], rows))


def _table(name: str, about: dict[str, str], rows: Iterable[Any]) -> Table:
    fields = (
        {"name": column, "type": NUMBERS.get(column, "string"), "description": meaning}
        for column, meaning in about.items()
    )
    return Table(name, schema(fields), rows)


def view_texts(study: Study) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield path and text of the tables of other views, and of an earlier study."""
    for view in study.analysis_views.values_list("key", flat=True):
        folder = "tables" if view == MAIN else f"views/{view}"
        if view != MAIN:
            for name in answer_tables(study):
                lines = downloads.csv_lines(study, name, view=view)
                yield f"{folder}/{name}.csv", lines
        if (first := study.continues) is not None:
            own = view if first.analysis_views.filter(key=view).exists() else MAIN
            for name in answer_tables(first, only_counted=True):
                lines = downloads.csv_lines(first, name, view=own)
                yield f"{folder}/earlier_{name}.csv", lines


def _twin_rows(study: Study, moment: Moment) -> Iterator[list[object]]:
    """Yield the scores of degraded copies, with what made them."""
    output = ("twin__story__key", "twin__method__name", "twin__degradation")
    found = study_scores.twin_scores(study, moment).order_by(*output, "pk")
    known, scored = Identities(), study_scores.metric_names(study)
    found = found.filter(metric__in=scored)
    rows = found.values_list(*output, "value", "original", *FIELDS)
    for story, method, twin, value, original, a, b, c, d, e in rows.iterator(2000):
        identity = known.of((a, b, c, d, e))
        made_by = [identity.columns[part] for part in PARTS]
        yield [story, method, twin, identity.metric, value, original, *made_by]


def _picture_rows(chosen: Selection) -> Iterator[tuple[object, ...]]:
    """Yield the file of each picture and video, and what it shows."""
    if not chosen.pictures:
        return
    columns = ("story__key", "method__name", "degradation")
    frames = Frame.objects.filter(output__in=chosen.outputs, media__isnull=False)
    rows = frames.order_by("output_id", "number").values_list(
        "media", "media__extension", *(f"output__{name}" for name in columns), "number"
    )
    for sha256, extension, *place in rows.iterator(2000):
        yield media_name(sha256, extension), sha256, *place
    videos = Output.everything.filter(pk__in=chosen.outputs, video__isnull=False)
    for sha256, extension, *place in videos.order_by("pk").values_list(
        "video", "video__extension", *columns
    ):
        yield media_name(str(sha256), extension), sha256, *place, ""


def media_name(sha256: str, extension: str) -> str:
    """Return the name of a picture or video in a bundle."""
    return f"media/{sha256}.{extension}"


def readable_stories(chosen: Selection) -> Iterator[str]:
    """Yield each story with its texts, characters and pictures as JSON."""
    stories = Story.objects.filter(pk__in=chosen.stories).order_by("key")
    related = ("characters__images__media", "shots__characters")
    for story in stories.prefetch_related(*related).iterator(200):
        told = {
            "story": story.key,
            "title": story.title,
            "tags": story.tags,
            "characters": [
                {
                    "key": one.key,
                    "names": one.names,
                    "descriptions": one.descriptions,
                    "kind": one.kind,
                    "pictures": [
                        media_name(image.media.sha256, image.media.extension)
                        for image in one.images.all()
                        if story.pk in chosen.pictured
                    ],
                }
                for one in story.characters.all()
            ],
            "shots": [
                {
                    "number": shot.number,
                    "text": shot.text,
                    "characters": [one.key for one in shot.characters.all()],
                }
                for shot in story.shots.all()
            ],
            "extra": story.extra,
        }
        yield json.dumps(told, ensure_ascii=False, sort_keys=True) + "\n"
