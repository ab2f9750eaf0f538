"""One output of a study with all that is known of it, among those of its story."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from annotate.kinds.registry import kind_of
from annotate.models import Question, Study
from annotate.presentation.checklist_sheets import box_names
from annotate.presentation.slot_view import shot_texts
from annotate.reports.output_figures import (
    PeopleMean,
    ShownScore,
    ToldSlot,
    asked_of,
    output_scores,
    people_means,
    told_slots,
)
from annotate.reports.study_scores import judged_units
from evalcore.models import Frame, Output

Row = TypeVar("Row")
# How many rows of a table are not folded.
ROWS_SHOWN = 12


@dataclass(frozen=True)
class Folded(Generic[Row]):
    """The rows of a table: those shown at once, and the rest; never a few of them."""

    first: list[Row]
    rest: list[Row]


@dataclass(frozen=True)
class StoryShot:
    """A shot of the story with its texts, and its picture if there is one."""

    number: int
    texts: dict[str, str]
    frame: Frame | None


@dataclass(frozen=True)
class ShownOutput:
    """An output, its story's others, and what people and metrics say of it."""

    output: Output
    frames: list[Frame]
    shots: list[StoryShot]
    methods: list[str]
    before: str
    after: str
    means: Folded[PeopleMean]
    scores: Folded[ShownScore]
    columns: list[Question]
    boxes: list[tuple[str, str]]
    told: Folded[ToldSlot]
    has_comments: bool


def shown_output(study: Study, story: str, method: str) -> ShownOutput | None:
    """Return a story by a method; None where the study judges no such output."""
    outputs = _outputs(study, story)
    methods = [output.method.name for output in outputs]
    if method not in methods:
        return None
    at = methods.index(method)
    output = outputs[at]
    frames = list(output.frames.select_related("media"))
    told = told_slots(study, output)
    asked = asked_of(study, output.story)
    return ShownOutput(
        output,
        frames,
        _shots(output, frames),
        methods,
        "".join(methods[max(at - 1, 0) : at]),
        "".join(methods[at + 1 : at + 2]),
        _folded(people_means(study, output)),
        _folded(output_scores(study, output, methods)),
        [question for question in asked if not kind_of(question).of_shots],
        box_names(output),
        _folded(told),
        any(one.comment or one.comments for one in told),
    )


def _outputs(study: Study, story: str) -> list[Output]:
    """Return the outputs of a story that are judged, by the names of their methods."""
    units = judged_units(study).filter(story__key=story)
    pairs = units.values_list(*study.output_paths())
    shown = {output for pair in pairs for output in pair if output is not None}
    rows = Output.objects.filter(pk__in=shown).select_related(
        "story", "method", "video"
    )
    return sorted(rows, key=lambda output: output.method.name)


def _shots(output: Output, frames: list[Frame]) -> list[StoryShot]:
    pictures = {frame.number: frame for frame in frames if frame.media_id}
    return [
        StoryShot(shot.number, shot_texts(shot), pictures.get(shot.number))
        for shot in output.story.shots.all()
    ]


def _folded(rows: list[Row]) -> Folded[Row]:
    """Fold what goes beyond a screen, if that is more than a few rows."""
    shown = ROWS_SHOWN if len(rows) > ROWS_SHOWN * 1.5 else len(rows)
    return Folded(rows[:shown], rows[shown:])
