"""What an annotator's answers say about how they were given. Pure.

Each signal is computed from the annotator's own judged units, in the order in which
they were submitted. A signal says nothing about good or bad; `rules` does.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from math import comb, hypot
from operator import mul
from statistics import fmean

from annotate.quality_rules.judged import Answers, JudgedUnit, Signal, mean_of
from annotate.quality_rules.time_signals import (
    GLANCE,
    seconds,
    seconds_in_sight,
    shots_seen,
    time_problems,
)

# Of how long somebody looked, and of what they left out.
HASTE = ("seconds_per_unit", "seconds_per_shot", "seconds_in_sight", "shots_seen")
EFFORT = ("skips", "no_time", "impossible_time")
ALIKE = ("straight_line", "same_answer", "flat", "side_bias")
CHECKED = ("training", "gold", "repeat", "twin", "agreement", "majority")
SIGNALS = (*HASTE, *ALIKE, *CHECKED, *EFFORT)

# As far from one half are two thirds of the votes, a majority to be held against.
CLEAR = 1 / 6 - 1e-9
FEWEST_FOR_CORRELATION = 5
PLACE = {"a": 1.0, "tie": 0.5, "both_bad": 0.5, "b": 0.0}

Scales = Mapping[str, tuple[int, int]]
Rows = Sequence[Answers | None]


def measure(
    judged: Sequence[JudgedUnit],
    *,
    scales: Scales | None = None,
    skipped: int = 0,
    glance: float = GLANCE,
) -> dict[str, Signal]:
    """Return every signal of one annotator; training counts for `training` only.

    `judged` are the submitted slots in the order of submission. `scales` has the lowest
    and highest rating by question, which `repeat` needs. A shot that was in sight for
    at least a `glance`, in seconds, was seen.
    """
    work = [unit for unit in judged if unit.purpose != "training"]
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
        within_tolerance(judged, "training"),
        within_tolerance(judged, "gold"),
        repeat(work, scales or {}),
        twin(work),
        agreement(work),
        majority(work),
        skips(len(work), skipped),
        time_problems(work, "no_time", "missing"),
        time_problems(work, "impossible_time", "impossible"),
    ]
    return {signal.name: signal for signal in signals}


def _as_seen(unit: JudgedUnit) -> dict[str, int | str] | None:
    """Return the answers as the annotator gave them: choices as left or right.

    None where there are none, or where nobody knows which output stood left.
    """
    seen: dict[str, int | str] = {}
    for question, value in unit.answers.items():
        if value in ("a", "b"):
            if unit.a_is_left is None:
                return None
            value = "left" if (value == "a") == unit.a_is_left else "right"
        seen[question] = value
    return seen or None


def repeated(rows: Rows, *, several: bool) -> Signal:
    """Share of units answered exactly like the unit before.

    `straight_line` looks at units with several questions, which must all have the same
    answers; `same_answer` at those with one, where chance repeats far more. Of n units
    there are n - 1 observations, fewer where the questions differ or the sides of a
    choice are unknown. Choices are compared as seen (left, right): who always presses
    one key repeats it, whichever output stood there. The annotator's own distribution
    is no yardstick: if somebody always says 3, it explains every run.
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
    """Share of units with one and the same answer in all questions.

    Units with one question, and choices whose sides are unknown, are left out.
    """
    several = [row for row in rows if row is not None and len(row) > 1]
    same = (float(len(set(row.values())) == 1) for row in several)
    return mean_of("flat", same, "no unit has several questions")


def side_bias(rows: Rows) -> Signal:
    """Distance of the share of left from one half.

    An observation is the share of left among a unit's answers left or right, so that
    criteria that go together count as one look; ties are left out, and so are units
    without any left or right, or with unknown sides. Value: abs(mean - 1/2). The
    detail gives the exact two-sided binomial p value for one look, where each unit has
    one vote (the side with more answers; equal numbers have none).
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


def within_tolerance(judged: Sequence[JudgedUnit], purpose: str) -> Signal:
    """Share of answers within the tolerance, averaged over units of the purpose.

    A rating is right from the lowest to the highest expected one, a choice if it is
    the expected one. Questions without an expectation or an answer are left out.
    """
    shares = []
    for unit in judged:
        expected = (unit.expected or {}) if unit.purpose == purpose else {}
        known = expected.keys() & unit.answers.keys()
        right = [is_right(unit.answers[q], expected[q]) for q in known]
        if right:
            shares.append(fmean(right))
    perfect = sum(share == 1 for share in shares)
    detail = f"{perfect} of {len(shares)} units with every answer within the tolerance"
    return mean_of(purpose, shares, f"no {purpose} unit was answered", detail)


def is_right(value: int | str, expected: Sequence[int] | str) -> bool:
    """Say whether an answer lies in the tolerance, or is the choice that is right."""
    if isinstance(expected, str) or isinstance(value, str):
        return value == expected
    return expected[0] <= value <= expected[1]


def below(expected: Sequence[int], given: int) -> list[int] | None:
    """Return the tolerance of a degraded twin whose original was rated so.

    None where the original got the lowest rating: nothing is lower.
    """
    low, high = expected
    return [low, min(high, given - 1)] if given > low else None


def repeat(work: Sequence[JudgedUnit], scales: Scales) -> Signal:
    """Mean difference between two answers of the annotator to the same question.

    In parts of the largest possible difference: abs(now - earlier) / (high - low) for
    ratings; for choices 0 if the same, 1 between a and b, else 1/2. Averaged over a
    unit's questions first. Ratings without a scale are left out.
    """
    differences, answers = [], []
    for pairs in _with_earlier(work, "repeat"):
        moves = [_move(now, then, scales.get(q)) for q, now, then in pairs]
        known = [move for move in moves if move is not None]
        if known:
            differences.append(fmean(known))
            answers += known
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


def twin(work: Sequence[JudgedUnit]) -> Signal:
    """Share of (twin, original) pairs in which the degraded twin is rated lower.

    Within a pair the share of its questions; equal ratings are not lower. The detail
    gives the one-sided exact sign test for one look, with one vote a pair (lower or
    higher in more questions); equal pairs are dropped from the test, yet count in n and
    in the value. A small p speaks *for* the annotator. Side by side, lower is the
    choice of the original, which is `expected`; a tie is equal.
    """
    shares, lower, higher = [], 0, 0
    for steps in filter(None, _twin_steps(work)):
        down, up = sum(step < 0 for step in steps), sum(step > 0 for step in steps)
        shares.append(down / len(steps))
        lower += down > up
        higher += up > down
    p = upper_tail(lower, lower + higher)
    detail = f"{lower} pairs lower, {higher} higher; one-sided sign test p = {p:.2g}"
    return mean_of("twin", shares, "no rated twin of a rated original", detail)


def _twin_steps(work: Sequence[JudgedUnit]) -> Iterable[list[float]]:
    """Yield, for each pair, by how much its twin is better in each question."""
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
    """Correlation of the annotator's ratings with the mean of the others.

    Pearson's r over all (unit, question) after subtracting, per question, the mean of
    the own ratings and the mean of the others' means: severity does not count, and
    questions of different difficulty do not create agreement. Pearson, since ranks of
    five values are mostly ties. n is the number of units. Undefined below 5 units, and
    where one side never varies.
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
    for who, spread in (("own", spread_x), ("others'", spread_y)):
        if spread < 1e-9:
            return Signal("agreement", None, n, f"the {who} ratings never vary")
    r = sum(map(mul, x, y)) / spread_x / spread_y
    return Signal("agreement", max(-1.0, min(1.0, r)), n)


def _centred(values: Sequence[float]) -> list[float]:
    mean = fmean(values)
    return [value - mean for value in values]


def majority(work: Sequence[JudgedUnit]) -> Signal:
    """Share of choices that agree with a clear majority of the others.

    Clear: at least two thirds of the others' votes. An own tie counts one half, so
    that whoever guesses has 1/2 with any number of ties. Averaged over a unit's
    questions first.
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
    """Share of slots skipped among those submitted or skipped."""
    seen = (1.0,) * skipped + (0.0,) * submitted
    return mean_of("skips", seen, "no slot yet", f"{skipped} skipped")
