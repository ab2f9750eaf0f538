"""More methods, stories, answers or people for a study that is under way.

Units keep their identity (see docs/decisions/0003-what-was-judged-does-not-change.md):
only units are added. `annotate.studies.changing` withdraws them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    shows,
    withdrawn_names,
)
from annotate.studies.definition import StudyDefinition
from annotate.studies.parts import CellPairs
from annotate.studies.planning import refuse_too_much_work
from annotate.studies.study_file import (
    DefinitionError,
    read_definition,
    write_definition,
)
from annotate.studies.units import (
    PlanningError,
    Shown,
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
    """What an extension adds.

    `shares` are the slots that each annotator has more; `moved` slots change hands,
    `free` ones wait for anybody. `balance` is that of the whole plan afterwards, empty
    for an open study.
    """

    units: int
    slots: int
    people: tuple[str, ...]
    shares: dict[str, int]
    moved: int
    free: int
    redundancy: int
    balance: dict[str, object]


def extend(
    study: Study,
    *,
    methods: Sequence[str] = (),
    stories: Sequence[str] = (),
    annotators: Numbers = 0,
    redundancy: Numbers | None = None,
    user: User | None = None,
    only_shown: bool = False,
    dry_run: bool = False,
) -> Extension:
    """Add what is given to the study, and deal out the slots that this opens.

    Methods and stories are names and keys: their outputs with those of the study become
    units as the study pairs them; what was withdrawn under that name is asked again. A
    study with languages takes the numbers by language. With `only_shown` no output that
    the study has not shown comes in, as one imported since. With `dry_run` nothing
    is kept.
    """
    try:
        with locked(study, dry_run=dry_run) as (stored, _people):
            before = _definition(stored)
            definition = _raised(before, redundancy)
            people = _numbers(before, annotators, least=0, most=MOST_PEOPLE)
            among = outputs_of(stored) if only_shown else None
            shown = _shown(stored, definition, methods, stories, among)
            units = _fresh(stored, shown)
            raised = _raise(stored, definition, units, methods, stories)
            new = Slot.objects.bulk_create(
                missing_slots(stored, definition, units + raised), batch_size=500
            )
            added = name_people(stored, people)
            if not (new or added):
                raise ChangeError(_("That adds nothing: the study has all of it."))
            _store(stored, definition, went_on=bool(new))
            result = _deal(stored, units, new, added)
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
            )
    except (DefinitionError, PlanningError) as error:
        raise ChangeError(str(error)) from error
    return result


def _definition(study: Study) -> StudyDefinition:
    """Return the study's definition as far as it says what is judged how often."""
    if not study.definition:
        raise ChangeError(
            _("This study was imported, not planned; plan a new one for more answers.")
        )
    return read_definition(
        study.definition, file=f"{study.slug}.yaml", name=study.template
    )


def _numbers(
    definition: StudyDefinition, given: Numbers, *, least: int, most: int
) -> dict[str, int]:
    """Return numbers by language, checked."""
    languages = list(definition.answers)
    if isinstance(given, int) and (languages == [""] or given == 0):
        given = dict.fromkeys(languages, given)
    if isinstance(given, int) or not set(given) <= set(languages):
        named = ", ".join(f"{name}=…" for name in languages if name)
        raise ChangeError(
            _("Give a number for each language: %(named)s.") % {"named": named}
            if named
            else _("The study has no languages; give one number.")
        )
    for number in given.values():
        if not least <= number <= most:
            raise ChangeError(
                _("%(number)d: write a number from %(least)d to %(most)d.")
                % {"number": number, "least": least, "most": most}
            )
    return dict(given)


def _raised(definition: StudyDefinition, given: Numbers | None) -> StudyDefinition:
    """Return the definition with more answers a unit; fewer are refused."""
    if given is None:
        return definition
    before = definition.answers
    wanted = before | _numbers(definition, given, least=1, most=MOST_ANSWERS)
    for name, number in wanted.items():
        if number < before[name]:
            raise ChangeError(
                _(
                    "%(before)d answers a unit are planned; %(number)d would be fewer. "
                    "What is planned can only grow."
                )
                % {"before": before[name], "number": number}
            )
    if definition.languages:
        return definition.with_changes(languages=wanted)
    return definition.with_changes(redundancy=wanted[""])


def _shown(
    study: Study,
    definition: StudyDefinition,
    methods: Sequence[str],
    stories: Sequence[str],
    among: QuerySet[Output] | None,
) -> list[Shown]:
    """Return what the study would show with these methods and stories, if any."""
    if not (methods or stories):
        return []
    drawn = isinstance(definition.pairs, CellPairs)
    if drawn and methods:
        raise ChangeError(
            _(
                "This study draws its pairs for each combination of tags; a new method "
                "would change what was drawn. Add stories, or plan a new study."
            )
        )
    here, told = names_now(study)
    every = definition.with_changes(stories=None, subset=None)
    outputs = choose_outputs(
        study.benchmark,
        sorted(here | set(methods)),
        # Pairs that are drawn are drawn among the new stories.
        sorted(set(stories) - told if drawn else told | set(stories)),
        among=among,
    )
    return choose_units(every, outputs)


def _fresh(study: Study, shown: Sequence[Shown]) -> list[Unit]:
    known = _shown_as(study, Purpose.REAL)
    fresh = [one for one in shown if _outputs(one) not in known]
    gold = _shown_as(study, Purpose.GOLD)
    if twice := [one for one in fresh if _outputs(one) in gold]:
        raise ChangeError(
            _(
                "People meet these as gold units, whose answers are known, and cannot "
                "judge them again: %(names)s. Add others, or plan a new study."
            )
            % {
                "names": ", ".join(
                    f"{one.story.key} ({', '.join(one.methods)})" for one in twice
                )
            }
        )
    return create_units(study, fresh)


def _shown_as(study: Study, purpose: Purpose) -> set[tuple[int, ...]]:
    units = study.units.filter(purpose=purpose)
    return set(units.values_list(*study.output_paths()))


def _outputs(shown: Shown) -> tuple[int, ...]:
    return tuple(output.pk for output in shown.outputs)


def _raise(
    study: Study,
    definition: StudyDefinition,
    fresh: Sequence[Unit],
    methods: Sequence[str],
    stories: Sequence[str],
) -> list[Unit]:
    """Ask for as many answers of the older units as of the new ones."""
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


def _store(study: Study, definition: StudyDefinition, *, went_on: bool) -> None:
    """Store what the study asks for now; a stop rule that was met is lifted."""
    study.redundancy = sum(definition.answers.values())
    study.languages = definition.languages
    study.definition = write_definition(_as_it_is(study, definition))
    if went_on:
        study.adaptive.pop("stopped", None)
    for found in ("box", "drawn"):  # new outputs may be larger
        study.presentation.pop(found, None)
    study.save(update_fields=CHANGED)


def _as_it_is(study: Study, definition: StudyDefinition) -> StudyDefinition:
    """Return the definition without what no longer says what is judged how often."""
    drawn, subset = definition.stories, definition.subset
    judged = judged_units(study).values("story").distinct().count()
    if drawn is not None and judged > drawn.number:
        drawn = None
    if subset is not None and subset.redundancy <= sum(definition.answers.values()):
        subset = None
    return definition.with_changes(stories=drawn, subset=subset)


def _deal(
    study: Study, units: Sequence[Unit], new: Sequence[Slot], added: Sequence[Annotator]
) -> Extension:
    """Deal out what is free in a planned study, and write down how slots stand."""
    changed = {slot.pk: slot for slot in new}
    taken: list[tuple[Slot, int]] = []
    dealt: list[Slot] = []
    if not study.is_open:
        refuse_too_much_work(study.annotators.count(), study.slots.count())
        workers = list(study.annotators.filter(state__in=WORKING).order_by("pk"))
        taken = reassignment.even_out(study, workers) if added else []
        dealt = reassignment.deal(study, workers)
        measure_balance(study)
    before = {slot.pk: person for slot, person in taken}
    changed |= {slot.pk: slot for slot in [*(slot for slot, _p in taken), *dealt]}
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
        redundancy=study.redundancy,
        balance=study.balance_report,
    )
