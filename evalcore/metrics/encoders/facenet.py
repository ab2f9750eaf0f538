"""FaceNet: who a face is, by an Inception network with residual connections.

Schroff et al. (2015), FaceNet: a unified embedding for face recognition and clustering.
The network (Inception-ResNet v1) was trained on VGGFace2 by David Sandberg; the weights
and their names are those of the package facenet-pytorch.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from evalcore.metrics.base import Picture
from evalcore.metrics.encoders.runtime import Network, NetworkEncoder, load_weights
from evalcore.metrics.weights import Weights

LENGTH = 512
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
    """A convolution, normalised and cut off below 0.

    `width`, `wider`: channels before and after. `kernel`: height and width of what it
    looks at. `stride`: how many pixels become one in each direction. `padded`: whether
    zeros around the picture keep its size.
    """

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
    """Branches side by side, their channels put one behind the other.

    Those that halve width and height are not padded.
    """

    def __init__(self, width: int, branches: Branches) -> None:
        super().__init__()
        for index, layers in enumerate(branches):
            self.add_module(f"branch{index}", _chain(width, layers))

    def joined(self, maps: torch.Tensor) -> torch.Tensor:
        """Return what all branches see."""
        branches = [
            branch
            for name, branch in self.named_children()
            if name.startswith("branch")
        ]
        return torch.cat([branch(maps) for branch in branches], dim=1)


class Reduction(Parallel):
    """Halves width and height: in branches, and by the largest of each 3 x 3."""

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Return the branches' channels, and then the input's."""
        pooled = nn.functional.max_pool2d(maps, 3, 2)
        return torch.cat([self.joined(maps), pooled], dim=1)


class Residual(Parallel):
    """Adds what the branches see, weighted by `scale`, to the input."""

    def __init__(
        self, width: int, branches: Branches, scale: float, *, cut: bool = True
    ) -> None:
        super().__init__(width, branches)
        seen = sum(layers[-1][0] for layers in branches)
        self.conv2d = nn.Conv2d(seen, width, 1)
        self.scale = scale
        self.cut = cut

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Return maps of the input's shape, cut off below 0 if `cut`."""
        result = self.conv2d(self.joined(maps)) * self.scale + maps
        return nn.functional.relu(result) if self.cut else result


class FaceNetNetwork(nn.Module):
    """Inception-ResNet v1, without the classifier that it was trained with."""

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
        """Return features of length 1.

        `faces`: batch x 3 x height x width, at least 75 pixels each way.
        """
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

    `weights`: the file of VGGFace2's weights. `as_trained`: whether the network is
    given what it was trained with, RGB (x - 127.5) / 128; or else, as by ViStoryBench's
    program, BGR from 0 to 1.
    """
    return NetworkEncoder(
        f"FaceNet, {'RGB from -1 to 1' if as_trained else 'BGR from 0 to 1'}",
        weights,
        Network(
            partial(load_facenet, weights),
            forward=_forward_as_trained if as_trained else _forward_as_used,
            exact=True,
        ),
        _as_it_is,
    )


def load_facenet(weights: Weights) -> FaceNetNetwork:
    """Return the network with its weights; those of the classifier are left out."""
    network = FaceNetNetwork()
    load_weights(network, weights, _without_classifier)
    return network


def _without_classifier(state: Any) -> Any:
    if not isinstance(state, dict):
        return state
    return {k: v for k, v in state.items() if not k.startswith(CLASSIFIER)}


def _chain(width: int, layers: Sequence[Layer]) -> nn.Module:
    """Return convolutions one after the other; a single one stands by itself."""
    chain: list[nn.Module] = []
    for layer in layers:
        wider, kernel = layer[:2]
        stride = layer[2] if len(layer) == 3 else 1
        chain.append(Convolution(width, wider, kernel, stride, padded=stride == 1))
        width = wider
    return chain[0] if len(chain) == 1 else nn.Sequential(*chain)


def _repeated(times: int, make: partial[Residual]) -> nn.Sequential:
    return nn.Sequential(*(make() for _ in range(times)))


def _as_it_is(face: Picture) -> Picture:
    return face


def _forward_as_trained(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    features: torch.Tensor = network((batch.permute(0, 3, 1, 2) - 127.5) / 128)
    return features


def _forward_as_used(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    features: torch.Tensor = network(batch.flip(-1).permute(0, 3, 1, 2) / 255)
    return features
