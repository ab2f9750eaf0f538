"""What annotators are taught with before they judge, made of degraded twins.

A question that says which degradation makes its answer worse gets a pictured example;
the training round gets units whose right answers are known, since they were made so.
"""

import random
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from analysis.problems import InputError
from annotate.kinds.registry import KINDS
from annotate.models import Purpose, Question, Study, Unit, localised
from annotate.presentation.examples import (
    changed_shots,
    listed,
    picked,
    what_is_wrong,
)
from annotate.studies.check_units import KnownUnitOutputs
from annotate.studies.definition import QuestionDefinition, StudyDefinition
from annotate.studies.units import PlanningError, Shown
from evalcore.models import Benchmark, Output
from evalcore.twins import twin_outputs
from evalcore.twins.degrading import ImpossibleDegradationError

Degradation = Output.Degradation
# Outputs that are looked at until one can be degraded.
TRIES = 40
# What an output must have, as the plan says where none has it.
NEEDS: dict[str, Promise] = {
    Degradation.SHUFFLED: gettext_lazy("three shots with different pictures"),
    Degradation.FOREIGN_SHOT: gettext_lazy("another story with other pictures"),
    Degradation.REPEATED_SHOT: gettext_lazy("two shots with different pictures"),
    Degradation.BLURRED: gettext_lazy("pictures"),
    Degradation.SWAPPED_CHARACTERS: gettext_lazy(
        "shots with different characters on stage"
    ),
}


@dataclass(frozen=True)
class Lesson:
    """An output to be degraded, and the questions whose answers suffer from it.

    Its twin is there once it is drawn.
    """

    original: Output
    questions: tuple[QuestionDefinition, ...]
    twin: Output | None = None

    @property
    def degradation(self) -> str:
        return self.questions[0].degradation


@dataclass(frozen=True)
class Lessons:
    """Examples, a question each, and units of the training round.

    `lacking` says why there are fewer units than `wanted`.
    """

    examples: tuple[Lesson, ...] = ()
    training: tuple[Lesson, ...] = ()
    wanted: int = 0
    lacking: tuple[str, ...] = ()

    @property
    def originals(self) -> set[int]:
        return {one.original.pk for one in (*self.examples, *self.training)}

    def summary(self) -> str:
        """Say what people are taught with; empty: nothing is made for them."""
        parts = []
        if self.training:
            text = ngettext(
                "%(n)d training story made worse on purpose",
                "%(n)d training stories made worse on purpose",
                len(self.training),
            )
            parts.append(text % {"n": len(self.training)})
        if self.examples:
            text = ngettext(
                "a pictured example of %(n)d question",
                "pictured examples of %(n)d questions",
                len(self.examples),
            )
            parts.append(text % {"n": len(self.examples)})
        return _("Taught by %(parts)s.") % {"parts": listed(parts)} if parts else ""

    def note(self) -> str:
        """Say why training is shorter than was asked for; empty: it is not."""
        if len(self.training) == self.wanted:
            return ""
        told = (
            _(
                "Only %(n)d of the %(wanted)d training stories could be made by "
                "degrading outputs: %(why)s."
            )
            if self.training
            else _("No training story could be made by degrading outputs: %(why)s.")
        )
        return told % {
            "n": len(self.training),
            "wanted": self.wanted,
            "why": "; ".join(self.lacking),
        }


# Choosing


def choose(
    definition: StudyDefinition,
    benchmark: Benchmark,
    shown: Sequence[Shown],
    known: Sequence[KnownUnitOutputs],
) -> Lessons:
    """Return what people are to be taught with; nothing is drawn yet.

    Stories that the study does not judge come first, and what training or gold show is
    left out.
    """
    asked = [one for one in definition.questions if one.degradation]
    if not asked:
        return Lessons()
    shelf = _Shelf(definition, benchmark, shown, known)
    examples = [lesson for one in asked if (lesson := shelf.lesson([one]))]
    shelf.lacking.clear()
    wanted = definition.training.twins if definition.training else 0
    marked = [one for one in asked if KINDS[one.kind].has_known_answers]
    training = _training(shelf, marked, wanted)
    return Lessons(tuple(examples), tuple(training), wanted, tuple(shelf.lacking))


def _training(
    shelf: "_Shelf", asked: Sequence[QuestionDefinition], wanted: int
) -> list[Lesson]:
    """Return so many lessons: a first one about each question, then further ones."""
    lessons: list[Lesson] = []
    met: set[str] = set()
    queue = deque(asked)
    while queue and len(lessons) < wanted:
        one = queue.popleft()
        if one.key in met and not met.issuperset(other.key for other in queue):
            queue.append(one)
        elif lesson := shelf.lesson([one, *(q for q in asked if q is not one)]):
            lessons.append(lesson)
            met |= {question.key for question in lesson.questions}
            queue.append(one)
    return lessons


class _Shelf:
    """Outputs to take lessons from, each once for a degradation."""

    def __init__(
        self,
        definition: StudyDefinition,
        benchmark: Benchmark,
        shown: Sequence[Shown],
        known: Iterable[KnownUnitOutputs],
    ) -> None:
        told = {output.pk for one in known for output in one.outputs}
        methods = {output.method_id for one in shown for output in one.outputs}
        rows = Output.objects.filter(story__benchmark=benchmark, method__in=methods)
        rows = rows.exclude(pk__in=told).select_related("story", "method")
        self.outputs = list(rows.order_by("story__key", "method__name"))
        random.Random(definition.seed).shuffle(self.outputs)
        self.judged = {one.story.pk for one in shown}
        self.taken: Counter[object] = Counter()
        self.lacking: dict[str, None] = {}

    def lesson(self, questions: Sequence[QuestionDefinition]) -> Lesson | None:
        """Return an output to degrade for the first of these questions.

        With it come those that the same degradation makes worse, if they are asked of
        that story.
        """
        first = questions[0]
        found = self._output(first)
        if found is None:
            return None
        for one in (found, found.story, found.method, (found, first.degradation)):
            self.taken[one] += 1
        also = (
            one
            for one in questions
            if one.degradation == first.degradation and found.story.suits(one.stories)
        )
        return Lesson(found, tuple(also))

    def _output(self, question: QuestionDefinition) -> Output | None:
        degradation = question.degradation
        suited = [o for o in self.outputs if o.story.suits(question.stories)]
        left = [o for o in suited if not self.taken[o, degradation]]
        left.sort(
            key=lambda o: (
                o.story.pk in self.judged,
                self.taken[o],
                self.taken[o.story],
                self.taken[o.method],
            )
        )
        for output in left[:TRIES]:
            if twin_outputs.why_impossible(output, degradation) is None:
                return output
        self._note(question, suited, is_used=len(left) < len(suited))
        return None

    def _note(
        self, question: QuestionDefinition, suited: list[Output], *, is_used: bool
    ) -> None:
        """Note why nothing was found."""
        need = NEEDS[question.degradation]
        if is_used:
            why = _("there are no more outputs for “%(title)s”")
        elif suited:
            why = _("“%(title)s” needs %(need)s")
        else:
            why = _("no output to show is about “%(title)s”")
        told = {"title": localised(question.titles), "need": need}
        self.lacking[why % told] = None


# Drawing and storing


def draw(lessons: Lessons, seed: int) -> Lessons:
    """Draw the twins; a lesson whose twin would look like its original is left out."""
    return replace(
        lessons,
        examples=tuple(_drawn(lessons.examples, seed)),
        training=tuple(_drawn(lessons.training, seed)),
    )


def _drawn(lessons: Iterable[Lesson], seed: int) -> Iterable[Lesson]:
    for one in lessons:
        try:
            twin = twin_outputs.make_twin(one.original, one.degradation, seed)
        except ImpossibleDegradationError:
            continue
        except InputError as error:
            raise PlanningError(str(error), field="training.twins") from error
        yield replace(one, twin=twin)


def store(study: Study, lessons: Lessons) -> None:
    """Store the units of the training round and the examples of the questions."""
    Unit.objects.bulk_create(
        _unit(study, one, one.twin) for one in lessons.training if one.twin
    )
    rows = {row.key: row for row in study.questions.all()}
    illustrated = [
        _illustrated(rows[one.questions[0].key], one.twin)
        for one in lessons.examples
        if one.twin
    ]
    Question.objects.bulk_update(illustrated, ["example", "example_shots"])


def _illustrated(question: Question, twin: Output) -> Question:
    question.example, question.example_shots = twin, picked(changed_shots(twin))
    return question


def _unit(study: Study, lesson: Lesson, twin: Output) -> Unit:
    """Return the twin alone, whose answers are low; or beside its original."""
    shown = {"output_a": twin}
    if study.is_side_by_side:
        shown = {"output_a": lesson.original, "output_b": twin}
    return Unit(
        study=study,
        story=lesson.original.story,
        purpose=Purpose.TRAINING,
        **shown,
        expected={one.key: _expected(one) for one in lesson.questions},
        feedback=_in_each_language(study, lesson, twin),
    )


def _expected(question: QuestionDefinition) -> list[int] | str:
    """Return the lower half of the scale, or the original."""
    if question.scale is None:
        return "a"
    low, high = question.scale
    return [low, (low + high) // 2]


def _in_each_language(study: Study, lesson: Lesson, twin: Output) -> dict[str, str]:
    shots = [number for number, is_changed in changed_shots(twin) if is_changed]
    told = {}
    for code, _name in settings.LANGUAGES:
        with translation.override(code):
            told[code.split("-")[0]] = _feedback(study, lesson, shots)
    return told


def _feedback(study: Study, lesson: Lesson, shots: Sequence[int]) -> str:
    titles = [
        _("“%(title)s”") % {"title": localised(q.titles)} for q in lesson.questions
    ]
    text = (
        _(
            "One of the two was made worse on purpose. %(wrong)s So the other one is "
            "better in %(questions)s."
        )
        if study.is_side_by_side
        else _(
            "This story was made worse on purpose. %(wrong)s So it deserves little for "
            "%(questions)s."
        )
    )
    wrong = what_is_wrong(lesson.degradation, shots)
    return text % {"wrong": wrong, "questions": listed(titles)}
