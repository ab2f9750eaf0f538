"""Tiny networks and drawn faces for the tests of face encoders."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageDraw, ImageFilter

from evalcore.metrics.encoders.antelope import ANCHORS, SIDE, STRIDES, Scrfd
from evalcore.metrics.weights import Weights


def in_folder(monkeypatch, folder: Path, name: str) -> Weights:
    """Return weights of that name in a folder that becomes the weights' folder."""
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(folder))
    return Weights(name, "none")


def _save(path: Path, nodes, inputs, outputs, constants) -> None:
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, constants)
    opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)


# SCRFD -------------------------------------------------------------------------------


def empty_outputs() -> list[np.ndarray]:
    """Return SCRFD's outputs without a face: scores, sides, offsets."""
    return [
        np.zeros((ANCHORS * (SIDE // stride) ** 2, numbers), np.float32)
        for numbers in (1, 4, 10)
        for stride in STRIDES
    ]


def plant(outputs, stride, row, column, anchor, score, sides, offsets) -> None:
    """Put a face at a position; sides and offsets are in units of the stride."""
    level = STRIDES.index(stride)
    index = (row * (SIDE // stride) + column) * ANCHORS + anchor
    outputs[level][index] = score
    outputs[level + 3][index] = sides
    outputs[level + 6][index] = np.asarray(offsets, np.float32).reshape(-1)


def save_scrfd(path: Path, outputs: list[np.ndarray]) -> None:
    """Save a network with those outputs; scores times the brightest input, at least 0.

    So a picture with white in it holds the faces, at 127.5 / 128 of their score; one
    without a pixel lighter than middle grey holds none.
    """
    nodes = [
        helper.make_node("ReduceMax", ["input.1"], ["most"], keepdims=0),
        helper.make_node("Relu", ["most"], ["bright"]),
        helper.make_node("Mul", ["most", "zero"], ["nothing"]),
    ]
    constants = [numpy_helper.from_array(np.float32(0), "zero")]
    results = []
    for index, output in enumerate(outputs):
        constants.append(numpy_helper.from_array(output, f"held{index}"))
        how, what = ("Mul", "bright") if index < 3 else ("Add", "nothing")
        nodes.append(helper.make_node(how, [f"held{index}", what], [f"out{index}"]))
        results.append(
            helper.make_tensor_value_info(
                f"out{index}", TensorProto.FLOAT, output.shape
            )
        )
    taken = helper.make_tensor_value_info(
        "input.1", TensorProto.FLOAT, [1, 3, "height", "width"]
    )
    _save(path, nodes, [taken], results, constants)


def scrfd_of(outputs, monkeypatch, folder: Path) -> Scrfd:
    save_scrfd(folder / "scrfd.onnx", outputs)
    return Scrfd(in_folder(monkeypatch, folder, "scrfd.onnx"))


# ArcFace -----------------------------------------------------------------------------


def save_arcface(path: Path, matrix: np.ndarray, batch: object = "batch") -> None:
    """Save a network that returns the mean of each channel times a 3 x n matrix."""
    nodes = [
        helper.make_node("ReduceMean", ["input.1", "axes"], ["mean"], keepdims=0),
        helper.make_node("MatMul", ["mean", "matrix"], ["683"]),
    ]
    constants = [
        numpy_helper.from_array(np.array([2, 3], np.int64), "axes"),
        numpy_helper.from_array(matrix.astype(np.float32), "matrix"),
    ]
    taken = helper.make_tensor_value_info(
        "input.1", TensorProto.FLOAT, [batch, 3, 112, 112]
    )
    # As in the published file, the output's shape says 1 for any batch.
    given = helper.make_tensor_value_info(
        "683", TensorProto.FLOAT, [1, matrix.shape[1]]
    )
    _save(path, nodes, [taken], [given], constants)


# Pictures ----------------------------------------------------------------------------


def drawn_face(size: int = 300, skin=(225, 180, 150)) -> np.ndarray:
    """Return a face that dlib recognises, filling about half of the square picture."""
    image = Image.new("RGB", (300, 300), (70, 90, 120))
    draw = ImageDraw.Draw(image)

    def ellipse(x, y, wide, high, colour):
        draw.ellipse([x - wide, y - high, x + wide, y + high], fill=colour)

    ellipse(150, 140, 95, 120, (60, 40, 30))
    ellipse(150, 155, 78, 102, skin)
    for x in (115, 185):
        draw.arc([x - 24, 105, x + 24, 140], 200, 340, fill=(60, 40, 30), width=7)
        ellipse(x, 137, 17, 9, (250, 250, 250))
        ellipse(x, 137, 8, 9, (40, 30, 30))
        draw.arc([x - 18, 126, x + 18, 150], 190, 350, fill=(50, 30, 25), width=4)
    draw.polygon([(150, 135), (137, 182), (163, 182)], fill=(205, 155, 125))
    ellipse(143, 183, 5, 3, (120, 70, 60))
    ellipse(157, 183, 5, 3, (120, 70, 60))
    ellipse(150, 215, 30, 9, (170, 70, 70))
    draw.line([(120, 215), (180, 215)], fill=(110, 40, 40), width=3)
    image = image.filter(ImageFilter.GaussianBlur(2))
    return np.asarray(image.resize((size, size), Image.Resampling.LANCZOS))
