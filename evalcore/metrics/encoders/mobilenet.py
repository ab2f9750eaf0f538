"""MobileNetV2 of torchvision, trained on ImageNet: a stand-in that runs everywhere.

Its weights come inside a package, so features are real where those of the papers'
networks are absent. No paper uses it; every metric built on it says so.
"""

from functools import cache
from typing import Literal

import torch
from torch import nn
from torchvision.models import mobilenet_v2

from evalcore.metrics.base import Picture
from evalcore.metrics.encoders.preprocessing import (
    BILINEAR,
    IMAGENET,
    centre_crop,
    normalised,
    short_side,
)
from evalcore.metrics.encoders.published import MOBILENET
from evalcore.metrics.encoders.runtime import Network, NetworkEncoder, load_weights

RESIZED, SIDE = 256, 224


def mobilenet_encoder(what: Literal["features", "probabilities"]) -> NetworkEncoder:
    """Return an encoder of pictures: 1,280 features of length 1, or 1,000 shares.

    Short side 256 (bilinear), middle 224 x 224, as the network was trained.
    """
    return NetworkEncoder(
        f"MobileNetV2 {what}",
        MOBILENET,
        Network(load_mobilenet, forward=_unit if what == "features" else _shares),
        _prepared,
    )


@cache
def load_mobilenet() -> nn.Module:
    """Return the network with its weights."""
    network: nn.Module = mobilenet_v2(weights=None)
    load_weights(network, MOBILENET)
    return network


def _unit(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    maps = network.features(normalised(batch, IMAGENET))  # type: ignore[operator]
    return nn.functional.normalize(maps.float().mean(dim=(2, 3)), dim=-1)


def _shares(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    logits: torch.Tensor = network(normalised(batch, IMAGENET))
    return logits.float().softmax(dim=-1)


def _prepared(picture: Picture) -> Picture:
    return centre_crop(short_side(picture, RESIZED, BILINEAR), SIDE, "floored")
