import numpy as np
import pytest

from evalcore.metrics.encoders.scene_features import HEIGHT, WIDTH, place, unframed
from evalcore.metrics.vistar.character_portrayal import face_box, posture

SIZE = (100, 200)


def person(**joints):
    """Joints by name; those not named are hidden."""
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
        # The trunk is 40 long: knees from 20 below the hips on are those of a stander.
        ({"left_knee": (40, 115), "right_knee": (60, 115)}, "standing"),
        ({"left_knee": (40, 100)}, "standing"),
        ({"left_knee": (40, 99)}, "sitting"),
        ({"left_knee": (80, 82), "right_knee": (82, 84)}, "sitting"),
        ({"left_knee": (40, 60)}, "sitting"),
        ({"left_knee": (40, 115, 0.29)}, ""),
        ({}, ""),
    ],
)
def test_upright(knees, said):
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
def test_leaning(hips, said):
    figure = person(left_shoulder=(50, 40), left_hip=hips, left_knee=(50, 160))
    assert posture(figure) == said


def test_a_face_between_the_ears():
    figure = person(
        nose=(50, 50),
        left_eye=(55, 45),
        right_eye=(45, 45),
        left_ear=(60, 45),
        right_ear=(40, 45),
    )
    # Middle (50, 46), side 1.6 x 20.
    assert face_box(figure, SIZE) == (34, 30, 66, 62)


def test_a_face_at_the_edge_is_cut_off():
    figure = person(nose=(2, 5), left_eye=(7, 0), right_eye=(-3, 0))
    left, top, right, bottom = face_box(figure, SIZE)
    assert (left, top) == (0, 0)
    assert (right, bottom) == (18, 18)


def test_a_face_outside_or_without_extent():
    away = person(nose=(500, 500), left_eye=(505, 495), right_eye=(495, 495))
    assert face_box(away, SIZE) is None
    point = person(nose=(50, 50), left_eye=(50, 50), right_eye=(50, 50))
    assert face_box(point, SIZE) is None


@pytest.mark.parametrize("size", [(100, 400), (300, 50), (192, 256), (1, 900), (7, 5)])
def test_joints_find_their_way_back_from_the_frame(size):
    left, top, width, height = place(*size)
    assert 0 <= left <= WIDTH - width
    assert 0 <= top <= HEIGHT - height
    assert WIDTH in (width, width + 1) or HEIGHT in (height, height + 1)
    corners = np.array(
        [
            [left / WIDTH, top / HEIGHT, 0.5],
            [(left + width) / WIDTH, (top + height) / HEIGHT, 0.7],
        ]
    )
    found = unframed(corners, size)
    np.testing.assert_allclose(found, [[0, 0, 0.5], [*size, 0.7]], atol=1e-9)
