"""Units of a study, which show one or several outputs of a story, and their slots."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotate.assignment.designs import sampling
from annotate.assignment.designs.balanced import Plan
from annotate.assignment.designs.planned_slots import DesignUnit
from annotate.assignment.reassignment import judged_units
from annotate.models import Annotator, Purpose, Slot, Study, Unit
from annotate.models.units import as_fields
from annotate.responses.leasing import FIRST_POSITION, SPACING
from annotate.studies.definition import StudyDefinition
from annotate.studies.late_units import LateEntry, late_groups
from annotate.studies.parts import CellPairs, StorySample
from evalcore.models import Benchmark, Output, Story


class PlanningError(ValueError):
    """A study that cannot be planned; the message says why.

    `field` names the wrong value: a key of the study file, or `slug`, `annotators`,
    `method` or `story`, which are not part of the file. `values` fill the message in.
    """

    def __init__(self, message: str, field: str = "", **values: object) -> None:
        super().__init__(message % values if values else message)
        self.field = field


@dataclass(frozen=True)
class UnitOutputs:
    """The outputs of a unit, and its redundancy."""

    outputs: tuple[Output, ...]
    redundancy: int

    @property
    def story(self) -> Story:
        return self.outputs[0].story

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(output.method.name for output in self.outputs)

    def as_design(self, number: int, study_redundancy: int) -> DesignUnit:
        own = None if self.redundancy == study_redundancy else self.redundancy
        return DesignUnit(number, self.story.key, self.methods, own)


def choose_outputs(
    benchmark: Benchmark,
    methods: Sequence[str] | None = None,
    stories: Sequence[str] | None = None,
    *,
    among: QuerySet[Output] | None = None,
) -> list[Output]:
    """Return the outputs of these methods and stories, which must have pictures.

    Only outputs `among` these are chosen, by default any of the benchmark.
    """
    outputs = Output.objects.filter(story__benchmark=benchmark).select_related(
        "story", "method"
    )
    if among is not None:
        outputs = outputs.filter(pk__in=among)
    method = _("No output of method %(names)s in %(benchmark)s. There are: %(known)s.")
    story = _("No output of story %(names)s in %(benchmark)s. There are: %(known)s.")
    for names, lookup, field, text in (
        (methods, "method__name", "method", method),
        (stories, "story__key", "story", story),
    ):
        if names:
            known = set(outputs.values_list(lookup, flat=True))
            unknown = sorted(set(names) - known)
            if unknown:
                raise PlanningError(
                    text,
                    field,
                    benchmark=benchmark.slug,
                    names=", ".join(unknown),
                    known=", ".join(sorted(known)[:20]) or "–",
                )
            outputs = outputs.filter(**{f"{lookup}__in": names})
    listed = list(outputs.order_by("story__key", "method__name"))
    if not listed:
        text = _("%(name)s has no outputs; import some first.")
        raise PlanningError(text, name=benchmark.slug)
    seen = set(
        outputs.filter(frames__media__isnull=False).values_list("pk", flat=True)
    ) | set(outputs.filter(video__isnull=False).values_list("pk", flat=True))
    blank = [output for output in listed if output.pk not in seen]
    if blank:
        named = ", ".join(f"{o.method.name}/{o.story.key}" for o in blank[:10])
        raise PlanningError(
            _(
                "%(n)d outputs have no picture to show (%(named)s); import their "
                "pictures, or leave out their methods or stories."
            ),
            field="method",
            n=len(blank),
            named=named,
        )
    return listed


def choose_units(
    definition: StudyDefinition, outputs: Sequence[Output]
) -> list[UnitOutputs]:
    """Return the units of these outputs: the sets shown together, and redundancies.

    Stories to which no question applies have no units.
    """
    by_story = asked_stories(definition, outputs)
    more: set[str] = set()
    if definition.subset is not None:
        stories = {key: group[0].story for key, group in by_story.items()}
        more = _sampled(definition.subset.stories, stories, definition.seed + 1)
    late = definition.late_entry
    groups = _late(late, by_story) if late else _groups(definition, by_story)
    if not groups:
        text = _("No story has outputs of %(n)d methods to compare.")
        raise PlanningError(text, definition.sets_key, n=definition.outputs)
    usual = sum(definition.answers.values())
    often = definition.subset.redundancy if definition.subset else usual
    return [
        UnitOutputs(group, often if group[0].story.key in more else usual)
        for group in groups
    ]


def asked_stories(
    definition: StudyDefinition, outputs: Sequence[Output]
) -> dict[str, list[Output]]:
    """Return the outputs by story, of the stories that a question is about."""
    by_story: dict[str, list[Output]] = defaultdict(list)
    for output in outputs:
        if any(output.story.suits(asked.stories) for asked in definition.questions):
            by_story[output.story.key].append(output)
    if outputs and not by_story:
        raise PlanningError(
            _(
                "No question applies to these stories: their tags match the `stories` "
                "of no question."
            ),
            field="story",
        )
    return by_story


def _sampled(sample: StorySample, stories: dict[str, Story], seed: int) -> set[str]:
    """Return the keys of a sample of the stories, or of all if there are too few."""
    tags = {key: str(story.tags.get(sample.by, "")) for key, story in stories.items()}
    number = min(sample.number, len(stories))
    return set(sampling.sample(list(stories), number, seed, tags))


def _late(
    late: LateEntry, by_story: dict[str, list[Output]]
) -> list[tuple[Output, ...]]:
    try:
        return late_groups(late, by_story)
    except ValueError as error:
        raise PlanningError(str(error), field="late_entry") from error


def _groups(
    definition: StudyDefinition, by_story: dict[str, list[Output]]
) -> list[tuple[Output, ...]]:
    if definition.outputs == 1:
        return [(output,) for group in by_story.values() for output in group]
    wanted: dict[str, list[tuple[str, ...]]]
    together = definition.together
    if isinstance(together, CellPairs):
        wanted = _pairs_of_cells(together, by_story, definition.seed)
    else:
        methods = {output.method.name for g in by_story.values() for output in g}
        try:
            sets = sampling.method_sets(sorted(methods), together, definition.outputs)
        except ValueError as error:
            raise PlanningError(str(error), field=definition.sets_key) from error
        wanted = dict.fromkeys(by_story, sets)
    groups = []
    for key, group in by_story.items():
        own = {output.method.name: output for output in group}
        groups += [
            tuple(own[name] for name in names)
            for names in map(sorted, wanted[key])
            if own.keys() >= set(names)
        ]
    return groups


def _pairs_of_cells(
    wanted: CellPairs, by_story: dict[str, list[Output]], seed: int
) -> dict[str, list[tuple[str, ...]]]:
    """Draw pairs of methods for each combination of tags, spread over its stories.

    In VISTAR the tags are role and angle. Among stories with the same number of pairs,
    the frequencies of any two pairs of methods differ by at most one.
    """
    cells: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key, group in by_story.items():
        tags = group[0].story.tags
        missing = [name for name in wanted.by if name not in tags]
        if missing:
            text = _("Story %(story)s has no tag %(tags)s.")
            raise PlanningError(text, "pairs.by", story=key, tags=", ".join(missing))
        cells[tuple(str(tags[name]) for name in wanted.by)].append(key)
    methods = {output.method.name for g in by_story.values() for output in g}
    pairs = sampling.method_sets(sorted(methods))
    smallest = min(cells, key=lambda cell: len(cells[cell]))
    most = len(cells[smallest]) * len(pairs)
    if wanted.number > most:
        where = " and ".join(map(" ".join, zip(wanted.by, smallest, strict=True)))
        raise PlanningError(
            _(
                "The number of pairs with %(where)s is %(most)d. Write number: "
                "%(most)d or less, or leave pairs out to compare all."
            ),
            field="pairs.number",
            where=where,
            most=most,
        )
    shares: dict[int, list[str]] = defaultdict(list)
    dice = random.Random(seed)
    for keys in cells.values():
        each, more = divmod(wanted.number, len(keys))
        dice.shuffle(keys)
        for place, key in enumerate(keys):
            shares[each + (place < more)].append(key)
    result: dict[str, list[tuple[str, ...]]] = {}
    for number, keys in shares.items():
        result |= sampling.cell_pairs(keys, pairs, number, seed)
    return result


def create_units(study: Study, units: Sequence[UnitOutputs]) -> list[Unit]:
    return Unit.objects.bulk_create(
        [
            Unit(
                study=study,
                story=one.story,
                redundancy=one.redundancy,
                **as_fields(one.outputs),
            )
            for one in units
        ],
        batch_size=500,
    )


# Slots


def planned_slots(
    study: Study, plan: Plan, people: Sequence[Annotator], units: Sequence[Unit]
) -> list[Slot]:
    """Return the slots of a planned study, with annotator, session and position."""
    ordinals: Counter[tuple[int, int]] = Counter()
    slots = []
    for planned in plan.assignments:
        ordinals[planned.unit, planned.round] += 1
        ordinal = ordinals[planned.unit, planned.round]
        unit, annotator = units[planned.unit], people[planned.annotator]
        slots.append(
            _slot(
                study,
                unit,
                ordinal,
                round=planned.round,
                level=ordinal + (planned.round - 1) * unit.redundancy,
                language=annotator.language,
                annotator=annotator,
                session=planned.session,
                position=FIRST_POSITION + SPACING * (planned.position - 1),
                a_is_left=planned.a_is_left,
            )
        )
    return slots


def free_slots(
    study: Study, units: Iterable[Unit], definition: StudyDefinition
) -> list[Slot]:
    """Return the slots of an open study, with alternating languages and sides.

    Sides are balanced as far as possible, first in each language of a unit, then in the
    unit. The remaining slots of a pair of methods alternate between its units.
    """
    dice = random.Random(definition.seed)
    sides = _Sides()
    slots = []
    for unit in units:
        languages = _interleaved(definition.languages or {"": unit.redundancy})
        methods = tuple(output.method_id for output in unit.outputs)
        for ordinal, language in enumerate(languages, start=1):
            evened = (unit.pk, language), unit.pk, (methods, language), methods
            lean = sides.lean(evened)
            a_is_left = lean < 0 or (lean == 0 and dice.random() < 0.5)
            sides.put(evened, a_is_left=a_is_left)
            slots.append(
                _slot(
                    study,
                    unit,
                    ordinal,
                    level=ordinal,
                    language=language,
                    a_is_left=a_is_left,
                    draw=dice.randrange(2**31),
                )
            )
    return slots


def missing_slots(
    study: Study, definition: StudyDefinition, units: Iterable[Unit]
) -> list[Slot]:
    """Return the slots that these units lack, with sides that restore balance."""
    standing: Counter[tuple[int, int, str]] = Counter()
    highest: Counter[tuple[int, int]] = Counter()
    sides = _Sides()
    methods = {unit.pk: unit.methods for unit in judged_units(study)}
    rows = study.slots.filter(purpose=Purpose.REAL, ordinal__isnull=False)
    for pk, round_, language, ordinal, state, left in rows.values_list(
        "unit", "round", "language", "ordinal", "state", "a_is_left"
    ):
        assert ordinal is not None
        highest[pk, round_] = max(highest[pk, round_], ordinal)
        if state != Slot.State.EXCLUDED:
            standing[pk, round_, language] += 1
            sides.put(((pk, language), pk, methods[pk]), a_is_left=bool(left))
    slots = []
    for unit in units:
        for round_ in range(1, study.rounds + 1):
            level = sum(standing[unit.pk, round_, name] for name in definition.answers)
            level += (round_ - 1) * unit.redundancy
            for language, number in definition.answers.items():
                for _i in range(number - standing[unit.pk, round_, language]):
                    level += 1
                    highest[unit.pk, round_] += 1
                    evened = (unit.pk, language), unit.pk, methods[unit.pk]
                    a_is_left = sides.lean(evened) <= 0
                    sides.put(evened, a_is_left=a_is_left)
                    slots.append(
                        _slot(
                            study,
                            unit,
                            highest[unit.pk, round_],
                            round=round_,
                            level=level,
                            language=language,
                            a_is_left=a_is_left,
                        )
                    )
    return slots


class _Sides:
    """Excess of A on the left over A on the right, by balanced group."""

    def __init__(self) -> None:
        self._lean: Counter[object] = Counter()

    def lean(self, evened: Sequence[object]) -> int:
        """Return the excess of the first group that is not balanced."""
        return next((self._lean[key] for key in evened if self._lean[key]), 0)

    def put(self, evened: Sequence[object], *, a_is_left: bool) -> None:
        for key in evened:
            self._lean[key] += 1 if a_is_left else -1


def _slot(study: Study, unit: Unit, ordinal: int, **more: Any) -> Slot:
    return Slot(study=study, unit=unit, ordinal=ordinal, turn=ordinal, **more)


def _interleaved(numbers: Mapping[str, int]) -> list[str]:
    """Return each name this number of times, mixed as evenly as possible."""
    places = [
        ((i + 0.5) / number, name)
        for name, number in numbers.items()
        for i in range(number)
    ]
    return [name for _place, name in sorted(places)]
