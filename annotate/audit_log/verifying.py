"""Checks every promise about a study from the raw tables."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from django.db.models import Count, Exists, F, OuterRef, Q

from annotate.audit_log import as_of_event
from annotate.kinds.registry import is_required, kind_of, kinds_of, tables_of
from annotate.models import (
    EVERYTHING,
    MAIN,
    WITHDRAWN,
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


def problems(study: Study) -> list[str]:
    """Return a sentence for each promise that the stored data break."""
    return [
        *_units(study),
        *_redundancy(study),
        *_people(study),
        *_erased(study),
        *_withdrawn(study),
        *_exclusions(study),
        *_views(study),
        *_answers(study),
        *_shots_answered(study),
        *_looks(study),
        *_in_sight(study),
        *_shot_comments(study),
        *_values(study),
        *_counts(study),
        *_scores(study),
        *as_of_event.problems(study),
    ]


def strays() -> list[str]:
    """Return a sentence for each study that scores were posted to and that is gone."""
    posted = MetricScore.everything.exclude(posted_to="")
    gone = posted.exclude(posted_to__in=Study.objects.values("slug"))
    counted = gone.order_by().values_list("posted_to").annotate(n=Count("pk"))
    return [
        f"{n} scores were posted to {slug!r}, which is no study"
        for slug, n in counted.order_by("posted_to")
    ]


def _units(study: Study) -> Iterator[str]:
    paths = study.output_paths()
    elsewhere = ~Q(story__benchmark=F("study__benchmark"))
    for name in paths:
        is_other = ~Q(**{f"{name}__story": F("story")})
        elsewhere |= Q(**{f"{name}__isnull": False}) & is_other
    alien = Unit.objects.filter(study=study).filter(elsewhere)
    for unit in alien:
        yield f"unit {unit.pk}: its outputs belong to another story or benchmark"
    as_many = {
        f"{name}__isnull": number > len(paths)
        for number, name in enumerate(OUTPUTS, start=1)
    }
    wrong = Unit.objects.filter(study=study).exclude(**as_many)
    for unit in wrong:
        yield f"unit {unit.pk}: does not show {study.outputs_at_once} outputs"
    is_turned = Q(pk__in=[])
    # A twin may stand beside its original, which is of the same method.
    is_own = ~Q(purpose__in=[Purpose.TWIN, Purpose.TRAINING])
    for first, second in pairwise(f"{path}__method__name" for path in paths):
        is_turned |= Q(**{f"{first}__gt": F(second)}) | is_own & Q(**{first: F(second)})
    turned = Unit.objects.filter(is_turned, study=study)
    for unit in turned:
        yield f"unit {unit.pk}: its methods are not in alphabetical order, each once"


def _redundancy(study: Study) -> Iterator[str]:
    """Check the slots of each unit; only an imported table may have fewer."""
    inside = Q(slots__ordinal__isnull=False) & ~Q(slots__state=SlotState.EXCLUDED)
    for round_ in range(1, study.rounds + 1):
        units = Unit.objects.filter(study=study).annotate(
            n=Count("slots", filter=inside & Q(slots__round=round_))
        )
        wrong = Q(n__gt=F("redundancy"))
        if not study.is_imported:
            wrong |= Q(n__lt=F("redundancy"))
        for unit in units.filter(wrong):
            yield (
                f"unit {unit.pk}: {unit.n} slots in round {round_}, "
                f"redundancy is {unit.redundancy}"
            )


def _scores(study: Study) -> Iterator[str]:
    posted = MetricScore.everything.filter(posted_to=study.slug)
    for score in posted.exclude(benchmark=study.benchmark_id):
        yield f"score {score.pk}: posted to this study, but of another benchmark"


def _counts(study: Study) -> Iterator[str]:
    """Check each unit's count of submitted slots, which the coverage page shows."""
    done = Q(slots__ordinal__isnull=False, slots__state=SlotState.SUBMITTED)
    units = Unit.objects.filter(study=study).annotate(n=Count("slots", filter=done))
    for unit in units.exclude(n=F("submitted")):
        yield f"unit {unit.pk}: counts {unit.submitted} submitted slots, has {unit.n}"


def _people(study: Study) -> Iterator[str]:
    held = study.slots.filter(
        annotator__isnull=False, purpose__in=("real", "gold", "twin")
    ).values_list("unit", "round", "annotator")
    for (unit, round_, annotator), count in Counter(held).items():
        if count > 1:
            yield f"unit {unit}, round {round_}: {count} slots of annotator {annotator}"
    for slot in study.slots.exclude(annotator__isnull=True).exclude(
        annotator__study=F("study")
    ):
        yield f"slot {slot.code}: its annotator belongs to another study"
    stranded = study.slots.filter(
        state__in=[SlotState.OPEN, SlotState.LEASED],
        annotator__state__in=(Annotator.State.REVOKED, Annotator.State.FAILED),
    )
    for slot in stranded:
        yield f"slot {slot.code}: open, but held by somebody who may not work"


def _erased(study: Study) -> Iterator[str]:
    """Check that nothing lets in, or names, somebody whose data were erased."""
    erased = study.annotators.filter(erased_at__isnull=False)
    is_left = ~Q(invitation__token__startswith="~") | ~Q(invitation__note="")
    is_let_in = Q(invitation__revoked_at__isnull=True)
    known = Q(invitation__isnull=False) & (is_left | is_let_in)
    for person in erased.filter(known | ~Q(state=Annotator.State.REVOKED)):
        yield f"annotator {person.name}: erased, but the link or a note is still there"


def _withdrawn(study: Study) -> Iterator[str]:
    """Check that nothing counts whose annotator withdrew it, and nobody goes on."""
    people = study.annotators.filter(withdrawn_at__isnull=False)
    for person in people.exclude(state=Annotator.State.REVOKED):
        yield f"annotator {person.name}: withdrew the consent, but may go on"
    left = study.slots.filter(
        annotator__answers_withdrawn=True, state=SlotState.SUBMITTED
    ).exclude(purpose=Purpose.TRAINING)
    for slot in left:
        yield f"slot {slot.code}: counts, although its annotator withdrew the answers"


def _exclusions(study: Study) -> Iterator[str]:
    in_force = Exclusion.objects.filter(slot=OuterRef("pk"), undone_at__isnull=True)
    slots = study.slots.annotate(excluded=Exists(in_force))
    for slot in slots.filter(state=SlotState.EXCLUDED, excluded=False):
        yield f"slot {slot.code}: excluded, but no exclusion is in force"
    for slot in slots.filter(excluded=True).exclude(state=SlotState.EXCLUDED):
        yield f"slot {slot.code}: an exclusion is in force, but it is {slot.state}"


def _views(study: Study) -> Iterator[str]:
    """Check the standing views, and what each exclusion hides, also by the log."""
    keys = set(study.analysis_views.values_list("key", flat=True))
    for key in (MAIN, EVERYTHING):
        if key not in keys:
            yield f"study {study.slug}: has no view {key}"
    told = as_of_event.hidden_views(study.events.all())
    for row in in_force(study).select_related("slot").prefetch_related("views"):
        hidden = {view.key for view in row.views.all()}
        if row.rule == WITHDRAWN and hidden != keys:
            yield f"slot {row.slot.code}: withdrawn, but not hidden from every view"
        elif MAIN not in hidden or (EVERYTHING in hidden and row.rule != WITHDRAWN):
            yield (
                f"slot {row.slot.code}: excluded from "
                f"{', '.join(sorted(hidden)) or 'no view'}; expected {MAIN} and any "
                f"other but {EVERYTHING}"
            )
        elif hidden != told.get(row.slot_id, {MAIN}):
            yield f"slot {row.slot.code}: hidden from other views than the log tells"


def _answers(study: Study) -> Iterator[str]:
    """Check that each closed slot has one current answer to each question."""
    shots = _shots(study)
    questions = list(study.questions.all())
    closed = study.slots.filter(state__in=[SlotState.SUBMITTED, SlotState.EXCLUDED])
    for model, kinds in tables_of(study).items():
        asked = [(q, kind_of(q)) for q in questions if kind_of(q) in kinds]
        current = model.objects.filter(
            slot__in=closed, is_current=True, annotator=F("slot__annotator")
        )
        counted = current.order_by().values_list("slot").annotate(n=Count("pk"))
        given = dict(counted)
        for slot in closed.select_related("unit__story").iterator(2000):
            number = given.get(slot.pk, 0)
            story = slot.unit.story
            most, least = (
                sum(
                    shots.get(story.pk, 0) if kind.of_shots else 1
                    for question, kind in asked
                    if question.is_asked_of(story)
                    and (is_required(question) or not only_needed)
                )
                for only_needed in (False, True)
            )
            if not (1 if study.is_imported else least) <= number <= most:
                told = f"{number} current {kinds[0].table} for {most} questions"
                yield f"slot {slot.code}: {told}"
        place = ["shot"] if any(kind.of_shots for kind in kinds) else []
        yield from _answers_of(model, study, place)


def _answers_of(model: type[Answer], study: Study, place: list[str]) -> Iterator[str]:
    alien = model.objects.filter(slot__study=study).exclude(question__study=study)
    for answer in alien:
        yield f"{model.__name__.lower()} {answer.pk}: answers another study's question"
    doubled = (
        model.objects.filter(slot__study=study, is_current=True)
        .values("slot", "question", "annotator", *place)
        .annotate(n=Count("pk"))
        .filter(n__gt=1)
    )
    for row in doubled:
        yield f"slot {row['slot']}: {row['n']} current answers to one question"


def _shots(study: Study) -> dict[int, int]:
    shots = Shot.objects.filter(story__benchmark=study.benchmark_id).order_by()
    return dict(shots.values_list("story").annotate(n=Count("pk")))


def _shots_answered(study: Study) -> Iterator[str]:
    """Check that the boxes of a checklist are about a shot, and nothing else is."""
    of_shots = [q for q in study.questions.all() if kind_of(q).of_shots]
    same = Shot.objects.filter(
        story=OuterRef("slot__unit__story"), number=OuterRef("shot")
    )
    is_asked = Q(question__in=of_shots) & Exists(same)
    ratings = Rating.objects.filter(slot__study=study)
    for rating in ratings.exclude(is_asked | (~Q(question__in=of_shots) & Q(shot=0))):
        yield f"rating {rating.pk}: is about shot {rating.shot}, which is not asked"


def _looks(study: Study) -> Iterator[str]:
    """Check that each shot of a submitted checklist has its annotator's word."""
    boxes = [q for q in study.questions.all() if kind_of(q).of_shots]
    if not boxes or study.is_imported:
        return
    shots = _shots(study)
    own = Count("looks", filter=Q(looks__annotator=F("annotator")))
    closed = study.slots.filter(state__in=[SlotState.SUBMITTED, SlotState.EXCLUDED])
    for slot in closed.annotate(n=own).select_related("unit__story").iterator(2000):
        story = slot.unit.story
        is_asked = any(box.is_asked_of(story) for box in boxes)
        if is_asked and slot.n != shots.get(story.pk, 0):
            yield f"slot {slot.code}: {slot.n} of its shots were looked at"


def _in_sight(study: Study) -> Iterator[str]:
    """Check that no shot was in sight for longer than its slot took."""
    told = study.slots.filter(in_sight__isnull=False).select_related("unit")
    numbers = defaultdict(set)
    shots = Shot.objects.filter(story__benchmark=study.benchmark_id).order_by()
    for story, number in shots.values_list("story", "number"):
        numbers[story].add(str(number))
    for slot in told.iterator(2000):
        seen: dict[str, float] = slot.in_sight or {}
        if not seen.keys() <= numbers[slot.unit.story_id]:
            yield f"slot {slot.code}: a shot was in sight that its story has not"
        if any(not 0 <= s <= (slot.seconds or 0) for s in seen.values()):
            yield f"slot {slot.code}: a shot was in sight for longer than the slot took"


def _shot_comments(study: Study) -> Iterator[str]:
    """Check that each comment on a shot is about one that its slot shows."""
    same = Shot.objects.filter(
        story=OuterRef("slot__unit__story"), number=OuterRef("shot")
    )
    is_shown = Q(pk__in=[])
    for path in study.output_paths("slot__unit__"):
        is_shown |= Q(output=F(path))
    rows = ShotComment.objects.filter(slot__study=study)
    for row in rows.exclude(is_shown & Exists(same)).select_related("slot"):
        told = f"output {row.output_id} and shot {row.shot}, which it does not show"
        yield f"slot {row.slot.code}: a comment is about {told}"


def _values(study: Study) -> Iterator[str]:
    """Check the answers themselves, each kind by its own rules."""
    for kind in kinds_of(study):
        yield from kind.invalid_answers(study)
