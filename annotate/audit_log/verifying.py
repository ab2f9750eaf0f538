"""Consistency checks of a study's stored data."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise

from django.db.models import Count, Exists, F, Model, OuterRef, Q, QuerySet

from annotate.audit_log import as_of_event
from annotate.kinds.registry import is_required, kind_of, kinds_of, tables_of
from annotate.models import (
    EVERYTHING,
    MAIN,
    Annotator,
    Answer,
    Exclusion,
    Purpose,
    Rating,
    ShotComment,
    Slot,
    Study,
    Unit,
)
from annotate.models.units import OUTPUTS
from annotate.responses.analysis_views import in_force
from evalcore.models import MetricScore, Shot

SlotState = Slot.State
CLOSED = (SlotState.SUBMITTED, SlotState.EXCLUDED)
NOBODY = Q(pk__in=[])


def problems(study: Study) -> list[str]:
    """Return a sentence for each inconsistency in the stored data."""
    found = [text.format(row) for rows, text in _broken_rows(study) for row in rows]
    for check in CHECKS:
        found += check(study)
    for kind in kinds_of(study):
        found += kind.invalid_answers(study)
    return [*found, *as_of_event.problems(study)]


def strays() -> list[str]:
    """Return a sentence for each missing study that scores were posted to."""
    posted = MetricScore.everything.exclude(posted_to="")
    gone = posted.exclude(posted_to__in=Study.objects.values("slug"))
    counted = gone.order_by().values_list("posted_to").annotate(n=Count("pk"))
    return [
        f"{n} scores were posted to {slug!r}, but there is no such study"
        for slug, n in counted.order_by("posted_to")
    ]


def _broken_rows(study: Study) -> Iterator[tuple[QuerySet[Model], str]]:
    """Yield inconsistent rows, with a message for each set."""
    units = Unit.objects.filter(study=study)
    yield from _broken_units(study, units)

    inside = Q(slots__ordinal__isnull=False)
    for round_ in range(1, study.rounds + 1):
        wanted = inside & ~Q(slots__state=SlotState.EXCLUDED) & Q(slots__round=round_)
        counted = units.annotate(n=Count("slots", filter=wanted))
        # Only an imported table may have fewer.
        wrong = Q(n__gt=F("redundancy"))
        if not study.is_imported:
            wrong |= Q(n__lt=F("redundancy"))
        yield (
            counted.filter(wrong),
            f"unit {{0.pk}}: {{0.n}} slots in round {round_}, but the redundancy is "
            f"{{0.redundancy}}",
        )
    done = Count("slots", filter=inside & Q(slots__state=SlotState.SUBMITTED))
    yield (
        units.annotate(n=done).exclude(n=F("submitted")),
        "unit {0.pk}: counter says {0.submitted} submitted slots, but there are {0.n}",
    )

    slots = study.slots.all()
    yield (
        slots.filter(annotator__isnull=False).exclude(annotator__study=F("study")),
        "slot {0.code}: its annotator belongs to another study",
    )
    unfinished = slots.filter(state__in=[SlotState.OPEN, SlotState.LEASED])
    shut_out = (Annotator.State.REVOKED, Annotator.State.FAILED)
    yield (
        unfinished.filter(annotator__state__in=shut_out),
        "slot {0.code}: open, but its annotator may not work",
    )
    has_exclusion = Exclusion.objects.filter(
        slot=OuterRef("pk"), undone_at__isnull=True
    )
    slots = slots.annotate(is_left_out=Exists(has_exclusion))
    yield (
        slots.filter(state=SlotState.EXCLUDED, is_left_out=False),
        "slot {0.code}: excluded, but no exclusion is in force",
    )
    yield (
        slots.filter(is_left_out=True).exclude(state=SlotState.EXCLUDED),
        "slot {0.code}: an exclusion is in force, but the state is {0.state}",
    )

    yield (
        study.join_links.annotate(n=Count("people")).exclude(n=F("joined")),
        "public link {0.pk}: counter says {0.joined} places are taken, but {0.n} "
        "people have one",
    )

    people = study.annotators.all()
    is_left = ~Q(invitation__token__startswith="~") | ~Q(invitation__note="")
    is_let_in = Q(invitation__revoked_at__isnull=True)
    known = Q(invitation__isnull=False) & (is_left | is_let_in)
    yield (
        people.filter(
            known | ~Q(state=Annotator.State.REVOKED), erased_at__isnull=False
        ),
        "annotator {0.name}: erased, but the link or a note remains",
    )
    withdrawn = people.filter(withdrawn_at__isnull=False)
    yield (
        withdrawn.exclude(state=Annotator.State.REVOKED),
        "annotator {0.name}: withdrew consent, but may still work",
    )
    yield (
        study.slots.filter(
            annotator__answers_withdrawn=True, state=SlotState.SUBMITTED
        ).exclude(purpose=Purpose.TRAINING),
        "slot {0.code}: still counted, although its annotator withdrew the answers",
    )
    yield (
        MetricScore.everything.filter(posted_to=study.slug).exclude(
            benchmark=study.benchmark_id
        ),
        "score {0.pk}: posted to this study, but of another benchmark",
    )

    same_shot = Exists(
        Shot.objects.filter(
            story=OuterRef("slot__unit__story"), number=OuterRef("shot")
        )
    )
    of_shots = [q for q in study.questions.all() if kind_of(q).of_shots]
    is_asked = Q(question__in=of_shots) & same_shot
    is_whole = ~Q(question__in=of_shots) & Q(shot=0)
    yield (
        Rating.objects.filter(slot__study=study).exclude(is_asked | is_whole),
        "rating {0.pk}: is about shot {0.shot}, but the question does not ask about it",
    )
    is_shown = NOBODY
    for path in study.output_paths("slot__unit__"):
        is_shown |= Q(output=F(path))
    comments = ShotComment.objects.filter(slot__study=study).select_related("slot")
    yield (
        comments.exclude(is_shown & same_shot),
        "slot {0.slot.code}: has a comment on output {0.output_id} and shot {0.shot}, "
        "which it does not show",
    )


def _broken_units(
    study: Study, units: QuerySet[Unit]
) -> Iterator[tuple[QuerySet[Model], str]]:
    paths = study.output_paths()
    elsewhere = ~Q(story__benchmark=F("study__benchmark"))
    for name in paths:
        is_other = ~Q(**{f"{name}__story": F("story")})
        elsewhere |= Q(**{f"{name}__isnull": False}) & is_other
    yield (
        units.filter(elsewhere),
        "unit {0.pk}: its outputs belong to another story or benchmark",
    )
    # Units of imported rankings may show fewer outputs than the largest.
    least = min(len(paths), 2) if study.is_imported else len(paths)
    as_many = {
        f"{name}__isnull": number > len(paths)
        for number, name in enumerate(OUTPUTS, start=1)
        if number <= least or number > len(paths)
    }
    yield (
        units.exclude(**as_many),
        f"unit {{0.pk}}: does not show {study.outputs_at_once} outputs",
    )
    is_turned = NOBODY
    # A degraded copy may be paired with its original, of the same method.
    is_own = ~Q(purpose__in=[Purpose.TWIN, Purpose.TRAINING])
    for first, second in pairwise(f"{path}__method__name" for path in paths):
        is_turned |= Q(**{f"{first}__gt": F(second)}) | is_own & Q(**{first: F(second)})
    yield (
        units.filter(is_turned),
        "unit {0.pk}: its methods are repeated or not in alphabetical order",
    )


def _held_once(study: Study) -> Iterator[str]:
    """Check that nobody holds two slots of a unit in one round."""
    held = study.slots.filter(
        annotator__isnull=False, purpose__in=("real", "gold", "twin")
    ).values_list("unit", "round", "annotator")
    for (unit, round_, annotator), count in Counter(held).items():
        if count > 1:
            yield f"unit {unit}, round {round_}: {count} slots of annotator {annotator}"


def _views(study: Study) -> Iterator[str]:
    """Check the default views, and the views of each exclusion against the log."""
    keys = set(study.analysis_views.values_list("key", flat=True))
    for key in (MAIN, EVERYTHING):
        if key not in keys:
            yield f"study {study.slug}: has no view {key}"
    told = as_of_event.hidden_views(study.events.all())
    for row in in_force(study).select_related("slot").prefetch_related("views"):
        hidden = {view.key for view in row.views.all()}
        if row.is_final and hidden != keys:
            yield f"slot {row.slot.code}: {row.rule}, but not hidden from every view"
        elif MAIN not in hidden or (EVERYTHING in hidden and not row.is_final):
            yield (
                f"slot {row.slot.code}: excluded from "
                f"{', '.join(sorted(hidden)) or 'no view'}; expected {MAIN} and any "
                f"others except {EVERYTHING}"
            )
        elif hidden != told.get(row.slot_id, {MAIN}):
            yield f"slot {row.slot.code}: the views that hide it differ from the log"


def _answers(study: Study) -> Iterator[str]:
    """Check that each closed slot has one current answer to each question.

    A checklist has one per shot, and a confirmation for each shot.
    """
    numbers: dict[int, set[str]] = defaultdict(set)
    shots = Shot.objects.filter(story__benchmark=study.benchmark_id).order_by()
    for story, number in shots.values_list("story", "number"):
        numbers[story].add(str(number))
    given = {
        model: dict(
            model.objects.filter(
                slot__study=study, is_current=True, annotator=F("slot__annotator")
            )
            .order_by()
            .values_list("slot")
            .annotate(n=Count("pk"))
        )
        for model in tables_of(study)
    }
    questions = [(question, kind_of(question)) for question in study.questions.all()]
    looks = Count("looks", filter=Q(looks__annotator=F("annotator")))
    slots = study.slots.annotate(looks_n=looks).select_related("unit__story")
    for slot in slots.filter(state__in=CLOSED).order_by("pk").iterator(2000):
        n_shots = len(numbers[slot.unit.story_id])
        asked = [one for one in questions if one[0].is_asked_of(slot.unit.story)]
        for model, kinds in tables_of(study).items():
            wanted = [
                (n_shots if kind.of_shots else 1, is_required(question))
                for question, kind in asked
                if kind in kinds
            ]
            most = sum(n for n, _needed in wanted)
            least = sum(n for n, needed in wanted if needed)
            number = given[model].get(slot.pk, 0)
            if not (1 if study.is_imported else least) <= number <= most:
                told = f"{number} current {kinds[0].table} for {most} questions"
                yield f"slot {slot.code}: {told}"
        has_boxes = any(kind.of_shots for _question, kind in asked)
        if has_boxes and not study.is_imported and slot.looks_n != n_shots:
            yield f"slot {slot.code}: only {slot.looks_n} of its shots were viewed"
    for slot in slots.filter(in_sight__isnull=False).iterator(2000):
        seen: dict[str, float] = slot.in_sight or {}
        if not seen.keys() <= numbers[slot.unit.story_id]:
            yield f"slot {slot.code}: its story lacks a shot that was in sight"
        if any(not 0 <= s <= (slot.seconds or 0) for s in seen.values()):
            yield f"slot {slot.code}: a shot was in sight longer than the slot lasted"


def _answer_rows(study: Study) -> Iterator[str]:
    """Check that answers belong to the study, with one current version each."""
    for model, kinds in tables_of(study).items():
        answers: QuerySet[Answer] = model.objects.filter(slot__study=study)
        name = model.__name__.lower()
        for answer in answers.exclude(question__study=study):
            yield f"{name} {answer.pk}: answers a question of another study"
        place = ["shot"] if any(kind.of_shots for kind in kinds) else []
        same = answers.filter(is_current=True).order_by()
        same = same.values("slot", "question", "annotator", *place)
        for row in same.annotate(n=Count("pk")).filter(n__gt=1):
            yield f"slot {row['slot']}: {row['n']} current answers to one question"


CHECKS: tuple[Callable[[Study], Iterator[str]], ...] = (
    _held_once,
    _views,
    _answers,
    _answer_rows,
)
