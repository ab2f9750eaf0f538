"""Tiny random networks of the metrics' architectures, saved as published.

Only the sizes differ: they are saved by `save_pretrained` and loaded by the encoders.
"""

import torch
from transformers import (
    BitConfig,
    Dinov2Config,
    Dinov2Model,
    DPTConfig,
    DPTForDepthEstimation,
    RfDetrConfig,
    RfDetrForInstanceSegmentation,
    SamConfig,
    SamModel,
    ViTConfig,
    ViTForImageClassification,
    VitPoseConfig,
    VitPoseForPoseEstimation,
)
from transformers.models.rf_detr import RfDetrDinov2Config
from transformers.models.vitpose_backbone import VitPoseBackboneConfig

from evalcore.metrics.encoders.scene_features import EXPRESSIONS

SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}


def depth_network():
    """Return a hybrid like the published one: convolutions before the ViT."""
    convolutions = BitConfig(
        embedding_size=8,
        hidden_sizes=[16, 24, 32],
        depths=[1, 1, 1],
        layer_type="bottleneck",
        global_padding="same",
        embedding_dynamic_padding=True,
        out_features=["stage1", "stage2", "stage3"],
        num_groups=2,
    )
    return DPTForDepthEstimation(
        DPTConfig(
            **{**SMALL, "num_hidden_layers": 4},
            intermediate_size=16,
            image_size=384,
            is_hybrid=True,
            backbone_config=convolutions,
            backbone_featmap_shape=[1, 32, 24, 24],
            backbone_out_indices=[0, 1, 2, 3],
            neck_hidden_sizes=[16, 24, 8, 8],
            fusion_hidden_size=8,
        )
    )


def object_network(bias: float = 0.0):
    """Return a network whose queries find people (bias 9) or nothing (bias -9)."""
    backbone = RfDetrDinov2Config(
        **SMALL,
        image_size=432,
        patch_size=24,
        num_windows=1,
        out_features=["stage1", "stage2"],
    )
    network = RfDetrForInstanceSegmentation(
        RfDetrConfig(
            backbone_config=backbone,
            d_model=16,
            num_queries=5,
            decoder_layers=1,
            decoder_self_attention_heads=2,
            decoder_cross_attention_heads=2,
            decoder_n_points=2,
            decoder_ffn_dim=16,
            intermediate_size=16,
            group_detr=1,
            num_labels=91,
        )
    )
    head = network.model.class_embed
    with torch.no_grad():
        head.bias.fill_(-9.0)
        head.bias[1] = bias
    return network


def pose_network():
    return VitPoseForPoseEstimation(
        VitPoseConfig(
            backbone_config=VitPoseBackboneConfig(
                **SMALL, image_size=[256, 192], patch_size=[16, 16], out_indices=[2]
            ),
            num_labels=17,
        )
    )


def expression_network(names=EXPRESSIONS):
    return ViTForImageClassification(
        ViTConfig(
            **SMALL,
            intermediate_size=16,
            image_size=224,
            patch_size=32,
            id2label=dict(enumerate(names)),
            label2id={name: index for index, name in enumerate(names)},
        )
    )


def cut_out_network():
    return SamModel(
        SamConfig(
            vision_config={
                **SMALL,
                "output_channels": 16,
                "image_size": 1024,
                "patch_size": 64,
                "global_attn_indexes": [1],
                "mlp_dim": 16,
                "num_pos_feats": 8,
                "window_size": 4,
            },
            prompt_encoder_config={
                "hidden_size": 16,
                "image_size": 1024,
                "patch_size": 64,
                "mask_input_channels": 4,
            },
            mask_decoder_config={
                "hidden_size": 16,
                "num_hidden_layers": 1,
                "num_attention_heads": 2,
                "mlp_dim": 16,
                "iou_head_hidden_dim": 16,
            },
        )
    )


def appearance_network():
    return Dinov2Model(
        Dinov2Config(**SMALL, mlp_ratio=1, image_size=224, patch_size=32)
    )
