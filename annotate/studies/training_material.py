"""What training and examples are made of: outputs, and degraded twins of them.

A question that says which degradation makes its answer worse gets a pictured example;
the training round gets units whose right answers are known, since they were made so.

On a scale an output is shown as it was made and then its degraded twin, which must be
rated lower than it was: that the one is worse than the other is known, how good either
is, is not. Of several outputs shown at once, the original must win. Which of them is
the twin depends on the slot: the page says it before the stored text.
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
from annotate.studies.units import PlanningError, Shown
from evalcore.models import Benchmark, Output
from evalcore.perturbations import degraded_copies
from evalcore.perturbations.degrading import ImpossibleDegradationError

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

Expected = dict[str, list[int] | str]

ORIGINAL_ALONE = gettext_lazy("The next story is compared with this one.")
TWIN_ALONE = gettext_lazy(
    "This is the story before, made worse on purpose. %(wrong)s So it deserves less "
    "than that for %(questions)s."
)
PAIR = gettext_lazy("%(wrong)s So the other one is better in %(questions)s.")
SEVERAL = gettext_lazy(
    "It is a copy of another one. %(wrong)s So it comes after that one in "
    "%(questions)s."
)


@dataclass(frozen=True)
class Contrast:
    """An output, its twin once it is drawn, and the questions that tell them apart.

    `others` are outputs of the same story that a training unit shows besides, where one
    shows more than two.
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
    """Contrasts for examples, a question each, and for the training round.

    `lacking` says why there are fewer contrasts in the training than `wanted`.
    """

    examples: tuple[Contrast, ...] = ()
    training: tuple[Contrast, ...] = ()
    wanted: int = 0
    lacking: tuple[str, ...] = ()

    @property
    def originals(self) -> set[int]:
        return {one.original.pk for one in (*self.examples, *self.training)}

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
) -> TrainingMaterial:
    """Return what people are to be taught with; nothing is drawn yet.

    Outputs that the study does not judge come first, and what written training or gold
    units show is left out.
    """
    asked = definition.degradable
    if not asked:
        return TrainingMaterial()
    candidates = _Candidates(definition, benchmark, shown, known)
    examples = [found for one in asked if (found := candidates.contrast([one]))]
    candidates.lacking.clear()
    wanted = definition.training.twins if definition.training else 0
    marked = [one for one in asked if KINDS[one.kind].has_known_answers]
    training = _training(candidates, marked, wanted)
    return TrainingMaterial(
        tuple(examples), tuple(training), wanted, tuple(candidates.lacking)
    )


def _training(
    candidates: "_Candidates", asked: Sequence[DegradableQuestion], wanted: int
) -> list[Contrast]:
    """Return so many contrasts: a first one about each question, then further ones."""
    found: list[Contrast] = []
    met: set[str] = set()
    queue = deque(asked)
    while queue and len(found) < wanted:
        one = queue.popleft()
        if one.key in met and not met.issuperset(other.key for other in queue):
            queue.append(one)
        elif contrast := candidates.contrast(
            [one, *(q for q in asked if q is not one)], is_training=True
        ):
            found.append(contrast)
            met |= {question.key for question in contrast.questions}
            queue.append(one)
    return found


class _Candidates:
    """Outputs to be degraded, each once for a degradation and once for training."""

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
        self.judged = {output.pk for one in shown for output in one.outputs}
        self.judged_stories = {one.story.pk for one in shown}
        self.others = max(0, definition.outputs - 2)
        self.taken: Counter[object] = Counter()
        self.trained: set[int] = set()
        self.lacking: dict[str, None] = {}

    def contrast(
        self, questions: Sequence[DegradableQuestion], *, is_training: bool = False
    ) -> Contrast | None:
        """Return an output to degrade for the first of these questions.

        With it come those that the same degradation makes worse, if they are asked of
        that story. In training no output comes twice.
        """
        first = questions[0]
        found = self._output(first, is_training=is_training)
        if found is None:
            return None
        for one in (found, found.story, found.method, (found, first.degradation)):
            self.taken[one] += 1
        also = tuple(
            one
            for one in questions
            if one.degradation == first.degradation and found.story.suits(one.stories)
        )
        if not is_training:
            return Contrast(found, also)
        self.trained.add(found.pk)
        return Contrast(found, also, tuple(self._others_of(found)))

    def _others_of(self, original: Output) -> list[Output]:
        """Return as many outputs of the same story as stand beside the two."""
        of_story = (o for o in self.outputs if o.story == original.story)
        return [o for o in of_story if o != original][: self.others]

    def _output(
        self, question: DegradableQuestion, *, is_training: bool
    ) -> Output | None:
        degradation = question.degradation
        suited = [o for o in self.outputs if o.story.suits(question.stories)]
        left = [
            o
            for o in suited
            if not self.taken[o, degradation]
            and not (is_training and o.pk in self.trained)
        ]
        left.sort(
            key=lambda o: (
                o.pk in self.judged,
                o.story.pk in self.judged_stories,
                self.taken[o],
                self.taken[o.story],
                self.taken[o.method],
            )
        )
        for output in left[:TRIES]:
            if is_training and len(self._others_of(output)) < self.others:
                continue
            if degraded_copies.why_impossible(output, degradation) is None:
                return output
        self._note(question, suited, is_used=len(left) < len(suited))
        return None

    def _note(
        self, question: DegradableQuestion, suited: list[Output], *, is_used: bool
    ) -> None:
        """Note why nothing was found."""
        need = NEEDS[question.degradation]
        if is_used:
            why = _("there are no more outputs for “%(title)s”")
        elif suited:
            why = _("“%(title)s” needs %(need)s")
        else:
            why = _("no output to show is about “%(title)s”")
        told = {"title": localised(question.title), "need": need}
        self.lacking[why % told] = None


# Drawing


def draw(material: TrainingMaterial, seed: int) -> TrainingMaterial:
    """Draw the twins; one that would look like its original is left out."""
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
    """Return an original, which has no right answers, and its twin.

    What the twin deserves at most is known, whatever is said of its original.
    """
    expected: Expected = {one.key: one.alone() for one in contrast.questions}
    told = _in_each_language(ORIGINAL_ALONE, contrast, twin)
    original = _unit(study, [contrast.original], {}, told)
    told = _in_each_language(TWIN_ALONE, contrast, twin)
    return original, _unit(study, [twin], expected, told)


def _side_by_side(study: Study, contrast: Contrast, twin: Output) -> Unit:
    """Return the original beside its twin, and beside others where more are shown."""
    outputs = [contrast.original, *contrast.others]
    outputs.sort(key=lambda output: output.method.name)
    place = outputs.index(contrast.original)
    outputs.insert(place + 1, twin)
    is_pair = len(outputs) == 2
    told = _in_each_language(PAIR if is_pair else SEVERAL, contrast, twin)
    # Of a pair the better one is expected, of more the two letters in their order.
    right = "a" if is_pair else LETTERS[place : place + 2]
    expected: Expected = dict.fromkeys((one.key for one in contrast.questions), right)
    return _unit(study, outputs, expected, told)


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
    """Return a text of what was done to a twin, in all languages of the pages."""
    shots = [one.number for one in changed_shots(twin) if one.is_changed]
    told = {}
    for code, _name in settings.LANGUAGES:
        with translation.override(code):
            told[code.split("-")[0]] = str(text) % {
                "wrong": what_is_wrong(twin, shots),
                "questions": quoted([localised(q.title) for q in contrast.questions]),
            }
    return told
