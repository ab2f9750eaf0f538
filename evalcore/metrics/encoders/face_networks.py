"""AdaFace and FaceNet: networks for face recognition.

Kim et al. (2022), AdaFace (an improved residual network, IR 101; names of weights as in
the authors' checkpoints). Schroff et al. (2015), FaceNet (Inception-ResNet v1, trained
on VGGFace2; weights and names of the package facenet-pytorch).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from evalcore.metrics.encoders.preprocessing import HALF, normalised
from evalcore.metrics.encoders.runtime import (
    Network,
    NetworkEncoder,
    load_strictly,
    load_weights,
    read_checkpoint,
)
from evalcore.metrics.weights import Weights, WeightsError

SIDE, LENGTH = 112, 512
UNITS_101 = (3, 13, 30, 3)
WIDTHS = (64, 128, 256, 512)
BACKBONE, HEAD = "model.", "head."


class ResidualUnit(nn.Module):
    """A residual unit: its output is added to the input or a projection of it."""

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
    """The improved residual network."""

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
        """Return features of length 1, and their former length: the picture's quality.

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
    """Return an encoder of aligned faces, 112 x 112 RGB, into 512 numbers."""

    def load() -> nn.Module:
        path = weights.need()
        network = AdaFaceNetwork(units, widths)
        load_strictly(network, backbone(read_checkpoint(path), path), path)
        return network

    def forward(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = network(normalised(batch.flip(-1), HALF))[0]
        return features

    return NetworkEncoder(
        f"AdaFace IR {'-'.join(map(str, units))}",
        weights,
        Network(load, forward=forward, exact=True),
    )


def backbone(checkpoint: Any, file: object) -> dict[str, torch.Tensor]:
    """Return the network's weights from a checkpoint written by Lightning.

    Its `state_dict` holds them under `model.`, and under `head.` the training's
    classifier, which is left out. Other keys keep their names, so that strict loading
    reports them.
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


# FaceNet ------------------------------------------------------------------------------


CLASSIFIER = "logits."

Kernel = int | tuple[int, int]
Layer = tuple[int, Kernel] | tuple[int, Kernel, int]  # channels, kernel, stride
Branches = Sequence[Sequence[Layer]]

BLOCK35: Branches = (
    [(32, 1)],
    [(32, 1), (32, 3)],
    [(32, 1), (32, 3), (32, 3)],
)
BLOCK17: Branches = (
    [(128, 1)],
    [(128, 1), (128, (1, 7)), (128, (7, 1))],
)
BLOCK8: Branches = (
    [(192, 1)],
    [(192, 1), (192, (1, 3)), (192, (3, 1))],
)
MIXED_6A: Branches = (
    [(384, 3, 2)],
    [(192, 1), (192, 3), (256, 3, 2)],
)
MIXED_7A: Branches = (
    [(256, 1), (384, 3, 2)],
    [(256, 1), (256, 3, 2)],
    [(256, 1), (256, 3), (256, 3, 2)],
)


class Convolution(nn.Module):
    """A convolution with normalisation and ReLU."""

    def __init__(
        self,
        width: int,
        wider: int,
        kernel: Kernel,
        stride: int = 1,
        *,
        padded: bool = True,
    ) -> None:
        super().__init__()
        high, wide = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (high // 2, wide // 2) if padded else (0, 0)
        self.conv = nn.Conv2d(width, wider, (high, wide), stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(wider, eps=0.001)

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        return nn.functional.relu(self.bn(self.conv(maps)))


class Parallel(nn.Module):
    """Parallel branches whose channels are concatenated."""

    def __init__(self, width: int, branches: Branches) -> None:
        super().__init__()
        for index, layers in enumerate(branches):
            self.add_module(f"branch{index}", _chain(width, layers))

    def joined(self, maps: torch.Tensor) -> torch.Tensor:
        """Return the concatenated outputs of all branches."""
        branches = [
            branch
            for name, branch in self.named_children()
            if name.startswith("branch")
        ]
        return torch.cat([branch(maps) for branch in branches], dim=1)


class Reduction(Parallel):
    """A reduction of width and height by half: branches, and a 3 x 3 maximum."""

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Return the branches' channels, followed by the input's."""
        pooled = nn.functional.max_pool2d(maps, 3, 2)
        return torch.cat([self.joined(maps), pooled], dim=1)


class Residual(Parallel):
    """A residual block: the branches' output, weighted by `scale`, plus the input."""

    def __init__(
        self, width: int, branches: Branches, scale: float, *, cut: bool = True
    ) -> None:
        super().__init__(width, branches)
        seen = sum(layers[-1][0] for layers in branches)
        self.conv2d = nn.Conv2d(seen, width, 1)
        self.scale = scale
        self.cut = cut

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Return maps of the input's shape, with ReLU if `cut`."""
        result = self.conv2d(self.joined(maps)) * self.scale + maps
        return nn.functional.relu(result) if self.cut else result


class FaceNetNetwork(nn.Module):
    """Inception-ResNet v1 without its classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv2d_1a = Convolution(3, 32, 3, 2, padded=False)
        self.conv2d_2a = Convolution(32, 32, 3, padded=False)
        self.conv2d_2b = Convolution(32, 64, 3)
        self.maxpool_3a = nn.MaxPool2d(3, 2)
        self.conv2d_3b = Convolution(64, 80, 1)
        self.conv2d_4a = Convolution(80, 192, 3, padded=False)
        self.conv2d_4b = Convolution(192, 256, 3, 2, padded=False)
        self.repeat_1 = _repeated(5, partial(Residual, 256, BLOCK35, 0.17))
        self.mixed_6a = Reduction(256, MIXED_6A)
        self.repeat_2 = _repeated(10, partial(Residual, 896, BLOCK17, 0.10))
        self.mixed_7a = Reduction(896, MIXED_7A)
        self.repeat_3 = _repeated(5, partial(Residual, 1792, BLOCK8, 0.20))
        self.block8 = Residual(1792, BLOCK8, 1.0, cut=False)
        self.avgpool_1a = nn.AdaptiveAvgPool2d(1)
        self.last_linear = nn.Linear(1792, LENGTH, bias=False)
        self.last_bn = nn.BatchNorm1d(LENGTH, eps=0.001)

    def forward(self, faces: torch.Tensor) -> torch.Tensor:
        """Return features of length 1."""
        maps = self.conv2d_2b(self.conv2d_2a(self.conv2d_1a(faces)))
        maps = self.conv2d_3b(self.maxpool_3a(maps))
        maps = self.repeat_1(self.conv2d_4b(self.conv2d_4a(maps)))
        maps = self.repeat_2(self.mixed_6a(maps))
        maps = self.block8(self.repeat_3(self.mixed_7a(maps)))
        pooled = self.avgpool_1a(maps).flatten(1)
        features = self.last_bn(self.last_linear(pooled))
        return nn.functional.normalize(features, dim=1)


def facenet(weights: Weights, *, as_trained: bool) -> NetworkEncoder:
    """Return an encoder of aligned faces, RGB, into 512 numbers.

    `weights`: the file of VGGFace2's weights. `as_trained`: whether the input is as in
    training, RGB (x - 127.5) / 128, or as in ViStoryBench's program, BGR from 0 to 1.
    """

    def load() -> nn.Module:
        network = FaceNetNetwork()
        load_weights(network, weights, lambda state: _without(state, CLASSIFIER))
        return network

    def forward(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        inputs = batch if as_trained else batch.flip(-1)
        inputs = inputs.permute(0, 3, 1, 2)
        features: torch.Tensor = network(
            (inputs - 127.5) / 128 if as_trained else inputs / 255
        )
        return features

    return NetworkEncoder(
        f"FaceNet, {'RGB from -1 to 1' if as_trained else 'BGR from 0 to 1'}",
        weights,
        Network(load, forward=forward, exact=True),
    )


def _without(state: Any, beginning: str) -> Any:
    if not isinstance(state, dict):
        return state
    return {k: v for k, v in state.items() if not k.startswith(beginning)}


def _chain(width: int, layers: Sequence[Layer]) -> nn.Module:
    """Return a chain of convolutions, or the single one."""
    chain: list[nn.Module] = []
    for layer in layers:
        wider, kernel = layer[:2]
        stride = layer[2] if len(layer) == 3 else 1
        chain.append(Convolution(width, wider, kernel, stride, padded=stride == 1))
        width = wider
    return chain[0] if len(chain) == 1 else nn.Sequential(*chain)


def _repeated(times: int, make: partial[Residual]) -> nn.Sequential:
    return nn.Sequential(*(make() for _ in range(times)))
