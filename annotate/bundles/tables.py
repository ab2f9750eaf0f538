"""The tables of a bundle, for readers without Plumbline."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from annotate import spreadsheet
from annotate.audit_log.as_of_event import Moment
from annotate.bundles.parts import Selection
from annotate.kinds.registry import answer_tables
from annotate.models import MAIN, Study
from annotate.presentation import shot_comments
from annotate.reports import downloads, study_scores, study_tables
from evalcore.metrics.identity import PARTS
from evalcore.models import Frame, Output, Story
from evalcore.scoring.identities import FIELDS, Identities

Table = tuple[str, Iterable[str]]
# Of a degraded copy: the metric by its plain name, with what made its score.
TWIN_HEADER = ("story", "method", "twin", "metric", "score", "original")


def tables(study: Study, moment: Moment, chosen: Selection) -> Iterator[Table]:
    """Yield name and text of each table: of the main view, then of the others.

    A table that does not depend on the view stands in `tables/` alone.
    """
    yield from _of_view(study, MAIN, "tables")
    yield "tables/scores.csv", downloads.csv_lines(study, "scores")
    yield (
        "tables/in_sight.csv",
        spreadsheet.csv_lines(
            study_tables.IN_SIGHT_HEADER,
            map(_plain, study_tables.in_sight_rows(study)),
        ),
    )
    if study.may_comment_on_shots:
        yield (
            "tables/shot_comments.csv",
            spreadsheet.csv_lines(shot_comments.HEADER, shot_comments.rows(study)),
        )
    yield "tables/twins.csv", _twins(study, moment)
    yield "tables/tags.csv", _frame(study_tables.tags_frame(study), ["story"])
    yield "tables/hypotheses.csv", _frame(study_tables.hypotheses_frame(study))
    if chosen.pictures:
        yield (
            "tables/pictures.csv",
            spreadsheet.csv_lines(PICTURE_HEADER, _picture_rows(chosen)),
        )
    views = study.analysis_views.exclude(key=MAIN).values_list("key", flat=True)
    for view in views:
        yield from _of_view(study, view, f"views/{view}")


def _of_view(study: Study, view: str, folder: str) -> Iterator[Table]:
    """Yield the tables of answers through a view, and those of an earlier study."""
    for name in answer_tables(study):
        yield f"{folder}/{name}.csv", downloads.csv_lines(study, name, view=view)
    if (first := study.continues) is not None:
        own = view if first.analysis_views.filter(key=view).exists() else MAIN
        for name in answer_tables(first, only_counted=True):
            lines = downloads.csv_lines(first, name, view=own)
            yield f"{folder}/earlier_{name}.csv", lines


def _plain(row: Iterable[object]) -> list[object]:
    return [str(one).lower() if isinstance(one, bool) else one for one in row]


def _frame(frame: Any, header: Iterable[str] = ()) -> Iterator[str]:
    if frame is None:
        return spreadsheet.csv_lines([*header], [])
    return spreadsheet.csv_lines(list(frame.columns), frame.itertuples(index=False))


def _twins(study: Study, moment: Moment) -> Iterator[str]:
    """Yield the scores of degraded copies, with what made them."""
    output = ("twin__story__key", "twin__method__name", "twin__degradation")
    found = study_scores.twin_scores(study, moment).order_by(*output, "pk")
    known = Identities()
    rows = found.values_list(*output, "value", "original", *FIELDS).iterator(2000)

    def lines() -> Iterator[list[object]]:
        for story, method, twin, value, original, a, b, c, d, e in rows:
            identity = known.of((a, b, c, d, e))
            made_by = [identity.columns[part] for part in PARTS]
            yield [story, method, twin, identity.metric, value, original, *made_by]

    return spreadsheet.csv_lines((*TWIN_HEADER, *PARTS), lines())


def readable_stories(chosen: Selection) -> Iterator[str]:
    """Yield each story with its texts, characters and pictures as JSON."""
    stories = Story.objects.filter(pk__in=chosen.stories).order_by("key")
    related = ("characters__images", "shots__characters")
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
                        _file(image.media_id, "png")
                        for image in one.images.all()
                        if chosen.pictures
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


def _file(sha256: str, extension: str) -> str:
    return f"media/{sha256}.{extension}"


PICTURE_HEADER = ("file", "sha256", "story", "method", "degradation", "shot")


def _picture_rows(chosen: Selection) -> Iterator[tuple[object, ...]]:
    """Yield the file of each picture and video, and what it shows."""
    frames = Frame.objects.filter(output__in=chosen.outputs, media__isnull=False)
    columns = ("story__key", "method__name", "degradation")
    rows = frames.order_by("output", "number").values_list(
        "media", "media__extension", *(f"output__{name}" for name in columns), "number"
    )
    for sha256, extension, *place in rows.iterator(2000):
        yield _file(sha256, extension), sha256, *place
    videos = Output.everything.filter(pk__in=chosen.outputs, video__isnull=False)
    of_video = ("video", "video__extension", *columns)
    for sha256, extension, *place in videos.order_by("pk").values_list(*of_video):
        yield _file(sha256, extension), sha256, *place, ""
