"""Quality signals of an annotator's answers. Pure.

Each signal is computed from the annotator's judged units in the order of submission.
Signals do not judge an annotator; `rules` does.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from math import comb, hypot
from operator import mul
from statistics import fmean

from annotate.quality_rules.judged import PLACE, Answers, JudgedUnit, Signal, mean_of
from annotate.quality_rules.relative_signals import (
    relative_agreement,
    skips_one_method,
)
from annotate.quality_rules.time_signals import (
    GLANCE,
    seconds,
    seconds_in_sight,
    shots_seen,
    time_problems,
)

# Groups of signals.
HASTE = ("seconds_per_unit", "seconds_per_shot", "seconds_in_sight", "shots_seen")
EFFORT = ("skips", "skips_one_method", "no_time", "impossible_time")
SAMENESS = ("straight_line", "same_answer", "flat", "side_bias")
COMPARED = ("agreement", "majority", "relative_agreement")
CHECKED = ("training", "gold", "repeat", "twin", *COMPARED)
SIGNALS = (*HASTE, *SAMENESS, *CHECKED, *EFFORT)

# A majority is clear at two thirds of the votes, which is 1/6 away from one half.
CLEAR = 1 / 6 - 1e-9
FEWEST_FOR_CORRELATION = 5

Scales = Mapping[str, tuple[int, int]]
Rows = Sequence[Answers | None]


def measure(
    units: Sequence[JudgedUnit],
    *,
    scales: Scales | None = None,
    skipped: int = 0,
    met: Iterable[tuple[Sequence[str], bool]] = (),
    of_others: Mapping[str, tuple[int, int]] | None = None,
    glance: float = GLANCE,
) -> dict[str, Signal]:
    """Return every signal of one annotator; training counts for `training` only.

    `units` are the submitted slots in the order of submission. `scales` has the lowest
    and highest rating by question, which `repeat` needs. `met` and `of_others` are
    explained at `skips_one_method`. A shot counts as seen after `glance` seconds in
    sight.
    """
    work = [unit for unit in units if unit.purpose != "training"]
    rows = [_as_seen(unit) for unit in work]
    signals = [
        seconds(work, per_shot=False),
        seconds(work, per_shot=True),
        seconds_in_sight(work),
        shots_seen(work, glance),
        repeated(rows, several=True),
        repeated(rows, several=False),
        flat(rows),
        side_bias(rows),
        within_tolerance(units, "training"),
        within_tolerance(units, "gold"),
        repeat(work, scales or {}),
        degraded_copies(work),
        agreement(work),
        majority(work),
        relative_agreement(work),
        skips(len(work), skipped),
        skips_one_method(met, of_others),
        time_problems(work, "no_time", "missing"),
        time_problems(work, "impossible_time", "impossible"),
    ]
    return {signal.name: signal for signal in signals}


def _as_seen(unit: JudgedUnit) -> dict[str, int | str] | None:
    """Return the answers as the annotator gave them: choices as left or right.

    None without answers, or if it is unknown which output was on the left.
    """
    answers: dict[str, int | str] = {}
    for question, value in unit.answers.items():
        if value in ("a", "b"):
            if unit.a_is_left is None:
                return None
            value = "left" if (value == "a") == unit.a_is_left else "right"
        answers[question] = value
    return answers or None


def repeated(rows: Rows, *, several: bool) -> Signal:
    """Return the share of units answered exactly like the unit before.

    `straight_line` uses units with several questions, which must all have the same
    answers; `same_answer` uses those with one question, where repeats by chance are far
    more common. From n units there are n - 1 observations, fewer if the questions
    differ or the sides of a choice are unknown. Choices are compared as seen (left,
    right), since pressing one key repeatedly is the pattern to find. The own
    distribution cannot be the baseline: always answering 3 would explain every run.
    """
    same = [
        float(one == other)
        for one, other in pairwise(rows)
        if one is not None
        and other is not None
        and (len(one) > 1) == several
        and one.keys() == other.keys()
    ]
    runs = (len(list(run)) for value, run in groupby(same) if value)
    name = "straight_line" if several else "same_answer"
    reason = (
        f"no two units in a row with {'several' if several else 'single'} questions"
    )
    return mean_of(name, same, reason, f"longest run: {max(runs, default=0) + 1} units")


def flat(rows: Rows) -> Signal:
    """Return the share of units with the same answer to all questions.

    Units with one question, and choices with unknown sides, are left out.
    """
    several = [row for row in rows if row is not None and len(row) > 1]
    same = (float(len(set(row.values())) == 1) for row in several)
    return mean_of("flat", same, "no unit has several questions")


def side_bias(rows: Rows) -> Signal:
    """Return the distance of the share of left choices from one half.

    An observation is the share of left among a unit's choices of left or right, so that
    correlated criteria count once. Ties are left out, and so are units without any left
    or right, or with unknown sides. Value: abs(mean - 1/2). The detail gives the exact
    two-sided binomial p value for a single look, with one vote per unit (the side with
    more answers; none if equal).
    """
    shares = []
    for row in rows:
        sides = [value for value in (row or {}).values() if value in ("left", "right")]
        if sides:
            shares.append(sides.count("left") / len(sides))
    if not shares:
        return Signal("side_bias", None, 0, "no answer left or right, sides known")
    lefts = sum(share > 0.5 for share in shares)
    rights = sum(share < 0.5 for share in shares)
    p = min(1.0, 2 * upper_tail(max(lefts, rights), lefts + rights))
    mean = fmean(shares)
    detail = f"{mean:.0%} left; exact two-sided p = {p:.2g}"
    return Signal("side_bias", abs(mean - 0.5), len(shares), detail, tuple(shares))


def upper_tail(successes: int, n: int) -> float:
    """Return P(X >= successes) of a binomial X with n trials of probability 1/2."""
    ways = comb(n, successes)
    total = 0
    for k in range(successes, n + 1):
        total += ways
        ways = ways * (n - k) // (k + 1)
    return total / (1 << n)


def within_tolerance(units: Sequence[JudgedUnit], purpose: str) -> Signal:
    """Return the share of answers within the tolerance, averaged over units.

    A rating is right from the lowest to the highest expected one, a choice if it is
    the expected one. Questions without an expectation or an answer are left out.
    """
    shares = []
    for unit in units:
        expected = (unit.expected or {}) if unit.purpose == purpose else {}
        known = expected.keys() & unit.answers.keys()
        right = [is_right(unit.answers[q], expected[q]) for q in known]
        if right:
            shares.append(fmean(right))
    perfect = sum(share == 1 for share in shares)
    detail = f"{perfect} of {len(shares)} units with every answer within the tolerance"
    return mean_of(purpose, shares, f"no {purpose} unit was answered", detail)


def is_right(value: int | str, expected: Sequence[int] | str) -> bool:
    """Say whether a rating lies in the tolerance, or a choice is the expected one."""
    if isinstance(expected, str) or isinstance(value, str):
        return value == expected
    return expected[0] <= value <= expected[1]


def below(expected: Sequence[int], given: int) -> list[int] | None:
    """Return the tolerance of a degraded copy, given the rating of its original.

    None if the original got the lowest rating: nothing is lower.
    """
    low, high = expected
    return [low, min(high, given - 1)] if given > low else None


def repeat(work: Sequence[JudgedUnit], scales: Scales) -> Signal:
    """Return the mean difference between two answers to the same question.

    A difference is a share of the largest possible one: abs(now - earlier) /
    (high - low) for ratings; for choices 0 if the same, 1 between a and b, else 1/2. It
    is averaged over a unit's questions first. Ratings without a scale are left out.
    """
    differences, answers = [], []
    for pairs in _with_earlier(work, "repeat"):
        moves = [_move(now, then, scales.get(q)) for q, now, then in pairs]
        defined = [move for move in moves if move is not None]
        if defined:
            differences.append(fmean(defined))
            answers += defined
    detail = f"{answers.count(0)} of {len(answers)} answers the same"
    return mean_of("repeat", differences, "no unit was judged twice", detail)


def _with_earlier(
    work: Sequence[JudgedUnit], purpose: str
) -> Iterable[list[tuple[str, int | str, int | str]]]:
    """Yield (question, answer now, answer then) of each unit of the purpose."""
    for unit in work:
        if unit.purpose == purpose and unit.earlier:
            yield [
                (question, value, unit.earlier[question])
                for question, value in unit.answers.items()
                if question in unit.earlier
            ]


def _move(
    now: int | str, then: int | str, scale: tuple[int, int] | None
) -> float | None:
    if isinstance(now, str) and isinstance(then, str):
        return 0.0 if now == then else abs(PLACE[now] - PLACE[then]) or 0.5
    if isinstance(now, str) or isinstance(then, str) or scale is None:
        return None
    return abs(now - then) / (scale[1] - scale[0])


def degraded_copies(work: Sequence[JudgedUnit]) -> Signal:
    """Return the share of degraded copies that are rated lower than their originals.

    Each pair of copy and original counts with the share of its questions; equal ratings
    are not lower. The detail gives the one-sided exact sign test for a single look,
    with one vote per pair (lower or higher in more questions). Equal pairs are dropped
    from the test, but count in n and in the value. A small p speaks *for* the
    annotator. Side by side, choosing the original (`expected`) counts as lower, and a
    tie as equal.
    """
    shares, lower, higher = [], 0, 0
    for steps in filter(None, _copy_steps(work)):
        down, up = sum(step < 0 for step in steps), sum(step > 0 for step in steps)
        shares.append(down / len(steps))
        lower += down > up
        higher += up > down
    p = upper_tail(lower, lower + higher)
    detail = f"{lower} pairs lower, {higher} higher; one-sided sign test p = {p:.2g}"
    return mean_of("twin", shares, "no rated copy of a rated original", detail)


def _copy_steps(work: Sequence[JudgedUnit]) -> Iterable[list[float]]:
    """Yield for each pair by how much the degraded copy is better, per question."""
    for pairs in _with_earlier(work, "twin"):
        yield [
            now - earlier
            for _, now, earlier in pairs
            if isinstance(now, int) and isinstance(earlier, int)
        ]
    for unit in work:
        if unit.purpose == "twin" and unit.expected:
            yield [
                abs(PLACE[str(value)] - PLACE[str(expected)]) - PLACE["tie"]
                for question, expected in unit.expected.items()
                if (value := unit.answers.get(question)) in PLACE
            ]


def agreement(work: Sequence[JudgedUnit]) -> Signal:
    """Return the correlation of the annotator's ratings with the mean of the others.

    Pearson's r over all (unit, question), after subtracting per question the mean of
    the own ratings and the mean of the others' means. So severity does not count, and
    questions of different difficulty do not create agreement. Ranks of five values
    would mostly be ties. n is the number of units. Undefined below 5 units, and if one
    side never varies.
    """
    by_question: dict[str, tuple[list[float], list[float]]] = {}
    n = 0
    for unit in work:
        rest = unit.rest or {}
        ratings = [
            (question, value)
            for question, value in unit.answers.items()
            if question in rest and isinstance(value, int)
        ]
        n += bool(ratings)
        for question, value in ratings:
            own, others = by_question.setdefault(question, ([], []))
            own.append(value)
            others.append(rest[question])
    if n < FEWEST_FOR_CORRELATION:
        return Signal("agreement", None, n, "too few units that others rated too")
    x = [value for own, _ in by_question.values() for value in _centred(own)]
    y = [value for _, others in by_question.values() for value in _centred(others)]
    spread_x, spread_y = hypot(*x), hypot(*y)
    for owner, spread in (("own", spread_x), ("others'", spread_y)):
        if spread < 1e-9:
            return Signal("agreement", None, n, f"the {owner} ratings never vary")
    r = sum(map(mul, x, y)) / spread_x / spread_y
    return Signal("agreement", max(-1.0, min(1.0, r)), n)


def _centred(values: Sequence[float]) -> list[float]:
    mean = fmean(values)
    return [value - mean for value in values]


def majority(work: Sequence[JudgedUnit]) -> Signal:
    """Return the share of choices that agree with a clear majority of the others.

    A majority is clear with at least two thirds of the others' votes. A tie of the
    annotator counts one half, so that guessing gives 1/2 with any number of ties. The
    share is averaged over a unit's questions first.
    """
    shares = []
    for unit in work:
        rest = unit.rest or {}
        agreed = [
            PLACE[str(value)] if rest[question] > 0.5 else 1 - PLACE[str(value)]
            for question, value in unit.answers.items()
            if value in PLACE and abs(rest.get(question, 0.5) - 0.5) >= CLEAR
        ]
        if agreed:
            shares.append(fmean(agreed))
    return mean_of("majority", shares, "no unit with a clear majority of the others")


def skips(submitted: int, skipped: int) -> Signal:
    """Return the share of skipped slots among those submitted or skipped."""
    observations = (1.0,) * skipped + (0.0,) * submitted
    return mean_of("skips", observations, "no slot yet", f"{skipped} skipped")
