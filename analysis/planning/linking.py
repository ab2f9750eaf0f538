"""The choice of outputs that link a later wave of ratings to an earlier one."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from analysis.planning.sums_of_squares import (
    ANNOTATOR,
    FACTORS,
    METHOD,
    STORY,
    Design,
    estimate_components,
)
from analysis.results import Array, Counts

# The linked mean's error is to exceed the later wave's own by this share at most.
EXTRA = 0.25
# Fewer linking outputs say little about people; more than half cost too much.
LEAST, MOST_SHARE = 6, 0.5
LEVELS = 3

OutputKey = tuple[str, str]


@dataclass(frozen=True)
class Spread:
    """Variances of ratings in a first study: between people, stories, and the rest.

    `person` holds what somebody gives to all outputs, `story` what a story and its
    output of a method have, `rest` what is left of a single rating.
    """

    person: float
    story: float
    rest: float
    n_people: int


@dataclass(frozen=True)
class Wave:
    """The size of a later wave: outputs of the late method, ratings each, people."""

    outputs: int
    redundancy: int
    people: int


def spread_of(
    value: Array, person: Counts, story: Counts, method: Counts
) -> Spread | None:
    """Estimate the spread of ratings; None without two ratings an output."""
    n_people = int(person.max()) + 1
    n_outputs = len(np.unique(story * (method.max() + 1) + method))
    if n_people < 2 or len(value) < n_outputs + n_people:
        return None
    design = Design({METHOD: method, STORY: story, ANNOTATOR: person})
    found = estimate_components(design, value[:, None])
    stories = found.variance(STORY) + found.variance(METHOD, STORY)
    rest = (
        found.variance(*FACTORS)
        + found.variance(METHOD, ANNOTATOR)
        + found.variance(STORY, ANNOTATOR)
    )
    return Spread(found.variance(ANNOTATOR), stories, rest, n_people)


def extra_error(spread: Spread, wave: Wave, linking: int) -> float:
    r"""Return how much linking widens the late method's standard error, as a share.

    With S outputs, K linking ones and r ratings each, :math:`m_1` and :math:`m_2`
    people meet linking outputs. The variance is

    .. math:: \sigma_s^2/S + \sigma_e^2 (1/(Sr) + 2/(Kr))
              + \sigma_a^2 (1/m_1 + 1/m_2 - 1/A_2)

    since each person's severity is in both means of a wave. Without linking it is
    :math:`\sigma_s^2/S + \sigma_e^2/(Sr) + \sigma_a^2/A_2`, from which drift of
    people is missing. The terms are those of a mean in generalizability theory
    (Brennan 2001, section 4.1).
    """
    own = wave.outputs * wave.redundancy
    link = linking * wave.redundancy
    people = max(wave.people, 1)
    alone = spread.story / wave.outputs + spread.rest / own + spread.person / people
    if alone <= 0:
        return 0.0
    met = [max(min(n, link), 1) for n in (spread.n_people, people)]
    linked = alone + 2 * spread.rest / link
    linked += spread.person * (1 / met[0] + 1 / met[1] - 2 / people)
    return max(sqrt(max(linked, 0.0) / alone) - 1, 0.0)


def suggested(spread: Spread, wave: Wave, known: int, share: float = EXTRA) -> int:
    """Return the smallest number of linking outputs whose extra error is small enough.

    It is at most half of the known outputs, and a multiple of the three levels.
    """
    most = max(int(known * MOST_SHARE) // LEVELS * LEVELS, min(LEAST, known))
    for number in range(LEAST, most + 1, LEVELS):
        if extra_error(spread, wave, number) <= share:
            return number
    return most


def choose_linking(
    means: Mapping[OutputKey, float],
    number: int,
    seed: int,
    preferred: Sequence[str] = (),
) -> list[OutputKey]:
    """Choose outputs spread over low, middle and high means, methods and stories.

    Low and high ones are equally many: those with a low mean were partly rated low by
    chance and come out higher the next time, and the others lower. Stories of
    `preferred` come first.
    """
    dice = random.Random(seed)
    keys = sorted(means)
    dice.shuffle(keys)
    keys.sort(key=means.__getitem__)
    n = len(keys)
    level = {key: place * LEVELS // n for place, key in enumerate(keys)}
    each, left = divmod(min(number, n), LEVELS)
    wanted = [2, 0, 1] * each + [*((), (1,), (0, 2))[left]]
    first = set(preferred)
    methods: Counter[str] = Counter()
    stories: Counter[str] = Counter()
    dice.shuffle(keys)
    free, chosen = dict.fromkeys(keys), []
    for own in wanted:
        # Of a handful of outputs a level may have too few: any other follows.
        key = min(
            [key for key in free if level[key] == own] or free,
            key=lambda k: (k[0] not in first, methods[k[1]], stories[k[0]]),
        )
        methods[key[1]] += 1
        stories[key[0]] += 1
        chosen.append(key)
        del free[key]
    return sorted(chosen)
