"""AdaFace: who a face is, by a network that minds how good the picture is.

Kim et al. (2022), AdaFace: quality adaptive margin for face recognition. The network is
an improved residual network (IR) of 101 layers; the names of its weights are those of
the authors' checkpoints.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from evalcore.metrics.base import Picture
from evalcore.metrics.encoders.preprocessing import HALF, normalised
from evalcore.metrics.encoders.runtime import (
    Network,
    NetworkEncoder,
    load_strictly,
    read_checkpoint,
)
from evalcore.metrics.weights import Weights, WeightsError

SIDE, LENGTH = 112, 512
UNITS_101 = (3, 13, 30, 3)
WIDTHS = (64, 128, 256, 512)
BACKBONE, HEAD = "model.", "head."


class ResidualUnit(nn.Module):
    """A residual unit: what is learned, added to the input or a projection of it.

    `width`, `wider`: channels before and after. `stride`: how many pixels become one in
    each direction.
    """

    def __init__(self, width: int, wider: int, stride: int) -> None:
        super().__init__()
        self.shortcut_layer: nn.Module = nn.MaxPool2d(1, stride)
        if width != wider:
            self.shortcut_layer = nn.Sequential(
                nn.Conv2d(width, wider, 1, stride, bias=False), nn.BatchNorm2d(wider)
            )
        self.res_layer = nn.Sequential(
            nn.BatchNorm2d(width),
            nn.Conv2d(width, wider, 3, 1, 1, bias=False),
            nn.BatchNorm2d(wider),
            nn.PReLU(wider),
            nn.Conv2d(wider, wider, 3, stride, 1, bias=False),
            nn.BatchNorm2d(wider),
        )

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Return batch x wider x height / stride x width / stride."""
        result: torch.Tensor = self.res_layer(maps) + self.shortcut_layer(maps)
        return result


class AdaFaceNetwork(nn.Module):
    """The improved residual network.

    `units`: residual units in each of the four stages; each stage begins by halving
    width and height. `widths`: channels in each stage.
    """

    def __init__(
        self, units: Sequence[int] = UNITS_101, widths: Sequence[int] = WIDTHS
    ) -> None:
        super().__init__()
        width = widths[0]
        self.input_layer = nn.Sequential(
            nn.Conv2d(3, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.PReLU(width),
        )
        stages = []
        for count, wider in zip(units, widths, strict=True):
            stages.append(ResidualUnit(width, wider, 2))
            stages += [ResidualUnit(wider, wider, 1) for _ in range(count - 1)]
            width = wider
        self.body = nn.Sequential(*stages)
        side = SIDE // 2 ** len(widths)
        self.output_layer = nn.Sequential(
            nn.BatchNorm2d(width),
            nn.Dropout(0.4),
            nn.Flatten(),
            nn.Linear(width * side * side, LENGTH),
            nn.BatchNorm1d(LENGTH, affine=False),
        )

    def forward(self, faces: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return features of length 1, and how long they were: the picture's quality.

        `faces`: batch x 3 x 112 x 112, BGR, from -1 to 1.
        """
        features = self.output_layer(self.body(self.input_layer(faces)))
        norms = torch.linalg.vector_norm(features, dim=1, keepdim=True)
        return features / norms, norms


def adaface(
    weights: Weights,
    units: Sequence[int] = UNITS_101,
    widths: Sequence[int] = WIDTHS,
) -> NetworkEncoder:
    """Return an encoder of aligned faces, 112 x 112 RGB, into 512 numbers.

    The network is given BGR, (x / 255 - 0.5) / 0.5.
    """
    return NetworkEncoder(
        f"AdaFace IR {'-'.join(map(str, units))}",
        weights,
        Network(
            partial(load_adaface, weights, units, widths), forward=_forward, exact=True
        ),
        _as_it_is,
    )


def load_adaface(
    weights: Weights,
    units: Sequence[int] = UNITS_101,
    widths: Sequence[int] = WIDTHS,
) -> AdaFaceNetwork:
    """Return the network with its weights."""
    path = weights.need()
    network = AdaFaceNetwork(units, widths)
    load_strictly(network, backbone(read_checkpoint(path), path), path)
    return network


def backbone(checkpoint: Any, file: object) -> dict[str, torch.Tensor]:
    """Return the network's weights of a checkpoint that Lightning wrote.

    Its `state_dict` holds them under `model.`, and under `head.` what tells the
    training's people apart, which is left out. Anything else keeps its name, for strict
    loading to complain of.
    """
    state = checkpoint.get("state_dict") if isinstance(checkpoint, Mapping) else None
    if not isinstance(state, Mapping):
        raise WeightsError(
            f"{file} is no checkpoint of AdaFace: it has no 'state_dict' whose keys "
            f"begin with {BACKBONE!r}"
        )
    return {
        key.removeprefix(BACKBONE): value
        for key, value in state.items()
        if not key.startswith(HEAD)
    }


def _as_it_is(face: Picture) -> Picture:
    return face


def _forward(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    features: torch.Tensor = network(normalised(batch.flip(-1), HALF))[0]
    return features
