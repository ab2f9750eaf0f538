"""Detection of objects by words (Grounding DINO), and their appearance (SAM, DINOv2).

ViStoryBench finds characters this way (prompt "character.", threshold 0.25, no
suppression of overlaps). The port in transformers gives slightly different scores near
the threshold.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers import (
    AutoTokenizer,
    Dinov2Model,
    GroundingDinoForObjectDetection,
    SamModel,
)

from evalcore.metrics.base import Feature, FeatureError, Picture
from evalcore.metrics.encoders.preprocessing import (
    BILINEAR,
    IMAGENET,
    normalised,
    resized,
    short_side,
)
from evalcore.metrics.encoders.published import APPEARANCE, CUT_OUT, DETECTOR
from evalcore.metrics.encoders.runtime import (
    Network,
    NetworkEncoder,
    device,
    load_pretrained,
)
from evalcore.metrics.encoders.scene_features import ShareOfBox
from evalcore.metrics.weights import WeightsError, fingerprint

SHORT, LONG = 800, 1333
THRESHOLD = 0.25
DETECTOR_BATCH = 8


class Detector(NetworkEncoder):
    """Encoder of pictures into boxes x 5, the best first, overlapping ones too.

    Centre x and y, width, height (shares of the picture) and score, in fp32. `prompt`:
    one phrase for the object, lower case, ended by a full stop.
    """

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt.lower().strip().rstrip(".") + "."
        super().__init__(
            f"Grounding DINO {self.prompt!r} above {THRESHOLD}",
            DETECTOR,
            Network(
                load_detector, batch=DETECTOR_BATCH, forward=self._forward, exact=True
            ),
            partial(short_side, side=SHORT, how=BILINEAR, longest=LONG),
        )

    def encode(self, prepared: Sequence[Picture]) -> list[Feature | FeatureError]:
        """Return the boxes; pictures of one shape form a batch."""
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


detector = cache(Detector)


@cache
def load_detector() -> nn.Module:
    """Return the network with its weights."""
    return load_pretrained(GroundingDinoForObjectDetection, DETECTOR.need())


@cache
def load_tokeniser() -> Any:
    """Return the network's tokeniser."""
    folder = DETECTOR.need()
    try:
        tokeniser = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise WeightsError(f"{folder} has no usable tokeniser ({error})") from error
    network: Any = load_detector()
    known, wanted = len(tokeniser), network.config.text_config.vocab_size
    if known != wanted:
        raise WeightsError(
            f"{folder}: its tokeniser knows {known} words, its network {wanted}; it "
            f"needs tokenizer.json or vocab.txt as published: {DETECTOR.lack}"
        )
    return tokeniser


SIDE = 1024  # side of SAM's input; the picture lies in its upper left corner
VIEW = 224  # side of DINOv2's input
GREY = np.array([round(255 * mean) for mean in IMAGENET[0]], np.uint8)
BATCH = 16


class SubjectEncoder:
    """Encoder of `Boxed` pictures into 768 numbers of DINOv2, of length 1.

    SAM makes one mask from the box. Pixels outside it get the mean colour of ImageNet;
    the rest is cropped to the mask and centred in a square. Unlike DINOv2's own centre
    crop, this loses no head or feet.
    """

    batch = BATCH

    def __init__(self) -> None:
        self.cut_out = Network(lambda: load_pretrained(SamModel, CUT_OUT.need()))
        self.appearance = Network(
            lambda: load_pretrained(Dinov2Model, APPEARANCE.need()), forward=_described
        )

    @cached_property
    def id(self) -> str:
        files = fingerprint(CUT_OUT, APPEARANCE)
        return f"subject cut out, squared, unit; {files}; {self.cut_out.precision}"

    def prepare(self, item: tuple[Picture, ShareOfBox]) -> tuple[Picture, ShareOfBox]:
        """Resize the longer side to 1024."""
        picture, box = item
        height, width = picture.shape[:2]
        scale = SIDE / max(width, height)
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        return resized(picture, size, BILINEAR), box

    def encode(
        self, prepared: Sequence[tuple[Picture, ShareOfBox]]
    ) -> list[Feature | FeatureError]:
        views: dict[int, Picture] = {}
        for index, (picture, box) in enumerate(prepared):
            mask = self._mask(picture, box)
            if mask.any():
                views[index] = squared(picture, mask)
        vectors = dict(zip(views, self.appearance(list(views.values())), strict=True))
        nothing = FeatureError("the segmenter found no object in the subject's box")
        return [vectors.get(index, nothing) for index in range(len(prepared))]

    def _mask(self, picture: Picture, box: ShareOfBox) -> Picture:
        """Return the pixels of the object in the box, by SAM, as booleans."""
        height, width = picture.shape[:2]
        network = self.cut_out.network
        pixels = torch.from_numpy(picture.copy()).to(device())[None].float()
        pixels = functional.pad(
            normalised(pixels, IMAGENET), (0, SIDE - width, 0, SIDE - height)
        )
        corners = torch.tensor([[_corners(box, width, height)]], device=device())
        with self.cut_out.calculating():
            masks = network(
                pixel_values=pixels, input_boxes=corners, multimask_output=False
            ).pred_masks
        whole = functional.interpolate(
            masks[0].float(), (SIDE, SIDE), mode="bilinear", align_corners=False
        )
        mask: Picture = (whole[0, 0, :height, :width] > 0).cpu().numpy()
        return mask


def _corners(box: ShareOfBox, width: int, height: int) -> list[float]:
    x, y, w, h = box
    return [
        (x - w / 2) * width,
        (y - h / 2) * height,
        (x + w / 2) * width,
        (y + h / 2) * height,
    ]


def squared(picture: Picture, mask: Picture) -> Picture:
    """Return a mask's content on grey, centred in a square of 224 pixels."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    area = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    cut = np.where(mask[area][..., None], picture[area], GREY)
    height, width = cut.shape[:2]
    side = max(height, width)
    view = np.tile(GREY, (side, side, 1))
    top, left = (side - height) // 2, (side - width) // 2
    view[top : top + height, left : left + width] = cut
    return resized(view, (VIEW, VIEW))


def _described(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    vectors: torch.Tensor = network(normalised(batch, IMAGENET)).pooler_output
    return functional.normalize(vectors.float(), dim=-1)


subject_encoder = cache(SubjectEncoder)
