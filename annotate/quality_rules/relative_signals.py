"""Signals relative to the other people, or to the other methods. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.quality_rules.judged import PLACE, JudgedUnit, Signal

Array = NDArray[Any]
# With fewer others, nobody knows how well they agree with each other.
FEWEST_OTHERS = 2
# By so many standard errors their agreement must be above none.
CLEARLY = 3.0


def relative_agreement(work: Sequence[JudgedUnit]) -> Signal:
    """Return the agreement with the others as a share of theirs with each other.

    It is 0 for answers at random, and 1 for somebody like the others. Units count
    with at least two others. A choice agrees by as much as it and the others' mean
    are on one side of a tie. A rating agrees with the others' mean by as much as both
    are above, or both below, those of earlier units. Answers are averaged over a unit's
    questions. `expected` has the same of the others, each against the rest.
    """
    rows: dict[str, list[tuple[int, int | str, dict[int, float]]]] = defaultdict(list)
    for at, unit in enumerate(work):
        for question, votes in (unit.others or {}).items():
            if question in unit.answers and len(votes) >= FEWEST_OTHERS:
                rows[question].append((at, unit.answers[question], dict(votes)))
    own: dict[int, list[float]] = defaultdict(list)
    others: dict[int, list[float]] = defaultdict(list)
    for answers in rows.values():
        is_choice = isinstance(answers[0][1], str)
        x, y = _concordance(*_matrix(answers), is_choice)
        for (at, _value, _votes), mine, theirs in zip(answers, x, y, strict=True):
            if not (np.isnan(mine) or np.isnan(theirs)):
                own[at].append(float(mine))
                others[at].append(float(theirs))
    mine, theirs = (tuple(map(fmean, one.values())) for one in (own, others))
    name, n = "relative_agreement", len(mine)
    if not n:
        return Signal(name, None, 0, "too few units that two others answered too")
    if sum(theirs) <= CLEARLY * float(np.std(theirs)) * n**0.5:
        return Signal(name, None, n, "the others hardly agree with each other")
    ratio = max(sum(mine) / sum(theirs), 0.0)
    return Signal(name, ratio, n, observations=mine, expected=theirs)


def _matrix(
    answers: Sequence[tuple[int, int | str, dict[int, float]]],
) -> tuple[Array, Array]:
    """Return the own answers as numbers, and the others' by person and unit."""
    mine = [PLACE[v] if isinstance(v, str) else float(v) for _at, v, _votes in answers]
    people = sorted({who for _at, _value, votes in answers for who in votes})
    rows = [[votes.get(who, np.nan) for _at, _v, votes in answers] for who in people]
    return np.array(mine), np.array(rows)


def _concordance(own: Array, votes: Array, is_choice: bool) -> tuple[Array, Array]:
    """Return by unit how well the own answer agrees with the others, and they do."""
    n = (~np.isnan(votes)).sum(0)
    total = np.nansum(votes, 0)
    without = (total - votes) / (n - 1)  # each one's others, without the person
    compare = _same_side if is_choice else _same_order
    mine = compare(own[None], (total / n)[None])[0]
    return mine, _means(compare(votes, without))


def _same_side(one: Array, other: Array) -> Array:
    return np.asarray((2 * one - 1) * (2 * other - 1))


def _same_order(one: Array, other: Array) -> Array:
    """Return how far both place each unit above or below the earlier ones.

    The ranks among earlier units are independent of each other for random answers,
    whose agreement is therefore zero on average, whatever came before.
    """
    agreed = np.full(one.shape, np.nan)
    for person, (mine, theirs) in enumerate(zip(one, other.round(6), strict=True)):
        known = np.flatnonzero(~np.isnan(mine + theirs))
        earlier = np.arange(1, len(known))
        ranks = [
            np.tril(np.sign(np.subtract.outer(row, row)), -1).sum(1)[1:] / earlier
            for row in (mine[known], theirs[known])
        ]
        agreed[person, known[1:]] = np.clip(2 * ranks[0] * ranks[1], -1, 1)
    return agreed


def _means(values: Array) -> Array:
    """Return the means of the columns without missing values; NaN without any."""
    known = (~np.isnan(values)).sum(0)
    return np.where(known, np.nansum(values, 0) / np.maximum(known, 1), np.nan)


def skips_one_method(
    met: Iterable[tuple[Sequence[str], bool]],
    of_others: Mapping[str, tuple[int, int]] | None = None,
) -> Signal:
    """Return by how much more one method is skipped than is usual.

    `met` has the methods of each story that was answered or skipped, in order, and
    whether it was skipped. `of_others` has for each method how many of its stories
    other people skipped, and met. Usual is the larger one of the shares that the
    person skips of other methods and that others skip of this one. With few others
    their share is taken to be nearer to one half: (skipped + 1) / (met + 2). `about`
    names the method, and `expected` has the usual share.
    """
    stories = list(met)
    name = "skips_one_method"
    methods = sorted({method for shown, _skipped in stories for method in shown})
    found: list[Signal] = []
    for method in methods:
        mine = tuple(float(skipped) for shown, skipped in stories if method in shown)
        rest = [skipped for shown, skipped in stories if method not in shown]
        if any(mine) and rest:
            skipped, n = (of_others or {}).get(method, (0, 0))
            usual = max(fmean(rest), (skipped + 1) / (n + 2))
            more = max(fmean(mine) - usual, 0.0)
            found.append(
                Signal(
                    name,
                    more,
                    len(mine),
                    f"method {method}",
                    mine,
                    expected=(usual,),
                    about=method,
                    tries=len(methods),
                )
            )
    if not found:
        return Signal(name, None, 0, "no story of several methods was skipped")
    return max(found, key=lambda signal: (signal.value or 0.0, signal.n))
