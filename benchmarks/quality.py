"""Which rules catch whom, after how many units, and how many careful ones they accuse.

    python benchmarks/quality.py                     # every study, minutes
    python benchmarks/quality.py likert --careful 200 --others 50
    python benchmarks/quality.py likert choice --hurried --careful 200

Annotators of known kinds rate simulated studies of 26 methods x 20 stories: a
training round of 5 units, then sessions of 7 in which one unit of ten is a check
(gold, repeat or twin in turn, at random places). The default rules are evaluated
after every unit, as on the server. Everything is drawn from one seed. Rules that
catch nobody are not printed.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from statistics import correlation, fmean, median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from annotate.quality_rules.judged import JudgedUnit
from annotate.quality_rules.rules import (
    DEFAULT_RULES,
    always_valid_p,
    correlation_p,
    evaluate,
)
from annotate.quality_rules.signals import measure, upper_tail

METHODS, STORIES, TRAINING, SESSION, CHECKED = 26, 20, 5, 7, 0.1
LOW, HIGH = 0, 4
ANSWERING = 0.4  # seconds a question, beside looking
# Who looks at all shots at once looks so long at sixteen of them, and who steps from
# one to the next sees each for a time of its own, with this spread.
OVERVIEW, STEP_SPREAD = 3.0, 0.6
# Who sees one picture at a time turns to the next by a key or by a swipe; on a phone
# there is less to see in a picture, and the next question has to come.
TURNING = {"one at a time": 0.28, "phone": 0.5}
PHONE_PACE, PHONE_ANSWERING = 0.7, 1.3
TWIN_LOSS, TIE_BAND, CHOICE_NOISE, SECONDS_PER_SHOT = 1.5, 0.45, 0.8, 2.5
KINDS = (
    "careful",
    "careless",
    "straight",
    "flat",
    "side",
    "fast",
    "part",
)
# How people look: who clicks through guesses, the others judge like the careful.
HURRIED = (
    "clicks",  # 1 to 2 s a story, in which only the first shot is in sight
    "clicks, overview",  # the same, with all shots in sight
    "stops at 3",  # careful with three shots, the others are never in sight
    "overview",
    "one at a time",  # each picture alone, in pairs left and right
    "phone",  # the same by swiping, with one question at a time
    "slow",  # three times as long as the careful
    "no scripts",  # careful, but nothing is measured
)
CAREFUL = ("careful", "overview", *TURNING, "slow", "no scripts")


@dataclass(frozen=True)
class Study:
    """What is judged; `mean` and `spread` are of the methods' meant quality."""

    pairwise: bool = False
    questions: int = 3
    mean: float = 2.1
    spread: float = 0.9
    noise: float = 0.6
    others: int = 9


STUDIES = {
    "likert": Study(),
    "choice": Study(pairwise=True, questions=5, others=2),
    "likert, 1 question": Study(questions=1),
    "likert, ceiling": Study(mean=3.7, spread=0.4),
    "likert, 1 question, ceiling": Study(questions=1, mean=3.7, spread=0.4),
    "likert, hard to rate": Study(spread=0.4, noise=1.2),
    "pairwise, 1 criterion": Study(pairwise=True, questions=1, others=2),
}


@dataclass(frozen=True)
class Output:
    """One method's rendering of a story: its quality by question."""

    shots: int
    quality: tuple[float, ...]


@dataclass(frozen=True)
class Person:
    """An annotator of a kind: severity, noise, pace, pull to the left."""

    kind: str
    severity: float
    noise: float
    pace: float
    pull: float
    habit: int | str


@cache
def outputs_of(study: Study, seed: int) -> list[Output]:
    dice = random.Random(f"outputs {study} {seed}")
    stories = [(dice.randint(4, 30), dice.gauss(0, 0.25)) for _ in range(STORIES)]
    outputs = []
    for _ in range(METHODS):
        level = dice.gauss(study.mean, study.spread)
        by_question = [level + dice.gauss(0, 0.5) for _ in range(study.questions)]
        outputs += [
            Output(shots, tuple(q + effect + dice.gauss(0, 0.4) for q in by_question))
            for shots, effect in stories
        ]
    return outputs


def person_of(kind: str, study: Study, dice: random.Random) -> Person:
    habits = ("left", "right", "tie") if study.pairwise else (2, 3, 4)
    return Person(
        kind=kind,
        severity=dice.gauss(0, 0.35),
        noise=study.noise * dice.lognormvariate(0, 0.3) * (2 if kind == "fast" else 1),
        pace={"fast": 0.2, "slow": 3, "phone": PHONE_PACE}.get(kind, 1)
        * SECONDS_PER_SHOT
        * dice.lognormvariate(0, 0.35),
        pull=dice.gauss(0, 0.1),
        habit=dice.choice(habits),
    )


def rating(quality: float, dice: random.Random, person: Person, halo: float) -> int:
    """Round what is seen; half the variance of the noise is common to a unit."""
    seen = quality + person.severity + halo + dice.gauss(0, person.noise * 0.7071)
    return min(max(round(seen), LOW), HIGH)


def choice(difference: float, noise: float, dice: random.Random) -> str:
    seen = difference + dice.gauss(0, noise)
    return "tie" if abs(seen) < TIE_BAND else "a" if seen > 0 else "b"


def answers_of(
    person: Person,
    shown: Sequence[float],
    study: Study,
    dice: random.Random,
    left: bool,
) -> dict[str, int | str]:
    """Answer a unit; `shown` is quality, or a minus b, by question."""
    names = [f"q{index}" for index in range(len(shown))]
    kind = person.kind
    if kind.startswith(("careless", "clicks")) or (
        kind == "part" and dice.random() < 0.3
    ):
        values = ("a", "b", "tie") if study.pairwise else range(LOW, HIGH + 1)
        return {name: dice.choice(values) for name in names}
    if kind == "straight" and dice.random() < 0.95:
        return dict.fromkeys(names, _pressed(person.habit, left))
    if kind == "side" and dice.random() < 0.5:
        return dict.fromkeys(names, "a" if left else "b")
    halo = dice.gauss(0, person.noise * 0.7071)
    if kind == "flat":
        shown = [fmean(shown)] * len(shown)
    given: list[int | str]
    if study.pairwise:
        noise = CHOICE_NOISE * person.noise / 0.6
        towards = person.pull if left else -person.pull
        common = dice.gauss(0, noise * 0.7071) + towards
        given = [choice(value + common, noise * 0.7071, dice) for value in shown]
    else:
        given = [rating(value, dice, person, halo) for value in shown]
    if kind == "flat":
        given = given[:1] * len(given)
    return dict(zip(names, given, strict=True))


def _pressed(habit: int | str, left: bool) -> int | str:
    if habit in ("left", "right"):
        return "a" if (habit == "left") == left else "b"
    return habit


def looking(
    person: Person, shots: int, study: Study, dice: random.Random
) -> tuple[float, tuple[float, ...] | None]:
    """Return the time on the page, and for how long each shot was in sight."""
    questions = study.questions
    pace = person.pace * dice.lognormvariate(0, 0.35)
    answering = ANSWERING * questions
    if person.kind.startswith("clicks"):
        seconds = dice.uniform(1, 2)
        later = seconds if person.kind == "clicks, overview" else 0.0
        return seconds, (seconds, *[later] * (shots - 1))
    if person.kind == "overview":
        seconds = OVERVIEW * shots / 16 * pace / SECONDS_PER_SHOT
        return seconds + answering, (seconds + answering,) * shots
    if person.kind == "no scripts":
        return pace * shots, None
    if person.kind in TURNING:
        return one_by_one(person.kind, pace, shots, study, dice)
    seen = min(3, shots) if person.kind == "stops at 3" else shots
    parts = [dice.lognormvariate(0, STEP_SPREAD) for _ in range(seen)]
    time = pace * seen
    steps = [time * part / sum(parts) for part in parts]
    return time, (*steps, *[0.0] * (shots - seen))


def one_by_one(
    kind: str, pace: float, shots: int, study: Study, dice: random.Random
) -> tuple[float, tuple[float, ...]]:
    """Look at picture after picture, and answer with the last one in sight.

    A shot of a pair was in sight while either of its pictures was.
    """
    pictures = 2 if study.pairwise else 1
    parts = [dice.lognormvariate(0, STEP_SPREAD) for _ in range(shots * pictures)]
    looks = [pace * shots * part / sum(parts) + TURNING[kind] for part in parts]
    in_sight = [sum(looks[i * pictures : (i + 1) * pictures]) for i in range(shots)]
    answering = PHONE_ANSWERING if kind == "phone" else ANSWERING
    in_sight[-1] += answering * study.questions
    return sum(in_sight), tuple(in_sight)


def rest_of(
    study: Study, shown: Sequence[float], dice: random.Random
) -> dict[str, float]:
    """Return what the others say: one in ten of them is careless."""
    crowd = [
        answers_of(
            person_of("careless" if dice.random() < 0.1 else "careful", study, dice),
            shown,
            study,
            dice,
            dice.random() < 0.5,
        )
        for _ in range(study.others)
    ]
    worth = {"a": 1.0, "tie": 0.5, "b": 0.0}
    return {
        name: fmean(worth.get(answers[name], answers[name]) for answers in crowd)
        for name in crowd[0]
    }


def expected_of(study: Study, shown: Sequence[float], margin: float) -> dict:
    """Return the right answers to questions whose answer is clear, as gold."""
    expected = {}
    for index, value in enumerate(shown):
        if study.pairwise and abs(value) >= 1.6:
            expected[f"q{index}"] = "a" if value > 0 else "b"
        elif not study.pairwise and value <= LOW + margin:
            expected[f"q{index}"] = (LOW, LOW + 1)
        elif not study.pairwise and value >= HIGH - margin:
            expected[f"q{index}"] = (HIGH - 1, HIGH)
    return expected


class Sitting:
    """Draws the units of one annotator, in order."""

    def __init__(self, study: Study, kind: str, seed: int, number: int) -> None:
        self.study, self.outputs = study, outputs_of(study, seed)
        self.dice = random.Random(f"{study} {kind} {seed} {number}")
        self.person = person_of(kind, study, self.dice)
        self.done: list[tuple[JudgedUnit, tuple[float, ...]]] = []

    def judge(self, purpose: str, shots: int, shown: tuple[float, ...]) -> JudgedUnit:
        dice, study = self.dice, self.study
        left = dice.random() < 0.5
        answers = answers_of(self.person, shown, study, dice, left)
        seconds, in_sight = looking(self.person, shots, study, dice)
        return JudgedUnit(
            purpose,
            answers,
            shots=shots,
            seconds=seconds,
            in_sight=in_sight,
            a_is_left=left if study.pairwise else None,
        )

    def draw(self) -> tuple[int, tuple[float, ...]]:
        one = self.dice.choice(self.outputs)
        if not self.study.pairwise:
            return one.shots, one.quality
        other = self.dice.choice([o for o in self.outputs if o.shots == one.shots])
        pairs = zip(one.quality, other.quality, strict=True)
        return one.shots, tuple(a - b for a, b in pairs)

    def real(self) -> JudgedUnit:
        shots, shown = self.draw()
        unit = self.judge("real", shots, shown)
        self.done.append((unit, shown))
        return replace(unit, rest=rest_of(self.study, shown, self.dice))

    def gold(self, purpose: str) -> JudgedUnit:
        for _ in range(1000):
            shots, shown = self.draw()
            if expected := expected_of(self.study, shown, 0.6):
                break
        return replace(self.judge(purpose, shots, shown), expected=expected)

    def check(self, purpose: str) -> JudgedUnit:
        suited = [
            (unit, shown)
            for unit, shown in self.done
            if purpose == "repeat" or fmean(shown) >= 1.5
        ]
        if (
            purpose == "gold"
            or not suited
            or (purpose == "twin" and self.study.pairwise)
        ):
            return self.gold("gold")
        earlier, shown = self.dice.choice(suited)
        if purpose == "twin":
            shown = tuple(value - TWIN_LOSS for value in shown)
        unit = self.judge(purpose, earlier.shots, shown)
        return replace(unit, earlier=earlier.answers)

    def units(self, count: int) -> Iterator[JudgedUnit]:
        for _ in range(TRAINING):
            yield self.gold("training")
        turn = ["gold", "repeat", "twin"]
        block = round(1 / CHECKED)
        place = self.dice.randrange(2, block)
        for number in range(count):
            if number % block == place:
                yield self.check(turn[number // block % len(turn)])
            else:
                yield self.real()
            if number % block == block - 1:
                place = self.dice.randrange(block)


def first_breaches(
    number: int, study: Study, kind: str, units: int, seed: int
) -> dict[str, int]:
    """Return after how many units (training apart) each rule was first broken."""
    scales = {f"q{index}": (LOW, HIGH) for index in range(study.questions)}
    judged: list[JudgedUnit] = []
    first: dict[str, int] = {}
    for unit in Sitting(study, kind, seed, number).units(units):
        judged.append(unit)
        for breach in evaluate(DEFAULT_RULES, measure(judged, scales=scales)):
            first.setdefault(breach.rule.key, max(len(judged) - TRAINING, 0))
    return first


def table(name: str, arguments: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    study = STUDIES[name]
    kinds = HURRIED if arguments.hurried else KINDS
    kinds = [k for k in kinds if study.pairwise or k != "side"]
    kinds = [k for k in kinds if study.questions > 1 or k != "flat"]
    found = {}
    for kind in kinds:
        count = arguments.careful if kind in CAREFUL else arguments.others
        job = partial(
            first_breaches,
            study=study,
            kind=kind,
            units=arguments.units,
            seed=arguments.seed,
        )
        found[kind] = list(pool.map(job, range(count), chunksize=10))
    print(f"\n{name}: share caught within {arguments.units} units (median of units)\n")
    heads = [f"{kind} ({len(found[kind])})" for kind in kinds]
    print(f"| rule | action | {' | '.join(heads)} |")
    print("|---" * (len(kinds) + 2) + "|")
    for rule in DEFAULT_RULES:
        cells = [caught(found[kind], [rule.key]) for kind in kinds]
        if set(cells) != {"0"}:
            print(f"| {rule.key} | {rule.action} | {' | '.join(cells)} |")
    for action, rules in {
        "pause": [r.key for r in DEFAULT_RULES if r.action == "pause"],
        "warn or pause": [r.key for r in DEFAULT_RULES if r.action != "note"],
        "any": [r.key for r in DEFAULT_RULES],
    }.items():
        cells = [caught(found[kind], rules) for kind in kinds]
        print(f"| *any rule* | {action} | {' | '.join(cells)} |")


def caught(people: Sequence[dict[str, int]], rules: Sequence[str]) -> str:
    firsts = [
        min(first[key] for key in rules if key in first)
        for first in people
        if any(key in first for key in rules)
    ]
    if not firsts:
        return "0"
    return f"{100 * len(firsts) / len(people):.1f} % ({median(firsts):.0f})"


def speed() -> None:
    study = STUDIES["likert"]
    judged = list(Sitting(study, "careful", 1, 0).units(300))
    scales = {f"q{index}": (LOW, HIGH) for index in range(study.questions)}
    times = []
    for _ in range(50):
        start = time.perf_counter()
        evaluate(DEFAULT_RULES, measure(judged, scales=scales))
        times.append(time.perf_counter() - start)
    print(f"signals and rules for 300 slots: {1000 * median(times):.2f} ms")


def peeking(people: int, units: int, seed: int) -> None:
    """Look at fair coins after each unit: a test for one look, and one for all."""
    dice = random.Random(seed)
    accused = {"exact binomial test": 0, "always-valid p": 0}
    for _ in range(people):
        sides = [float(dice.random() < 0.5) for _ in range(units)]
        looks = [sides[:n] for n in range(7, units + 1)]
        accused["exact binomial test"] += any(
            2 * upper_tail(round(max(sum(s), len(s) - sum(s))), len(s)) < 0.05
            for s in looks
        )
        accused["always-valid p"] += any(
            always_valid_p(s, 0.5, below=below) < 0.025
            for s in looks
            for below in (True, False)
        )
    print(f"unbiased annotators accused of a side at 5 %, {units} looks:")
    for name, count in accused.items():
        print(f"  {name}: {100 * count / people:.1f} %")


def at_the_threshold(people: int, units: int, seed: int) -> None:
    """Look at correlations of .3, drawn from normal values, after each unit."""
    dice = random.Random(seed)
    accused = 0
    for _ in range(people):
        others = [dice.gauss(0, 1) for _ in range(units)]
        own = [0.3 * value + 0.91**0.5 * dice.gauss(0, 1) for value in others]
        accused += any(
            correlation_p(correlation(own[:n], others[:n]), n, 0.3, below=True) <= 0.05
            for n in range(5, units + 1)
        )
    print(f"accused of a correlation below .30 that is .30, chance .05, {units} looks:")
    print(f"  {100 * accused / people:.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", help=f"of: {'; '.join(STUDIES)}")
    parser.add_argument("--careful", type=int, default=1000)
    parser.add_argument("--others", type=int, default=200)
    parser.add_argument("--hurried", action="store_true", help="how people look")
    parser.add_argument("--units", type=int, default=20 * SESSION)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    speed()
    peeking(arguments.careful, arguments.units, arguments.seed)
    at_the_threshold(arguments.careful, arguments.units, arguments.seed)
    with ProcessPoolExecutor(arguments.processes) as pool:
        for name in arguments.studies or STUDIES:
            table(name, arguments, pool)


if __name__ == "__main__":
    main()
