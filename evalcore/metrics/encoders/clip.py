"""CLIP by open_clip: pictures and texts in one space.

OpenAI's weights need the quick-GELU configurations; the plain ones would load and give
other features.
"""

import logging
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import open_clip
import torch
from torch import nn

from evalcore.metrics.base import Picture, Text
from evalcore.metrics.encoders.preprocessing import (
    CLIP,
    Half,
    centre_crop,
    normalised,
    short_side,
)
from evalcore.metrics.encoders.published import LARGE, clip_weights
from evalcore.metrics.encoders.runtime import Network, NetworkEncoder, load_weights

Encode = Callable[[torch.Tensor], torch.Tensor]


def clip_image_encoder(
    name: str = LARGE, *, normalise: bool = True, half: Half = "floored"
) -> NetworkEncoder:
    """Return an encoder of pictures: short side resized (bicubic), middle square.

    Features have 768 numbers for both ViT-L/14, 512 for ViT-B/32.

    `name`: name of an open_clip configuration. `normalise`: whether features have the
    length 1. Those that keep their lengths are for covariances, which rounding would
    change: they are always fp32. `half`: how the middle is found: `floored` by the
    processor of transformers, as ViStoryBench's program does, `rounded` by open_clip.
    """
    side = _side(name)

    def forward(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        encode: Encode = network.encode_image  # type: ignore[assignment]
        return _finished(encode(normalised(batch, CLIP)), normalise)

    return NetworkEncoder(
        f"CLIP {name} picture, crop{' rounded' * (half == 'rounded')}"
        f"{', unit' * normalise}",
        clip_weights(name),
        Network(partial(load_clip, name), forward=forward, exact=not normalise),
        partial(_prepared, side=side, half=half),
    )


def clip_text_encoder(name: str = LARGE) -> NetworkEncoder:
    """Return an encoder of `Text`s, of length 1, cut after CLIP's 77 tokens."""
    tokenise = open_clip.get_tokenizer(name)

    def prepare(item: Text) -> Any:
        return tokenise([item.text])[0].numpy()

    def forward(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        encode: Encode = network.encode_text  # type: ignore[assignment]
        return _finished(encode(batch.long()), normalise=True)

    return NetworkEncoder(
        f"CLIP {name} text, unit",
        clip_weights(name),
        Network(partial(load_clip, name), forward=forward),
        prepare,
    )


def unloaded(name: str) -> Any:
    """Return the network of open_clip, its weights still to be loaded.

    open_clip warns that they are random then, which would be the last word that the
    user reads of it.
    """
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
    """Return the features in full precision, of length 1 if wanted."""
    features = features.float()
    return nn.functional.normalize(features, dim=-1) if normalise else features


def _side(name: str) -> int:
    return int(open_clip.get_model_config(name)["vision_cfg"]["image_size"])


def _prepared(picture: Picture, side: int, half: Half) -> Picture:
    return centre_crop(short_side(picture, side), side, half)
