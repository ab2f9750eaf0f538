"""How far a study is: methods (or pairs of methods) by stories."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, TypeVar, cast

import numpy as np
from django.core.cache import cache
from django.db.models import Count, F, Q, QuerySet, Sum
from numpy.typing import NDArray

from annotate.kinds.registry import kind_of
from annotate.models import Flag, Purpose, Question, Slot, Study
from evalcore.models import Method, Story

SlotState = Slot.State
UnitNumbers = NDArray[np.int64]
Name = TypeVar("Name", str, tuple[str, ...])
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


# What `UnitCounts` holds of each unit.
COLUMNS = ("pk", "row", "column", "aside", "done", "doubted", "leased", "wanted")


class UnitCount(NamedTuple):
    """A unit with what was counted for it."""

    pk: int
    methods: tuple[str, ...]
    story: str
    aside: bool
    done: int
    doubted: int
    leased: int
    wanted: int


@dataclass(frozen=True)
class UnitCounts:
    """What was counted for each unit, in columns: there may be tens of thousands."""

    methods: tuple[tuple[str, ...], ...]
    stories: tuple[str, ...]
    pk: UnitNumbers
    row: UnitNumbers
    column: UnitNumbers
    done: UnitNumbers
    doubted: UnitNumbers
    leased: UnitNumbers
    wanted: UnitNumbers
    aside: UnitNumbers

    def __len__(self) -> int:
        return len(self.pk)

    def __iter__(self) -> Iterator[UnitCount]:
        order = np.lexsort((self.pk, self.column, self.row))
        columns = (getattr(self, name)[order].tolist() for name in COLUMNS)
        for pk, row, column, aside, *counted in zip(*columns, strict=True):
            yield UnitCount(
                pk, self.methods[row], self.stories[column], bool(aside), *counted
            )

    def only(self, kept: NDArray[np.bool_]) -> "UnitCounts":
        """Return some of the units."""
        rows, row = np.unique(self.row[kept], return_inverse=True)
        columns, column = np.unique(self.column[kept], return_inverse=True)
        left = {name: getattr(self, name)[kept] for name in COLUMNS}
        return UnitCounts(
            tuple(self.methods[i] for i in rows),
            tuple(self.stories[i] for i in columns),
            **left | {"row": row, "column": column},
        )


def totals(
    study: Study, *, found: UnitCounts | None = None, surplus: int | None = None
) -> Totals:
    """Sum the units' counters, of `found` where these were read already."""
    if found is None:
        sums = study.units.filter(purpose=Purpose.REAL).aggregate(
            done=Sum("submitted"), wanted=Sum("redundancy")
        )
        done, wanted = sums["done"] or 0, (sums["wanted"] or 0) * study.rounds
    else:
        done, wanted = int(found.done.sum()), int(found.wanted.sum())
    if surplus is None:
        surplus = study.slots.filter(SURPLUS).count()
    return Totals(
        submitted=done,
        wanted=wanted,
        leased=leases(study).count(),
        excluded=study.slots.filter(state=SlotState.EXCLUDED).count(),
        surplus=surplus,
    )


def leases(study: Study) -> QuerySet[Slot]:
    """Return the wanted slots that somebody has in hand, the first to run out first."""
    return study.slots.filter(state=SlotState.LEASED, ordinal__isnull=False).order_by(
        "lease_until"
    )


def units(study: Study) -> UnitCounts:
    """Return every real unit with its counts."""
    real = study.units.filter(purpose=Purpose.REAL).order_by()
    # Whole numbers only: other columns would be converted one by one.
    rows = real.values_list(
        "pk", "story", "submitted", "redundancy", *study.output_paths(below="__method")
    )
    width = 4 + study.outputs_at_once
    numbers = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, width)
    pk, story, done, redundancy, *shown = numbers.T
    aside = real.filter(set_aside_at__isnull=False).values_list("pk", flat=True)
    methods, row = _methods(shown)
    stories, column = _stories(study, story)
    return UnitCounts(
        methods,
        stories,
        pk,
        row,
        column,
        done,
        np.minimum(_of_units(pk, doubted_units(study)), done),
        _of_units(pk, Counter(leases(study).values_list("unit", flat=True))),
        redundancy * study.rounds,
        _of_units(pk, dict.fromkeys(aside, 1)),
    )


def _methods(
    shown: Sequence[UnitNumbers],
) -> tuple[tuple[tuple[str, ...], ...], UnitNumbers]:
    names = dict(Method.objects.values_list("pk", "name"))
    place = np.zeros(len(shown[0]), np.int64)
    for column in shown:  # numbers of sets stay small, however many methods there are
        ids, codes = np.unique(column, return_inverse=True)
        _sets, place = np.unique(place * len(ids) + codes, return_inverse=True)
    _numbers, first = np.unique(place, return_index=True)
    sets = [tuple(names[int(column[i])] for column in shown) for i in first]
    return _in_order(sets, place)


def _stories(study: Study, story: UnitNumbers) -> tuple[tuple[str, ...], UnitNumbers]:
    """Return the keys of the stories that occur, and which one each is."""
    keys = dict(
        Story.objects.filter(benchmark=study.benchmark_id).values_list("pk", "key")
    )
    codes, place = np.unique(story, return_inverse=True)
    return _in_order([keys[code] for code in codes.tolist()], place)


def _in_order(
    names: list[Name], place: UnitNumbers
) -> tuple[tuple[Name, ...], UnitNumbers]:
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    return tuple(names[i] for i in order), rank[place]


def _of_units(pk: UnitNumbers, counted: Mapping[int, int]) -> UnitNumbers:
    """Return what was counted of each unit, 0 where nothing was."""
    if not counted:
        return np.zeros(len(pk), np.int64)
    return np.array([counted.get(one, 0) for one in pk.tolist()], np.int64)


def of_question(found: UnitCounts, study: Study, question: Question) -> UnitCounts:
    """Return the units that a question is asked of, with the answers it has."""
    asked = asked_of(found, study, question)
    shown = found if asked.all() else found.only(asked)
    if not study.is_imported:
        return shown
    answered = _of_units(shown.pk, _answered(study, question))
    return replace(shown, done=answered, doubted=np.minimum(shown.doubted, answered))


def asked_of(found: UnitCounts, study: Study, question: Question) -> NDArray[np.bool_]:
    """Say of each unit whether a question is asked of its story."""
    asked = stories_of(study, question)
    return np.array([key in asked for key in found.stories], bool)[found.column]


def stories_of(study: Study, question: Question) -> set[str]:
    """Return the keys of the stories that a question is asked of."""
    rows = Story.objects.filter(benchmark=study.benchmark_id).only("key", "tags")
    return {story.key for story in rows if question.is_asked_of(story)}


def doubted_units(study: Study) -> Counter[int]:
    """Count per unit the submitted slots of annotators with a warning or worse."""
    flagged = Flag.objects.filter(
        annotator__study=study, resolved_at__isnull=True, action__in=DOUBTS
    ).values_list("annotator", flat=True)
    done = Slot.objects.filter(
        annotator__in=list(flagged), state=SlotState.SUBMITTED, ordinal__isnull=False
    )
    return Counter(done.values_list("unit", flat=True))


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
