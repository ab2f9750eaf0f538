"""Refusals of studies that are impossible or too large to plan, and notes on others."""

from collections import Counter
from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.studies.definition import StudyDefinition
from annotate.studies.units import PlanningError, UnitOutputs
from evalcore.models import Benchmark, Frame, MetricScore, Shot

# Higher numbers are typing errors, and would exhaust the server's memory.
MOST_ANNOTATORS, MOST_SLOTS = 100_000, 1_000_000
# The cost of an assignment is people times slots; workers do anything up to this.
MOST_WORK = 50_000_000

People = int | Mapping[str, int]


def refuse_too_many(slots: int) -> None:
    """Raise an error if there are more slots than anybody means."""
    if slots > MOST_SLOTS:
        raise PlanningError(
            _("The study needs %(n)s ratings, of at most %(most)s."),
            field="redundancy",
            n=f"{slots:,}",
            most=f"{MOST_SLOTS:,}",
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
    raise PlanningError(
        text,
        field="annotators",
        people=f"{people:,}",
        slots=f"{slots:,}",
        work=f"{people * slots:,}",
        most=f"{MOST_WORK:,}",
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
            _(
                "A checklist asks about each shot, but %(n)d stories have none "
                "(%(named)s); leave them out."
            ),
            field="story",
            n=len(blank),
            named=", ".join(blank[:10]),
        )


def check_pictures(definition: StudyDefinition, units: Sequence[UnitOutputs]) -> None:
    """Refuse videos in a study whose questions are about places in pictures."""
    films = [one.story.key for one in units if any(o.video_id for o in one.outputs)]
    kinds = [kind.name for kind in definition.kinds if kind.needs_pictures]
    if kinds and films:
        raise PlanningError(
            _(
                "Questions of kind %(kind)s need pictures, but story %(story)s is a "
                "video; leave videos or the question out."
            ),
            field="story",
            kind=kinds[0],
            story=films[0],
        )


def check_trained_on(definition: StudyDefinition, units: Sequence[UnitOutputs]) -> None:
    """Refuse metrics that shaped methods which the study does not rate."""
    methods = {name for one in units for name in one.methods}
    if unknown := sorted(definition.trained_on.keys() - methods):
        raise PlanningError(
            _("%(names)s: not a method of this study. Write one of %(known)s."),
            field="trained_on",
            names=", ".join(unknown),
            known=", ".join(sorted(methods)),
        )


def gaps_note(units: Sequence[UnitOutputs]) -> str:
    """Return a note on outputs that lack shots, empty if there are none."""
    outputs = {output.pk for one in units for output in one.outputs}
    frames = Frame.objects.filter(output__in=outputs, media=None).order_by()
    gaps = Counter(frames.values_list("output__method__name", "output__story__key"))
    if not gaps:
        return ""
    named = [f"{method}/{story}: {n}" for (method, story), n in gaps.most_common(4)]
    text = ngettext(
        "%(n)d output lacks shots (%(named)s). Annotators see that they are missing, "
        "so the gaps can reveal a method.",
        "%(n)d outputs lack shots (%(named)s). Annotators see that they are missing, "
        "so the gaps can reveal a method.",
        len(gaps),
    )
    listed = ", ".join(named[:3]) + ", ..." * (len(gaps) > 3)
    return text % {"n": len(gaps), "named": listed}


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
            _("Ratings per item and stories per sitting must be at least 1."),
            field="redundancy",
        )
    if definition.assignment == "open":
        if definition.rounds > 1:
            raise PlanningError(
                _("Several rounds need the same people; choose planned assignment."),
                field="rounds",
            )
        return {}
    if definition.languages and definition.subset is not None:
        raise PlanningError(
            _("A study cannot have both languages and a subset."), field="subset"
        )
    numbers = {"": annotators} if isinstance(annotators, int) else dict(annotators)
    if set(numbers) != set(languages):
        named = ", ".join(f"{name}=10" for name in languages if name)
        raise PlanningError(
            _("Enter the number of annotators for each language: %(named)s.")
            if named
            else _("The study has no languages; enter one number of annotators."),
            field="annotators",
            named=named,
        )
    if min(numbers.values()) < 1:
        text = _("There must be at least 1 annotator.")
        raise PlanningError(text, field="annotators")
    if max(numbers.values()) > MOST_ANNOTATORS:
        text = _("There can be at most %(most)s annotators.")
        raise PlanningError(text, "annotators", most=f"{MOST_ANNOTATORS:,}")
    return {name: numbers[name] for name in languages}
