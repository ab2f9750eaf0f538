"""Degradations that people notice: pictures in, pictures out.

Knows no database. A rendering maps shot numbers to pictures, without shots that have
none. A picture is any hashable value; only `blurred` and `fitted` look into it. Results
depend on nothing but the seed.
"""

import random
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations, pairwise
from typing import TypeVar

from PIL import Image, ImageFilter, ImageOps

P = TypeVar("P", bound=Hashable)
Seed = int | str

# Number of orders to try; for four or more shots about every tenth is among the best.
TRIES = 1000
# As a share of the shorter side: faces become unrecognisable, the scene does not.
BLUR = 1 / 64
LEAST_BLUR = 2.0


class ImpossibleDegradationError(ValueError):
    """A degradation is impossible for a rendering; the message says what it needs."""


def shuffled(pictures: Mapping[int, P], seed: Seed) -> dict[int, P]:
    """Return the pictures in another order.

    At least half of all pairs of pictures change their order, no two that followed each
    other still do, and none stays in its place (of three, the middle one does). Where
    equal pictures make that impossible, the result comes close.
    """
    numbers = sorted(pictures)
    before = [pictures[number] for number in numbers]
    if len(set(before)) < 3:
        raise ImpossibleDegradationError("it needs three shots with different pictures")
    rng = random.Random(seed)
    best = list(range(len(before)))[::-1]
    least = _likeness(before, best)
    for _ in range(TRIES):
        order = rng.sample(best, len(best))
        likeness = _likeness(before, order)
        turned = [a > b for a, b in combinations(order, 2)]
        if likeness <= least and 2 * sum(turned) >= len(turned):
            best, least = order, likeness
            if not any(likeness):
                break
    return {n: before[i] for n, i in zip(numbers, best, strict=True)}


def _likeness(before: Sequence[Hashable], order: Sequence[int]) -> tuple[int, int]:
    """Count pictures with the same predecessor, and pictures in the same place."""
    after = [before[i] for i in order]
    followed = set(pairwise(before))
    return (
        sum(pair in followed for pair in pairwise(after)),
        sum(old == new for old, new in zip(before, after, strict=True)),
    )


def foreign_shot(
    pictures: Mapping[int, P], foreign: Iterable[P], seed: Seed
) -> dict[int, P]:
    """Replace a third of the shots, at least one, by pictures of another story."""
    own = set(pictures.values())
    strangers = [picture for picture in dict.fromkeys(foreign) if picture not in own]
    if not strangers:
        raise ImpossibleDegradationError("it needs another story with pictures")
    rng = random.Random(seed)
    count = min(len(strangers), max(1, round(len(pictures) / 3)))
    replaced = rng.sample(sorted(pictures), count)
    return {
        **pictures,
        **dict(zip(replaced, rng.sample(strangers, count), strict=True)),
    }


def repeated_shot(pictures: Mapping[int, P], seed: Seed) -> dict[int, P]:
    """Show one shot's picture in half of the other shots too, at least in one."""
    if len(set(pictures.values())) < 2:
        raise ImpossibleDegradationError("it needs two shots with different pictures")
    rng = random.Random(seed)
    repeated = pictures[rng.choice(sorted(pictures))]
    others = [number for number in sorted(pictures) if pictures[number] != repeated]
    count = min(len(others), len(pictures) // 2)
    return {**pictures, **dict.fromkeys(rng.sample(others, count), repeated)}


def swapped_characters(
    pictures: Mapping[int, P], on_stage: Mapping[int, AbstractSet[str]], seed: Seed
) -> dict[int, P]:
    """Swap pictures between shots with different characters on stage, in pairs.

    The script then names other characters than the picture shows. Pairs that differ
    most come first; a shot is in one pair at most.
    """
    rng = random.Random(seed)
    pairs = [
        (a, b)
        for a, b in combinations(rng.sample(sorted(pictures), len(pictures)), 2)
        if on_stage[a] != on_stage[b] and pictures[a] != pictures[b]
    ]
    if not pairs:
        raise ImpossibleDegradationError(
            "it needs two shots with different characters on stage"
        )
    pairs.sort(key=lambda pair: -len(on_stage[pair[0]] ^ on_stage[pair[1]]))
    result = dict(pictures)
    done: set[int] = set()
    for a, b in pairs:
        if done.isdisjoint((a, b)):
            result[a], result[b] = pictures[b], pictures[a]
            done |= {a, b}
    return result


def blurred(picture: Image.Image) -> Image.Image:
    """Blur a picture strongly, relative to its size."""
    return picture.filter(ImageFilter.GaussianBlur(blur_radius(picture.size)))


def blur_radius(size: tuple[int, int]) -> float:
    """Return the standard deviation of the blur for a picture or video of that size."""
    return max(LEAST_BLUR, BLUR * min(size))


def fitted(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Scale and crop a picture to the size of the one that it replaces."""
    return ImageOps.fit(picture, size)
