"""View of a slot: pictures or videos, texts, and questions in order."""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.db.models import Count
from django.utils.translation import get_language

from annotate.kinds.base import Kind, form_field
from annotate.kinds.registry import kind_of
from annotate.models import Annotator, Question, Slot, Study
from annotate.models.studies import PLACES
from annotate.presentation import same_size
from annotate.responses.writing import current_answers
from evalcore.database.prepared import Prepared
from evalcore.media import Box
from evalcore.models import Character, Frame, MediaFile, Output, Shot
from evalcore.video import storing


def in_order(
    questions: Iterable[Question], study: Study, annotator: Annotator | None
) -> list[Question]:
    """Return the questions in the order that an annotator sees."""
    ordered = sorted(questions, key=lambda question: question.ordinal)
    if annotator is not None and study.shuffle_questions:
        # The order is the same for stories that have only some of the questions.
        dice = random.Random(f"questions {study.seed} {annotator.name}")
        places = {question.pk: dice.random() for question in study.asked}
        ordered.sort(key=lambda question: places[question.pk])
    return ordered


TEXT_FIELDS = (
    "setting",
    "plot",
    "static",
    "camera",
    "caption",
    "prompt",
    "explanation",
)
# With more options than this, only numbers stand in a row, or a slider is shown.
LONGEST_ROW = 7
LONGEST_LIST = 11
# The field that describes a shot is the first of these that a benchmark has.
CAPTION_FIELDS = ("caption", "prompt", "plot")


@dataclass(frozen=True)
class ShownCharacter:
    """A character with its reference pictures."""

    index: int
    key: str
    name: str
    description: str
    pictures: range


@dataclass(frozen=True)
class ShownShot:
    """One shot: number, texts, and the sides that have a picture."""

    number: int
    texts: dict[str, str]
    present: dict[str, bool]
    on_stage: tuple[ShownCharacter, ...] = ()

    @property
    def caption(self) -> str:
        return _caption(self.texts)


@dataclass(frozen=True)
class ShownVideo:
    """One side's video as the player plays it."""

    side: str
    present: bool
    width: int = 0
    height: int = 0
    frame_rate: float = 0
    duration: float = 0
    frames: int = 0


@dataclass(frozen=True)
class ShownCaption:
    """The text of a part of a video, with start and end in seconds."""

    number: int
    start: float
    end: float
    texts: dict[str, str]
    is_estimated: bool

    @property
    def text(self) -> str:
        """Return the main text of the shot, or all its texts."""
        return _caption(self.texts)


def _caption(texts: Mapping[str, str]) -> str:
    captions = [texts[name] for name in CAPTION_FIELDS if name in texts]
    return captions[0] if captions else " ".join(texts.values())


@dataclass(frozen=True)
class ShownQuestion:
    """A question with the answer given so far, in the words of the page."""

    question: Question
    kind: Kind
    options: tuple[tuple[str, str, str], ...]  # value, label, key on the keyboard
    answer: str
    refused: str = ""  # why the text in the field was refused

    @property
    def is_slider(self) -> bool:
        """Return whether there are too many options for a list."""
        return len(self.options) > LONGEST_LIST

    @property
    def is_long(self) -> bool:
        """Return whether the anchors stand below the numbers."""
        return len(self.options) > LONGEST_ROW

    @property
    def field(self) -> str:
        """Return the name of the question's form fields."""
        return form_field(self.question)


def sides(slot: Slot) -> dict[str, Output]:
    """Return the outputs by position: only; left and right; or 1 to 5."""
    outputs = slot.unit.outputs
    names = {1: ("only",), 2: ("left", "right")}.get(len(outputs), PLACES)
    return dict(zip(names, (outputs[i] for i in slot.order), strict=False))


def shown_shots(
    slot: Slot, characters: Sequence[ShownCharacter] = ()
) -> list[ShownShot]:
    """Return the story's shots in order, with texts in the annotator's language."""
    present = {
        side: {number for number, *_size in PICTURES.rows(output=output.pk)}
        for side, output in sides(slot).items()
    }
    on_stage = _on_stage(slot, characters) if characters else {}
    return [
        ShownShot(
            shot.number,
            shot_texts(shot),
            {side: shot.number in numbers for side, numbers in present.items()},
            tuple(on_stage.get(shot.pk, ())),
        )
        for shot in SHOTS.rows(story=slot.unit.story_id)
    ]


PICTURES = Prepared[tuple[int, int, int]](
    lambda output: (
        Frame.objects.filter(output=output, media__isnull=False)
        .order_by("number")
        .values_list("number", "media__width", "media__height")
    ),
    output=int,
)
SHOTS = Prepared[Shot](
    lambda story: Shot.objects.filter(story=story).order_by("number"), story=int
)
CHARACTERS = Prepared[Any](
    lambda story: (
        Character.objects.filter(story=story)
        .annotate(pictures=Count("images"))
        .order_by("key")
    ),
    story=int,
)


def _on_stage(
    slot: Slot, characters: Sequence[ShownCharacter]
) -> dict[int, list[ShownCharacter]]:
    """Return the characters on stage by shot id, in the order of characters."""
    rows = Shot.characters.through.objects.filter(shot__story=slot.unit.story)
    by_shot: dict[int, list[ShownCharacter]] = defaultdict(list)
    keys = rows.order_by("character__key").values_list("shot", "character__key")
    by_key = {character.key: character for character in characters}
    for shot, key in keys:
        by_shot[shot].append(by_key[key])
    return by_shot


def for_viewer(slot: Slot) -> dict[str, object]:
    """Return the context of the picture viewer's template."""
    characters = shown_characters(slot)
    shots = shown_shots(slot, characters)
    return {
        "characters": characters,
        "shots": shots,
        "sides": list(sides(slot)),
        "has_texts": any(shot.texts for shot in shots),
        "ratio": picture_ratio(slot),
        "sheets": [],
        "boxes": [],
    }


def picture_ratio(slot: Slot) -> float:
    """Return the displayed aspect ratio of the story's first picture."""
    size = same_size.box_of(slot.study)
    if size is None:
        outputs = [output.pk for output in slot.unit.outputs]
        rows = [row for pk in outputs for row in PICTURES.rows(output=pk)[:1]]
        size = min(rows)[1:] if rows else None
    return size[0] / size[1] if size else 1.5


def for_player(slot: Slot) -> dict[str, object]:
    """Return the context of the video player's template; no videos for pictures."""
    videos = shown_videos(slot)
    return {
        "videos": videos,
        "captions": shown_captions(slot, videos) if videos else [],
        "conditioning": slot.unit.story.conditioning_seconds,
    }


def shown_videos(slot: Slot) -> list[ShownVideo]:
    """Return the videos of a slot by side; none if pictures are shown."""
    outputs = sides(slot)
    if not any(output.video_id for output in outputs.values()):
        return []
    box = same_size.box_of(slot.study)
    return [_shown_video(side, output.video, box) for side, output in outputs.items()]


def _shown_video(side: str, stored: MediaFile | None, box: Box | None) -> ShownVideo:
    if stored is None:
        return ShownVideo(side, present=False)
    width, height = storing.rendition_size(stored, box)
    return ShownVideo(
        side,
        True,
        width,
        height,
        stored.frame_rate or 0,
        stored.duration_seconds or 0,
        storing.frame_count(stored),
    )


def shown_captions(slot: Slot, videos: Sequence[ShownVideo]) -> list[ShownCaption]:
    """Return the captions of the story's videos with their times."""
    story = slot.unit.story
    shots = list(story.shots.all())
    times = _times(shots)
    is_estimated = not times
    if is_estimated:
        end = max((one.duration for one in videos), default=0.0)
        times = _spread(len(shots), story.conditioning_seconds or 0.0, end)
    return [
        ShownCaption(shot.number, start, end, texts, is_estimated)
        for shot, (start, end) in zip(shots, times, strict=True)
        if (texts := shot_texts(shot))
    ]


def _times(shots: Sequence[Shot]) -> list[tuple[float, float]]:
    """Return start and end of each shot; empty unless all shots have them."""
    times = [
        (shot.start_seconds, shot.end_seconds)
        for shot in shots
        if shot.start_seconds is not None and shot.end_seconds is not None
    ]
    return times if len(times) == len(shots) else []


def _spread(number: int, start: float, end: float) -> list[tuple[float, float]]:
    """Split a stretch of time into equal parts."""
    each = max(end - start, 0) / max(number, 1)
    return [(start + i * each, start + (i + 1) * each) for i in range(number)]


def shot_texts(shot: Shot) -> dict[str, str]:
    """Return the shot's texts in the reader's language, else in English."""
    texts = shot.text.get(content_language()) or shot.text.get("en") or {}
    if not texts and shot.text:
        texts = next(iter(shot.text.values()))
    return {field: texts[field] for field in TEXT_FIELDS if texts.get(field)}


def content_language() -> str:
    """Return the language of stories that matches the page's language."""
    return (get_language() or "en").split("-")[0]


def shown_characters(slot: Slot) -> list[ShownCharacter]:
    language = content_language()
    shown = []
    for index, character in enumerate(CHARACTERS.rows(story=slot.unit.story_id)):
        names, descriptions = character.names, character.descriptions
        shown.append(
            ShownCharacter(
                index,
                character.key,
                names.get(language) or names.get("en") or character.key,
                descriptions.get(language) or descriptions.get("en") or "",
                range(1, character.pictures + 1),
            )
        )
    return shown


def shown_questions(
    slot: Slot, sent: Mapping[str, tuple[str, str]] = MappingProxyType({})
) -> list[ShownQuestion]:
    """Return the questions with their options and the answers given so far.

    Answers in `sent` to open-ended questions, with the reason for refusal, replace
    those that are stored.
    """
    answers = current_answers(slot, slot.annotator)
    shown = []
    for question in in_order(slot.questions, slot.study, slot.annotator):
        kind = kind_of(question)
        stored = answers.get(question.pk)
        answer, refused = kind.as_displayed(slot, stored.value) if stored else "", ""
        if kind.is_open_ended:
            answer, refused = sent.get(question.key, (answer, ""))
        options = kind.options(slot, question)
        shown.append(ShownQuestion(question, kind, options, answer, refused))
    return shown
