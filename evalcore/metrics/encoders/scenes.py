"""Depth, objects, joints, facial expressions, and aesthetic ratings of pictures.

The networks are DPT, RF-DETR, ViTPose and a ViT. VISTAR uses YOLOv8 for objects
(licensed under the AGPL), MediaPipe for postures (its newest release has no network),
and DeepFace for expressions; these networks replace them. Aesthetic Predictor V2.5
rates SigLIP's features; only the published numbers of its head are read (AGPL-3.0).
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Literal

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers import (
    DPTForDepthEstimation,
    RfDetrForInstanceSegmentation,
    SiglipVisionModel,
    ViTForImageClassification,
    VitPoseForPoseEstimation,
)

from evalcore.metrics.base import Feature, FeatureError, Picture
from evalcore.metrics.encoders.preprocessing import (
    BICUBIC,
    BILINEAR,
    HALF,
    IMAGENET,
    normalised,
    resized,
)
from evalcore.metrics.encoders.published import (
    AESTHETIC_HEAD,
    DEPTH,
    EXPRESSION,
    OBJECTS,
    POSE,
    SIGLIP,
)
from evalcore.metrics.encoders.runtime import (
    Network,
    NetworkEncoder,
    in_fp32,
    load_pretrained,
    load_weights,
)
from evalcore.metrics.encoders.scene_features import (
    EXPRESSIONS,
    HEIGHT,
    SIDE,
    WIDTH,
    Instance,
    packed,
    place,
)
from evalcore.metrics.weights import WeightsError

DEPTH_SIDE = 384
# The first fusion layer has no input to add, so it was published without this part.
FIRST_FUSION = ("neck.fusion_stage.layers.0.residual_layer1.",)
OBJECTS_SIDE = 432
OBJECTS_BATCH = 8
THRESHOLD = 0.5
MOST = 50  # objects per picture
# Each picture takes .3 GB here, and maps of 256 at once have more elements than GPU
# kernels can index.
DEPTH_BATCH = 16


@cache
def depth() -> NetworkEncoder:
    """Return an encoder of pictures into depth maps of 192 x 192.

    Larger numbers are nearer; scale and zero differ between pictures. The picture is
    squashed to the square of the network's training.
    """
    return NetworkEncoder(
        f"DPT depth, squashed, {SIDE} x {SIDE}",
        DEPTH,
        Network(
            lambda: load_pretrained(
                DPTForDepthEstimation, DEPTH.need(), unused=FIRST_FUSION
            ),
            batch=DEPTH_BATCH,
            forward=_depth,
        ),
        partial(resized, size=(DEPTH_SIDE, DEPTH_SIDE), how=BILINEAR),
    )


def _depth(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    map_ = network(normalised(batch, HALF)).predicted_depth
    return functional.adaptive_avg_pool2d(map_.float(), SIDE)


class ObjectEncoder(NetworkEncoder):
    """An encoder of pictures into objects (`scene_features`).

    Each of the network's queries has one category, the likeliest. Those above the
    threshold are kept, the most confident first, at most 50, without suppression of
    overlaps. A mask may be empty, and masks may overlap. It runs in fp32, since bf16
    would round boxes to 1/256 of the picture.
    """

    def __init__(self) -> None:
        super().__init__(
            f"RF-DETR Seg objects above {THRESHOLD}, squashed, {SIDE} x {SIDE}",
            OBJECTS,
            Network(
                lambda: load_pretrained(RfDetrForInstanceSegmentation, OBJECTS.need()),
                batch=OBJECTS_BATCH,
                forward=_objects,
                exact=True,
            ),
            partial(resized, size=(OBJECTS_SIDE, OBJECTS_SIDE), how=BILINEAR),
        )

    def encode(self, prepared: Sequence[Feature]) -> list[Feature | FeatureError]:
        return [
            rows if isinstance(rows, FeatureError) else packed(_kept(rows))
            for rows in self.network(prepared)
        ]


def _objects(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    """Return pictures x objects x (label, score, box, mask): the 50 most confident."""
    found = network(normalised(batch, IMAGENET))
    scores, labels = found.logits.float().sigmoid().max(dim=-1)
    order = scores.argsort(dim=-1, descending=True, stable=True)[:, :MOST]
    boxes = _chosen(found.pred_boxes.float(), order)
    centre, size = boxes[..., :2], boxes[..., 2:]
    masks = functional.interpolate(
        _chosen(found.pred_masks.float(), order),
        (SIDE, SIDE),
        mode="bilinear",
        align_corners=False,
    )
    return torch.cat(
        [
            labels.gather(1, order)[..., None].float(),
            scores.gather(1, order)[..., None],
            (centre - size / 2).clamp(0, 1),
            (centre + size / 2).clamp(0, 1),
            masks.flatten(2),
        ],
        dim=-1,
    )


def _chosen(values: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    index = order.reshape(*order.shape, *[1] * (values.dim() - 2))
    return values.gather(1, index.expand(-1, -1, *values.shape[2:]))


def _kept(rows: Feature) -> list[Instance]:
    return [
        Instance(
            int(row[0]),
            float(row[1]),
            (float(row[2]), float(row[3]), float(row[4]), float(row[5])),
            np.asarray(row[6:] > 0).reshape(SIDE, SIDE),
        )
        for row in rows
        if row[1] > THRESHOLD
    ]


objects = cache(ObjectEncoder)


# People -------------------------------------------------------------------------------


FACE_SIDE = 224


def framed(picture: Picture) -> Picture:
    """Return a person's picture in the pose network's frame, with black borders."""
    left, top, width, height = place(picture.shape[1], picture.shape[0])
    frame = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    small = resized(picture, (width, height), BILINEAR)
    frame[top : top + height, left : left + width] = small
    return frame


@cache
def pose() -> NetworkEncoder:
    """Return an encoder of cropped people into joints, 17 x 3 in COCO's order.

    x and y are shares of the frame (`scene_features.unframed` converts them to pixels):
    the middle of the highest cell of a 48 x 64 heat map. The score is about 0 to 1.
    """
    return NetworkEncoder(
        "ViTPose joints, framed, maximum",
        POSE,
        Network(
            lambda: load_pretrained(VitPoseForPoseEstimation, POSE.need()),
            forward=_joints,
        ),
        framed,
    )


def _joints(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    maps = network(normalised(batch, IMAGENET)).heatmaps.float()
    height, width = maps.shape[-2:]
    scores, places = maps.flatten(2).max(dim=-1)
    x, y = places % width, places // width
    return torch.stack([(x + 0.5) / width, (y + 0.5) / height, scores], dim=-1)


@cache
def expression() -> NetworkEncoder:
    """Return an encoder of cropped faces into probabilities of `EXPRESSIONS`."""
    return NetworkEncoder(
        "ViT expression, squashed, softmax",
        EXPRESSION,
        Network(_load_expression, forward=_probabilities),
        partial(resized, size=(FACE_SIDE, FACE_SIDE), how=BILINEAR),
    )


def _load_expression() -> nn.Module:
    folder = EXPRESSION.need()
    network = load_pretrained(ViTForImageClassification, folder)
    names = getattr(network, "config").id2label  # noqa: B009 - a Module has no config
    found = tuple(str(names[index]).lower() for index in sorted(names))
    if found != EXPRESSIONS:
        raise WeightsError(
            f"{folder} tells {', '.join(found)} apart, not {', '.join(EXPRESSIONS)}"
        )
    return network


def _probabilities(network: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    logits: torch.Tensor = network(normalised(batch, HALF)).logits
    return logits.float().softmax(dim=-1)


SiglipPreprocess = Literal["official", "vsb"]
# Further content of the published folder, besides the image tower.
TEXT_TOWER = ("text_model.", "logit_scale", "logit_bias")
WIDTHS = (1152, 1024, 128, 64, 16, 1)


class Head(nn.Module):
    """Linear layers in sequence, without activations."""

    def __init__(self, width: int = WIDTHS[0]) -> None:
        super().__init__()
        widths = (width, *WIDTHS[1:])
        layers: list[nn.Module] = []
        for i in range(len(widths) - 1):
            # The published head has dropout layers between them, hence the gaps in the
            # numbering of its keys.
            layers += [nn.Linear(widths[i], widths[i + 1]), nn.Identity()]
        self.scoring_head = nn.Sequential(*layers[:-1])

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        rated: torch.Tensor = self.scoring_head(features)
        return rated


class Predictor(nn.Module):
    """SigLIP's image tower and the head."""

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
    head = Head(int(tower.config.hidden_size))
    load_weights(head, AESTHETIC_HEAD)
    return Predictor(tower, head)


def _squashed(picture: Picture, official: bool) -> Picture:
    if official:
        return resized(picture, (384, 384), BICUBIC)
    return resized(picture, (378, 378), BILINEAR)
