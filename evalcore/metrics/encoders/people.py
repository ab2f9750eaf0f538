"""People: where their joints are (ViTPose), and what their faces express (a ViT).

VISTAR takes postures from MediaPipe Pose, whose newest release has no network in it,
and expressions from DeepFace and "a dedicated ViT classifier" that it does not name.
"""

from functools import cache, partial

import numpy as np
import torch
from torch import nn
from transformers import ViTForImageClassification, VitPoseForPoseEstimation

from evalcore.metrics.base import Picture
from evalcore.metrics.encoders.preprocessing import (
    BILINEAR,
    HALF,
    IMAGENET,
    normalised,
    resized,
)
from evalcore.metrics.encoders.published import EXPRESSION, POSE
from evalcore.metrics.encoders.runtime import Network, NetworkEncoder, load_pretrained
from evalcore.metrics.encoders.scene_features import EXPRESSIONS, HEIGHT, WIDTH, place
from evalcore.metrics.weights import WeightsError

FACE_SIDE = 224


def framed(picture: Picture) -> Picture:
    """Return a person's picture in the pose network's frame, black around it."""
    left, top, width, height = place(picture.shape[1], picture.shape[0])
    frame = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    small = resized(picture, (width, height), BILINEAR)
    frame[top : top + height, left : left + width] = small
    return frame


@cache
def pose() -> NetworkEncoder:
    """Return an encoder of cut-out people into joints.

    A feature is 17 x 3: x and y as shares of the frame, and a score of about 0 to 1,
    for COCO's keypoints in their order.
    `evalcore.metrics.encoders.scene_features.unframed` finds the way back to pixels. A
    joint is the middle of the cell in which its heat map is highest, of 48 x 64: finer
    than the postures need.
    """
    return NetworkEncoder(
        "ViTPose joints, framed, maximum",
        POSE,
        Network(
            lambda: load_pretrained(VitPoseForPoseEstimation, POSE.need()),
            forward=_joints,
        ),
        framed,
    )


def _joints(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    maps = network(normalised(batch, IMAGENET)).heatmaps.float()
    height, width = maps.shape[-2:]
    scores, places = maps.flatten(2).max(dim=-1)
    x, y = places % width, places // width
    return torch.stack([(x + 0.5) / width, (y + 0.5) / height, scores], dim=-1)


@cache
def expression() -> NetworkEncoder:
    """Return an encoder of cut-out faces into probabilities of `EXPRESSIONS`."""
    return NetworkEncoder(
        "ViT expression, squashed, softmax",
        EXPRESSION,
        Network(_load_expression, forward=_probabilities),
        partial(resized, size=(FACE_SIDE, FACE_SIDE), how=BILINEAR),
    )


def _load_expression() -> nn.Module:
    folder = EXPRESSION.need()
    network = load_pretrained(ViTForImageClassification, folder)
    names = getattr(network, "config").id2label  # noqa: B009 - a Module has no config
    found = tuple(str(names[index]).lower() for index in sorted(names))
    if found != EXPRESSIONS:
        raise WeightsError(
            f"{folder} tells {', '.join(found)} apart, not {', '.join(EXPRESSIONS)}"
        )
    return network


def _probabilities(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    logits: torch.Tensor = network(normalised(batch, HALF)).logits
    return logits.float().softmax(dim=-1)
