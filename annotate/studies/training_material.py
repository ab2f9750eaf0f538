"""Training units and pictured examples, made of outputs and degraded copies.

A question that names a degradation gets an example. The training round gets units whose
answers are known, because the copies are worse by construction.

On a scale the original is followed by its copy, which must get a lower rating. If
several outputs are shown at once, the original must win. The slot decides which of them
is the copy, so the page names it before the stored text.
"""

import random
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from analysis.problems import InputError
from annotate.kinds.question import DegradableQuestion
from annotate.kinds.registry import KINDS
from annotate.models import Purpose, Question, Study, Unit, localised
from annotate.models.studies import LETTERS
from annotate.models.units import as_fields
from annotate.presentation.examples import (
    changed_shots,
    picked,
    quoted,
    what_is_wrong,
)
from annotate.studies.check_units import KnownUnitOutputs
from annotate.studies.definition import StudyDefinition
from annotate.studies.units import PlanningError, UnitOutputs
from evalcore.models import Benchmark, Output
from evalcore.perturbations import degraded_copies
from evalcore.perturbations.degrading import ImpossibleDegradationError

Degradation = Output.Degradation
# The number of outputs to try until one can be degraded.
TRIES = 40
# What an output needs for each degradation, for the note on missing ones.
NEEDS: dict[str, Promise] = {
    Degradation.SHUFFLED: gettext_lazy("three shots with different pictures"),
    Degradation.FOREIGN_SHOT: gettext_lazy("another story with other pictures"),
    Degradation.REPEATED_SHOT: gettext_lazy("two shots with different pictures"),
    Degradation.BLURRED: gettext_lazy("pictures"),
    Degradation.SWAPPED_CHARACTERS: gettext_lazy(
        "shots with different characters on stage"
    ),
}

Expected = dict[str, list[int] | str]

ORIGINAL_ALONE = gettext_lazy("You will compare the next story with this one.")
TWIN_ALONE = gettext_lazy(
    "This is the previous story, made worse on purpose. %(wrong)s It should score "
    "lower than the original on %(questions)s."
)
PAIR = gettext_lazy("%(wrong)s So the other version is better on %(questions)s.")
SEVERAL = gettext_lazy(
    "It is a copy of another version. %(wrong)s So it should rank below that version "
    "on %(questions)s."
)


@dataclass(frozen=True)
class Contrast:
    """An output, its degraded copy once drawn, and the questions that it affects.

    `others` are further outputs of the story, for training units that show more than
    two.
    """

    original: Output
    questions: tuple[DegradableQuestion, ...]
    others: tuple[Output, ...] = ()
    twin: Output | None = None

    @property
    def degradation(self) -> str:
        return self.questions[0].degradation


@dataclass(frozen=True)
class TrainingMaterial:
    """Contrasts for examples, one for each question, and for the training round.

    `lacking` gives reasons if the training has fewer contrasts than `wanted`.
    """

    examples: tuple[Contrast, ...] = ()
    training: tuple[Contrast, ...] = ()
    wanted: int = 0
    lacking: tuple[str, ...] = ()

    @property
    def originals(self) -> set[int]:
        return {one.original.pk for one in (*self.examples, *self.training)}

    def note(self) -> str:
        """Return why training is shorter than requested, or an empty text."""
        if len(self.training) == self.wanted:
            return ""
        text = (
            _(
                "Only %(n)d of the %(wanted)d training stories could be made by "
                "degrading outputs: %(why)s."
            )
            if self.training
            else _("No training story could be made by degrading outputs: %(why)s.")
        )
        return text % {
            "n": len(self.training),
            "wanted": self.wanted,
            "why": "; ".join(self.lacking),
        }


# Choosing


def choose(
    definition: StudyDefinition,
    benchmark: Benchmark,
    units: Sequence[UnitOutputs],
    known: Sequence[KnownUnitOutputs],
) -> TrainingMaterial:
    """Return the material for training and examples, before drawing.

    Outputs that the study does not rate come first. Outputs of written training or gold
    units are left out.
    """
    questions = definition.degradable
    if not questions:
        return TrainingMaterial()
    candidates = _Candidates(definition, benchmark, units, known)
    examples = [made for one in questions if (made := candidates.contrast([one]))]
    candidates.lacking.clear()
    wanted = definition.training.twins if definition.training else 0
    gradable = [one for one in questions if KINDS[one.kind].has_known_answers]
    training = _training(candidates, gradable, wanted)
    return TrainingMaterial(
        tuple(examples), tuple(training), wanted, tuple(candidates.lacking)
    )


def _training(
    candidates: "_Candidates", questions: Sequence[DegradableQuestion], wanted: int
) -> list[Contrast]:
    """Return this number of contrasts, first one for each question, then more."""
    contrasts: list[Contrast] = []
    covered: set[str] = set()
    queue = deque(questions)
    while queue and len(contrasts) < wanted:
        one = queue.popleft()
        if one.key in covered and not covered.issuperset(other.key for other in queue):
            queue.append(one)
        elif contrast := candidates.contrast(
            [one, *(q for q in questions if q is not one)], is_training=True
        ):
            contrasts.append(contrast)
            covered |= {question.key for question in contrast.questions}
            queue.append(one)
    return contrasts


class _Candidates:
    """Outputs that can be degraded, once per degradation and once in training."""

    def __init__(
        self,
        definition: StudyDefinition,
        benchmark: Benchmark,
        units: Sequence[UnitOutputs],
        known: Iterable[KnownUnitOutputs],
    ) -> None:
        used = {output.pk for one in known for output in one.outputs}
        methods = {output.method_id for one in units for output in one.outputs}
        rows = Output.objects.filter(story__benchmark=benchmark, method__in=methods)
        rows = rows.exclude(pk__in=used).select_related("story", "method")
        self.outputs = list(rows.order_by("story__key", "method__name"))
        random.Random(definition.seed).shuffle(self.outputs)
        self.judged = {output.pk for one in units for output in one.outputs}
        self.judged_stories = {one.story.pk for one in units}
        self.others = max(0, definition.outputs - 2)
        self.taken: Counter[object] = Counter()
        self.trained: set[int] = set()
        self.lacking: dict[str, None] = {}

    def contrast(
        self, questions: Sequence[DegradableQuestion], *, is_training: bool = False
    ) -> Contrast | None:
        """Return an output to degrade for the first of these questions.

        The contrast includes other questions with the same degradation that apply to
        the story. In training no output is used twice.
        """
        first = questions[0]
        output = self._output(first, is_training=is_training)
        if output is None:
            return None
        for one in (output, output.story, output.method, (output, first.degradation)):
            self.taken[one] += 1
        also = tuple(
            one
            for one in questions
            if one.degradation == first.degradation and output.story.suits(one.stories)
        )
        if not is_training:
            return Contrast(output, also)
        self.trained.add(output.pk)
        return Contrast(output, also, tuple(self._others_of(output)))

    def _others_of(self, original: Output) -> list[Output]:
        """Return the further outputs of the story that a training unit shows."""
        of_story = (o for o in self.outputs if o.story == original.story)
        return [o for o in of_story if o != original][: self.others]

    def _output(
        self, question: DegradableQuestion, *, is_training: bool
    ) -> Output | None:
        degradation = question.degradation
        suited = [o for o in self.outputs if o.story.suits(question.stories)]
        unused = [
            o
            for o in suited
            if not self.taken[o, degradation]
            and not (is_training and o.pk in self.trained)
        ]
        unused.sort(
            key=lambda o: (
                o.pk in self.judged,
                o.story.pk in self.judged_stories,
                self.taken[o],
                self.taken[o.story],
                self.taken[o.method],
            )
        )
        for output in unused[:TRIES]:
            if is_training and len(self._others_of(output)) < self.others:
                continue
            if degraded_copies.why_impossible(output, degradation) is None:
                return output
        self._note(question, suited, is_used=len(unused) < len(suited))
        return None

    def _note(
        self, question: DegradableQuestion, suited: list[Output], *, is_used: bool
    ) -> None:
        """Add the reason why no output fits."""
        need = NEEDS[question.degradation]
        if is_used:
            why = _("no further outputs are available for “%(title)s”")
        elif suited:
            why = _("“%(title)s” needs %(need)s")
        else:
            why = _("no output suits “%(title)s”")
        self.lacking[why % {"title": localised(question.title), "need": need}] = None


# Drawing


def draw(material: TrainingMaterial, seed: int) -> TrainingMaterial:
    """Draw the degraded copies, except those that would equal their original."""
    return replace(
        material,
        examples=tuple(_drawn(material.examples, seed)),
        training=tuple(_drawn(material.training, seed)),
    )


def _drawn(contrasts: Iterable[Contrast], seed: int) -> Iterable[Contrast]:
    for one in contrasts:
        try:
            twin = degraded_copies.make_perturbation(
                one.original, one.degradation, seed
            )
        except ImpossibleDegradationError:
            continue
        except InputError as error:
            raise PlanningError(str(error), field="training.twins") from error
        yield replace(one, twin=twin)


# Storing


def store(study: Study, material: TrainingMaterial) -> None:
    """Store the units of the training round and the examples of the questions."""
    drawn = [(one, one.twin) for one in material.training if one.twin]
    if study.outputs_at_once == 1:
        pairs = [_one_after_the_other(study, *pair) for pair in drawn]
        Unit.objects.bulk_create(unit for pair in pairs for unit in pair)
        for original, twin in pairs:
            twin.original = original
        Unit.objects.bulk_update([twin for _original, twin in pairs], ["original"])
    else:
        Unit.objects.bulk_create(_side_by_side(study, *pair) for pair in drawn)
    questions = {row.key: row for row in study.questions.all()}
    illustrated = []
    for one in material.examples:
        if one.twin:
            question = questions[one.questions[0].key]
            question.example = one.twin
            shots = changed_shots(one.twin)
            question.example_shots = picked(shots, question.degradation)
            illustrated.append(question)
    Question.objects.bulk_update(illustrated, ["example", "example_shots"])


def _one_after_the_other(
    study: Study, contrast: Contrast, twin: Output
) -> tuple[Unit, Unit]:
    """Return an original, which has no known answers, and its degraded copy.

    The highest correct answer to the copy does not depend on that to the original.
    """
    expected: Expected = {one.key: one.alone() for one in contrast.questions}
    feedback = _in_each_language(ORIGINAL_ALONE, contrast, twin)
    original = _unit(study, [contrast.original], {}, feedback)
    feedback = _in_each_language(TWIN_ALONE, contrast, twin)
    return original, _unit(study, [twin], expected, feedback)


def _side_by_side(study: Study, contrast: Contrast, twin: Output) -> Unit:
    """Return a unit with the original, its copy, and others if more are shown."""
    outputs = [contrast.original, *contrast.others]
    outputs.sort(key=lambda output: output.method.name)
    place = outputs.index(contrast.original)
    outputs.insert(place + 1, twin)
    is_pair = len(outputs) == 2
    feedback = _in_each_language(PAIR if is_pair else SEVERAL, contrast, twin)
    # A pair has an expected winner, a larger set two letters in the expected order.
    right = "a" if is_pair else LETTERS[place : place + 2]
    expected: Expected = dict.fromkeys((one.key for one in contrast.questions), right)
    return _unit(study, outputs, expected, feedback)


def _unit(
    study: Study,
    outputs: Sequence[Output],
    expected: Expected,
    feedback: dict[str, str],
) -> Unit:
    return Unit(
        study=study,
        story=outputs[0].story,
        purpose=Purpose.TRAINING,
        **as_fields(outputs),
        expected=expected,
        feedback=feedback,
    )


def _in_each_language(
    text: Promise, contrast: Contrast, twin: Output
) -> dict[str, str]:
    """Return a text about a degraded copy in all languages of the pages."""
    shots = [one.number for one in changed_shots(twin) if one.is_changed]
    texts = {}
    for code, _name in settings.LANGUAGES:
        with translation.override(code):
            texts[code.split("-")[0]] = str(text) % {
                "wrong": what_is_wrong(twin, shots),
                "questions": quoted([localised(q.title) for q in contrast.questions]),
            }
    return texts
