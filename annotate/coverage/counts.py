"""How far a study is: its totals, and the counts of each unit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from django.core.cache import cache
from django.db.models import Count, F, Q, QuerySet, Sum

from annotate.kinds.registry import kind_of
from annotate.models import Flag, Purpose, Question, Slot, Study
from evalcore.models import Story

SlotState = Slot.State
# The slots that redundancy asks for. The others are left out of the analysis, or
# surplus.
WANTED = Q(ordinal__isnull=False) & ~Q(state=SlotState.EXCLUDED)
SURPLUS = Q(ordinal__isnull=True, purpose=Purpose.REAL) & ~Q(state=SlotState.WITHDRAWN)
# Flags that make one doubt what an annotator has submitted.
DOUBTS = (Flag.Action.WARN, Flag.Action.PAUSE, Flag.Action.EXCLUDE)


@dataclass(frozen=True)
class Totals:
    """The slots of a study."""

    submitted: int
    wanted: int
    leased: int
    excluded: int
    surplus: int

    @property
    def open(self) -> int:
        """Return how many slots within the redundancy nobody has in hand."""
        return max(self.wanted - self.submitted - self.leased, 0)

    @property
    def left(self) -> int:
        """Return how many slots are not submitted yet."""
        return max(self.wanted - self.submitted, 0)

    @property
    def percent(self) -> int:
        """Return the whole per cent that is done; 100 only when complete."""
        return 100 * self.submitted // self.wanted if self.wanted else 0


class UnitCount(NamedTuple):
    """A unit with what was counted for it; units are in order of the first fields."""

    methods: tuple[str, ...]
    story: str
    pk: int
    aside: bool
    done: int
    doubted: int
    leased: int
    wanted: int


def totals(study: Study, *, surplus: int | None = None) -> Totals:
    """Sum the units' counters, and count the other slots."""
    sums = study.units.filter(purpose=Purpose.REAL).aggregate(
        done=Sum("submitted"), wanted=Sum("redundancy")
    )
    if surplus is None:
        surplus = study.slots.filter(SURPLUS).count()
    return Totals(
        submitted=sums["done"] or 0,
        wanted=(sums["wanted"] or 0) * study.rounds,
        leased=leases(study).count(),
        excluded=study.slots.filter(state=SlotState.EXCLUDED).count(),
        surplus=surplus,
    )


def leases(study: Study) -> QuerySet[Slot]:
    """Return the wanted slots that somebody has in hand, the first to run out first."""
    return study.slots.filter(state=SlotState.LEASED, ordinal__isnull=False).order_by(
        "lease_until"
    )


def units(study: Study) -> list[UnitCount]:
    """Return every real unit with its counts, by methods and stories."""
    doubted = _doubted(study)
    in_hand = Counter(leases(study).values_list("unit", flat=True))
    real = study.units.filter(purpose=Purpose.REAL).order_by()
    rows = real.values_list(
        "pk",
        "story__key",
        "set_aside_at",
        "submitted",
        "redundancy",
        *study.output_paths(below="__method__name"),
    )
    return sorted(
        UnitCount(
            tuple(methods),
            story,
            pk,
            aside is not None,
            done,
            min(doubted[pk], done),
            in_hand[pk],
            redundancy * study.rounds,
        )
        for pk, story, aside, done, redundancy, *methods in rows
    )


def _doubted(study: Study) -> Counter[int]:
    """Count per unit the submitted slots of annotators with a warning or worse."""
    flagged = Flag.objects.filter(
        annotator__study=study, resolved_at__isnull=True, action__in=DOUBTS
    ).values_list("annotator", flat=True)
    done = Slot.objects.filter(
        annotator__in=list(flagged), state=SlotState.SUBMITTED, ordinal__isnull=False
    )
    return Counter(done.values_list("unit", flat=True))


def of_question(
    found: Sequence[UnitCount], study: Study, question: Question
) -> list[UnitCount]:
    """Return the units that a question is asked of, with the answers it has."""
    stories = Story.objects.filter(benchmark=study.benchmark_id).only("key", "tags")
    asked = {story.key for story in stories if question.is_asked_of(story)}
    shown = [unit for unit in found if unit.story in asked]
    if not study.is_imported:
        return shown
    answered = _answered(study, question)
    return [
        unit._replace(done=n, doubted=min(unit.doubted, n))
        for unit in shown
        for n in [answered.get(unit.pk, 0)]
    ]


def _answered(study: Study, question: Question) -> dict[int, int]:
    """Count the answers to a question per unit, once for each state of the log."""
    latest = study.events.order_by("-id").values_list("id", flat=True).first()
    key = f"answered-{study.created_at.timestamp()}-{question.pk}-{latest}"
    model = kind_of(question).model

    def count() -> dict[int, int]:
        rows = model.objects.filter(
            question=question,
            is_current=True,
            annotator=F("slot__annotator"),
            slot__state=SlotState.SUBMITTED,
            slot__ordinal__isnull=False,
        )
        counted = rows.values_list("slot__unit").annotate(n=Count("pk")).order_by()
        return dict(counted)

    return cast("dict[int, int]", cache.get_or_set(key, count, 600))
