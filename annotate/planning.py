"""From a definition and a benchmark to a study whose slots are planned."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from django.core.exceptions import ValidationError
from django.core.validators import slug_re
from django.db import transaction

from annotate import design, log
from annotate.analysis_views import add_views
from annotate.choosing.free_slots import free_slots
from annotate.leasing import FIRST_POSITION, SPACING
from annotate.models import (
    Annotator,
    Event,
    Purpose,
    Question,
    Slot,
    Study,
    StudyMember,
    Unit,
    User,
)
from annotate.plans.assignments import Group
from annotate.study_files.definition import StudyDefinition
from annotate.study_files.study_writing import write_definition
from annotate.units import (
    PlanningError,
    Shown,
    choose_outputs,
    choose_units,
    create_known_units,
    create_twins,
    create_units,
)
from evalcore.models import Benchmark, Shot
from evalcore.postgresql import analyze

__all__ = ["Draft", "PlanningError", "plan_study", "prepare"]

# Looking at a picture, and thinking about a question: what the cost assumes.
SECONDS_PER_PICTURE, SECONDS_PER_QUESTION = 3, 7

# More is a slip of the pen, and would take the server's memory.
MOST_ANNOTATORS, MOST_SLOTS = 100_000, 1_000_000

People = int | Mapping[str, int]


@dataclass(frozen=True)
class Draft:
    """What a study would be; nothing is stored yet.

    `people` are the annotators of each language ("" when languages play no part); an
    open study has no plan.
    """

    definition: StudyDefinition
    benchmark: Benchmark
    shown: tuple[Shown, ...]
    people: dict[str, int]
    plan: design.Plan | None

    @property
    def slots(self) -> int:
        """Return how many judgements are asked for."""
        return self.definition.rounds * sum(one.redundancy for one in self.shown)

    @property
    def sessions(self) -> int:
        """Return how many sessions they take, if all are full."""
        return -(-self.slots // self.definition.session_size)

    def hours(self) -> float:
        """Return the annotators' time: pictures and questions of all slots, checks too.

        The time is an assumption (`SECONDS_PER_PICTURE`, `SECONDS_PER_QUESTION`), not a
        measurement.
        """
        shots = Counter(
            Shot.objects.filter(story__benchmark=self.benchmark).values_list(
                "story", flat=True
            )
        )
        questions = len(self.definition.questions)
        seconds = sum(
            one.redundancy
            * (
                SECONDS_PER_PICTURE * shots[one.story.pk] * len(one.outputs)
                + SECONDS_PER_QUESTION * questions
            )
            for one in self.shown
        )
        checks = 1 + self.definition.checks.per_session / self.definition.session_size
        return self.definition.rounds * seconds * checks / 3600


def prepare(
    definition: StudyDefinition,
    *,
    benchmark: Benchmark,
    annotators: People = 0,
    methods: Sequence[str] | None = None,
    stories: Sequence[str] | None = None,
) -> Draft:
    """Work out what a study would be, without storing anything.

    Raises
    ------
    PlanningError
        There is nothing to show, or a value does not fit.
    annotate.design.ImpossibleDesignError
        The numbers contradict each other.
    """
    people = _people(definition, annotators)
    shown = tuple(choose_units(definition, choose_outputs(benchmark, methods, stories)))
    draft = Draft(definition, benchmark, shown, people, None)
    if draft.slots > MOST_SLOTS:
        raise PlanningError(
            f"These are {draft.slots:,} slots; a study has at most {MOST_SLOTS:,}.",
            field="redundancy",
        )
    if definition.assignment == "planned":
        usual = definition.redundancy
        plan = design.plan(
            [one.as_design(i, _usual(definition)) for i, one in enumerate(shown)],
            groups=[
                Group(name, count, (definition.languages or {"": usual})[name])
                for name, count in people.items()
            ],
            session_size=definition.session_size,
            seed=definition.seed,
            rounds=definition.rounds,
        )
        return replace(draft, plan=plan)
    return draft


def _usual(definition: StudyDefinition) -> int:
    return sum((definition.languages or {"": definition.redundancy}).values())


def _people(definition: StudyDefinition, annotators: People) -> dict[str, int]:
    """Return the annotators by language, checked against the definition."""
    languages = definition.languages or {"": definition.redundancy}
    if min(definition.redundancy, definition.session_size, *languages.values()) < 1:
        raise PlanningError(
            "Redundancy and session size must be at least 1.", field="redundancy"
        )
    if definition.assignment == "open":
        if definition.rounds > 1:
            raise PlanningError(
                "Rounds are repeated by the same people; plan them for known ones.",
                field="rounds",
            )
        return {}
    if definition.languages is not None and definition.subset is not None:
        raise PlanningError(
            "Languages and a subset cannot be planned together yet.", field="subset"
        )
    given = {"": annotators} if isinstance(annotators, int) else dict(annotators)
    if set(given) != set(languages):
        named = ", ".join(f"{name}=10" for name in languages if name)
        raise PlanningError(
            f"Say how many annotators there are for each language: {named}."
            if named
            else "The study has no languages; say one number of annotators.",
            field="annotators",
        )
    if min(given.values()) < 1:
        raise PlanningError("There must be at least 1 annotator.", field="annotators")
    if max(given.values()) > MOST_ANNOTATORS:
        raise PlanningError(
            f"There can be at most {MOST_ANNOTATORS:,} annotators.", field="annotators"
        )
    return {name: given[name] for name in languages}


@transaction.atomic
def plan_study(
    definition: StudyDefinition,
    *,
    benchmark: Benchmark,
    slug: str,
    annotators: People = 0,
    title: str = "",
    methods: Sequence[str] | None = None,
    stories: Sequence[str] | None = None,
    redundancy: int | None = None,
    session_size: int | None = None,
    seed: int | None = None,
    user: User | None = None,
    dry_run: bool = False,
) -> Study:
    """Create a draft study with questions, units, annotators and planned slots.

    With `dry_run` no twin is drawn; whoever asks for it rolls the rest back.

    Raises
    ------
    PlanningError
        The slug is taken, there is nothing to show, or a value does not fit.
    annotate.design.ImpossibleDesignError
        The numbers contradict each other.
    """
    definition = definition.with_changes(
        redundancy=redundancy, session_size=session_size, seed=seed, title=title or None
    )
    if not slug_re.fullmatch(slug):
        raise PlanningError(
            f"{slug!r}: write letters, digits, - and _ only.", field="slug"
        )
    if Study.objects.filter(slug=slug).exists():
        raise PlanningError(
            f"There is a study {slug!r} already; choose another name.", field="slug"
        )
    draft = prepare(
        definition,
        benchmark=benchmark,
        annotators=annotators,
        methods=methods,
        stories=stories,
    )
    study = _create_study(definition, benchmark, slug)
    units = create_units(study, draft.shown)
    _create_checks(study, definition, twins=not dry_run)
    if draft.plan is None:
        slots = free_slots(study, units, definition)
    else:
        slots = _planned_slots(study, draft, units)
        study.balance_report = draft.plan.balance.as_dict()
        study.save(update_fields=["balance_report"])
    log.list_slots(study, Slot.objects.bulk_create(slots, batch_size=500))
    analyze(Unit, Slot)
    if user is not None:
        StudyMember.objects.create(
            study=study, user=user, role=StudyMember.Role.MANAGER
        )
    log.note(
        Event.Kind.STUDY_PLANNED, study.pk, user=user,
        units=len(units), slots=len(slots), annotators=sum(draft.people.values()),
        methods=list(methods or []), stories=list(stories or []),
    )  # fmt: skip
    return study


def _create_study(
    definition: StudyDefinition, benchmark: Benchmark, slug: str
) -> Study:
    checks, training = definition.checks, definition.training
    study = Study(
        slug=slug,
        title=definition.title,
        benchmark=benchmark,
        protocol=definition.protocol,
        template=definition.name,
        assignment=definition.assignment,
        redundancy=_usual(definition),
        rounds=definition.rounds,
        languages=definition.languages or {},
        session_size=definition.session_size,
        cap=definition.cap,
        lease_minutes=definition.lease_minutes,
        seed=definition.seed,
        training={"pass_mark": training.pass_mark, "attempts": training.attempts}
        if training
        else {},
        checks={"per_session": checks.per_session, "kinds": list(checks.kinds)},
        rules=list(definition.rules)
        if not isinstance(definition.rules, str)
        else definition.rules,
        adaptive=asdict(definition.adaptive) if definition.adaptive else {},
        definition=write_definition(definition),
        consent=definition.consent or {},
        consent_version=definition.consent_version,
        instructions=definition.instructions or {},
    )
    _check_fields(study, "the study")
    study.save()
    add_views(study)
    questions = [
        Question(
            study=study,
            key=question.key,
            ordinal=ordinal,
            titles=question.titles,
            texts=question.texts,
            help_texts=question.help_texts,
            anchors=question.anchors,
            scale_min=question.scale[0] if question.scale else None,
            scale_max=question.scale[1] if question.scale else None,
            allow_tie=question.allow_tie,
            metric=question.metric,
            stories={tag: list(values) for tag, values in question.stories.items()},
        )
        for ordinal, question in enumerate(definition.questions, start=1)
    ]
    for question in questions:
        _check_fields(question, f"question {question.key}")
    Question.objects.bulk_create(questions)
    return study


def _check_fields(row: Study | Question, name: str) -> None:
    """Refuse a value that its field cannot hold: too long, or too large."""
    try:
        row.clean_fields(exclude={"titles", "texts"})
    except ValidationError as error:
        problems = [
            f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items()
        ]
        raise PlanningError(f"Of {name}, {'; '.join(problems)}") from error


def _create_checks(study: Study, definition: StudyDefinition, *, twins: bool) -> None:
    if definition.training is not None:
        create_known_units(study, definition.training.units, Purpose.TRAINING)
    create_known_units(study, definition.checks.gold, Purpose.GOLD)
    if twins:
        create_twins(study, definition)


def _planned_slots(study: Study, draft: Draft, units: Sequence[Unit]) -> list[Slot]:
    assert draft.plan is not None
    people = create_annotators(study, draft.people)
    ordinals: Counter[tuple[int, int]] = Counter()
    slots = []
    for planned in draft.plan.assignments:
        key = planned.unit, planned.round
        ordinals[key] += 1
        unit, annotator = units[planned.unit], people[planned.annotator]
        slots.append(
            Slot(
                study=study,
                unit=unit,
                round=planned.round,
                ordinal=ordinals[key],
                level=ordinals[key] + (planned.round - 1) * unit.redundancy,
                language=annotator.language,
                annotator=annotator,
                session=planned.session,
                position=FIRST_POSITION + SPACING * (planned.position - 1),
                a_is_left=planned.a_is_left,
            )
        )
    return slots


def create_annotators(study: Study, people: Mapping[str, int]) -> list[Annotator]:
    """Add so many people of each language, named on from those who are there."""
    first = study.annotators.count() + 1
    total = first - 1 + sum(people.values())
    width = max(2, len(str(total)))
    languages = [name for name, count in people.items() for _ in range(count)]
    return Annotator.objects.bulk_create(
        Annotator(study=study, name=f"A{i:0{width}}", language=language)
        for i, language in enumerate(languages, start=first)
    )
