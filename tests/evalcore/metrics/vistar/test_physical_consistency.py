"""PSC: the formulas on small maps by hand, and the metric on tiny real networks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.encoders.scene_features import SIDE, Instance, packed, unpacked
from evalcore.metrics.vistar.physical_consistency import (
    PhysicalConsistency,
    chaos,
    contact_depths,
    is_attached,
    meetings,
    physical_consistency,
    plausibility,
)
from tests.evalcore.metrics.asking import noise, rendering_of, score

SHARE = st.floats(0, 1)


def mask(left, right, top=60, bottom=120):
    found = np.zeros((SIDE, SIDE), bool)
    found[top:bottom, left:right] = True
    return found


def thing(left, right, top=60, bottom=120, sure=1.0, label=1):
    box = (left / SIDE, top / SIDE, right / SIDE, bottom / SIDE)
    return Instance(label, sure, box, mask(left, right, top, bottom))


# Two things side by side that share columns 90 to 99.
LEFT, RIGHT = thing(20, 100), thing(90, 170)


def depths(columns, background=0.0):
    """A map whose depth depends on the column: a list of (from, to, depth)."""
    found = np.full((SIDE, SIDE), background)
    for start, stop, depth in columns:
        found[60:120, start:stop] = depth
    return found


# One before the other, everywhere.
APART = depths([(20, 100, 1.0), (100, 170, 0.5)])
# Apart at their ends, at one depth where they meet: the shared columns and 6 around.
THROUGH = depths([(20, 84, 1.0), (84, 106, 0.75), (106, 170, 0.5)])


class TestChaos:
    @pytest.mark.parametrize(
        ("contact", "rest", "value"),
        [
            ((0.5, 0.5), (0.2, 0.8), 0),
            ((0.8, 0.2), (0.8, 0.2), 1),
            ((0.2, 0.5), (0.2, 0.8), 0.5),
            ((0.9, 0.1), (0.4, 0.6), 4),
            ((0.5, 0.5), (0.3, 0.3), 0),
        ],
    )
    def test_by_hand(self, contact, rest, value):
        assert chaos(contact, rest) == pytest.approx(value, abs=1e-4)

    @given(SHARE, SHARE, SHARE, SHARE)
    def test_which_thing_is_which_does_not_matter(self, a, b, c, d):
        assert chaos((a, b), (c, d)) == chaos((b, a), (d, c))

    def test_of_one_map_the_means_inside_the_overlap_would_be_one(self):
        """Why the zone around it is looked at, and not the overlap itself."""
        shared = LEFT.mask & RIGHT.mask
        for depth in (APART, THROUGH, noise(1, (SIDE, SIDE))[..., 0]):
            inside = depth[shared].mean()
            assert chaos((inside, inside), (0.1, 0.9)) == 0


class TestContact:
    def test_means(self):
        # In the zone each thing has 6 columns of its own: 84-89 and 100-105.
        contact, rest = contact_depths(APART, LEFT.mask, RIGHT.mask)
        assert contact == (1.0, 0.5)
        assert rest == (1.0, 0.5)
        contact, rest = contact_depths(THROUGH, LEFT.mask, RIGHT.mask)
        assert contact == (0.75, 0.75)
        assert rest == (1.0, 0.5)

    def test_what_has_no_pixels_of_its_own_cannot_be_judged(self):
        inner = mask(50, 60)
        assert contact_depths(APART, LEFT.mask, inner) is None


class TestAttachment:
    @pytest.mark.parametrize(
        ("box", "attached"),
        [
            ((0.4, 0.4, 0.6, 0.6), True),
            ((0.0, 0.0, 1.0, 1.0), True),
            ((0.84, 0.4, 1.04, 0.6), True),  # .16 of .2 inside: just .8
            ((0.85, 0.4, 1.05, 0.6), False),  # .15 of .2
            ((1.1, 0.4, 1.2, 0.6), False),
            ((0.4, -2, 0.6, -1), False),
        ],
    )
    def test_of_a_unit_square(self, box, attached):
        unit = (0, 0, 1.0000001, 1)
        assert is_attached(unit, box) is attached
        assert is_attached(box, unit) is attached


class TestPlausibility:
    @pytest.mark.parametrize(
        ("value", "confidence", "attached", "score"),
        [
            (0, 1, False, 0),
            (1, 1, False, 1),
            (7, 1, False, 1),
            (0.25, 1, False, 0.25),
            (0, 0.5, False, 0.5),
            (0, 0, False, 1),
            (0, 1, True, 0.5),
            (0.5, 0.5, True, 0.875),
        ],
    )
    def test_by_hand(self, value, confidence, attached, score):
        assert plausibility(value, confidence, attached) == score

    @given(st.floats(0, 5), SHARE, SHARE)
    def test_an_unsure_pair_never_looks_worse(self, value, a, b):
        low, high = sorted((a, b))
        assert plausibility(value, low, False) >= plausibility(value, high, False)
        assert 0 <= plausibility(value, high, True) <= 1


class TestMeetings:
    def test_one_through_the_other(self):
        (pair,) = meetings(THROUGH, [LEFT, RIGHT])
        assert pair.chaos == 0
        assert pair.score == 0

    def test_confidences_pull_towards_no_conflict(self):
        things = [thing(20, 100, sure=0.9), thing(90, 170, sure=0.5)]
        (pair,) = meetings(THROUGH, things)
        assert pair.score == pytest.approx(1 - 0.45)

    def test_scale_and_zero_of_the_map_do_not_matter(self):
        (pair,) = meetings(APART, [LEFT, RIGHT])
        (other,) = meetings(300 * THROUGH - 7, [LEFT, RIGHT])
        assert other.score == pytest.approx(0, abs=1e-12)
        (same,) = meetings(300 * APART - 7, [LEFT, RIGHT])
        assert same.chaos == pytest.approx(pair.chaos)

    def test_the_worst_pair_counts(self):
        # Left and right pass through each other; a third overlaps right cleanly.
        third = thing(160, 190)
        depth = THROUGH.copy()
        depth[60:120, 170:190] = 0.1
        pairs = meetings(depth, [LEFT, RIGHT, third])
        assert [(pair.one, pair.other) for pair in pairs] == [(0, 1), (1, 2)]
        assert pairs[1].score > 0.8
        assert physical_consistency(pairs) == 0


def test_instances_survive_packing():
    things = [LEFT, thing(3, 4, 5, 7, sure=0.625, label=90)]
    back = unpacked(packed(things))
    assert [one.label for one in back] == [1, 90]
    assert back[1].score == 0.625
    np.testing.assert_allclose(back[0].box, LEFT.box, atol=1e-7)
    for one, other in zip(back, things, strict=True):
        np.testing.assert_array_equal(one.mask, other.mask)
    assert packed(things).dtype == np.uint8
    assert unpacked(packed([])) == []


class TestMetric:
    def test_tiny_networks_end_to_end(self, weights, tmp_path):
        weights.save("depth")
        weights.save("objects", bias=9.0)
        rendering = rendering_of([noise(1), None, noise(2, (30, 90))])
        values = score(PhysicalConsistency(), rendering, tmp_path)
        assert [value.shot for value in values] == [1, 3]
        for value in values:
            assert 0 <= value.value <= 1
            assert len(value.trace["things"]) == 5
            assert {one[0] for one in value.trace["things"]} == {1}
            scores = [pair["score"] for pair in value.trace["pairs"]]
            assert value.value == min(scores, default=1)
