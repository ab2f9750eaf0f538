"""Planning of a study from a definition and a benchmark."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.core.exceptions import ValidationError
from django.core.validators import slug_re
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analysis.options import Progress, silent
from annotate import event_log
from annotate.assignment.designs import balanced
from annotate.assignment.designs.planned_slots import LanguageGroup
from annotate.kinds.registry import KINDS
from annotate.models import Event, Question, Slot, Study, StudyMember, Unit, User
from annotate.people.inviting import name_people
from annotate.presentation.same_size import ShapeNote, aspect_ratio_notes
from annotate.responses.analysis_views import add_views
from annotate.studies import deadline, training_material
from annotate.studies.check_units import (
    KnownUnitOutputs,
    Twin,
    choose_known,
    create_check_units,
    has_twins,
    make_twins,
)
from annotate.studies.definition import StudyDefinition
from annotate.studies.goals import check_planned
from annotate.studies.plan_checks import (
    People,
    check_pictures,
    check_shots,
    check_trained_on,
    gaps_note,
    people_by_language,
    refuse_too_many,
    refuse_too_much_work,
    unscored_note,
)
from annotate.studies.story_draw import (
    Draw,
    draw_notes,
    draw_stories,
    store_draw,
    with_seed,
)
from annotate.studies.study_file import write_definition
from annotate.studies.units import (
    PlanningError,
    UnitOutputs,
    choose_outputs,
    choose_units,
    create_units,
    free_slots,
    planned_slots,
)
from evalcore.database.postgresql import analyze
from evalcore.models import Benchmark, Frame, Output, Shot

# People times slots: what takes less than about a second is planned by web processes.
MOST_WORK_AT_ONCE = 4_000_000
# Web processes draw degraded copies of at most so many pictures: about two seconds.
MOST_DRAWN_AT_ONCE = 40
# Fields of the training that a study stores beside its units.
PASSING = {"pass_mark", "attempts", "per_round"}
# Assumed time to look at a picture; `Kind.seconds` is the time to answer.
SECONDS_PER_PICTURE = 3


@dataclass(frozen=True)
class Setup:
    """A requested study; empty methods or stories mean all of them."""

    slug: str
    benchmark: Benchmark
    definition: StudyDefinition
    annotators: People = 0
    methods: tuple[str, ...] = ()
    stories: tuple[str, ...] = ()
    continues: Study | None = None


@dataclass(frozen=True)
class Draft:
    """A study that is not stored yet.

    `people` counts the annotators by language; "" stands for all of them.
    """

    setup: Setup
    units: tuple[UnitOutputs, ...]
    known: tuple[KnownUnitOutputs, ...]
    people: dict[str, int]
    material: training_material.TrainingMaterial
    draw: Draw | None = None
    plan: balanced.Plan | None = None
    twins: tuple[Twin, ...] = ()

    @property
    def definition(self) -> StudyDefinition:
        return self.setup.definition

    @property
    def slots(self) -> int:
        """Return the number of slots."""
        return self.definition.rounds * sum(one.redundancy for one in self.units)

    @property
    def sessions(self) -> int:
        """Return the number of sessions if all are full."""
        return -(-self.slots // self.definition.session_size)

    @property
    def needs_worker(self) -> bool:
        """Return whether planning takes long; an open study needs no plan."""
        return sum(self.people.values()) * self.slots > MOST_WORK_AT_ONCE

    @property
    def draws_long(self) -> bool:
        """Return whether drawing the degraded copies takes long."""
        outputs = {output.pk for one in self.units for output in one.outputs}
        number = len(self.material.originals)
        if has_twins(self.definition):
            number += round(self.definition.checks.share * len(outputs))
        pictures = Frame.objects.filter(output__in=outputs).count()
        return number * pictures > MOST_DRAWN_AT_ONCE * len(outputs)

    def notes(self) -> list[str]:
        """Return warnings that a manager needs before people begin."""
        notes = [gaps_note(self.units), self._unasked_note(), self.material.note()]
        notes += draw_notes(self.definition, self.draw, self.units)
        notes.append(unscored_note(self.definition, self.setup.benchmark))
        return list(filter(None, notes))

    def _unasked_note(self) -> str:
        """Return a note on stories that suit no question; empty if there are none."""
        stories = self.setup.benchmark.stories.only("key", "tags").order_by("key")
        if self.setup.stories:
            stories = stories.filter(key__in=self.setup.stories)
        questions = self.definition.questions
        unasked = [
            story.key
            for story in stories
            if not any(story.suits(question.stories) for question in questions)
        ]
        if not unasked:
            return ""
        text = ngettext(
            "%(n)d story is left out, since no question is about its tags: %(named)s.",
            "%(n)d stories are left out, since no question is about their tags: "
            "%(named)s.",
            len(unasked),
        )
        named = ", ".join(unasked[:3]) + ", ..." * (len(unasked) > 3)
        return text % {"n": len(unasked), "named": named}

    def shape_notes(self) -> list[ShapeNote]:
        """Return notes on shapes and sizes of pictures."""
        outputs = {output.pk for one in self.units for output in one.outputs}
        return aspect_ratio_notes(Output.objects.filter(pk__in=outputs))

    def hours(self) -> float:
        """Return the assumed working time for all slots, including checks."""
        rows = Shot.objects.filter(story__benchmark=self.setup.benchmark)
        shots = Counter(rows.values_list("story", flat=True))
        seconds = sum(
            one.redundancy * self._seconds(one, shots[one.story.pk])
            for one in self.units
        )
        checks = 1 + self.definition.checks.per_session / self.definition.session_size
        return self.definition.rounds * seconds * checks / 3600

    def assumed(self) -> str:
        """Return the assumed time for each kind of question, in words."""
        kinds = dict.fromkeys(KINDS[q.kind] for q in self.definition.questions)
        texts = {True: _("%(n)d s per shot (%(kind)s)"), False: _("%(n)d s (%(kind)s)")}
        return ", ".join(
            texts[kind.of_shots] % {"n": kind.seconds, "kind": kind.title}
            for kind in kinds
        )

    def _seconds(self, unit: UnitOutputs, shots: int) -> int:
        answering = 0
        for question in self.definition.questions:
            kind = KINDS[question.kind]
            if unit.story.suits(question.stories):
                answering += kind.seconds * (shots if kind.of_shots else 1)
        return SECONDS_PER_PICTURE * shots * len(unit.outputs) + answering


def prepare(setup: Setup, progress: Progress = silent) -> Draft:
    """Return the complete draft of a study, without storing anything."""
    return with_plan(outline(setup), progress)


def outline(setup: Setup) -> Draft:
    """Return the draft of a study without an assignment.

    Raises
    ------
    PlanningError
        The study is impossible, or too large to plan.
    """
    definition = with_seed(setup.definition, setup.slug)
    setup = replace(setup, definition=definition)
    try:
        deadline.check(definition.deadline)
    except deadline.DeadlineError as error:
        raise PlanningError(str(error), field="deadline") from error
    people = people_by_language(definition, setup.annotators)
    outputs = choose_outputs(setup.benchmark, setup.methods, setup.stories)
    draw = draw_stories(definition, outputs)
    if draw is not None:
        outputs = [one for one in outputs if one.story.key in draw.drawn]
    units = tuple(choose_units(definition, outputs))
    check_planned(definition, units)
    check_trained_on(definition, units)
    known = choose_known(definition, setup.benchmark, units)
    material = training_material.choose(definition, setup.benchmark, units, known)
    draft = Draft(setup, units, known, people, material, draw)
    refuse_too_many(draft.slots)
    refuse_too_much_work(sum(people.values()), draft.slots)
    check_shots(definition, units)
    check_pictures(definition, units)
    return draft


def with_plan(draft: Draft, progress: Progress = silent) -> Draft:
    """Return a draft with the assignment of a planned study."""
    definition = draft.definition
    if definition.assignment != "planned":
        return draft
    usual = sum(definition.answers.values())
    plan = balanced.plan(
        [one.as_design(i, usual) for i, one in enumerate(draft.units)],
        groups=[
            LanguageGroup(name, count, definition.answers[name])
            for name, count in draft.people.items()
        ],
        session_size=definition.session_size,
        seed=definition.seed,
        rounds=definition.rounds,
        progress=progress,
    )
    return replace(draft, plan=plan)


def plan_study(
    definition: StudyDefinition,
    *,
    benchmark: Benchmark,
    slug: str,
    annotators: People = 0,
    methods: Sequence[str] = (),
    stories: Sequence[str] = (),
    user: User | None = None,
    **changes: object,
) -> Study:
    """Create and store a draft study, with changes to its definition."""
    check_slug(slug)
    definition = definition.with_changes(**changes)
    chosen = tuple(methods), tuple(stories)
    setup = Setup(slug, benchmark, definition, annotators, *chosen)
    return store(with_twins(prepare(setup)), user)


def check_slug(slug: str) -> None:
    """Refuse a name that is invalid in web addresses or taken."""
    if not slug_re.fullmatch(slug):
        text = _("“%(slug)s”: write letters, digits, - and _ only.")
        raise PlanningError(text, "slug", slug=slug)
    if Study.objects.filter(slug=slug).exists():
        raise _taken(slug)


def _taken(slug: str) -> PlanningError:
    text = _("A study named “%(slug)s” already exists; choose another name.")
    return PlanningError(text, "slug", slug=slug)


def with_twins(draft: Draft) -> Draft:
    """Return a draft with degraded copies; call outside a transaction.

    Drawing takes minutes, and a transaction would block all answers. The next draft
    reuses the copies of a draft that was not stored.
    """
    definition, material = draft.definition, draft.material
    return replace(
        draft,
        material=training_material.draw(material, definition.seed),
        twins=make_twins(definition, draft.units, material.originals),
    )


@transaction.atomic
def store(draft: Draft, user: User | None, previous: Study | None = None) -> Study:
    """Store a draft, which may be the next version of another study."""
    check_slug(draft.setup.slug)
    study = _create_study(draft.setup, previous)
    units = create_units(study, draft.units)
    create_check_units(study, units, draft.known, draft.twins)
    training_material.store(study, draft.material)
    if draft.draw is not None and draft.draw.is_known(draft.units):
        store_draw(study, draft.draw, user)
    if draft.plan is None:
        slots = free_slots(study, units, draft.definition)
    else:
        people = name_people(study, draft.people)
        slots = planned_slots(study, draft.plan, people, units)
        study.balance_report = draft.plan.balance.as_dict()
        study.save(update_fields=["balance_report"])
    event_log.list_slots(study, Slot.objects.bulk_create(slots, batch_size=500))
    analyze(Unit, Slot)
    if user is not None:
        StudyMember.objects.create(
            study=study, user=user, role=StudyMember.Role.MANAGER
        )
    event_log.note(
        Event.Kind.STUDY_PLANNED,
        study.pk,
        user=user,
        units=len(units),
        slots=len(slots),
        annotators=sum(draft.people.values()),
        methods=list(draft.setup.methods),
        stories=list(draft.setup.stories),
    )
    return study


def _create_study(setup: Setup, previous: Study | None) -> Study:
    definition = setup.definition
    checks, training = definition.checks, definition.training
    study = Study(
        slug=setup.slug,
        title=definition.title,
        benchmark=setup.benchmark,
        previous_version=previous,
        continues=setup.continues,
        outputs_at_once=definition.outputs,
        template=definition.name,
        assignment=definition.assignment,
        redundancy=sum(definition.answers.values()),
        rounds=definition.rounds,
        languages=definition.languages,
        session_size=definition.session_size,
        cap=definition.cap,
        lease_minutes=definition.lease_minutes,
        deadline=deadline.end_of(definition.deadline) if definition.deadline else None,
        seed=definition.seed,
        training=training.model_dump(include=PASSING) if training else {},
        checks={"per_session": checks.per_session, "kinds": list(checks.kinds)},
        rules=definition.rules,
        adaptive=dict(definition.adaptive) if definition.adaptive else {},
        goals=definition.goals.model_dump(),
        trained_on=dict(definition.trained_on),
        definition=write_definition(definition),
        consent=definition.consent.texts,
        consent_version=definition.consent.version,
        instructions=definition.instructions,
        presentation=dict(definition.presentation),
        recruitment=definition.recruitment.stored(),
    )
    _check_fields(study, "the study")
    try:
        with transaction.atomic():
            study.save()
    except IntegrityError as error:  # another request took the name
        raise _taken(setup.slug) from error
    add_views(study)
    questions = [
        Question(study=study, ordinal=ordinal, **row)
        for ordinal, row in enumerate(definition.stored_questions, start=1)
    ]
    for question in questions:
        _check_fields(question, f"question {question.key}")
    Question.objects.bulk_create(questions)
    return study


def _check_fields(row: Study | Question, name: str) -> None:
    """Refuse a value that is too long or too large for its field."""
    try:
        row.clean_fields(exclude={"titles", "texts"})
    except ValidationError as error:
        problems = [
            f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items()
        ]
        raise PlanningError(f"In {name}, {'; '.join(problems)}") from error
