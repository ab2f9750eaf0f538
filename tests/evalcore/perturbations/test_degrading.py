"""Degradations: always different from the original, and always of the chosen kind."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageStat

from evalcore.perturbations import degrading
from evalcore.perturbations.degrading import ImpossibleDegradationError

seeds = st.integers(0, 10**6)
counts = st.integers(3, 24)


def story(count, first=1):
    """Return different pictures of shots that do not count from 1."""
    return {number: f"picture {number}" for number in range(first, first + count)}


# Some equal pictures, as weak methods produce them.
renderings = st.lists(st.sampled_from("ABCDE"), min_size=1, max_size=12).map(
    lambda pictures: dict(enumerate(pictures, start=2))
)
stages = st.lists(st.frozensets(st.sampled_from(["fox", "hare", "owl"])), min_size=12)


@given(counts, seeds)
def test_shuffling_separates_all_pairs(count, seed):
    before = story(count, first=5)
    after = degrading.shuffled(before, seed)
    assert list(after) == list(before)
    assert sorted(after.values()) == sorted(before.values())
    order = list(after.values())
    assert not set(pairwise(order)) & set(pairwise(before.values()))
    in_place = sum(after[number] == before[number] for number in before)
    assert in_place == (count == 3)
    place = {picture: i for i, picture in enumerate(order)}
    turned = [place[a] > place[b] for a, b in combinations(before.values(), 2)]
    assert 2 * sum(turned) >= len(turned)


@given(renderings, seeds)
def test_shuffling_equal_pictures_changes_order_or_is_refused(before, seed):
    if len(set(before.values())) < 3:
        with pytest.raises(ImpossibleDegradationError, match="different pictures"):
            degrading.shuffled(before, seed)
        return
    after = degrading.shuffled(before, seed)
    assert sorted(after.values()) == sorted(before.values())
    assert after != before


@given(renderings, stages, seeds)
def test_swapped_pictures_contradict_script(before, stages, seed):
    on_stage = dict(zip(before, stages, strict=False))
    possible = any(
        on_stage[a] != on_stage[b] and before[a] != before[b]
        for a, b in combinations(before, 2)
    )
    if not possible:
        with pytest.raises(ImpossibleDegradationError, match="characters on stage"):
            degrading.swapped_characters(before, on_stage, seed)
        return
    after = degrading.swapped_characters(before, on_stage, seed)
    assert list(after) == list(before)
    assert sorted(after.values()) == sorted(before.values())
    assert after != before


def every_degradation(seed):
    before = story(8)
    on_stage = {n: frozenset({"fox"} if n % 3 else {"hare"}) for n in before}
    return (
        degrading.shuffled(before, seed),
        degrading.foreign_shot(before, ["x", "y", "z"], seed),
        degrading.repeated_shot(before, seed),
        degrading.swapped_characters(before, on_stage, seed),
    )


def test_seed_determines_result():
    assert every_degradation("7 shuffled") == every_degradation("7 shuffled")
    for same_kind in zip(*map(every_degradation, range(20)), strict=True):
        assert len({tuple(after.values()) for after in same_kind}) > 5


def stripes(size):
    """Return lines at the scale of facial features in a picture of that size."""
    picture = Image.new("RGB", size, "white")
    step = max(2, min(size) // 48)
    for x in range(0, size[0], 2 * step):
        ImageDraw.Draw(picture).rectangle((x, 0, x + step - 1, size[1]), "navy")
    return picture


@pytest.mark.parametrize("size", [(96, 64), (512, 512), (640, 1600)])
def test_blur_removes_same_share_of_detail_at_every_size(size):
    before = stripes(size)
    after = degrading.blurred(before)
    assert (after.size, after.mode) == (before.size, before.mode)
    contrast = [ImageStat.Stat(p.convert("L")).stddev[0] for p in (before, after)]
    assert contrast[1] < contrast[0] / 3
