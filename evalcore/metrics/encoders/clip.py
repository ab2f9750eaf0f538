"""CLIP by open_clip (pictures and texts), and CSD, its image tower trained on styles.

OpenAI's weights need the quick-GELU configurations; the plain ones would load too and
give other features. Source of CSD: Somepalli et al. (2024), Measuring style similarity
in diffusion models.
"""

import argparse
import logging
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import open_clip
import torch
from torch import nn

from evalcore.metrics.base import Text
from evalcore.metrics.encoders.preprocessing import (
    CLIP,
    Half,
    middle,
    normalised,
    resized_in_fractions,
)
from evalcore.metrics.encoders.published import CSD, LARGE, clip_weights
from evalcore.metrics.encoders.runtime import (
    Network,
    NetworkEncoder,
    in_fp32,
    load_weights,
)

Encode = Callable[[torch.Tensor], torch.Tensor]


def clip_image_encoder(
    name: str = LARGE, *, normalise: bool = True, half: Half = "floored"
) -> NetworkEncoder:
    """Return an encoder of pictures: short side resized (bicubic), middle square.

    `normalise`: whether features have length 1; unnormalised ones are for covariances
    and always fp32. `half`: rounding of the crop's position: `floored` as in
    ViStoryBench's program (transformers), `rounded` as by open_clip.
    """
    side = _side(name)

    def forward(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        encode: Encode = network.encode_image
        return _finished(encode(normalised(batch, CLIP)), normalise)

    return NetworkEncoder(
        f"CLIP {name} picture, crop{' rounded' * (half == 'rounded')}"
        f"{', unit' * normalise}",
        clip_weights(name),
        Network(partial(load_clip, name), forward=forward, exact=not normalise),
        partial(middle, side=side, half=half),
    )


def clip_text_encoder(name: str = LARGE) -> NetworkEncoder:
    """Return an encoder of `Text`s with length 1, cut after CLIP's 77 tokens."""
    tokenise = open_clip.get_tokenizer(name)

    def prepare(item: Text) -> Any:
        return tokenise([item.text])[0].numpy()

    def forward(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        encode: Encode = network.encode_text
        return _finished(encode(batch.long()), normalise=True)

    return NetworkEncoder(
        f"CLIP {name} text, unit",
        clip_weights(name),
        Network(partial(load_clip, name), forward=forward),
        prepare,
    )


def unloaded(name: str) -> Any:
    """Return open_clip's network before its weights are loaded."""
    root = logging.getLogger()
    root.addFilter(_is_of_others)
    try:
        return open_clip.create_model(name, pretrained=None)
    finally:
        root.removeFilter(_is_of_others)


def _is_of_others(record: logging.LogRecord) -> bool:
    return "open_clip" not in record.pathname


@cache
def load_clip(name: str) -> nn.Module:
    """Return the network, loaded once for pictures and texts."""
    network: nn.Module = unloaded(name)
    load_weights(network, clip_weights(name))
    return network


def _finished(features: torch.Tensor, normalise: bool) -> torch.Tensor:
    """Return the features in full precision, normalised if requested."""
    features = features.float()
    return nn.functional.normalize(features, dim=-1) if normalise else features


def _side(name: str) -> int:
    return int(open_clip.get_model_config(name)["vision_cfg"]["image_size"])


# Further content of the authors' file, all of it harmless: the training's command line,
# and optimizer numbers as numpy 1 or 2 writes them.
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
# part of the encoder's name
WAYS = {"squash": "squashed in fractions", "centercrop": "crop rounded"}


class StyleNetwork(nn.Module):
    """The image tower without its projection, with two separate projections."""

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

    `preprocess`: `squash` as in ViStoryBench's program (224 x 224, aspect ratio lost,
    fractions kept), or `centercrop` as by CSD's authors (short side 224, middle square
    by torchvision); both bicubic. `architecture`: name of an open_clip configuration.
    """
    return NetworkEncoder(
        f"CSD {architecture} tower, {WAYS[preprocess]}, style and unit in fp32",
        CSD,
        Network(
            partial(load_csd, architecture),
            forward=lambda network, batch: network(normalised(batch, CLIP)),
        ),
        partial(resized_in_fractions, size=(SIDE, SIDE))
        if preprocess == "squash"
        else partial(middle, side=SIDE),
    )


@cache
def load_csd(architecture: str) -> nn.Module:
    """Return the network with its weights, whatever the checkpoint's key names."""
    network = StyleNetwork(architecture)
    with torch.serialization.safe_globals(BESIDE):
        load_weights(network, CSD, plain_keys)
    return network


def plain_keys(checkpoint: object) -> dict[str, torch.Tensor]:
    """Return the weights of a checkpoint under the network's own key names."""
    if not isinstance(checkpoint, Mapping):
        return {}
    state = checkpoint.get("model_state_dict", checkpoint)
    if not isinstance(state, Mapping):
        return {}
    return {re.sub(r"^module\.", "", str(key)): value for key, value in state.items()}
