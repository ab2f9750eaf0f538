"""CPA: formulas by hand, and the metric on tiny real networks."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.encoders.scene_features import EXPRESSIONS, SIDE, Instance, packed
from evalcore.metrics.vistar.character_portrayal import (
    POSTURES,
    CharacterPortrayal,
    ExpectedPeople,
    expected_people,
    label_match,
)
from tests.evalcore.metrics.asking import noise, rendering_of, score

LABELS = st.lists(st.sampled_from(POSTURES), max_size=5)


class TestFormulas:
    @given(LABELS, LABELS.filter(bool))
    def test_label_match_equals_best_assignment(self, found, wanted):
        padded = found + ["nobody"] * len(wanted)
        best = (
            max(
                sum(a == b for a, b in zip(order, wanted, strict=False))
                for order in permutations(padded, len(wanted))
            )
            if len(padded) <= 7
            else None
        )
        if best is not None:
            assert label_match(found, wanted) == pytest.approx(best / len(wanted))


def story(pictures, **parameters):
    return rendering_of(pictures, vistar={"parameters": parameters})


class TestWanted:
    def test_parameters_are_read(self):
        story_of_two = story(
            [], count="2", posture="Sitting, standing", expression=" happy ,"
        )
        assert expected_people(story_of_two) == ExpectedPeople(
            2, ("sitting", "standing"), ("happy",)
        )


class Known:
    """Encoder with known answers, to test the metric's own steps."""

    batch = 8

    def __init__(self, id, answer):
        self.id = id
        self.answer = answer

    def prepare(self, item):
        return item

    def encode(self, prepared):
        return [self.answer(one) for one in prepared]


def person(left, top, right, bottom, label=1):
    return Instance(
        label, 0.9, (left, top, right, bottom), np.zeros((SIDE, SIDE), bool)
    )


class TestSteps:
    """Parts of a picture that each network receives."""

    def seen(self, things, joints, tmp_path, **parameters):
        shown = {"pose": [], "face": []}

        def pose(crop):
            shown["pose"].append(crop)
            return joints

        def face(crop):
            shown["face"].append(crop)
            return np.eye(7)[EXPRESSIONS.index("happy")]

        metric = CharacterPortrayal()
        metric.encoders = (
            Known("things", lambda _picture: packed(things)),
            Known("pose", pose),
            Known("face", face),
        )
        picture = noise(1, (100, 80))
        values = score(metric, story([picture], **parameters), tmp_path)
        return values[0], shown, picture

    def test_people_and_faces_are_cropped(self, tmp_path):
        # Upright with straight legs, and a face: shares of the frame of 192 x 256.
        joints = np.zeros((17, 3))
        joints[[0, 1, 2]] = [[0.5, 0.2, 1], [0.55, 0.17, 1], [0.45, 0.17, 1]]
        joints[[5, 6, 11, 12, 13, 14]] = [
            [0.4, 0.3, 1],
            [0.6, 0.3, 1],
            [0.4, 0.5, 1],
            [0.6, 0.5, 1],
            [0.4, 0.75, 1],
            [0.6, 0.75, 1],
        ]
        dog = person(0.1, 0.1, 0.2, 0.2, label=18)
        value, shown, picture = self.seen(
            [dog, person(0.2, 0.25, 0.6, 0.75)],
            joints,
            tmp_path,
            count="1",
            posture="standing",
            expression="happy",
        )
        # 20..60 of 100 wide and 20..60 of 80 high, an eighth more on each side.
        assert value.trace["people"] == [(15, 15, 65, 65)]
        (body,) = shown["pose"]
        np.testing.assert_array_equal(body, picture[15:65, 15:65])
        # The frame is filled across (scale 3.84) and has 32 rows free above: the eyes
        # are .1 x 192 / 3.84 = 5 apart and the face 16 wide; its middle is 3.7 below
        # the person's upper edge, where it is cut off.
        (face,) = shown["face"]
        np.testing.assert_array_equal(face, body[:12, 17:33])
        assert value.trace["postures"] == ["standing"]
        assert value.trace["expressions"] == ["happy"]
        assert value.value == 1


class TestMetric:
    def test_tiny_networks_end_to_end(self, weights, tmp_path):
        weights.save("objects", bias=9.0)
        weights.save("pose", "expression")
        subject = story(
            [noise(1), None, noise(2, (40, 90))],
            count="5",
            posture="standing",
            expression="happy, sad",
        )
        values = score(CharacterPortrayal(), subject, tmp_path)
        assert [value.shot for value in values] == [1, 3]
        for value in values:
            parts = value.trace["parts"]
            assert parts["count"] == 1  # all five queries see a person
            assert len(value.trace["postures"]) == 5
            assert set(value.trace["postures"]) <= {*POSTURES, ""}
            assert set(value.trace["expressions"]) <= set(EXPRESSIONS)
            assert value.value == pytest.approx(sum(parts.values()) / 3)
