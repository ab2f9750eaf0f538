"""Extension of a running study by methods, stories, answers or people.

Units keep their identity (see docs/decisions/0003-what-was-judged-does-not-change.md):
only units are added. `annotate.studies.changing` withdraws them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.assignment import reassignment
from annotate.assignment.reassignment import WORKING, judged_units
from annotate.models import Annotator, Event, Purpose, Slot, Study, Unit, User
from annotate.people.inviting import name_people
from annotate.presentation.same_size import outputs_of
from annotate.studies.changing import (
    ChangeError,
    locked,
    measure_balance,
    names_now,
    refuse_unknown,
    shows,
    withdrawn_names,
)
from annotate.studies.definition import StudyDefinition
from annotate.studies.parts import CellPairs
from annotate.studies.plan_checks import refuse_too_much_work
from annotate.studies.story_draw import made_unknown
from annotate.studies.study_file import (
    DefinitionError,
    read_definition,
    write_definition,
)
from annotate.studies.units import (
    PlanningError,
    UnitOutputs,
    choose_outputs,
    choose_units,
    create_units,
    missing_slots,
)
from evalcore.models import Output

MOST_ANSWERS, MOST_PEOPLE = 1000, 10_000
CHANGED = ["redundancy", "languages", "definition", "adaptive", "presentation"]

Numbers = int | Mapping[str, int]


@dataclass(frozen=True)
class Extension:
    """Numbers of an extension.

    `shares` counts the additional slots of each annotator; `moved` slots change their
    annotator, and `free` ones have none. `older` slots that nobody has begun are mixed
    with the new ones; `unmixed` people have none of them left. `balance` is that of the
    whole plan afterwards, empty for an open study. The drawing probabilities of the
    stories `unknown` are no longer known.
    """

    units: int
    slots: int
    people: tuple[str, ...]
    shares: dict[str, int]
    moved: int
    free: int
    older: int
    unmixed: tuple[str, ...]
    redundancy: int
    balance: dict[str, object]
    unknown: tuple[str, ...] = ()


def extend(
    study: Study,
    *,
    methods: Sequence[str] = (),
    stories: Sequence[str] = (),
    against: Sequence[str] = (),
    annotators: Numbers = 0,
    redundancy: Numbers | None = None,
    user: User | None = None,
    only_shown: bool = False,
    dry_run: bool = False,
) -> Extension:
    """Add methods, stories, answers or people, and assign the new slots.

    Methods and stories are names and keys. Their outputs become units as the study
    pairs them, or with `against` as pairs of each of these methods and each new one;
    withdrawn names are used again. A study with languages takes numbers by
    language. With `only_shown`, outputs that the study has not shown, such as later
    imports, are left out. With `dry_run` nothing is stored.
    """
    try:
        with locked(study, dry_run=dry_run) as (stored, _people):
            before = _definition(stored)
            definition = _raised(before, redundancy)
            people = _numbers(before, annotators, least=0, most=MOST_PEOPLE)
            among = outputs_of(stored) if only_shown else None
            wanted = _units_with(stored, definition, methods, stories, among)
            if against:
                wanted = _pairs(stored, definition, methods, against, among)
            units = _create_missing(stored, wanted)
            raised = _raise(stored, definition, units, methods, stories)
            lacking = missing_slots(stored, definition, units + raised)
            older = _mix_levels(stored, units, lacking)
            new = Slot.objects.bulk_create(lacking, batch_size=500)
            added = name_people(stored, people)
            if not (new or added):
                raise ChangeError(_("That adds nothing: the study has all of it."))
            _store(stored, definition, is_larger=bool(new))
            unknown = made_unknown(stored, added=stories)
            result = _deal(stored, units, new, added, older)
            result = replace(result, unknown=tuple(*unknown.values()))
            event_log.note(
                Event.Kind.STUDY_EXTENDED,
                stored.pk,
                user=user,
                methods=list(methods),
                stories=list(stories),
                units=result.units,
                slots=result.slots,
                annotators=len(added),
                redundancy=result.redundancy,
                moved=result.moved,
                free=result.free,
                **unknown,
            )
    except (DefinitionError, PlanningError) as error:
        raise ChangeError(str(error)) from error
    return result


def _definition(study: Study) -> StudyDefinition:
    """Return the current definition of the study."""
    if not study.definition:
        raise ChangeError(
            _("This study was imported. Set up a new study to collect more answers.")
        )
    return read_definition(
        study.definition, file=f"{study.slug}.yaml", name=study.template
    )


def _numbers(
    definition: StudyDefinition, numbers: Numbers, *, least: int, most: int
) -> dict[str, int]:
    """Return validated numbers by language."""
    languages = list(definition.answers)
    if isinstance(numbers, int) and (languages == [""] or numbers == 0):
        numbers = dict.fromkeys(languages, numbers)
    if isinstance(numbers, int) or not set(numbers) <= set(languages):
        named = ", ".join(f"{name}=…" for name in languages if name)
        raise ChangeError(
            _("Enter a number for each language: %(named)s.") % {"named": named}
            if named
            else _("The study has no languages; enter one number.")
        )
    for number in numbers.values():
        if not least <= number <= most:
            raise ChangeError(
                _("%(number)d: enter a number from %(least)d to %(most)d.")
                % {"number": number, "least": least, "most": most}
            )
    return dict(numbers)


def _raised(definition: StudyDefinition, numbers: Numbers | None) -> StudyDefinition:
    """Return the definition with more answers per unit; refuse fewer."""
    if numbers is None:
        return definition
    before = definition.answers
    wanted = before | _numbers(definition, numbers, least=1, most=MOST_ANSWERS)
    for name, number in wanted.items():
        if number < before[name]:
            raise ChangeError(
                _(
                    "%(before)d ratings per item are planned; %(number)d is fewer. "
                    "The number can only grow."
                )
                % {"before": before[name], "number": number}
            )
    if definition.languages:
        return definition.with_changes(languages=wanted)
    return definition.with_changes(redundancy=wanted[""])


def _units_with(
    study: Study,
    definition: StudyDefinition,
    methods: Sequence[str],
    stories: Sequence[str],
    among: QuerySet[Output] | None,
) -> list[UnitOutputs]:
    """Return the units of the study with these methods and stories, if any."""
    if not (methods or stories):
        return []
    drawn = isinstance(definition.pairs, CellPairs)
    if drawn and methods:
        raise ChangeError(
            _(
                "This study draws its pairs for each combination of tags. A new method "
                "would change the pairs. Add stories, or set up a new study."
            )
        )
    own_methods, own_stories = names_now(study)
    every = definition.with_changes(stories=None, subset=None)
    outputs = choose_outputs(
        study.benchmark,
        sorted(own_methods | set(methods)),
        # Random pairs are drawn among the new stories only.
        sorted(set(stories) - own_stories if drawn else own_stories | set(stories)),
        among=among,
    )
    units = choose_units(every, outputs)
    # Other units that the design would now choose are not asked for.
    return [one for one in units if shows(one, methods, stories)]


def _pairs(
    study: Study,
    definition: StudyDefinition,
    methods: Sequence[str],
    against: Sequence[str],
    among: QuerySet[Output] | None,
) -> list[UnitOutputs]:
    """Return the pairs of each new method and each one `against` it."""
    own_methods, own_stories = names_now(study)
    if not study.is_side_by_side or study.adaptive:
        text = _("Only a study of fixed pairs compares a new method with some others.")
        raise ChangeError(text)
    refuse_unknown({*against} - own_methods)
    named = sorted({*methods, *against})
    outputs = choose_outputs(study.benchmark, named, sorted(own_stories), among=among)
    pairs = [[new, old] for new in methods for old in against]
    listed = definition.with_changes(stories=None, subset=None, pairs=pairs)
    return choose_units(listed, outputs)


def _create_missing(study: Study, wanted: Sequence[UnitOutputs]) -> list[Unit]:
    known = _output_ids(study, Purpose.REAL)
    fresh = [one for one in wanted if _outputs(one) not in known]
    gold = _output_ids(study, Purpose.GOLD)
    if twice := [one for one in fresh if _outputs(one) in gold]:
        raise ChangeError(
            _(
                "These are known-answer checks and cannot be rated as well: %(names)s. "
                "Add others, or set up a new study."
            )
            % {
                "names": ", ".join(
                    f"{one.story.key} ({', '.join(one.methods)})" for one in twice
                )
            }
        )
    return create_units(study, fresh)


def _output_ids(study: Study, purpose: Purpose) -> set[tuple[int, ...]]:
    units = study.units.filter(purpose=purpose)
    return set(units.values_list(*study.output_paths()))


def _outputs(unit: UnitOutputs) -> tuple[int, ...]:
    return tuple(output.pk for output in unit.outputs)


def _raise(
    study: Study,
    definition: StudyDefinition,
    fresh: Sequence[Unit],
    methods: Sequence[str],
    stories: Sequence[str],
) -> list[Unit]:
    """Raise the redundancy of older units to that of new ones, and return them."""
    gone_methods, gone_stories = withdrawn_names(study)
    gone = gone_methods - set(methods), gone_stories - set(stories)
    wanted = sum(definition.answers.values())
    new = {unit.pk for unit in fresh}
    raised = [
        unit
        for unit in judged_units(study).select_for_update(no_key=True, of=("self",))
        if unit.pk not in new and unit.redundancy < wanted and not shows(unit, *gone)
    ]
    for unit in raised:
        unit.redundancy = wanted
    Unit.objects.bulk_update(raised, ["redundancy"], batch_size=500)
    return raised


def _mix_levels(study: Study, units: Sequence[Unit], slots: Sequence[Slot]) -> int:
    """Let new units wait among the free slots, which are taken level by level.

    Return the number of older free slots.
    """
    free = study.slots.filter(
        state=Slot.State.OPEN, annotator=None, ordinal__isnull=False
    )
    levels = sorted(free.order_by().values_list("level", flat=True))
    fresh = {unit.pk for unit in units}
    own = sorted((s for s in slots if s.unit_id in fresh), key=lambda slot: slot.level)
    for at, slot in enumerate(own if levels else ()):
        slot.level = levels[at * len(levels) // len(own)]
    return len(levels)


def _store(study: Study, definition: StudyDefinition, *, is_larger: bool) -> None:
    """Store the new definition, and clear a stop rule that was met."""
    study.redundancy = sum(definition.answers.values())
    study.languages = definition.languages
    study.definition = write_definition(_as_it_is(study, definition))
    if is_larger:
        study.adaptive.pop("stopped", None)
    for measured in ("box", "drawn"):  # new outputs may be larger
        study.presentation.pop(measured, None)
    study.save(update_fields=CHANGED)


def _as_it_is(study: Study, definition: StudyDefinition) -> StudyDefinition:
    """Return the definition without samples and subsets that no longer apply."""
    drawn, subset = definition.stories, definition.subset
    judged = judged_units(study).values("story").distinct().count()
    if drawn is not None and judged > drawn.number:
        drawn = None
    if subset is not None and subset.redundancy <= sum(definition.answers.values()):
        subset = None
    return definition.with_changes(stories=drawn, subset=subset)


def _deal(
    study: Study,
    units: Sequence[Unit],
    new: Sequence[Slot],
    added: Sequence[Annotator],
    older: int,
) -> Extension:
    """Assign the free slots of a planned study, log them, and return the numbers."""
    changed = {slot.pk: slot for slot in new}
    removed: list[tuple[Slot, int]] = []
    dealt: list[Slot] = []
    unmixed: set[int] = set()
    if not study.is_open:
        refuse_too_much_work(study.annotators.count(), study.slots.count())
        workers = list(study.annotators.filter(state__in=WORKING).order_by("pk"))
        removed = reassignment.even_out(study, workers) if added else []
        dealt = reassignment.deal(study, workers)
        older, unmixed = reassignment.mix(study, dealt)
        measure_balance(study)
    before = {slot.pk: person for slot, person in removed}
    changed |= {slot.pk: slot for slot in [*(slot for slot, _p in removed), *dealt]}
    event_log.list_slots(study, list(changed.values()))
    names: dict[int | None, str] = dict(study.annotators.values_list("pk", "name"))
    gained = Counter(names[slot.annotator_id] for slot in dealt)
    gained -= Counter(names[person] for person in before.values())
    return Extension(
        units=len(units),
        slots=len(new),
        people=tuple(person.name for person in added),
        shares=dict(sorted(gained.items())),
        moved=sum(
            before.get(slot.pk, slot.annotator_id) != slot.annotator_id
            for slot in dealt
        ),
        free=len(changed) - len(dealt),
        older=older,
        unmixed=tuple(sorted(str(names[person]) for person in unmixed)),
        redundancy=study.redundancy,
        balance=study.balance_report,
    )
