"""Refusals of studies that are impossible, or too large to plan."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from annotate.studies.definition import StudyDefinition
from annotate.studies.units import PlanningError, UnitOutputs
from evalcore.models import Benchmark, MetricScore, Shot

# Higher numbers are typing errors, and would exhaust the server's memory.
MOST_ANNOTATORS, MOST_SLOTS = 100_000, 1_000_000
# The cost of an assignment is people times slots; workers do anything up to this.
MOST_WORK = 50_000_000

People = int | Mapping[str, int]


def refuse_too_many(slots: int) -> None:
    """Raise an error if there are more slots than anybody means."""
    if slots > MOST_SLOTS:
        raise PlanningError(
            f"The study needs {slots:,} ratings, of at most {MOST_SLOTS:,}.",
            field="redundancy",
        )


def refuse_too_much_work(people: int, slots: int) -> None:
    """Raise an error if people times slots exceed the limit."""
    if people * slots <= MOST_WORK:
        return
    text = _(
        "%(people)s annotators times %(slots)s ratings are %(work)s; at most %(most)s "
        "can be planned. Ask for fewer people or fewer ratings per item, or set the "
        "assignment to open, which needs no plan."
    )
    work = people * slots
    numbers = {"people": people, "slots": slots, "work": work, "most": MOST_WORK}
    raise PlanningError(
        text % {name: f"{number:,}" for name, number in numbers.items()},
        field="annotators",
    )


def check_shots(definition: StudyDefinition, units: Sequence[UnitOutputs]) -> None:
    """Refuse stories without shots in checklists, which ask about each shot."""
    if not definition.is_of_shots:
        return
    stories = {one.story.pk: one.story.key for one in units}
    with_shots = Shot.objects.filter(story__in=stories)
    named = {stories[pk] for pk in with_shots.values_list("story", flat=True)}
    blank = sorted(set(stories.values()) - named)
    if blank:
        raise PlanningError(
            f"A checklist asks about each shot, but {len(blank)} stories have none "
            f"({', '.join(blank[:10])}); leave them out.",
            field="story",
        )


def check_pictures(definition: StudyDefinition, units: Sequence[UnitOutputs]) -> None:
    """Refuse videos in a study whose questions are about places in pictures."""
    films = [one.story.key for one in units if any(o.video_id for o in one.outputs)]
    kinds = [kind.name for kind in definition.kinds if kind.needs_pictures]
    if kinds and films:
        raise PlanningError(
            f"Questions of kind {kinds[0]} need pictures, but story {films[0]} is a "
            "video; leave videos or the question out.",
            field="story",
        )


def check_trained_on(definition: StudyDefinition, units: Sequence[UnitOutputs]) -> None:
    """Refuse metrics that shaped methods which the study does not rate."""
    methods = {name for one in units for name in one.methods}
    if unknown := sorted(definition.trained_on.keys() - methods):
        raise PlanningError(
            f"{', '.join(unknown)}: not a method of this study. Write one of "
            f"{', '.join(sorted(methods))}.",
            field="trained_on",
        )


def unscored_note(definition: StudyDefinition, benchmark: Benchmark) -> str:
    """Name metrics that shaped methods and have no scores; empty if there are none."""
    named = {metric for own in definition.trained_on.values() for metric in own}
    named -= {one.name for one in definition.composites}
    scored = MetricScore.objects.filter(benchmark=benchmark, metric__in=named)
    if not (lacking := named.difference(scored.values_list("metric", flat=True))):
        return ""
    text = _("No scores so far of: %(names)s. Check the names, or import these scores.")
    return text % {"names": ", ".join(sorted(lacking))}


def people_by_language(
    definition: StudyDefinition, annotators: People
) -> dict[str, int]:
    """Return the validated numbers of annotators by language."""
    languages = definition.answers
    if min(definition.redundancy, definition.session_size, *languages.values()) < 1:
        raise PlanningError(
            "Ratings per item and stories per sitting must be at least 1.",
            field="redundancy",
        )
    if definition.assignment == "open":
        if definition.rounds > 1:
            raise PlanningError(
                "Several rounds need the same people; choose planned assignment.",
                field="rounds",
            )
        return {}
    if definition.languages and definition.subset is not None:
        raise PlanningError(
            "A study cannot have both languages and a subset.", field="subset"
        )
    numbers = {"": annotators} if isinstance(annotators, int) else dict(annotators)
    if set(numbers) != set(languages):
        named = ", ".join(f"{name}=10" for name in languages if name)
        raise PlanningError(
            f"Enter the number of annotators for each language: {named}."
            if named
            else "The study has no languages; enter one number of annotators.",
            field="annotators",
        )
    if min(numbers.values()) < 1:
        raise PlanningError("There must be at least 1 annotator.", field="annotators")
    if max(numbers.values()) > MOST_ANNOTATORS:
        raise PlanningError(
            f"There can be at most {MOST_ANNOTATORS:,} annotators.", field="annotators"
        )
    return {name: numbers[name] for name in languages}
