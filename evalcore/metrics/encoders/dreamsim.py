"""DreamSim, an ensemble whose distance between pictures follows people's judgement.

The network is that of the package `dreamsim`, version 0.2.1, with its files in the
folder of weights, so that it fetches nothing. Source: Fu et al. (2023), DreamSim:
learning new dimensions of human visual similarity using synthetic data.
"""

from functools import cache, partial
from importlib import import_module
from typing import Any

import torch
from torch import nn

from evalcore.metrics.encoders.preprocessing import resized
from evalcore.metrics.encoders.published import DREAMSIM
from evalcore.metrics.encoders.runtime import Network, NetworkEncoder, device

SIDE = 224


def load_dreamsim() -> nn.Module:
    """Return the ensemble with its weights."""
    folder = DREAMSIM.need()
    package: Any = import_module("dreamsim")
    network: nn.Module
    network, _preprocess = package.dreamsim(
        pretrained=True, device=str(device()), cache_dir=str(folder)
    )
    return network


def _embedded(network: Any, batch: torch.Tensor) -> torch.Tensor:
    features: torch.Tensor = network.embed(batch.permute(0, 3, 1, 2) / 255)
    return features


@cache
def dreamsim_encoder() -> NetworkEncoder:
    """Return an encoder of pictures, squashed to 224 x 224 (bicubic): 1,792 numbers."""
    return NetworkEncoder(
        "DreamSim ensemble, squashed",
        DREAMSIM,
        Network(load_dreamsim, forward=_embedded, exact=True),
        partial(resized, size=(SIDE, SIDE)),
    )
