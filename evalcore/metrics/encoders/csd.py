"""CSD, a network that sees style: a CLIP ViT-L/14 tower trained on styles.

Somepalli et al. (2024), Measuring style similarity in diffusion models. ViStoryBench
measures with it whether the shots of a story keep one style (appendix C).
"""

import argparse
import re
from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from evalcore.metrics.base import Picture
from evalcore.metrics.encoders.clip import unloaded
from evalcore.metrics.encoders.preprocessing import (
    CLIP,
    centre_crop,
    normalised,
    resized,
    short_side,
)
from evalcore.metrics.encoders.published import CSD, LARGE
from evalcore.metrics.encoders.runtime import (
    Network,
    NetworkEncoder,
    in_fp32,
    load_weights,
)

# What its authors' file holds beside the weights, none of which can do anything: the
# training's command line, and numbers of its optimizer as numpy 1 or 2 writes them.
_scalar = np.float64(0).__reduce__()[0]
BESIDE: list[Any] = [
    argparse.Namespace,
    (_scalar, "numpy.core.multiarray.scalar"),
    (_scalar, "numpy._core.multiarray.scalar"),
    np.dtype,
    np.dtypes.Float64DType,
    np.dtypes.Int64DType,
]

CsdPreprocess = Literal["squash", "centercrop"]
SIDE = 224
WAYS = {"squash": "squashed", "centercrop": "crop rounded"}  # as the encoder is named


class StyleNetwork(nn.Module):
    """The image tower without its projection, and two projections of its own.

    `architecture`: name of an open_clip configuration.
    """

    last_layer_style: nn.Parameter

    def __init__(self, architecture: str = LARGE) -> None:
        super().__init__()
        tower = unloaded(architecture).visual
        shape = tower.proj.shape
        tower.proj = None
        self.backbone = tower
        self.last_layer_style = nn.Parameter(torch.zeros(shape))
        self.last_layer_content = nn.Parameter(torch.zeros(shape))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return the styles, of length 1; only the tower may be rounded to bf16."""
        features = self.backbone(pictures)
        with in_fp32():
            style = features.float() @ self.last_layer_style
            return nn.functional.normalize(style, dim=-1)


def csd_encoder(preprocess: CsdPreprocess, architecture: str = LARGE) -> NetworkEncoder:
    """Return an encoder of styles: 768 numbers of length 1.

    `preprocess`: `squash` as ViStoryBench's program does (224 x 224, aspect lost), or
    `centercrop` as CSD's authors do (short side 224, middle square by torchvision);
    both bicubic. `architecture`: name of an open_clip configuration.
    """
    return NetworkEncoder(
        f"CSD {architecture} tower, {WAYS[preprocess]}, style and unit in fp32",
        CSD,
        Network(
            partial(load_csd, architecture),
            forward=lambda network, batch: network(normalised(batch, CLIP)),
        ),
        _squashed if preprocess == "squash" else _cropped,
    )


@cache
def load_csd(architecture: str) -> nn.Module:
    """Return the network with its weights, however the checkpoint names them."""
    network = StyleNetwork(architecture)
    with torch.serialization.safe_globals(BESIDE):
        load_weights(network, CSD, plain_keys)
    return network


def plain_keys(checkpoint: object) -> dict[str, torch.Tensor]:
    """Return the weights of a checkpoint by the network's own names.

    The authors' file holds them under `model_state_dict`, each name preceded by
    `module.`. Of what is no such file there are none.
    """
    if not isinstance(checkpoint, Mapping):
        return {}
    state = checkpoint.get("model_state_dict", checkpoint)
    if not isinstance(state, Mapping):
        return {}
    return {re.sub(r"^module\.", "", str(key)): value for key, value in state.items()}


def _squashed(picture: Picture) -> Picture:
    return resized(picture, (SIDE, SIDE))


def _cropped(picture: Picture) -> Picture:
    return centre_crop(short_side(picture, SIDE), SIDE)
