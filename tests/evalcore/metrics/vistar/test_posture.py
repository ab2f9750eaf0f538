import numpy as np
import pytest

from evalcore.metrics.vistar.character_portrayal import face_box, posture

SIZE = (100, 200)


def person(**joints):
    """Return joints by name; the others are hidden."""
    names = {
        "nose": 0,
        "left_eye": 1,
        "right_eye": 2,
        "left_ear": 3,
        "right_ear": 4,
        "left_shoulder": 5,
        "right_shoulder": 6,
        "left_hip": 11,
        "right_hip": 12,
        "left_knee": 13,
        "right_knee": 14,
    }
    found = np.zeros((17, 3))
    for name, (x, y, *score) in joints.items():
        found[names[name]] = x, y, score[0] if score else 0.9
    return found


UPRIGHT = {
    "left_shoulder": (40, 40),
    "right_shoulder": (60, 40),
    "left_hip": (40, 80),
    "right_hip": (60, 80),
}


@pytest.mark.parametrize(
    ("knees", "said"),
    [
        # The trunk is 40 long: knees at least 20 below the hips mean standing.
        ({"left_knee": (40, 115), "right_knee": (60, 115)}, "standing"),
        ({"left_knee": (40, 100)}, "standing"),
        ({"left_knee": (40, 99)}, "sitting"),
        ({"left_knee": (80, 82), "right_knee": (82, 84)}, "sitting"),
        ({"left_knee": (40, 60)}, "sitting"),
        ({"left_knee": (40, 115, 0.29)}, ""),
        ({}, ""),
    ],
)
def test_posture_of_upright_person(knees, said):
    assert posture(person(**UPRIGHT, **knees)) == said


@pytest.mark.parametrize(
    ("hips", "said"),
    [
        ((90, 45), "lying"),  # 50 to the side, 5 down
        ((50 + 40 * 1.8, 80), "lying"),  # 60.9 degrees
        ((50 + 40 * 1.7, 80), "standing"),  # 59.5 degrees
        ((50, 40), ""),  # no trunk at all
    ],
)
def test_posture_of_leaning_person(hips, said):
    figure = person(left_shoulder=(50, 40), left_hip=hips, left_knee=(50, 160))
    assert posture(figure) == said


def test_face_box_lies_between_ears():
    figure = person(
        nose=(50, 50),
        left_eye=(55, 45),
        right_eye=(45, 45),
        left_ear=(60, 45),
        right_ear=(40, 45),
    )
    # Middle (50, 46), side 1.6 x 20.
    assert face_box(figure, SIZE) == (34, 30, 66, 62)
