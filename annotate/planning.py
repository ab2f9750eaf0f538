"""From a definition and a benchmark to a study whose slots are planned."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.core.validators import slug_re
from django.db import transaction

from annotate import design, log
from annotate.balance import DesignUnit
from annotate.definition import StudyDefinition
from annotate.leasing import FIRST_POSITION, SPACING
from annotate.models import (
    AnalysisView,
    Annotator,
    Event,
    Question,
    Slot,
    Study,
    StudyMember,
    Unit,
    User,
)
from evalcore.models import Benchmark, Output
from evalcore.postgresql import analyze


class PlanningError(ValueError):
    """The study cannot be planned as asked; the message says why."""


@transaction.atomic
def plan_study(
    definition: StudyDefinition,
    *,
    benchmark: Benchmark,
    slug: str,
    annotators: int,
    title: str = "",
    methods: Sequence[str] | None = None,
    stories: Sequence[str] | None = None,
    redundancy: int | None = None,
    session_size: int | None = None,
    seed: int | None = None,
    user: User | None = None,
) -> Study:
    """Create a draft study with questions, units, annotators and planned slots.

    Raises
    ------
    PlanningError
        The slug is taken, there is nothing to show, or a value does not fit.
    annotate.design.ImpossibleDesignError
        The numbers contradict each other.
    """
    definition = definition.with_changes(
        redundancy=redundancy, session_size=session_size, seed=seed
    )
    if not slug_re.fullmatch(slug):
        raise PlanningError(f"{slug!r}: write letters, digits, - and _ only.")
    if Study.objects.filter(slug=slug).exists():
        raise PlanningError(f"There is a study {slug!r} already; choose another name.")
    if min(annotators, definition.redundancy, definition.session_size) < 1:
        raise PlanningError(
            "Annotators, redundancy and session size must be at least 1."
        )
    outputs = _shown_outputs(benchmark, methods, stories)
    study = _create_study(definition, benchmark, slug, title)
    units = _create_units(study, outputs, definition.pairs)
    by_id = {unit.pk: unit for unit in units}
    plan = design.plan(
        [_as_design(unit) for unit in units],
        annotators=annotators,
        redundancy=definition.redundancy,
        session_size=definition.session_size,
        seed=definition.seed,
        rounds=definition.rounds,
    )
    people = _create_annotators(study, annotators)
    _create_slots(study, plan, by_id, people)
    study.balance_report = plan.balance.as_dict()
    study.save(update_fields=["balance_report"])
    if user is not None:
        StudyMember.objects.create(
            study=study, user=user, role=StudyMember.Role.MANAGER
        )
    log.note(
        Event.Kind.STUDY_PLANNED, study.pk, user=user, balance=plan.balance.as_dict()
    )
    return study


def _shown_outputs(
    benchmark: Benchmark, methods: Sequence[str] | None, stories: Sequence[str] | None
) -> list[Output]:
    """Return the outputs to judge; each must have something to look at."""
    outputs = Output.objects.filter(story__benchmark=benchmark).select_related(
        "story", "method"
    )
    for names, lookup, word in (
        (methods, "method__name", "method"),
        (stories, "story__key", "story"),
    ):
        if names:
            known = set(outputs.values_list(lookup, flat=True))
            unknown = sorted(set(names) - known)
            if unknown:
                raise PlanningError(
                    f"No output of {word} {', '.join(unknown)} in {benchmark.slug}. "
                    f"There are: {', '.join(sorted(known)[:20]) or 'none'}."
                )
            outputs = outputs.filter(**{f"{lookup}__in": names})
    listed = list(outputs.order_by("story__key", "method__name"))
    if not listed:
        raise PlanningError(f"{benchmark.slug} has no outputs; import some first.")
    seen = set(
        outputs.filter(frames__media__isnull=False).values_list("pk", flat=True)
    ) | set(outputs.filter(video__isnull=False).values_list("pk", flat=True))
    blank = [output for output in listed if output.pk not in seen]
    if blank:
        named = ", ".join(f"{o.method.name}/{o.story.key}" for o in blank[:10])
        raise PlanningError(
            f"{len(blank)} outputs have no picture to show ({named}); import their "
            "pictures or leave their methods or stories out."
        )
    return listed


def _create_study(
    definition: StudyDefinition, benchmark: Benchmark, slug: str, title: str
) -> Study:
    study = Study(
        slug=slug,
        title=title or definition.title,
        benchmark=benchmark,
        protocol=definition.protocol,
        template=definition.name,
        redundancy=definition.redundancy,
        rounds=definition.rounds,
        session_size=definition.session_size,
        lease_minutes=definition.lease_minutes,
        seed=definition.seed,
        consent=definition.consent,
        consent_version=definition.consent_version,
        instructions=definition.instructions,
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
        )
        for ordinal, question in enumerate(definition.questions, start=1)
    ]
    for question in questions:
        _check_fields(question, f"question {question.key}")
    Question.objects.bulk_create(questions)
    return study


def add_views(study: Study) -> None:
    """Give a study the two views that every study has."""
    AnalysisView.objects.bulk_create(
        AnalysisView(study=study, key=key, title=title)
        for key, title in (
            ("main", "Everything but what was excluded"),
            ("everything", "All answers within the redundancy, excluded ones too"),
        )
    )


def _check_fields(row: Study | Question, name: str) -> None:
    """Refuse a value that its field cannot hold: too long, or too large."""
    try:
        row.clean_fields(exclude={"titles", "texts"})
    except ValidationError as error:
        problems = [
            f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items()
        ]
        raise PlanningError(f"Of {name}, {'; '.join(problems)}") from error


def _create_units(study: Study, outputs: list[Output], pairs: str) -> list[Unit]:
    """Create a unit for each output, or for each pair of outputs of a story."""
    if not study.is_pairwise:
        units = [
            Unit(study=study, story=o.story, output_a=o, redundancy=study.redundancy)
            for o in outputs
        ]
        return Unit.objects.bulk_create(units, batch_size=500)
    by_story: dict[int, list[Output]] = {}
    for output in outputs:
        by_story.setdefault(output.story_id, []).append(output)
    units = [
        Unit(
            study=study,
            story=a.story,
            output_a=a,
            output_b=b,
            redundancy=study.redundancy,
        )
        for group in by_story.values()
        for a, b in _pairs(group, pairs)
    ]
    if not units:
        raise PlanningError("No story has outputs of two methods to compare.")
    return Unit.objects.bulk_create(units, batch_size=500)


def _pairs(group: list[Output], pairs: str) -> list[tuple[Output, Output]]:
    """Return the pairs of a story, each in alphabetical order of the methods."""
    ordered = sorted(group, key=lambda output: output.method.name)
    if pairs == "ring" and len(ordered) > 2:
        ring = zip(ordered, [*ordered[1:], ordered[0]], strict=True)
        return [(a, b) if a.method.name < b.method.name else (b, a) for a, b in ring]
    return [(a, b) for i, a in enumerate(ordered) for b in ordered[i + 1 :]]


def _as_design(unit: Unit) -> DesignUnit:
    outputs = [o for o in (unit.output_a, unit.output_b) if o is not None]
    if any(output.story_id != unit.story_id for output in outputs):
        raise PlanningError("The outputs of a unit must belong to its story.")
    return DesignUnit(
        unit.pk, unit.story.key, tuple(output.method.name for output in outputs)
    )


def _create_annotators(study: Study, count: int) -> list[Annotator]:
    width = max(2, len(str(count)))
    people = [
        Annotator(study=study, name=f"A{i:0{width}}") for i in range(1, count + 1)
    ]
    return Annotator.objects.bulk_create(people)


def _create_slots(
    study: Study, plan: design.Plan, units: dict[int, Unit], people: list[Annotator]
) -> None:
    ordinals: dict[tuple[int, int], int] = {}
    slots = []
    for planned in plan.assignments:
        key = planned.unit, planned.round
        ordinals[key] = ordinals.get(key, 0) + 1
        slots.append(
            Slot(
                study=study,
                unit=units[planned.unit],
                round=planned.round,
                ordinal=ordinals[key],
                annotator=people[planned.annotator],
                session=planned.session,
                level=ordinals[key] + (planned.round - 1) * study.redundancy,
                position=FIRST_POSITION + SPACING * (planned.position - 1),
                a_is_left=planned.a_is_left,
            )
        )
    log.list_slots(study, Slot.objects.bulk_create(slots, batch_size=500))
    analyze(Unit, Slot)
