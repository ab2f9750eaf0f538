"""SCRFD: what the network puts out becomes faces as in insightface."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from evalcore.metrics.encoders.antelope import THRESHOLDS, Scrfd, letterboxed
from evalcore.metrics.weights import WeightsError
from tests.evalcore.metrics.asking import noise
from tests.evalcore.metrics.encoders.face_files import (
    empty_outputs,
    in_folder,
    plant,
    save_scrfd,
    scrfd_of,
)

WHITE = np.full((320, 320, 3), 255, np.uint8)
OFFSETS = [[-1, -1], [1, -1], [0, 0], [-1, 1], [1, 1]]
SIDES = [2, 2, 2, 2]


def found(outputs, monkeypatch, tmp_path, picture=WHITE):
    return scrfd_of(outputs, monkeypatch, tmp_path).points(picture)


@pytest.mark.parametrize("anchor", [0, 1])
@pytest.mark.parametrize("stride", [8, 16, 32])
def test_offsets_become_points(stride, anchor, monkeypatch, tmp_path):
    outputs = empty_outputs()
    plant(outputs, stride, 5, 7, anchor, 0.9, [1, 2, 3, 4], OFFSETS)
    points = found(outputs, monkeypatch, tmp_path)
    # Row 5, column 7: the anchor is at (7, 5) strides of the 640 square, which shows
    # the 320 picture twice as large.
    x, y, unit = 7 * stride / 2, 5 * stride / 2, stride / 2
    assert points == pytest.approx(np.array([x, y]) + unit * np.array(OFFSETS))


def test_a_large_picture_is_made_smaller(monkeypatch, tmp_path):
    outputs = empty_outputs()
    plant(outputs, 8, 10, 20, 0, 0.9, SIDES, OFFSETS)
    wide = np.full((1000, 2000, 3), 255, np.uint8)
    points = found(outputs, monkeypatch, tmp_path, wide)
    # 2000 becomes 640, so a pixel of the square is 3.125 of the picture.
    assert points[2] == pytest.approx([160 * 3.125, 80 * 3.125])


def test_the_square_is_filled_from_the_top_left():
    square, scale = letterboxed(np.full((50, 100, 3), 200, np.uint8))
    assert scale == 6.4
    assert (square[:320] == 200).all()
    assert (square[320:] == 0).all()
    square, scale = letterboxed(np.full((1280, 640, 3), 200, np.uint8))
    assert scale == 0.5
    assert (square[:, :320] == 200).all()
    assert (square[:, 320:] == 0).all()


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 3000, 3), (3000, 1, 3)])
def test_pictures_of_any_shape_fit_into_the_square(shape):
    square, _scale = letterboxed(np.full(shape, 255, np.uint8))
    assert square.shape == (640, 640, 3)
    assert square[0, 0].tolist() == [255, 255, 255]


@pytest.mark.parametrize(("factor", "is_seen"), [(1.01, True), (0.99, False)])
def test_the_network_is_given_rgb_from_minus_1_to_1(
    factor, is_seen, monkeypatch, tmp_path
):
    # The tiny network sees the brightest number only, here (191 - 127.5) / 128.
    outputs = empty_outputs()
    score = factor * THRESHOLDS[-1] / ((191 - 127.5) / 128)
    plant(outputs, 8, 3, 3, 0, score, SIDES, OFFSETS)
    picture = np.zeros((640, 640, 3), np.uint8)
    picture[..., 1] = 191
    assert (found(outputs, monkeypatch, tmp_path, picture) is not None) == is_seen


@pytest.mark.parametrize("score", [0.46, 0.36, 0.26, 0.16])
def test_faint_faces_appear_too_and_the_best_of_them_counts(
    score, monkeypatch, tmp_path
):
    outputs = empty_outputs()
    plant(outputs, 8, 3, 3, 0, score, SIDES, OFFSETS)
    plant(outputs, 8, 40, 40, 0, score - 0.1, SIDES, OFFSETS)
    # The other face is fainter by one step of the threshold.
    points = found(outputs, monkeypatch, tmp_path)
    assert points[2] == pytest.approx([3 * 4, 3 * 4])


def test_the_best_face_is_the_first_whatever_its_size_and_stride(monkeypatch, tmp_path):
    outputs = empty_outputs()
    plant(outputs, 8, 3, 3, 0, 0.6, SIDES, OFFSETS)
    plant(outputs, 32, 15, 15, 1, 0.7, [3, 3, 3, 3], OFFSETS)
    plant(outputs, 16, 5, 30, 1, 0.95, [1, 1, 1, 1], OFFSETS)
    detector = scrfd_of(outputs, monkeypatch, tmp_path)
    assert detector.points(WHITE)[2] == pytest.approx([30 * 8, 5 * 8])


def test_equal_scores_go_by_stride_and_position(monkeypatch, tmp_path):
    outputs = empty_outputs()
    for i, (stride, row, column, middle) in enumerate(
        ((32, 1, 1, [16, 16]), (8, 40, 40, [160, 160]), (8, 20, 70, [280, 80]))
    ):
        plant(outputs, stride, row, column, 0, 0.9, [1] * 4, OFFSETS)
        folder = tmp_path / str(i)
        folder.mkdir()
        points = found(outputs, monkeypatch, folder)
        assert points[2].tolist() == middle


def test_a_picture_passes_the_network_once(monkeypatch, tmp_path):
    detector = scrfd_of(empty_outputs(), monkeypatch, tmp_path)
    calls = []
    network = detector.network
    monkeypatch.setattr(
        detector, "network", lambda batch: calls.append(1) or network(batch)
    )
    picture = noise(1)
    assert detector.points(picture) is None
    assert detector.points(picture.copy()) is None
    assert len(calls) == 1
    # The same bytes in another shape are another picture.
    detector.points(picture.reshape(64, 48, 3))
    assert len(calls) == 2


def test_no_more_pictures_are_remembered_than_room_is_for(monkeypatch, tmp_path):
    monkeypatch.setattr("evalcore.metrics.encoders.antelope.REMEMBERED", 2)
    outputs = empty_outputs()
    plant(outputs, 8, 3, 3, 0, 0.9, SIDES, OFFSETS)
    detector = scrfd_of(outputs, monkeypatch, tmp_path)
    for side in (8, 16, 32, 8):
        points = detector.points(np.full((side, side, 3), 255, np.uint8))
        assert points[2] == pytest.approx([24 * side / 640] * 2)
        assert len(detector._known) <= 2


def test_threads_get_the_same_faces(monkeypatch, tmp_path):
    outputs = empty_outputs()
    plant(outputs, 16, 9, 9, 0, 0.9, SIDES, OFFSETS)
    detector = scrfd_of(outputs, monkeypatch, tmp_path)
    pictures = [np.full((n, n, 3), 255, np.uint8) for n in range(20, 60)]
    alone = [detector.points(picture) for picture in pictures]
    detector._known.clear()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(detector.points, pictures))
    assert np.array_equal(alone, together)


def test_a_file_that_is_no_network_is_refused(monkeypatch, tmp_path):
    (tmp_path / "scrfd.onnx").write_bytes(b"no network")
    detector = Scrfd(in_folder(monkeypatch, tmp_path, "scrfd.onnx"))
    with pytest.raises(WeightsError, match=r"scrfd\.onnx cannot be read as ONNX"):
        detector.points(WHITE)


def test_outputs_of_another_size_are_refused(monkeypatch, tmp_path):
    # One anchor a position, as in smaller variants.
    save_scrfd(tmp_path / "scrfd.onnx", [out[::2] for out in empty_outputs()])
    detector = Scrfd(in_folder(monkeypatch, tmp_path, "scrfd.onnx"))
    with pytest.raises(WeightsError, match=r"another network.*6400.*not \[12800"):
        detector.points(WHITE)
