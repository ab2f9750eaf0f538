"""The networks that metrics see with: the published architectures, random weights.

Sizes are those of the files that `evalcore.metrics.encoders.published` names.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import torch
from torch import nn
from torchvision.models import mobilenet_v2
from transformers import (
    BertConfig,
    BitConfig,
    Dinov2Config,
    Dinov2Model,
    DPTConfig,
    DPTForDepthEstimation,
    GroundingDinoConfig,
    GroundingDinoForObjectDetection,
    RfDetrConfig,
    RfDetrForInstanceSegmentation,
    SamConfig,
    SamModel,
    SiglipVisionConfig,
    SiglipVisionModel,
    SwinConfig,
    ViTConfig,
    ViTForImageClassification,
    VitPoseConfig,
    VitPoseForPoseEstimation,
)
from transformers.models.rf_detr import RfDetrDinov2Config
from transformers.models.vitpose_backbone import VitPoseBackboneConfig

from evalcore.metrics.base import Text
from evalcore.metrics.encoders.adaface import AdaFaceNetwork, adaface
from evalcore.metrics.encoders.clip import (
    clip_image_encoder,
    clip_text_encoder,
    unloaded,
)
from evalcore.metrics.encoders.csd import StyleNetwork, csd_encoder
from evalcore.metrics.encoders.detector import Detector
from evalcore.metrics.encoders.facenet import FaceNetNetwork, facenet
from evalcore.metrics.encoders.faces import ADAFACE_WEIGHTS, FACENET_WEIGHTS
from evalcore.metrics.encoders.inception import (
    fid_encoder,
    fid_network,
    imagenet_encoder,
    imagenet_network,
)
from evalcore.metrics.encoders.mobilenet import mobilenet_encoder
from evalcore.metrics.encoders.people import expression, pose
from evalcore.metrics.encoders.published import LARGE, LARGE_336
from evalcore.metrics.encoders.scenes import ObjectEncoder, depth
from evalcore.metrics.encoders.siglip import Head, Predictor, aesthetic_encoder
from evalcore.metrics.encoders.subjects import SubjectEncoder

BASE_32 = "ViT-B-32-quickgelu"
TEXTS = [
    Text(f"Shot {i}: a fox walks through snow, seen from afar.") for i in range(16)
]
BOX = (0.5, 0.5, 0.6, 0.6)


@dataclass(frozen=True)
class Case:
    """An encoder, and what is put into it.

    Parameters
    ----------
    encoder
        Makes it anew.
    networks
        Make its networks, in the order in which it holds them.
    texts
        What it reads, if it reads.
    face
        The side of the aligned faces that it is given, if it is.
    item
        Turns a decoded picture into what it is asked about.
    compared
        What of a feature is compared, if not all of it.
    """

    encoder: Callable[[], Any]
    networks: Sequence[Callable[[], nn.Module]]
    texts: Sequence[Text] = ()
    face: int = 0
    item: Callable[[Any], Any] = lambda picture: picture
    compared: Callable[[Any], Any] = lambda feature: feature


# Networks ----------------------------------------------------------------------------


def sized(kind: Any, **sizes: Any) -> Any:
    """Return a configuration; its declared types know few of the names it takes."""
    return kind(**sizes)


@lru_cache(maxsize=1)
def clip_network(name: str) -> nn.Module:
    """Return a CLIP; the same one to pictures and texts that come one after another."""
    return unloaded(name)


def style_network() -> nn.Module:
    network = StyleNetwork()
    nn.init.normal_(network.last_layer_style)
    return network


def aesthetic_network() -> nn.Module:
    config = SiglipVisionConfig(
        hidden_size=1152,
        intermediate_size=4304,
        num_hidden_layers=27,
        num_attention_heads=16,
        image_size=384,
        patch_size=14,
    )
    return Predictor(SiglipVisionModel(config), Head())


def detector_network() -> nn.Module:
    backbone = sized(
        SwinConfig,
        window_size=7,
        embed_dim=96,
        depths=[2, 2, 6, 2],
        num_heads=[3, 6, 12, 24],
        out_features=["stage2", "stage3", "stage4"],
    )
    config = GroundingDinoConfig(backbone_config=backbone, text_config=BertConfig())
    return GroundingDinoForObjectDetection(config)


def object_network() -> nn.Module:
    backbone = sized(
        RfDetrDinov2Config,
        hidden_size=384,
        num_attention_heads=6,
        image_size=432,
        patch_size=12,
        num_windows=2,
        out_features=["stage3", "stage6", "stage9", "stage12"],
    )
    config = sized(
        RfDetrConfig,
        backbone_config=backbone,
        decoder_layers=5,
        decoder_n_points=2,
        num_queries=200,
        num_labels=91,
    )
    return RfDetrForInstanceSegmentation(config)


def depth_network() -> nn.Module:
    convolutions = sized(
        BitConfig,
        layer_type="bottleneck",
        hidden_sizes=[256, 512, 1024],
        depths=[3, 4, 9],
        global_padding="same",
        embedding_dynamic_padding=True,
        out_features=["stage1", "stage2", "stage3"],
    )
    config = DPTConfig(
        is_hybrid=True,
        image_size=384,
        backbone_config=convolutions,
        backbone_featmap_shape=[1, 1024, 24, 24],
        neck_hidden_sizes=[256, 512, 768, 768],
    )
    return DPTForDepthEstimation(config)


def pose_network() -> nn.Module:
    backbone = sized(
        VitPoseBackboneConfig,
        image_size=[256, 192],
        patch_size=[16, 16],
        out_indices=[12],
    )
    return VitPoseForPoseEstimation(
        sized(
            VitPoseConfig,
            backbone_config=backbone,
            num_labels=17,
            use_simple_decoder=True,
        )
    )


def expression_network() -> nn.Module:
    return ViTForImageClassification(sized(ViTConfig, num_labels=7))


def cut_out_network() -> nn.Module:
    return SamModel(SamConfig())


def appearance_network() -> nn.Module:
    return Dinov2Model(Dinov2Config(image_size=518, patch_size=14))


def kept_alive(make: Callable[[], nn.Module]) -> nn.Module:
    """Return a network of convolutions in whose depth numbers do not vanish."""
    network = make()
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight)
    return network


# Encoders ----------------------------------------------------------------------------


def detector() -> Detector:
    """Return the detector, told how BERT numbers the words of its prompt."""
    encoder = Detector("character")
    ids = torch.tensor([[101, 2839, 1012, 102]])  # [CLS] character . [SEP]
    encoder._tokens = {
        "input_ids": ids,
        "token_type_ids": torch.zeros_like(ids),
        "attention_mask": torch.ones_like(ids),
    }
    return encoder


def frames_clip() -> Any:
    return clip_image_encoder(LARGE_336, normalise=False, half="rounded")


def scores(column: int, feature: Any) -> Any:
    """Return the scores of boxes, objects or joints, the best first."""
    return -torch.tensor(-feature[:, column]).sort().values.numpy()


def boxed(picture: Any) -> Any:
    return picture, BOX


CASES = {
    "CLIP ViT-L/14": Case(clip_image_encoder, [partial(clip_network, LARGE)]),
    "CLIP ViT-L/14, texts": Case(
        clip_text_encoder, [partial(clip_network, LARGE)], texts=TEXTS
    ),
    "CLIP ViT-B/32": Case(
        partial(clip_image_encoder, BASE_32), [partial(clip_network, BASE_32)]
    ),
    "CLIP ViT-L/14 336, frames": Case(frames_clip, [partial(clip_network, LARGE_336)]),
    "CSD": Case(partial(csd_encoder, "squash"), [style_network]),
    "Aesthetic (SigLIP so400m)": Case(
        partial(aesthetic_encoder, "official"), [aesthetic_network]
    ),
    "Grounding DINO": Case(detector, [detector_network], compared=partial(scores, 4)),
    "RF-DETR Seg objects": Case(
        ObjectEncoder, [object_network], compared=partial(scores, 1)
    ),
    "DPT depth": Case(depth.__wrapped__, [depth_network]),
    "ViTPose joints": Case(
        pose.__wrapped__, [pose_network], compared=partial(scores, 2)
    ),
    "ViT expression": Case(expression.__wrapped__, [expression_network]),
    "SAM + DINOv2 subject": Case(
        SubjectEncoder, [cut_out_network, appearance_network], item=boxed
    ),
    "Inception v3 of FID": Case(fid_encoder, [partial(kept_alive, fid_network)]),
    "Inception v3, ImageNet": Case(
        partial(imagenet_encoder, transform_input=True),
        [partial(kept_alive, partial(imagenet_network, transform_input=True))],
    ),
    "MobileNetV2": Case(
        partial(mobilenet_encoder, "features"), [partial(kept_alive, mobilenet_v2)]
    ),
    "AdaFace IR-101": Case(
        partial(adaface, ADAFACE_WEIGHTS),
        [partial(kept_alive, AdaFaceNetwork)],
        face=112,
    ),
    "FaceNet": Case(
        partial(facenet, FACENET_WEIGHTS, as_trained=True),
        [partial(kept_alive, FaceNetNetwork)],
        face=160,
    ),
}
