"""Tiny random networks of the real architectures, saved in place of the real ones.

Each function writes weights below the folder in `EVALCORE_WEIGHTS_DIR` and returns the
network they were saved from. Their numbers are meaningless; loading, preparation and
execution use the real code.
"""

import json
from pathlib import Path

import open_clip
import torch
from safetensors.torch import save_file
from torch import nn
from transformers import (
    BertConfig,
    BertTokenizerFast,
    GroundingDinoConfig,
    GroundingDinoForObjectDetection,
    SiglipVisionConfig,
    SiglipVisionModel,
    SwinConfig,
)

from evalcore.metrics.encoders import clip, published
from evalcore.metrics.encoders import clip as csd
from evalcore.metrics.encoders import scenes as siglip
from evalcore.metrics.encoders import subjects as detector

CLIP = "tiny-plumbline-quickgelu"
CLIP_FILE = "open_clip_model.safetensors"


def forget_loaded() -> None:
    """Make the encoders load their networks again."""
    for load in (
        clip.load_clip,
        csd.load_csd,
        siglip.load_predictor,
        detector.load_detector,
        detector.detector,
        detector.load_tokeniser,
    ):
        load.cache_clear()


def know_clip(folder: Path, monkeypatch) -> None:
    """Register the tiny configuration with open_clip, and its weights with us."""
    tower = {"layers": 1, "width": 32, "head_width": 8, "patch_size": 56}
    config = {
        "embed_dim": 24,
        "quick_gelu": True,
        "vision_cfg": {"image_size": 224, **tower},
        "text_cfg": {
            "context_length": 77,
            "vocab_size": 49408,
            "width": 32,
            "heads": 4,
            "layers": 1,
        },
    }
    path = folder / f"{CLIP}.json"
    path.write_text(json.dumps(config))
    open_clip.add_model_config(path)
    place = f"tiny-clip/{CLIP_FILE}"
    monkeypatch.setitem(published.CLIP, CLIP, {"path": place, "licence": "none"})


def save_clip(folder: Path) -> nn.Module:
    torch.manual_seed(1)
    network = open_clip.create_model(CLIP, pretrained=None).eval()
    (folder / "tiny-clip").mkdir(exist_ok=True)
    save_file(network.state_dict(), folder / "tiny-clip" / CLIP_FILE)
    return network


def save_csd(folder: Path, prefix="module.") -> csd.StyleNetwork:
    """Save weights in the authors' format: a training checkpoint with a prefix."""
    torch.manual_seed(2)
    network = csd.StyleNetwork(CLIP).eval()
    nn.init.normal_(network.last_layer_style)
    state = {f"{prefix}{key}": value for key, value in network.state_dict().items()}
    (folder / "csd").mkdir(exist_ok=True)
    torch.save({"model_state_dict": state, "epoch": 1}, folder / published.CSD.path)
    return network


def save_siglip(folder: Path) -> siglip.Predictor:
    """Save a tower of 7 x 7 patches at 384 and at 378 pixels, and the head for it."""
    torch.manual_seed(3)
    config = SiglipVisionConfig(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=384,
        patch_size=54,
    )
    tower = SiglipVisionModel(config).eval()
    head = siglip.Head(16).eval()
    tower.save_pretrained(folder / published.SIGLIP.path)
    state = {
        key.replace("head.", "", 1) if key.startswith("head.") else key: value
        for key, value in head.state_dict().items()
    }
    torch.save(state, folder / published.AESTHETIC_HEAD.path)
    return siglip.Predictor(tower, head)


def save_detector(folder: Path) -> GroundingDinoForObjectDetection:
    """Save Grounding DINO with a Swin and a BERT of one small layer each."""
    torch.manual_seed(4)
    place = folder / published.DETECTOR.path
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "character", ".", "?"]
    place.mkdir(exist_ok=True)
    (place / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(place / "vocab.txt")).save_pretrained(place)
    config = GroundingDinoConfig(
        backbone_config=SwinConfig(
            image_size=64,
            patch_size=4,
            embed_dim=8,
            depths=[1, 1, 1, 1],
            num_heads=[1, 1, 2, 2],
            window_size=4,
            out_features=["stage2", "stage3", "stage4"],
        ),
        text_config=BertConfig(
            vocab_size=len(words),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
        ),
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        num_queries=12,
        max_text_len=16,
    )
    network = GroundingDinoForObjectDetection(config).eval()
    network.save_pretrained(place)
    return network
