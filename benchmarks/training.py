"""Who passes the training round that the templates ship: the careful, and who else?

    python benchmarks/training.py
    python benchmarks/training.py --people 10000 --loss 2

Marks and sides are those of the server; people answer as drawn from one seed. An output
has a quality on a scale from 0 to 4, its degraded twin `--loss` less of it; the careful
rate both with normal noise (`--noise`), half of whose variance is common to the answers
about one story. A further round shows the same stories to the same person, whose noise
alone is new. Nobody learns from the feedback, nor remembers the story before.
"""

import argparse
import os
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")

import django

django.setup()

from annotate.assignment.designs.shown_sides import ShownSides
from annotate.assignment.training_slots import arrange
from annotate.kinds.ranking.kind import RankingKind
from annotate.models import Slot, Unit
from annotate.quality.training import TrainingResult
from annotate.quality_rules.signals import below, is_right
from annotate.studies.parts import Training
from annotate.studies.study_file import load_definition
from evalcore.models import Output

LOW, HIGH = 0, 4
QUALITY, SPREAD, SEVERITY, TIE_BAND = 2.1, 1.1, 0.35, 0.45
# How many answers the degradation of each twin tells, as the templates' questions do.
RATINGS = {
    "vistorybench-crowd": (2, 1, 2),
    "vistorybench-user-study": (2, 1, 2),
    "envision-expert": (1, 2, 1, 1),
}
PAIRS = {"storybench-side-by-side": (1, 1, 2, 1), "vistar-pairwise": (1, 1, 1, 1, 1)}
# No template is a ranking.
RANKINGS = {"a ranking of three": (1, 1, 1, 1, 1)}

# What a round's answers are worth: right or not, and None where one is not marked.
Round = Callable[[], list[bool | None]]
Person = Callable[[random.Random, Sequence[int], argparse.Namespace], Round]


def ratings(answer: str) -> Person:
    """Rate each original and then its twin."""

    def person(
        dice: random.Random, marks: Sequence[int], asked: argparse.Namespace
    ) -> Round:
        severity = dice.gauss(0, SEVERITY)
        stories = [[dice.gauss(QUALITY, SPREAD) for _ in range(n)] for n in marks]

        def answers() -> list[bool | None]:
            found: list[bool | None] = []
            for qualities in stories:
                first = _rated(answer, qualities, severity, dice, asked.noise)
                worse = [quality - asked.loss for quality in qualities]
                then = _rated(answer, worse, severity, dice, asked.noise)
                found += map(_is_lower, first, then)
            return found

        return answers

    return person


def _is_lower(original: int, twin: int) -> bool | None:
    expected = below([LOW, HIGH - 1], original)
    return None if expected is None else is_right(twin, expected)


def _rated(
    answer: str,
    qualities: Sequence[float],
    severity: float,
    dice: random.Random,
    noise: float,
) -> list[int]:
    if answer.isdigit():
        return [int(answer)] * len(qualities)
    if answer == "random":
        return [dice.randint(LOW, HIGH) for _ in qualities]
    common = severity + dice.gauss(0, noise * 0.5**0.5)
    seen = [value + common + dice.gauss(0, noise * 0.5**0.5) for value in qualities]
    return [min(max(round(value), LOW), HIGH) for value in seen]


def pairs(answer: str) -> Person:
    """Choose between original (a) and twin (b), left, right or neither."""

    def person(
        dice: random.Random, marks: Sequence[int], asked: argparse.Namespace
    ) -> Round:
        return lambda: [
            is_right(_chosen(answer, bool(slot.a_is_left), dice, asked), "a")
            for slot, questions in zip(_slots(2, "a", marks, dice), marks, strict=True)
            for _ in range(questions)
        ]

    return person


def _chosen(
    answer: str, a_is_left: bool, dice: random.Random, asked: argparse.Namespace
) -> str:
    if answer == "careful":
        seen = asked.loss + dice.gauss(0, asked.noise * 2**0.5)
        return "tie" if abs(seen) < TIE_BAND else "a" if seen > 0 else "b"
    options = {"random": ("left", "right", "tie"), "left or right": ("left", "right")}
    side = dice.choice(options.get(answer, (answer,)))
    return side if side == "tie" else "a" if (side == "left") == a_is_left else "b"


def rankings(answer: str) -> Person:
    """Put the original (a), its twin (b) and another output into an order."""

    def person(
        dice: random.Random, marks: Sequence[int], asked: argparse.Namespace
    ) -> Round:
        stories = [
            {"a": asked.loss, "b": 0.0, "c": dice.gauss(0, SPREAD)} for _ in marks
        ]
        return lambda: [
            RankingKind().is_right(
                "".join(_ranked(answer, slot, good, dice, asked.noise)), "ab"
            )
            for slot, good in zip(_slots(3, "ab", marks, dice), stories, strict=True)
        ]

    return person


def _ranked(
    answer: str, slot: Slot, good: dict[str, float], dice: random.Random, noise: float
) -> list[str]:
    order = ["abc"[place] for place in slot.order]
    if answer == "backwards":
        order.reverse()
    elif answer == "random":
        dice.shuffle(order)
    elif answer == "careful":
        seen = {name: value + dice.gauss(0, noise) for name, value in good.items()}
        order.sort(key=seen.__getitem__, reverse=True)
    return order


def _slots(
    shown: int, expected: str, marks: Sequence[int], dice: random.Random
) -> list[Slot]:
    """Return slots of the round, arranged as on the server."""
    first = dice.randrange(10**6)
    slots = []
    for place, questions in enumerate(marks):
        outputs = [
            Output(pk=first + 10 * place + n, method_id=max(n - 1, 0))
            for n in range(shown)
        ]
        unit = Unit(
            expected={f"q{n}": expected for n in range(questions)},
            **{f"output_{'abc'[n]}": output for n, output in enumerate(outputs)},
        )
        slots.append(Slot(unit=unit))
    arrange(slots, ShownSides(), dice)
    return slots


def training_of(name: str, marks: Sequence[int]) -> Training:
    """Return the training of a template, or the usual one."""
    if name in RANKINGS:
        return Training(twins=len(marks))
    found = load_definition(name).training
    assert found is not None
    assert found.twins == len(marks), f"{name} has other twins"
    return found


def _is_passed(answers: Sequence[bool | None], pass_mark: float) -> bool:
    marked = [answer for answer in answers if answer is not None]
    found = TrainingResult(sum(marked), len(marked), len(answers), pass_mark, True)
    return found.passed


def passed(
    person: Person, marks: Sequence[int], training: Training, asked: argparse.Namespace
) -> str:
    """Return which share passes in one round, and in as many as there are."""
    dice = random.Random(f"{asked.seed} {marks}")
    first = later = 0
    for _ in range(asked.people):
        answers = person(dice, marks, asked)
        rounds = [
            _is_passed(answers(), training.pass_mark) for _ in range(training.attempts)
        ]
        first += rounds[0]
        later += any(rounds)
    return f"{100 * first / asked.people:.0f} % ({100 * later / asked.people:.0f} %)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--loss", type=float, default=1.5)
    parser.add_argument("--noise", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for answers, way, studies in (
        (("0", "2", "4", "random", "careful"), ratings, RATINGS),
        (("left", "right", "tie", "left or right", "random", "careful"), pairs, PAIRS),
        (("as shown", "backwards", "random", "careful"), rankings, RANKINGS),
    ):
        print(f"\n| passes in one round (in all) | {' | '.join(answers)} |")
        print("|---" * (len(answers) + 1) + "|")
        for name, marks in studies.items():
            training = training_of(name, marks)
            cells = [passed(way(answer), marks, training, asked) for answer in answers]
            rounds = f"{sum(marks)} answers, {training.attempts} rounds"
            print(f"| {name}: {rounds} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
