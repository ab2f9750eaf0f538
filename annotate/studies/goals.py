"""Goals of a study: their check against its size, and their change."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import ValidationError

from annotate import event_log
from annotate.kinds.likert.kind import LikertQuestion
from annotate.kinds.registry import counted, kind_of
from annotate.models import Event, Purpose, Study, User
from annotate.schema import problems_of, refuse
from annotate.studies import contradictions
from annotate.studies.definition import StudyDefinition
from annotate.studies.parts import Goals
from annotate.studies.units import PlanningError, UnitOutputs

# How sure a study is of all values of a question together, however often one looks.
CONFIDENCE = 0.95
# Half accuracy of a metric that guesses.
CHANCE = 0.5


class Size(NamedTuple):
    """Numbers that bound the precision of a study: lengths of scales, and counts."""

    scales: tuple[int, ...]
    methods: int
    stories: int


def size_of(study: Study) -> Size:
    """Return the size of a stored study."""
    ratings = [one for one in counted(study.asked) if kind_of(one).is_numeric]
    scales = tuple((q.scale_max or 0) - (q.scale_min or 0) for q in ratings)
    units = study.units.filter(purpose=Purpose.REAL)
    stories = units.order_by().values("story").distinct().count()
    return Size(scales, len(study.method_names), stories)


def check_planned(definition: StudyDefinition, units: Sequence[UnitOutputs]) -> None:
    """Refuse goals of a study that is being planned, if nothing reaches them."""
    scales = [
        one.scale[1] - one.scale[0]
        for one in definition.questions
        if isinstance(one, LikertQuestion)
    ]
    methods = {name for unit in units for name in unit.methods}
    stories = {unit.story.key for unit in units}
    check_goals(definition.goals, Size(tuple(scales), len(methods), len(stories)))


def check_goals(goals: Goals, size: Size) -> None:
    """Refuse a goal that no number of ratings reaches, and name the nearest."""
    if goals.top is not None and goals.top >= size.methods:
        raise PlanningError(
            _("There are %(methods)d methods; write a number from 1 to %(most)d.")
            if size.methods > 1
            else _("With one method there is nothing to separate; remove this goal."),
            field="goals.top",
            methods=size.methods,
            most=size.methods - 1,
        )
    spans = {"mean": max(size.scales, default=0), "win_rate": 1, "correlation": 2}
    for key, span in spans.items():
        goal = getattr(goals, key)
        if goal is None:
            continue
        if goal >= span / 2:
            text = _("Write less than %(most)s, half of the scale.")
            raise PlanningError(text, f"goals.{key}", most=f"{span / 2:g}")
        least = smallest(key, span, size)
        if goal < least:
            raise PlanningError(
                _(
                    "With %(stories)d stories no number of ratings reaches "
                    "±%(goal)s. The smallest goal is ±%(least)s: other stories may "
                    "differ from these, even if all ratings here are the same. Write "
                    "a larger goal, or add stories."
                ),
                field=f"goals.{key}",
                stories=size.stories,
                goal=f"{goal:g}",
                least=_rounded_up(least),
            )


def smallest(key: str, span: float, size: Size) -> float:
    """Return the smallest reachable half-width of a goal."""
    # Web workers load the statistics only for studies with goals.
    from analysis.inference.confidence_sequences import smallest_goal

    values = 1 if key == "correlation" else max(size.methods, 1)
    return smallest_goal(span, size.stories, (1 - CONFIDENCE) / values)


def _rounded_up(value: float) -> str:
    return f"{-(-value * 1000 // 1) / 1000:.3f}"


def set_goals(study: Study, given: Mapping[str, str], user: User) -> bool:
    """Store the goals of a study; return whether they changed.

    Raises
    ------
    PlanningError
        A goal is no number, does not suit the questions, or cannot be reached.
    """
    texts = {key: given.get(key, "").strip() for key in Goals.model_fields}
    try:
        goals = Goals.model_validate({k: text for k, text in texts.items() if text})
        refuse(contradictions.of_goals(goals, [kind_of(q) for q in study.asked]))
    except ValidationError as error:
        problem = problems_of(error)[0]
        title = _(str(Goals.model_fields[str(problem.path[-1])].title))
        raise PlanningError(f"{title}: {_(problem.text)}") from error
    check_goals(goals, size_of(study))
    after: dict[str, Any] = goals.model_dump()
    with transaction.atomic():
        stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        before = stored.goals
        if before == after:
            return False
        stored.goals = study.goals = after
        stored.save(update_fields=["goals"])
        change = {"before": before, "after": after}
        event_log.note(Event.Kind.STUDY_EDITED, study.pk, user=user, goals=change)
    return True
