"""Answers of simulated people: the worth of outputs, severity and noise."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from annotate.kinds.marks.kind import pictures
from annotate.kinds.marks.pins import MOST, Pin, written
from annotate.kinds.ranking.kind import stored_order
from annotate.kinds.registry import kind_of
from annotate.models import Purpose, Question, Slot, Unit
from annotate.models.studies import LETTERS

# In steps of a scale from 0 to 4, on which the worth of all outputs is given.
TOP = 4.0
SEVERITY, STORY_EFFECT, NOISE, CHOICE_NOISE, TIE_BAND = 0.35, 0.25, 0.55, 0.8, 0.45
# How much lower a degraded copy is rated.
DEGRADED = 1.8
# The share of an answer's noise that comes again when the same person is asked again.
STABLE = 0.9
# How often somebody who cares gives a known answer, and ticks a box rightly.
KNOWS, SEES = 0.95, 0.96
# How many of a checklist's labels a story's text asks for.
ASKED_FOR = 0.3
# How far from a fault people mark it, as a share of the picture.
AIM = 0.04


@dataclass(frozen=True)
class Truth:
    """Worth of outputs: a quality of each method, and an effect of the story."""

    quality: Callable[[str, Question], float]

    def worth(self, unit: Unit, place: int, question: Question) -> float:
        """Return what one output of a unit is worth, as a question sees it."""
        output = unit.outputs[place]
        method = output.method.name
        effect = random.Random(f"{method} {unit.story.key}").gauss(0, STORY_EFFECT)
        lower = DEGRADED if output.twin_of_id is not None else 0.0
        return self.quality(method, question) + effect - lower


@dataclass
class Rater:
    """A person who sees the worth of outputs with some noise.

    With a `name`, most of the noise belongs to the person and the item, so that a
    repeated question gets nearly the same answer.
    """

    truth: Truth
    dice: random.Random
    severity: float = 0.0
    spread: float = 1.0
    name: str = ""

    def answer(self, slot: Slot, question: Question) -> int | str:
        """Return an answer to a question about a whole unit, as it is stored."""
        kind, unit = kind_of(question), slot.unit
        if kind.is_free_text:
            return "The second shot does not follow from the first."
        if question.kind == "marks":
            return self._marks(slot, question)
        if kind.is_numeric:
            worth = self.truth.worth(unit, 0, question)
            noise = self._noise(unit, question, NOISE)
            return on_scale(question, worth + self.severity + noise)
        worths = [self.truth.worth(unit, n, question) for n in range(len(unit.outputs))]
        if kind.is_pairwise:
            noise = self._noise(unit, question, CHOICE_NOISE)
            difference = worths[0] - worths[1] + noise
            if abs(difference) < TIE_BAND and question.allow_tie:
                return "tie"
            return "a" if difference > 0 else "b"
        seen = [worth + self._noise(unit, question, NOISE) for worth in worths]
        order = sorted(range(len(seen)), key=lambda place: -seen[place])
        ranks = {LETTERS[order[0]]: 0}
        for above, place in pairwise(order):
            is_tied = question.allow_tie and seen[above] - seen[place] < TIE_BAND
            ranks[LETTERS[place]] = ranks[LETTERS[above]] + (not is_tied)
        return stored_order(ranks)

    def knows(self, slot: Slot, question: Question) -> bool:
        """Say whether the right answer is known, and given."""
        is_known = slot.purpose in (Purpose.TRAINING, Purpose.GOLD)
        is_known &= question.key in slot.unit.expected
        return is_known and self.dice.random() < KNOWS

    def ticks(self, slot: Slot, boxes: Sequence[Question], shot: int) -> frozenset[str]:
        """Return the boxes of a shot that are ticked."""
        story = slot.unit.story.key
        ticked = set()
        for box in boxes:
            label, _bar, of = box.key.partition("|")
            asked_for = random.Random(f"{story} {shot} {label}").random() < ASKED_FOR
            shown = asked_for
            if of == "video" and asked_for:
                worth = self.truth.worth(slot.unit, 0, box)
                own = random.Random(f"{slot.unit.output_a_id} {shot} {label}")
                shown = own.random() < worth / TOP
            if shown == (self.dice.random() < SEES):
                ticked.add(box.key)
        return frozenset(ticked)

    def _marks(self, slot: Slot, question: Question) -> str:
        """Return the faults that are seen; the worse an output, the more it has."""
        worth, dice = self.truth.worth(slot.unit, 0, question), self.dice
        pins = []
        for shot in pictures(slot):
            own = random.Random(f"{slot.unit.output_a_id} {shot} fault")
            is_faulty = own.random() > worth / TOP
            fault = random_pin(own, shot, question)
            if is_faulty == (dice.random() < SEES):
                x, y = (place + dice.gauss(0, AIM) for place in (fault.x, fault.y))
                pins.append(replace(fault, x=_share(x), y=_share(y)))
        return written(pins[:MOST])

    def _noise(self, unit: Unit, question: Question, size: float) -> float:
        fresh = self.dice.gauss(0, size * self.spread)
        if not self.name:
            return fresh
        own = random.Random(f"{self.name} {unit.pk} {question.key}")
        stable = own.gauss(0, size * self.spread)
        return float(STABLE * stable + (1 - STABLE**2) ** 0.5 * fresh)


def random_marks(dice: random.Random, slot: Slot, question: Question) -> str:
    """Return marks anywhere in some of the pictures."""
    shots = [shot for shot in pictures(slot) if dice.random() < ASKED_FOR]
    return written(random_pin(dice, shot, question) for shot in shots[:MOST])


def random_pin(dice: random.Random, shot: int, question: Question) -> Pin:
    """Return a mark anywhere in a picture."""
    label = dice.choice(list(question.anchors["labels"]))
    return Pin(shot, dice.random(), dice.random(), label)


def _share(place: float) -> float:
    return min(max(place, 0.0), 1.0)


def on_scale(question: Question, worth: float) -> int:
    """Return the step of a question's scale nearest to a worth from 0 to 4."""
    low, high = question.scale_min or 0, question.scale_max or 0
    step = round(low + worth * (high - low) / TOP)
    return min(max(step, low), high)


def right_answer(slot: Slot, question: Question) -> int | str:
    """Return the lowest correct answer; the highest of the scale if any is correct.

    So a degraded copy is rated lower than its original.
    """
    right: str | list[int] = slot.unit.expected.get(
        question.key, [question.scale_max or 0]
    )
    if not isinstance(right, str):
        return right[0]
    if kind_of(question).is_pairwise:
        return right
    others = LETTERS[: len(slot.unit.outputs)].translate(str.maketrans("", "", right))
    return right + others
