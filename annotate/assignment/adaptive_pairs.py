"""Choice of the next pair in an adaptive study."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from annotate import event_log
from annotate.assignment import adaptive
from annotate.assignment.designs.shown_sides import ShownSides
from annotate.kinds.registry import counted_answers, kind_of
from annotate.models import Event, Purpose, Question, Slot, Study
from evalcore.models import Method

if TYPE_CHECKING:
    from analysis.rankings.method_verdicts import TopMethods

PairNumbers = np.ndarray


# Its key, its unit, and whether `a` is on the left.
FreeSlot = tuple[int, int, bool | None]


@dataclass(frozen=True)
class MethodBoard:
    """A study's methods in alphabetical order, with the pair of each unit."""

    methods: list[int]
    places: dict[int, tuple[int, int, int]]

    @property
    def shape(self) -> tuple[int, int, int]:
        stories = 1 + max((place[2] for place in self.places.values()), default=-1)
        return len(self.methods), len(self.methods), stories

    def counts(
        self, rows: Iterable[tuple[int, bool, int]]
    ) -> tuple[PairNumbers, PairNumbers]:
        """Count slots with `a` left and right, given rows (unit, a_is_left, n)."""
        left, right = np.zeros((2, *self.shape), dtype=np.int64)
        for unit, a_is_left, n in rows:
            (left if a_is_left else right)[self.places[unit]] += n
        return left, right


def choose(study: Study, free: QuerySet[Slot], sides: ShownSides) -> Slot | None:
    """Draw a free slot, weighted by its pair's information about the ranking."""
    board = _board(study)
    known = _posterior(study, board)
    settings = study.adaptive
    rule = adaptive.StopRule(settings["top"], settings["confidence"], settings["least"])
    if rule.holds(known):
        best = best_methods(study, answers(study), rule.top)
        if best.p_value <= rule.largest_p:
            _stop(study, best)
            return None
    # Read once, because others take slots in the meantime.
    own = list(free.order_by().values_list("pk", "unit", "a_is_left"))
    left, right = _allowed(study, board, own)
    chosen = adaptive.pick(
        adaptive.information(known, top=settings["top"]),
        left + right,
        np.random.default_rng(),
        explore=settings["explore"],
    )
    if chosen is None:
        return None
    return _slot_of(board, own, chosen, left, right, sides)


def _board(study: Study) -> MethodBoard:
    units = list(
        study.units.filter(purpose=Purpose.REAL).values_list(
            "pk", "output_a__method", "output_b__method", "story"
        )
    )
    shown = {method for _pk, a, b, _story in units for method in (a, b)}
    named = Method.objects.filter(pk__in=shown).values_list("name", "pk")
    methods = [pk for _name, pk in sorted(named)]
    number = {pk: place for place, pk in enumerate(methods)}
    stories = {pk: i for i, pk in enumerate(sorted({unit[3] for unit in units}))}
    return MethodBoard(
        methods, {pk: (number[a], number[b], stories[s]) for pk, a, b, s in units}
    )


def _allowed(
    study: Study, board: MethodBoard, own: Sequence[FreeSlot]
) -> tuple[PairNumbers, PairNumbers]:
    """Return the annotator's free slots that keep left and right even."""
    inside = study.slots.filter(ordinal__isnull=False).exclude(
        state=Slot.State.EXCLUDED
    )
    is_open = Q(annotator__isnull=True, unit__set_aside_at__isnull=True)
    rows = list(
        inside.values_list("unit", "a_is_left")
        .annotate(
            free=Count("pk", filter=is_open),
            begun=Count("pk", filter=Q(annotator__isnull=False)),
        )
        .order_by()
    )
    begun_left, begun_right = board.counts((u, side, n) for u, side, _, n in rows)
    excess = begun_left - begun_right
    left, right = adaptive.counterbalanced(
        *board.counts((u, side, n) for u, side, n, _ in rows), excess
    )
    own_left, own_right = board.counts((unit, bool(side), 1) for _pk, unit, side in own)
    free = np.where(left, own_left, 0), np.where(right, own_right, 0)
    if free[0].any() or free[1].any():
        return free
    return adaptive.counterbalanced(own_left, own_right, excess)


def _posterior(study: Study, board: MethodBoard) -> adaptive.MethodEstimates:
    size = len(board.methods)
    wins, ties = np.zeros((2, size, size))
    worth = kind_of(_question(study)).numeric_value
    counted = answers(study).values_list("slot__unit", "value")
    given = counted.annotate(n=Count("pk")).order_by()
    for unit, value, n in given:
        i, j, _story = board.places[unit]
        if worth(value) == 1:
            wins[i, j] += n
        elif worth(value) == 0:
            wins[j, i] += n
        else:
            ties[i, j] += n
    return adaptive.posterior(wins, ties)


def _question(study: Study) -> Question:
    """Return the question that guides the choice of pairs."""
    key = study.adaptive["question"]
    return next(question for question in study.asked if question.key == key)


def answers(study: Study) -> QuerySet[Any]:
    """Return the submitted answers to the guiding question."""
    return counted_answers(_question(study))


@transaction.atomic
def _stop(study: Study, best: "TopMethods") -> None:
    """Record that the study has stopped; no more slots are assigned."""
    studies = Study.objects.select_for_update(no_key=True, skip_locked=True)
    stored = studies.filter(pk=study.pk).first()
    if stored is None:
        return
    if not stored.adaptive.get("stopped"):
        stored.adaptive["stopped"] = timezone.now().isoformat()
        stored.adaptive["p_value"] = best.p_value
        stored.save(update_fields=["adaptive"])
        methods = [int(name) for name in best.methods]
        event_log.note(Event.Kind.STOPPED_EARLY, study.pk, methods=methods)
    study.adaptive = stored.adaptive


def _slot_of(
    board: MethodBoard,
    own: Sequence[FreeSlot],
    chosen: adaptive.ChosenUnit,
    left: PairNumbers,
    right: PairNumbers,
    sides: ShownSides,
) -> Slot:
    """Draw one of the unit's free slots whose side keeps it balanced."""
    place = (*chosen.pair, chosen.story)
    sides_left = [
        side for side, counts in ((True, left), (False, right)) if counts[place]
    ]
    methods = tuple(board.methods[number] for number in chosen.pair)
    least = min(sides.cost(methods, side) for side in sides_left)
    sides_left = [side for side in sides_left if sides.cost(methods, side) == least]
    slots = [
        pk
        for pk, unit, side in own
        if board.places[unit] == place and bool(side) in sides_left
    ]
    slot = Slot.objects.select_related("unit", "study").get(pk=random.choice(slots))
    slot.probability, slot.alternatives = chosen.per_slot, chosen.available
    return slot


def best_methods(study: Study, answers: QuerySet[Any], size: int) -> "TopMethods":
    """Return the keys of the best methods as texts, and the test of the set."""
    import pandas as pd

    from analysis.rankings.bradley_terry import leaderboard
    from analysis.rankings.method_verdicts import TopMethods, top_methods

    unit = "slot__unit__"
    fields = {
        "story": f"{unit}story",
        "method_a": f"{unit}output_a__method",
        "method_b": f"{unit}output_b__method",
        "annotator": "annotator",
        "choice": "value",
    }
    rows = list(answers.order_by().values_list(*fields.values()))
    if not rows:
        return TopMethods((), float("nan"))
    choices = pd.DataFrame(rows, columns=[*fields]).astype(str)
    ranking = leaderboard(choices, criterion=study.adaptive["question"])
    ranks = {row.method: row.rank for row in ranking.rows}
    return top_methods(ranks, ranking.comparisons, size)
