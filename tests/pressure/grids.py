"""Studies of any size, written at once: every method rendered every story.

No pictures, texts or plan: what is tried here is who gets which slot.
"""

from django.db import transaction
from django.utils import timezone

from annotate import event_log
from annotate.models import Annotator, Invitation, Question, Slot, Study, Unit
from annotate.studies.planning import add_views
from evalcore.database.postgresql import analyze
from evalcore.models import Benchmark, Method, Output, Story

CHUNK = 2000


@transaction.atomic
def make_grid(
    slug: str,
    *,
    stories: int,
    methods: int,
    redundancy: int,
    kind: str = "likert",
    assignment: str = "open",
    slots: bool = True,
    **fields: object,
) -> Study:
    """Return a study with a unit for each output, or for each pair of a story.

    Its slots are free, level by level; both sides of a pair come equally often.
    """
    benchmark = Benchmark.objects.create(slug=slug, title=slug)
    study = Study.objects.create(
        slug=slug,
        title=slug,
        benchmark=benchmark,
        outputs_at_once=1 if kind == "likert" else 2,
        template="grid",
        assignment=assignment,
        redundancy=redundancy,
        state=Study.State.OPEN,
        **{"session_size": 7} | fields,
    )
    likert = kind == "likert"
    Question.objects.create(
        study=study,
        kind=kind,
        key="quality",
        ordinal=1,
        titles={"en": "Quality"},
        scale_min=0 if likert else None,
        scale_max=4 if likert else None,
    )
    add_views(study)
    _make_units(study, stories, methods)
    if slots:
        _make_slots(study)
    analyze(Unit, Slot)
    return study


def _make_units(study: Study, stories: int, methods: int) -> None:
    names = [f"m{number:03}" for number in range(methods)]
    rows = [Method.objects.get_or_create(name=name)[0] for name in names]
    told = Story.objects.bulk_create(
        Story(benchmark=study.benchmark, key=f"{number:05}")
        for number in range(stories)
    )
    outputs = Output.objects.bulk_create(
        (Output(story=story, method=method) for story in told for method in rows),
        batch_size=CHUNK,
    )
    Unit.objects.bulk_create(
        (
            Unit(
                study=study,
                story_id=a.story_id,
                output_a=a,
                output_b=b,
                redundancy=study.redundancy,
            )
            for start in range(0, len(outputs), methods)
            for a, b in _shown(outputs[start : start + methods], study.is_side_by_side)
        ),
        batch_size=CHUNK,
    )


def _shown(outputs: list[Output], pairwise: bool) -> list[tuple[Output, Output | None]]:
    if not pairwise:
        return [(output, None) for output in outputs]
    return [(a, b) for i, a in enumerate(outputs) for b in outputs[i + 1 :]]


def _make_slots(study: Study) -> None:
    made = Slot.objects.bulk_create(
        (
            Slot(
                study=study,
                unit=unit,
                round=round_,
                ordinal=ordinal,
                level=ordinal + (round_ - 1) * study.redundancy,
                a_is_left=(ordinal + number) % 2 == 0,
            )
            for number, unit in enumerate(study.units.order_by("pk"))
            for round_ in range(1, study.rounds + 1)
            for ordinal in range(1, study.redundancy + 1)
        ),
        batch_size=CHUNK,
    )
    event_log.list_slots(study, made)


def deal_out(study: Study, people: list[Annotator]) -> None:
    """Plan the study's slots for people, each unit for as many as it has slots."""
    slots = list(study.slots.order_by("unit", "round", "ordinal"))
    for number, slot in enumerate(slots):
        place, who = divmod(number, len(people))
        slot.annotator = people[who]
        slot.session = 1 + place // study.session_size
        slot.position = 100 + 10 * place
    fields = ["annotator", "session", "position"]
    Slot.objects.bulk_update(slots, fields, batch_size=500)
    event_log.list_slots(study, slots)


def add_people(study: Study, count: int, **fields: object) -> list[Annotator]:
    """Add annotators who have agreed to take part, each with a link."""
    known = study.annotators.count()
    people = Annotator.objects.bulk_create(
        Annotator(
            study=study,
            name=f"P{known + number:04}",
            state=Annotator.State.ACTIVE,
            consented_at=timezone.now(),
            instructed_at=timezone.now(),
            **fields,
        )
        for number in range(1, count + 1)
    )
    Invitation.objects.bulk_create(Invitation(annotator=one) for one in people)
    return people
