"""PSC: formulas on small maps by hand, and the metric on tiny real networks."""

import numpy as np
import pytest

from evalcore.metrics.encoders.scene_features import SIDE, Instance
from evalcore.metrics.vistar.physical_consistency import (
    PhysicalConsistency,
    chaos,
    contact_depths,
    is_attached,
    plausibility,
)
from tests.evalcore.metrics.asking import noise, rendering_of, score


def mask(left, right, top=60, bottom=120):
    found = np.zeros((SIDE, SIDE), bool)
    found[top:bottom, left:right] = True
    return found


def thing(left, right, top=60, bottom=120, sure=1.0, label=1):
    box = (left / SIDE, top / SIDE, right / SIDE, bottom / SIDE)
    return Instance(label, sure, box, mask(left, right, top, bottom))


# Two objects side by side that share columns 90 to 99.
LEFT, RIGHT = thing(20, 100), thing(90, 170)


def depths(columns, background=0.0):
    """Return a map whose depth depends on the column: a list of (from, to, depth)."""
    found = np.full((SIDE, SIDE), background)
    for start, stop, depth in columns:
        found[60:120, start:stop] = depth
    return found


# One in front of the other, everywhere.
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
    def test_value_matches_hand_calculation(self, contact, rest, value):
        assert chaos(contact, rest) == pytest.approx(value, abs=1e-4)


class TestContact:
    def test_contact_depths_are_means(self):
        # Each object has 6 columns in the zone: 84-89 and 100-105.
        contact, rest = contact_depths(APART, LEFT.mask, RIGHT.mask)
        assert contact == (1.0, 0.5)
        assert rest == (1.0, 0.5)
        contact, rest = contact_depths(THROUGH, LEFT.mask, RIGHT.mask)
        assert contact == (0.75, 0.75)
        assert rest == (1.0, 0.5)


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
    def test_attachment_to_unit_square(self, box, attached):
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
    def test_value_matches_hand_calculation(self, value, confidence, attached, score):
        assert plausibility(value, confidence, attached) == score


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
