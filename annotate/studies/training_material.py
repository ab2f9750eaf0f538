"""What training and examples are made of: outputs, and degraded twins of them.

A question that says which degradation makes its answer worse gets a pictured example;
the training round gets units whose right answers are known, since they were made so.
"""

import random
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from analysis.problems import InputError
from annotate.kinds.question import DegradableQuestion
from annotate.kinds.registry import KINDS
from annotate.models import localised
from annotate.presentation.examples import listed
from annotate.studies.check_units import KnownUnitOutputs
from annotate.studies.definition import StudyDefinition
from annotate.studies.units import PlanningError, Shown
from evalcore.models import Benchmark, Output
from evalcore.perturbations import twin_outputs
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

    def summary(self) -> str:
        """Say what people are taught with; empty: nothing is made for them."""
        parts = []
        if self.training:
            text = ngettext(
                "%(n)d training story and its copy made worse on purpose",
                "%(n)d training stories and their copies made worse on purpose",
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
        if not parts:
            return ""
        return _("Taught by %(parts)s.") % {"parts": listed(parts)}

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
        elif contrast := candidates.training_contrast(
            [one, *(q for q in asked if q is not one)]
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

    def training_contrast(
        self, questions: Sequence[DegradableQuestion]
    ) -> Contrast | None:
        """Return a contrast whose output no other training unit is about."""
        found = self.contrast(questions, is_training=True)
        if found is None:
            return None
        self.trained.add(found.original.pk)
        return replace(found, others=tuple(self._others_of(found.original)))

    def contrast(
        self, questions: Sequence[DegradableQuestion], *, is_training: bool = False
    ) -> Contrast | None:
        """Return an output to degrade for the first of these questions.

        With it come those that the same degradation makes worse, if they are asked of
        that story.
        """
        first = questions[0]
        found = self._output(first, is_training=is_training)
        if found is None:
            return None
        for one in (found, found.story, found.method, (found, first.degradation)):
            self.taken[one] += 1
        also = (
            one
            for one in questions
            if one.degradation == first.degradation and found.story.suits(one.stories)
        )
        return Contrast(found, tuple(also))

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
            if twin_outputs.why_impossible(output, degradation) is None:
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
            twin = twin_outputs.make_twin(one.original, one.degradation, seed)
        except ImpossibleDegradationError:
            continue
        except InputError as error:
            raise PlanningError(str(error), field="training.twins") from error
        yield replace(one, twin=twin)
