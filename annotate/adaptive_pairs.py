"""Which pair an annotator compares next in an adaptive study.

`annotate.adaptive` knows how; here it gets the counts from the tables. What it needs to
undo the choice, the probability and the number of free slots, stays with the slot.
"""

import random

import numpy as np
from django.db import transaction
from django.db.models import Count, F, QuerySet
from django.utils import timezone

from annotate import adaptive, log
from annotate.models import Choice, Event, Purpose, Slot, Study

Counts = np.ndarray


def choose(study: Study, free: QuerySet[Slot]) -> Slot | None:
    """Draw one of the free slots by what its pair would tell about the ranking.

    None when nothing is free, or when the stop rule holds; then the study takes no
    more than what is leased.
    """
    known = _standing(study)
    if _stop_rule(study).holds(known):
        _stop(study, known)
        return None
    methods, stories = _places(study)
    shape = (len(methods), len(methods), len(stories))
    left, right, excess = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for a, b, story, a_is_left, n in _counted(free.order_by()):
        (left if a_is_left else right)[methods[a], methods[b], stories[story]] += n
    begun = study.slots.filter(ordinal__isnull=False, annotator__isnull=False)
    for a, b, story, a_is_left, n in _counted(begun.exclude(state=Slot.State.EXCLUDED)):
        excess[methods[a], methods[b], stories[story]] += n if a_is_left else -n
    left, right = adaptive.counterbalanced(left, right, excess)
    chosen = adaptive.pick(
        adaptive.information(known, top=study.adaptive["top"]),
        left + right,
        np.random.default_rng(),
        explore=study.adaptive["explore"],
    )
    return None if chosen is None else _slot_of(study, free, chosen, left, right)


def _places(study: Study) -> tuple[dict[int, int], dict[int, int]]:
    """Return the places of methods, in alphabetical order as in units, and stories."""
    units = study.units.filter(purpose=Purpose.REAL)
    names = dict(units.values_list("output_a__method", "output_a__method__name"))
    names |= dict(units.values_list("output_b__method", "output_b__method__name"))
    methods = sorted(names, key=names.__getitem__)
    stories = sorted(set(units.values_list("story", flat=True)))
    return (
        {method: place for place, method in enumerate(methods)},
        {story: place for place, story in enumerate(stories)},
    )


def _counted(slots: QuerySet[Slot]) -> QuerySet:
    return (
        slots.values_list(
            "unit__output_a__method", "unit__output_b__method", "unit__story",
            "a_is_left",
        )
        .annotate(n=Count("pk"))
        .order_by()
    )  # fmt: skip


def _standing(study: Study) -> adaptive.Standing:
    """Return what the answers so far say about the methods."""
    methods, _stories = _places(study)
    wins, ties = (np.zeros((len(methods), len(methods))) for _ in range(2))
    given = (
        Choice.objects.filter(
            slot__study=study,
            slot__ordinal__isnull=False,
            slot__state=Slot.State.SUBMITTED,
            question__key=study.adaptive["question"],
            is_current=True,
            annotator=F("slot__annotator"),
        )
        .values_list(
            "slot__unit__output_a__method", "slot__unit__output_b__method", "value"
        )
        .annotate(n=Count("pk"))
        .order_by()
    )
    for a, b, value, n in given:
        i, j = methods[a], methods[b]
        if value == Choice.Value.A:
            wins[i, j] += n
        elif value == Choice.Value.B:
            wins[j, i] += n
        else:
            ties[i, j] += n
    return adaptive.standing(wins, ties)


def _stop_rule(study: Study) -> adaptive.StopRule:
    asked = study.adaptive
    return adaptive.StopRule(asked["top"], asked["confidence"], asked["least"])


@transaction.atomic
def _stop(study: Study, known: adaptive.Standing) -> None:
    """Write down once that the top is separated; nothing more is handed out."""
    stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if stored.adaptive.get("stopped"):
        return
    methods, _stories = _places(study)
    by_place = {place: method for method, place in methods.items()}
    best = [by_place[place] for place in known.top(study.adaptive["top"]).tolist()]
    stored.adaptive["stopped"] = timezone.now().isoformat()
    stored.save(update_fields=["adaptive"])
    study.adaptive = stored.adaptive
    log.note(Event.Kind.STOPPED_EARLY, study.pk, methods=best)


def _slot_of(
    study: Study,
    free: QuerySet[Slot],
    chosen: adaptive.Choice,
    left: Counts,
    right: Counts,
) -> Slot:
    """Draw one of the unit's free slots among those whose side keeps it balanced."""
    methods, stories = ({v: k for k, v in p.items()} for p in _places(study))
    place = (*chosen.pair, chosen.story)
    kept = [side for side, counts in ((True, left), (False, right)) if counts[place]]
    slots = free.filter(
        unit__output_a__method=methods[chosen.pair[0]],
        unit__output_b__method=methods[chosen.pair[1]],
        unit__story=stories[chosen.story],
        a_is_left__in=kept,
    ).select_related("unit", "study")
    slot = random.choice(list(slots))
    slot.probability, slot.alternatives = chosen.per_slot, chosen.available
    return slot
