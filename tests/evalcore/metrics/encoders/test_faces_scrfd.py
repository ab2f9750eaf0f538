"""SCRFD: conversion of the network's output to faces, as in insightface."""

import numpy as np
import pytest

from evalcore.metrics.encoders.antelope import THRESHOLDS
from tests.evalcore.metrics.asking import noise
from tests.evalcore.metrics.encoders.face_files import (
    empty_outputs,
    plant,
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


@pytest.mark.parametrize(("factor", "is_seen"), [(1.01, True), (0.99, False)])
def test_network_input_is_rgb_from_minus_1_to_1(factor, is_seen, monkeypatch, tmp_path):
    # The tiny network sees the brightest number only, here (191 - 127.5) / 128.
    outputs = empty_outputs()
    score = factor * THRESHOLDS[-1] / ((191 - 127.5) / 128)
    plant(outputs, 8, 3, 3, 0, score, SIDES, OFFSETS)
    picture = np.zeros((640, 640, 3), np.uint8)
    picture[..., 1] = 191
    assert (found(outputs, monkeypatch, tmp_path, picture) is not None) == is_seen


def test_best_face_ignores_size_and_stride(monkeypatch, tmp_path):
    outputs = empty_outputs()
    plant(outputs, 8, 3, 3, 0, 0.6, SIDES, OFFSETS)
    plant(outputs, 32, 15, 15, 1, 0.7, [3, 3, 3, 3], OFFSETS)
    plant(outputs, 16, 5, 30, 1, 0.95, [1, 1, 1, 1], OFFSETS)
    detector = scrfd_of(outputs, monkeypatch, tmp_path)
    assert detector.points(WHITE)[2] == pytest.approx([30 * 8, 5 * 8])


def test_network_runs_once_per_picture(monkeypatch, tmp_path):
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
