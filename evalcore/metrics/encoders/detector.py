"""Grounding DINO: where in a picture something is that words describe.

ViStoryBench looks for characters with it (its program: `groundingdino_swint_ogc.pth`,
the prompt "character.", box threshold 0.25, no suppression of overlaps). Here it is the
port in transformers, whose scores differ slightly near the threshold.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import AutoTokenizer, GroundingDinoForObjectDetection

from evalcore.metrics.base import Feature, Picture
from evalcore.metrics.encoders.preprocessing import (
    BILINEAR,
    IMAGENET,
    normalised,
    short_side,
)
from evalcore.metrics.encoders.published import DETECTOR
from evalcore.metrics.encoders.runtime import Network, load_pretrained
from evalcore.metrics.errors import FeatureError
from evalcore.metrics.weights import WeightsError, fingerprint

SHORT, LONG = 800, 1333
THRESHOLD = 0.25
BATCH = 8


class Detector:
    """An encoder of pictures into boxes.

    A feature is boxes x 5: centre x, centre y, width, height (all as shares of the
    picture) and score, the best box first; no box gives 0 x 5. All boxes above the
    threshold are kept, overlapping ones too. It calculates in fp32: rounded scores
    would pass the threshold or fail it by chance.

    `prompt`: what to look for; lower case, one phrase, ended by a full stop.
    """

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt.lower().strip().rstrip(".") + "."
        self.network = Network(
            load_detector, batch=BATCH, forward=self._forward, exact=True
        )

    @cached_property
    def id(self) -> str:
        return (
            f"Grounding DINO {self.prompt!r} above {THRESHOLD}; "
            f"{fingerprint(DETECTOR)}; {self.network.precision}"
        )

    @property
    def batch(self) -> int:
        return self.network.batch

    def prepare(self, item: Picture) -> Picture:
        """Bring the shorter side to 800, the longer one to at most 1333."""
        return short_side(item, SHORT, BILINEAR, LONG)

    def encode(self, prepared: Sequence[Picture]) -> list[Feature | FeatureError]:
        """Return the boxes; pictures of one shape go together."""
        by_shape: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for index, picture in enumerate(prepared):
            by_shape[picture.shape].append(index)
        found: dict[int, Feature | FeatureError] = {}
        for indices in by_shape.values():
            outputs = self.network([prepared[i] for i in indices])
            found.update(zip(indices, map(_kept, outputs), strict=True))
        return [found[index] for index in range(len(prepared))]

    @cached_property
    def _tokens(self) -> dict[str, torch.Tensor]:
        return dict(load_tokeniser()([self.prompt], return_tensors="pt"))

    def _forward(self, network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        tokens = {
            name: values.expand(len(batch), -1).to(batch.device)
            for name, values in self._tokens.items()
        }
        outputs = network(pixel_values=normalised(batch, IMAGENET), **tokens)
        scores = outputs.logits.float().sigmoid().amax(dim=-1, keepdim=True)
        return torch.cat([outputs.pred_boxes.float(), scores], dim=-1)


def _kept(boxes: Feature | FeatureError) -> Feature | FeatureError:
    """Return the boxes above the threshold, the best first."""
    if isinstance(boxes, FeatureError):
        return boxes
    kept = boxes[boxes[:, 4] > THRESHOLD]
    return kept[np.argsort(-kept[:, 4], kind="stable")]


@cache
def detector(prompt: str) -> Detector:
    """Return the detector of what the prompt describes."""
    return Detector(prompt)


@cache
def load_detector() -> nn.Module:
    """Return the network with its weights."""
    return load_pretrained(GroundingDinoForObjectDetection, DETECTOR.need())


@cache
def load_tokeniser() -> Any:
    """Return what cuts the prompt into the words of the network."""
    folder = DETECTOR.need()
    try:
        tokeniser = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise WeightsError(f"{folder} has no tokeniser ({error})") from error
    network: Any = load_detector()
    known, wanted = len(tokeniser), network.config.text_config.vocab_size
    if known != wanted:
        raise WeightsError(
            f"{folder}: its tokeniser knows {known} words, its network {wanted}; it "
            f"needs tokenizer.json or vocab.txt as published: {DETECTOR.lack}"
        )
    return tokeniser
