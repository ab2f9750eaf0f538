"""Aesthetic Predictor V2.5: SigLIP so400m, and a small head that rates its features.

Only the published numbers of the head are read; the program that goes with them is not
used. They are under the AGPL-3.0.
"""

from functools import cache, partial
from typing import Literal

import torch
from torch import nn
from transformers import SiglipVisionModel

from evalcore.metrics.base import Picture
from evalcore.metrics.encoders.preprocessing import (
    BICUBIC,
    BILINEAR,
    HALF,
    normalised,
    resized,
)
from evalcore.metrics.encoders.published import AESTHETIC_HEAD, SIGLIP
from evalcore.metrics.encoders.runtime import (
    Network,
    NetworkEncoder,
    in_fp32,
    load_pretrained,
    load_weights,
)

SiglipPreprocess = Literal["official", "vsb"]
# What the published folder holds besides the picture tower.
TEXT_TOWER = ("text_model.", "logit_scale", "logit_bias")
WIDTHS = (1152, 1024, 128, 64, 16, 1)


class Head(nn.Module):
    """Linear layers one after another, without activations between them."""

    def __init__(self, width: int = WIDTHS[0]) -> None:
        super().__init__()
        widths = (width, *WIDTHS[1:])
        layers: list[nn.Module] = []
        for i in range(len(widths) - 1):
            # Between them the published head has dropouts, which leave gaps in the
            # numbering of its keys.
            layers += [nn.Linear(widths[i], widths[i + 1]), nn.Identity()]
        self.scoring_head = nn.Sequential(*layers[:-1])

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        rated: torch.Tensor = self.scoring_head(features)
        return rated


class Predictor(nn.Module):
    """SigLIP's picture tower and the head."""

    def __init__(self, tower: nn.Module, head: Head) -> None:
        super().__init__()
        self.tower = tower
        self.head = head

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        features = self.tower(pictures).pooler_output
        # The head is affine and its ratings are near 5: bf16 would round them to 1/32.
        with in_fp32():
            unit = nn.functional.normalize(features.float(), dim=-1)
            rated: torch.Tensor = self.head(unit)
        return rated


def aesthetic_encoder(preprocess: SiglipPreprocess) -> NetworkEncoder:
    """Return an encoder that rates pictures: one number, about 1 to 10."""
    official = preprocess == "official"
    statistics = HALF if official else ((0, 0, 0), (1, 1, 1))

    def forward(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        rated: torch.Tensor = network(normalised(batch, statistics))
        return rated

    return NetworkEncoder(
        f"Aesthetic Predictor V2.5, {preprocess}, rated in fp32",
        AESTHETIC_HEAD,
        Network(load_predictor, forward=forward),
        partial(_squashed, official=official),
        also=(SIGLIP,),
    )


@cache
def load_predictor() -> nn.Module:
    """Return tower and head with their weights."""
    tower = load_pretrained(SiglipVisionModel, SIGLIP.need(), beside=TEXT_TOWER)
    head = Head(int(tower.config.hidden_size))  # type: ignore[union-attr, arg-type]
    load_weights(head, AESTHETIC_HEAD)
    return Predictor(tower, head)


def _squashed(picture: Picture, official: bool) -> Picture:
    if official:
        return resized(picture, (384, 384), BICUBIC)
    return resized(picture, (378, 378), BILINEAR)
