"""Small real studies for tests, built straight from the models."""

import io
from functools import cache
from itertools import combinations

from django.utils import timezone
from PIL import Image, ImageDraw

from annotate import event_log
from annotate.kinds.registry import KINDS
from annotate.models import Annotator, Invitation, Question, Slot, Study, Unit
from annotate.models.units import as_fields
from annotate.responses.analysis_views import add_views
from evalcore import media
from evalcore.models import Benchmark, Frame, MediaFile, Method, Output, Shot, Story

METHODS = ("Alder", "Birch", "Cedar")
LABELS = (("Camera", "pan"), ("Entities", "people"), ("Entities", "animals"))


@cache
def picture_bytes(label: str, size: tuple[int, int] = (96, 64), fmt="PNG") -> bytes:
    """A small picture whose pixels depend on the label."""
    hue = sum(label.encode()) * 37 % 256
    picture = Image.new("RGB", size, (hue, 255 - hue, 128))
    ImageDraw.Draw(picture).text((4, 4), label, fill="white")
    buffer = io.BytesIO()
    picture.save(buffer, fmt)
    return buffer.getvalue()


@cache
def _cleaned(label: str) -> tuple[MediaFile, bytes]:
    """A picture and its file in the store; thousands of tests show the same ones."""
    prepared = media.prepare_picture(picture_bytes(label))
    return prepared, media.original_path(prepared).read_bytes()


def store_picture(data: bytes) -> MediaFile:
    """Store a picture, as an import does, and return its row."""
    prepared = media.prepare_picture(data)
    media.store_prepared([prepared])
    return MediaFile.objects.get(sha256=prepared.sha256)


def store_labelled(label: str) -> MediaFile:
    """Store the picture of that label; its file is drawn once for all tests."""
    return _store_labelled([label])[label]


def _store_labelled(labels: list[str]) -> dict[str, MediaFile]:
    cleaned = {label: _cleaned(label) for label in labels}
    media.store_prepared(prepared for prepared, _content in cleaned.values())
    known = MediaFile.objects.in_bulk(
        [prepared.sha256 for prepared, _content in cleaned.values()]
    )
    for prepared, content in cleaned.values():
        path = media.original_path(known[prepared.sha256])
        if not path.exists():  # an open page may be reading it
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return {label: known[one.sha256] for label, (one, _content) in cleaned.items()}


def make_benchmark(
    *, slug="woods", stories=2, shots=3, methods=METHODS, pictures=True
) -> Benchmark:
    """A benchmark whose stories every method has rendered completely."""
    benchmark = Benchmark.objects.create(slug=slug, title=slug.title())
    keys = [f"{i:02}" for i in range(1, stories + 1)]
    numbers = range(1, shots + 1)
    rows = [Method.objects.get_or_create(name=name)[0] for name in methods]
    made = Story.objects.bulk_create(
        Story(benchmark=benchmark, key=key, title=f"Story {int(key)}") for key in keys
    )
    shown = Shot.objects.bulk_create(
        Shot(
            story=story,
            number=n,
            text={
                "en": {"setting": f"A wood, part {n}", "plot": f"Fox walks {n}"},
                "zh": {"setting": f"森林 {n}", "plot": f"狐狸走路 {n}"},
            },
        )
        for story in made
        for n in numbers
    )
    outputs = Output.objects.bulk_create(
        Output(story=story, method=method) for story in made for method in rows
    )
    labels = {
        (output.pk, n): f"{output.story.key} {output.method.name} {n}"
        for output in outputs
        for n in numbers
    }
    stored = _store_labelled([*labels.values()]) if pictures else {}
    shot_of = {(shot.story_id, shot.number): shot for shot in shown}
    Frame.objects.bulk_create(
        Frame(
            output=output,
            shot=shot_of[output.story_id, n],
            number=n,
            media=stored.get(labels[output.pk, n]),
        )
        for output in outputs
        for n in numbers
    )
    return benchmark


def make_study(
    *,
    kind="likert",
    benchmark=None,
    annotators=2,
    slug="trial",
    state="open",
    consented=False,
    **kw,
) -> Study:
    """An open study: every annotator holds one slot of every unit, in order.

    Redundancy equals the number of annotators. Annotators are named A01, A02, ...
    and invited; their sessions have `session_size` slots.
    """
    benchmark = benchmark or make_benchmark()
    study = Study.objects.create(
        slug=slug,
        title=f"Trial {slug}",
        benchmark=benchmark,
        outputs_at_once=KINDS[kind].least,
        state=state,
        redundancy=annotators,
        consent={"en": "You agree to take part.", "zh": "您同意参加。"},
        instructions={"en": "Look at all shots.", "zh": "请看所有镜头。"},
        **{"session_size": 3, **kw},
    )
    add_questions(study, kind)
    add_views(study)
    units = make_units(study)
    people = Annotator.objects.bulk_create(
        Annotator(
            study=study,
            name=f"A{a:02}",
            state=Annotator.State.ACTIVE if consented else Annotator.State.INVITED,
            consented_at=timezone.now() if consented else None,
            instructed_at=timezone.now() if consented else None,
        )
        for a in range(1, annotators + 1)
    )
    for annotator in people:
        Invitation.objects.create(annotator=annotator)
    Slot.objects.bulk_create(
        Slot(
            study=study,
            unit=unit,
            ordinal=a,
            annotator=annotator,
            session=1 + (position - 1) // study.session_size,
            position=position,
            a_is_left=(a + position) % 2 == 0,
            turn=a,
        )
        for a, annotator in enumerate(people, start=1)
        for position, unit in enumerate(units, start=1)
    )
    event_log.list_slots(study, list(study.slots.all()))
    return study


def add_questions(study: Study, kind: str) -> None:
    """Two questions; of a checklist, the two boxes of each of three labels."""
    if kind == "checklist":
        boxes = [(*one, box) for one in LABELS for box in ("text", "video")]
        for ordinal, (category, key, box) in enumerate(boxes, start=1):
            Question.objects.create(
                study=study,
                kind=kind,
                key=f"{key}|{box}",
                ordinal=ordinal,
                categories={"en": category, "zh": f"类别{category}"},
                titles={"en": key.title(), "zh": f"标签{key}"},
                texts={"en": f"What {key} means."},
                scale_min=0,
                scale_max=1,
            )
        return
    for ordinal, key in enumerate(("character", "aesthetics"), start=1):
        # A study has only one question about marks, beside another one.
        kind_here = "likert" if kind == "marks" and ordinal == 1 else kind
        likert = kind_here == "likert"
        anchors = {"0": {"en": "none"}, "4": {"en": "perfect"}} if likert else {}
        if kind_here == "marks":
            anchors = {"labels": {"hands": {"en": "Odd hands"}}, "required": True}
        Question.objects.create(
            study=study,
            kind=kind_here,
            key=key,
            ordinal=ordinal,
            titles={"en": key.title(), "zh": f"问题{ordinal}"},
            texts={"en": f"How good is {key}?", "zh": f"如何评价{ordinal}?"},
            anchors=anchors,
            scale_min=0 if likert else None,
            scale_max=4 if likert else None,
            allow_tie=kind_here != "ranking",
        )


def make_units(study: Study) -> list[Unit]:
    """One unit per output, or for each set of as many outputs as are shown at once."""
    shown = [
        (story, outputs)
        for story in study.benchmark.stories.all()
        for outputs in combinations(
            story.outputs.order_by("method__name"), study.outputs_at_once
        )
    ]
    return Unit.objects.bulk_create(
        Unit(
            study=study,
            story=story,
            redundancy=study.redundancy,
            **as_fields(outputs),
        )
        for story, outputs in shown
    )
