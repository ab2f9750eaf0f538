"""Distribution of free slots to annotators, and return of slots not begun."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from django.db.models import Max, Q, QuerySet

from annotate.assignment.designs.balance import measure
from annotate.assignment.designs.planned_slots import Assignment, DesignUnit
from annotate.assignment.designs.replanning import rearrange, replan
from annotate.kinds.registry import drafted_pairs
from annotate.models import CHECKS, Annotator, Purpose, Skip, Slot, Study, Unit
from annotate.responses.leasing import FIRST_POSITION, SPACING

AnnotatorState = Annotator.State
# Annotators in these states get new slots; finished ones are only offered free slots.
WORKING = (AnnotatorState.PLANNED, AnnotatorState.INVITED, AnnotatorState.ACTIVE)
DEALT = ["annotator", "session", "position", "a_is_left", "claimed", "started_at"]


def lock_people(study: Study) -> list[Annotator]:
    """Lock all annotators of a study, in a fixed order, and return them."""
    return list(study.annotators.select_for_update(no_key=True).order_by("pk"))


def judged_units(study: Study) -> QuerySet[Unit]:
    """Return the study's real units with their outputs."""
    return study.units.filter(purpose=Purpose.REAL).select_related(
        "story", *study.output_paths(below="__method")
    )


def deal(study: Study, workers: Sequence[Annotator]) -> list[Slot]:
    """Distribute the free slots of a planned study; return the assigned ones."""
    free = list(_free(study))
    if not free or not workers:
        return []
    dealer = _Dealer(study, workers)
    parts: dict[tuple[str, int], list[Slot]] = defaultdict(list)
    for slot in free:
        parts[slot.language, slot.round].append(slot)
    dealt = []
    for (language, round_), slots in sorted(parts.items()):
        dealt += dealer.deal(slots, language, round_)
    Slot.objects.bulk_update(dealt, DEALT, batch_size=500)
    return dealt


def _free(study: Study) -> QuerySet[Slot]:
    return (
        study.slots.select_for_update(no_key=True, of=("self",))
        .filter(
            annotator__isnull=True,
            state=Slot.State.OPEN,
            ordinal__isnull=False,
            unit__set_aside_at__isnull=True,
        )
        .order_by("unit", "round", "ordinal")
    )


class _Dealer:
    """Slots of people, and the distribution of new ones by language and round."""

    def __init__(self, study: Study, workers: Sequence[Annotator]) -> None:
        self.study = study
        self.people = list(study.annotators.order_by("pk"))
        self.place = {person.pk: at for at, person in enumerate(self.people)}
        self.able = {person.pk for person in workers}
        self.units = {unit.pk: unit for unit in judged_units(study)}
        real = study.slots.filter(purpose=Purpose.REAL)
        self.held = _rows(real, self.place) + self._skipped()
        self.loads = _loads(study)
        last = real.values("annotator").annotate(last=Max("position")).order_by()
        self.last = {row["annotator"]: row["last"] for row in last}
        # Draft answers depend on the sides of their slot.
        self.drafted = drafted_pairs(study)

    def _skipped(self) -> list[Assignment]:
        """Return skipped units like held ones."""
        skips = Skip.objects.filter(slot__study=self.study, unit__in=self.units)
        columns = skips.values_list("annotator", "unit", "slot__round")
        return [
            Assignment(self.place[annotator], unit, round_, 0, 0, bool(at % 2))
            for at, (annotator, unit, round_) in enumerate(columns)
        ]

    def deal(self, slots: Sequence[Slot], language: str, round_: int) -> list[Slot]:
        """Distribute these slots, all of one language and round."""
        waiting: dict[int, list[Slot]] = defaultdict(list)
        for slot in slots:
            waiting[slot.unit_id].append(slot)
        holders = defaultdict(set)
        for row in self.held:
            if row.round == round_:
                holders[row.unit].add(row.annotator)
        design = [
            DesignUnit(pk, unit.story.key, unit.methods, count)
            for pk, unit in self.units.items()
            if (count := len(holders[pk]) + len(waiting[pk]))
        ]
        rows = replan(
            design,
            # Slots of other rounds count only as load.
            [row._replace(round=1 if row.round == round_ else 2) for row in self.held],
            room=[self._room(person, language) for person in self.people],
            session_size=self.study.session_size,
            seed=self.study.seed + len(self.held),
        )
        return [self._give(waiting[row.unit].pop(0), row, round_) for row in rows]

    def _room(self, person: Annotator, language: str) -> int | None:
        if person.pk not in self.able or language not in ("", person.language):
            return 0
        cap = person.cap or self.study.cap
        return None if cap is None else max(0, cap - self.loads[person.pk])

    def _give(self, slot: Slot, row: Assignment, round_: int) -> Slot:
        person = self.people[row.annotator]
        last = self.last.get(person.pk)
        position = FIRST_POSITION if last is None else last + SPACING
        self.last[person.pk] = position
        self.loads[person.pk] += 1
        self.held.append(row._replace(round=round_))
        slot.annotator, slot.session, slot.position = person, row.session, position
        slot.claimed, slot.started_at = False, None
        if slot.pk not in self.drafted:
            slot.a_is_left = row.a_is_left
        return slot


def _rows(slots: QuerySet[Slot], place: dict[int, int]) -> list[Assignment]:
    columns = slots.filter(annotator__in=place).values_list(
        "annotator", "unit", "round", "session", "position", "a_is_left"
    )
    return [
        Assignment(place[a], unit, r, session or 0, position or 0, left is not False)
        for a, unit, r, session, position, left in columns
    ]


def unbegun(study: Study) -> QuerySet[Slot]:
    """Return the planned slots that no annotator has opened yet."""
    return study.slots.filter(
        purpose=Purpose.REAL,
        state=Slot.State.OPEN,
        annotator__isnull=False,
        ordinal__isnull=False,
        started_at__isnull=True,
    )


def mix(study: Study, dealt: Sequence[Slot]) -> tuple[int, set[int]]:
    """Mix new slots with older ones that their annotators have not begun.

    The sitting that somebody is in stays as it is. Return how many older slots were
    mixed, and who has only new ones.
    """
    new, people = {slot.pk for slot in dealt}, {slot.annotator_id for slot in dealt}
    own = study.slots.filter(annotator__in=people)
    begun = own.filter(Q(started_at__isnull=False) | Q(purpose__in=CHECKS))
    sitting = dict(begun.order_by().values_list("annotator").annotate(Max("session")))
    loose = [
        slot
        for slot in unbegun(study).filter(annotator__in=people).order_by("pk")
        if (slot.session or 0) > (sitting.get(slot.annotator_id) or 0)
    ]
    kept = own.exclude(pk__in=[slot.pk for slot in loose]).order_by()
    last = dict(kept.values_list("annotator").annotate(Max("position")))
    place = {pk: at for at, pk in enumerate(sorted(filter(None, people)))}
    at_place = list(place)
    slots = {(slot.annotator_id, slot.unit_id, slot.round): slot for slot in loose}
    rows = rearrange(
        [
            DesignUnit(unit.pk, unit.story.key, unit.methods)
            for unit in judged_units(study)
        ],
        _rows(Slot.objects.filter(pk__in=[slot.pk for slot in loose]), place),
        session_size=study.session_size,
        seed=study.seed + len(loose),
    )
    for row in rows:
        person = at_place[row.annotator]
        slot = slots[person, row.unit, row.round]
        slot.session = row.session + (sitting.get(person) or 0)
        first = max(FIRST_POSITION, (last.get(person) or 0) + SPACING)
        slot.position = first + (row.position - 1) * SPACING
    # No two slots of a person may have one position, not even for a moment.
    Slot.objects.filter(pk__in=[slot.pk for slot in loose]).update(position=None)
    Slot.objects.bulk_update(loose, ["session", "position"], batch_size=500)
    older = [slot for slot in loose if slot.pk not in new]
    return len(older), set(place) - {slot.annotator_id for slot in older}


def take_back(slots: Iterable[Slot]) -> list[Slot]:
    """Free slots that were not begun; return them."""
    freed = list(slots)
    for slot in freed:
        slot.annotator = slot.session = slot.position = None
        slot.claimed = False
    Slot.objects.bulk_update(freed, DEALT, batch_size=500)
    return freed


def even_out(study: Study, workers: Sequence[Annotator]) -> list[tuple[Slot, int]]:
    """Take slots back for new people; return them and their owners."""
    freed: list[tuple[Slot, int]] = []
    open_slots = unbegun(study).select_for_update(no_key=True).order_by("-position")
    loads = _loads(study)
    languages = {p.language for p in workers} if study.languages else {""}
    for language in sorted(languages):
        group = [p for p in workers if not study.languages or p.language == language]
        waiting = _free(study).filter(language=language).count()
        total = waiting + sum(loads[person.pk] for person in group)
        share = -(-total // len(group))
        keep = share * (total - waiting) // max(1, total)
        for person in group:
            surplus = max(0, loads[person.pk] - keep)
            last = open_slots.filter(annotator=person)[:surplus]
            freed += [(slot, person.pk) for slot in last]
    take_back(slot for slot, _person in freed)
    return freed


def _loads(study: Study) -> Counter[int]:
    real = study.slots.filter(purpose=Purpose.REAL).exclude(state=Slot.State.EXCLUDED)
    return Counter(real.values_list("annotator", flat=True))


def measured(study: Study) -> dict[str, object]:
    """Return the current balance of a planned study."""
    slots = study.slots.filter(purpose=Purpose.REAL, ordinal__isnull=False).exclude(
        state=Slot.State.EXCLUDED
    )
    holding = slots.filter(annotator__isnull=False).values("annotator")
    people = list(study.annotators.filter(pk__in=holding).order_by("pk"))
    place = {person.pk: at for at, person in enumerate(people)}
    report = measure(
        [
            DesignUnit(unit.pk, unit.story.key, unit.methods)
            for unit in judged_units(study)
            if unit.redundancy
        ],
        _rows(slots, place),
        annotators=len(people),
        groups=[p.language for p in people] if study.languages else [],
    )
    return report.as_dict()
